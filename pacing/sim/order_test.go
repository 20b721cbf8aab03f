package sim_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// Those who wake at one instant act in the order of their places, each when the
// one before has done all it does, and what has no place goes first.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var acts, want []int
		act := func(who int) {
			mu.Lock()
			defer mu.Unlock()
			acts = append(acts, who)
		}
		// passOn acts after as many steps of many goroutines.
		var passOn func(who, steps int)
		passOn = func(who, steps int) {
			if steps == 0 {
				act(who)
				return
			}
			done := make(chan struct{})
			go func() {
				passOn(who, steps-1)
				close(done)
			}()
			<-done
		}
		time.AfterFunc(time.Second+sim.FirstTurn, func() { passOn(-1, 1000) })
		want = append(want, -1)
		var all sync.WaitGroup
		for i := range sim.Workers {
			want = append(want, i, i)
			all.Go(func() {
				time.Sleep(time.Second)
				sim.Turn(i)
				act(i)
				passOn(i, 100)
			})
		}
		all.Wait()
		if !slices.Equal(acts, want) {
			t.Errorf("they acted in the order %v, want %v", acts, want)
		}
	})
}

// A request from elsewhere than Play is answered, too, also beside others at
// the same instant.
func TestProviderAnswersAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "concurrency").New(1000)
		var all sync.WaitGroup
		var answers atomic.Int64
		for range 100 {
			all.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sim.Origin, nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := p.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				answers.Add(1)
			})
		}
		all.Wait()
		if got := answers.Load(); got != 100 {
			t.Errorf("%d answers, want 100", got)
		}
	})
}
