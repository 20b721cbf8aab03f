package desk_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// A run has no budgets.
type run struct{}

func (run) Ended(time.Time) error                   { return nil }
func (run) Spent(time.Time) error                   { return nil }
func (run) Admit(*desk.Turn, bool, time.Time) error { return nil }
func (run) Waits(*desk.Turn, gate.Plan, time.Time)  {}
func (run) Waited(*desk.Turn, time.Time)            {}

// TestProcessesTakeTurns: a process that asks for one page after the other gets as many turns as one that has many requests in
// line, but for the time that its answers take.
func TestProcessesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ceilings := []collection.Ceiling{{Count: 1, Per: 100 * time.Millisecond}}
		g, err := gate.New(collection.Provider{Name: "acme", Ceilings: ceilings, Unpaced: true}, "", time.Minute, 32)
		if err != nil {
			t.Fatal(err)
		}
		d := desk.New(g)
		var turns [3]int
		var mu sync.Mutex
		var work sync.WaitGroup
		ends := time.Now().Add(time.Minute)
		for process, workers := range []int{16, 1, 2} {
			who := d.Share(ceilings, workers)
			for range workers {
				work.Go(func() {
					for time.Now().Before(ends) {
						pass, err := d.Enter(t.Context(), &desk.Turn{Asker: run{}, Request: gate.Request{Party: who}})
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(20 * time.Millisecond)
						d.Settle(pass, gate.Outcome{Signal: law.Succeeded, Hold: -1}, gate.Request{Party: who})
						mu.Lock()
						turns[process]++
						mu.Unlock()
					}
				})
			}
		}
		work.Wait()
		for _, n := range turns {
			if n < 170 {
				t.Errorf("of some 600 turns, processes with 16, 1 and 2 requests at once got %v, want 170 each at least", turns)
			}
		}
	})
}
