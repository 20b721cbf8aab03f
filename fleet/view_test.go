package fleet

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestTurnsOfTheDead: what a worker had in hand that died waits since it was heard of last,
// and is not said to be at work, with nobody there to note it.
func TestTurnsOfTheDead(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	v := View{
		Now:     now,
		Workers: []WorkerView{{ID: "a", Seen: ago(gone)}, {ID: "b", Seen: ago(gone + time.Second)}},
		Turns:   []TurnView{{Connector: "one", Worker: "a", Since: ago(time.Hour)}, {Connector: "two", Worker: "b", Since: ago(time.Hour)}},
		Waits:   []WaitView{{"three", ago(time.Minute)}, {"four", ago(-time.Minute)}},
	}
	restarted := v
	restarted.Workers, restarted.Turns, restarted.Waits = slices.Clone(v.Workers), slices.Clone(v.Turns), nil
	restarted.Began = ago(gone)
	if restarted.settle(); restarted.Alive() != 2 || len(restarted.Turns) != 2 {
		t.Errorf("a server that began a lease ago knows of no death: %+v", restarted)
	}
	v.settle()
	if v.Workers[0].Died || !v.Workers[1].Died || v.Alive() != 1 {
		t.Errorf("a lease after it was heard of last: %+v", v.Workers)
	}
	if want := []TurnView{{Connector: "one", Worker: "a", Since: ago(time.Hour)}}; !reflect.DeepEqual(v.Turns, want) {
		t.Errorf("at work: %v, want %v", v.Turns, want)
	}
	if want := []WaitView{{"three", ago(time.Minute)}, {"two", ago(gone + time.Second)}, {"four", ago(-time.Minute)}}; !reflect.DeepEqual(v.Waits, want) {
		t.Errorf("waits: %v, want %v", v.Waits, want)
	}
	if want := "1 worker (1 died), 1 turn at work, 2 due (the oldest for 60 s), 1 later (the first 12:01:00 UTC)"; v.Sentence() != want {
		t.Errorf("Sentence:\n%s\nwant:\n%s", v.Sentence(), want)
	}
	if want := map[string]time.Time{"one": ago(time.Hour), "two": ago(gone + time.Second), "three": ago(time.Minute), "four": ago(-time.Minute)}; !reflect.DeepEqual(v.goesOn(), want) {
		t.Errorf("goes on: %v, want %v", v.goesOn(), want)
	}
	v.Workers[0].Died = true
	if v.goesOn() != nil {
		t.Error("workers that died go on")
	}
	if want := "0 workers (2 died), 1 turn at work, 2 due (the oldest for 60 s), 1 later (the first 12:01:00 UTC). Nobody works: start a worker with: collect worker"; v.Sentence() != want {
		t.Errorf("Sentence:\n%s\nwant:\n%s", v.Sentence(), want)
	}
}
