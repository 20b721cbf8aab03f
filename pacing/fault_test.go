package pacing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// A faulty disk fails the save that first tells what a fault is to meet.
type faulty struct {
	disk
	meets  string // part of the state that is about to be saved
	effect bool   // it took effect all the same
	met    bool
}

var errFaulty = errors.New("the disk failed")

func (f *faulty) save(ctx context.Context, state []byte, events ...collection.Event) error {
	if f.met || !bytes.Contains(state, []byte(f.meets)) {
		return f.disk.save(ctx, state, events...)
	}
	f.met = true
	if f.effect {
		f.disk.save(ctx, state, events...)
	}
	return errFaulty
}

// TestFaultMatrix fails each save that later processes rely on: before it took
// effect, and after it took effect. Then nothing leaves any more, and the next
// process is held back by what is on the disk: it is never faster than either
// the state before or the state after allows.
func TestFaultMatrix(t *testing.T) {
	ceiling := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 3, Per: time.Hour}}}
	for _, tc := range []struct {
		name     string
		provider collection.Provider
		answers  func() http.HandlerFunc
		requests int
		meets    string
		before   time.Duration // the next process waits at least so long if it did not take effect
		after    time.Duration // and if it did; negative: it is stopped
	}{
		{"hold", collection.Provider{}, func() http.HandlerFunc { return retryAfter("40") }, 1, `"hold_until"`, time.Second, 40 * time.Second},
		{"freeze", collection.Provider{}, func() http.HandlerFunc { return statuses(403) }, 1, `"freeze"`, time.Second, -1},
		{"breaker", collection.Provider{Limits: collection.Limits{Attempts: 1}}, func() http.HandlerFunc { return statuses(500) }, 5, `"breaker"`, time.Second, 10 * time.Second},
		{"long window", ceiling, func() http.HandlerFunc { return ok }, 1, `"windows":[{"per":3600000000000,"count":3,"log":[{`, 0, 0},
	} {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,afterEffect=%t", tc.name, effect), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &faulty{meets: tc.meets, effect: effect}
					m := serve(tc.answers())
					g := govern(t, pacing.Config{Base: m, Save: d.save, Provider: tc.provider})
					var err error
					for range tc.requests {
						_, err = fetch(t, g)
					}
					if !d.met {
						t.Fatalf("the state was never about to be saved: %s", d.state)
					}
					if !errors.Is(err, errFaulty) {
						t.Errorf("the request ended with %v, want the error of the save", err)
					}
					sent := m.count()
					for range 3 {
						if _, err := fetch(t, g); !errors.Is(err, errFaulty) {
							t.Errorf("a later request ended with %v, want the error of the save", err)
						}
					}
					if got := m.count(); got != sent {
						t.Errorf("%d requests left after the save failed", got-sent)
					}

					want := tc.before
					if effect {
						want = tc.after
					}
					next, start := serve(ok), time.Now()
					again := govern(t, pacing.Config{Base: next, Save: d.disk.save, Restore: d.state, Provider: tc.provider})
					if want < 0 {
						if stop := stopOf(t, again); stop.Reason != collection.Frozen || next.count() != 0 {
							t.Errorf("the next process: %+v after %d requests, want frozen", stop, next.count())
						}
						return
					}
					mustFetch(t, again)
					if got := time.Since(start); got < want {
						t.Errorf("the next process sent after %v, want %v at least", got, want)
					}
				})
			})
		}
	}
}

// TestWindowFaultsNeverExceedTheCeiling: a save of a long window that failed
// costs slots, whether it took effect or not, and never grants one.
func TestWindowFaultsNeverExceedTheCeiling(t *testing.T) {
	for _, effect := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			provider := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 4, Per: time.Hour}}}
			m := serve(ok)
			var d disk
			for run := range 12 {
				f := &faulty{disk: disk{state: d.state}, meets: `"windows"`, effect: effect}
				f.met = run%3 != 0 // every third run's first save fails
				g := govern(t, pacing.Config{Base: m, Save: f.save, Restore: d.state, Provider: provider,
					Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 10 * time.Minute})})
				for range 2 { // and then it is killed
					fetch(t, g)
				}
				d.state = f.state
			}
			if got := busiest(m.arrivals, time.Hour); got > 4 || got == 0 {
				t.Errorf("effect %v: %d requests in an hour, of 4", effect, got)
			}
		})
	}
}

// TestForceSurvivesARestart: what an operator decided between two
// processes binds the second one, whatever the first one saved before.
func TestForceSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		g := govern(t, pacing.Config{Base: serve(ok), Save: d.save})
		mustFetch(t, g)
		if err := g.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := d.state
		forced, events, err := gate.ForceOpen(before, time.Now(), "audit")
		if err != nil {
			t.Fatal(err)
		}
		for _, effect := range []bool{false, true} { // the store failed, before or after
			f := &faulty{disk: disk{state: before}, meets: `"forced"`, effect: effect}
			if err := f.save(t.Context(), forced, events...); !errors.Is(err, errFaulty) {
				t.Fatal(err)
			}
			m := serve(ok)
			next := govern(t, pacing.Config{Base: m, Restore: f.state})
			if !effect {
				mustFetch(t, next)
				continue
			}
			if stop := stopOf(t, next); stop.Reason != collection.CircuitOpen || m.count() != 0 {
				t.Errorf("forced open: %+v after %d requests", stop, m.count())
			}
		}
	})
}
