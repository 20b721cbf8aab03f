package fleet

import (
	"reflect"
	"slices"
	"strings"
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
	if want := map[string]time.Time{"one": ago(time.Hour), "two": ago(gone + time.Second), "three": ago(time.Minute), "four": ago(-time.Minute)}; !reflect.DeepEqual(v.facts().Turns, want) {
		t.Errorf("goes on: %v, want %v", v.facts().Turns, want)
	}
	v.Workers[0].Died = true
	if v.facts().Turns != nil {
		t.Error("workers that died go on")
	}
	if want := "0 workers (2 died), 1 turn at work, 2 due (the oldest for 60 s), 1 later (the first 12:01:00 UTC). Nobody works: start a worker with: collect worker"; v.Sentence() != want {
		t.Errorf("Sentence:\n%s\nwant:\n%s", v.Sentence(), want)
	}
}

// TestNobody: a connector is said to need a person if it is due and each worker that takes turns lacks it.
func TestNobody(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	lacks := func(names ...string) map[string]Lack {
		all := map[string]Lack{}
		for _, name := range names {
			all[name] = Lack{Why: "no file of it here"}
		}
		return all
	}
	waits := []WaitView{{"ants", now.Add(-time.Minute)}, {"bees", now}, {"cats", now.Add(time.Minute)}}
	const one = "No worker can take ants: no file of it here; copy its file or set its secret on one of them"
	for what, tc := range map[string]struct {
		workers []WorkerView
		want    string
	}{
		"nobody is there":              {nil, ""},
		"one takes it":                 {[]WorkerView{{Lacks: lacks("ants")}, {}}, ""},
		"all lack it":                  {[]WorkerView{{Lacks: lacks("ants")}, {Lacks: lacks("ants", "bees")}}, one},
		"who takes it drains":          {[]WorkerView{{Lacks: lacks("ants")}, {Draining: true}}, one},
		"who takes it died":            {[]WorkerView{{Lacks: lacks("ants")}, {Died: true}}, one},
		"what is not due is not asked": {[]WorkerView{{Lacks: lacks("cats")}}, ""},
		"two":                          {[]WorkerView{{Lacks: lacks("ants", "bees", "cats")}}, "No worker can take ants, bees: no file of it here; copy its file or set its secret on one of them"},
	} {
		v := View{Now: now, Workers: tc.workers, Waits: waits}
		if got := v.Nobody(); got != tc.want {
			t.Errorf("%s: %q, want %q", what, got, tc.want)
		}
		if got := strings.HasSuffix(v.Sentence(), ". "+tc.want); got != (tc.want != "") {
			t.Errorf("%s: the fleet stands so: %s", what, v.Sentence())
		}
	}
	if got, want := some([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more"; got != want {
		t.Errorf("some: %q, want %q", got, want)
	}
}
