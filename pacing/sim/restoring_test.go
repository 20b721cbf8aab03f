package sim_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// A refusesOnce refuses one request, the n-th, and no other.
type refusesOnce struct{ n, seen int }

func (r *refusesOnce) Take(float64) (wait float64) {
	if r.seen++; r.seen == r.n {
		return 1
	}
	return 0
}

// TestOneRefusalIsNotForLong: a single refusal, with nothing like it before or
// after, costs a minute at most; with a Retry-After twice that, and half a minute, beside.
func TestOneRefusalIsNotForLong(t *testing.T) {
	const ceiling = 50
	for _, tc := range []struct {
		n    []int
		wait time.Duration // that it asks for
	}{{[]int{3, 10, 30, 100, 300, 1000}, 0}, {[]int{9, 100}, 20 * time.Second}, {[]int{9, 30, 100}, time.Minute}} {
		for _, n := range tc.n {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(sim.Judge((&refusesOnce{n: n}).Take), ordinary).Refuse(http.StatusTooManyRequests, "", tc.wait.Seconds())
				var state []byte
				sim.Play(p, sim.Owned(perSecond(ceiling), sim.Workers), 6*time.Minute, &state)
				refusedAt := p.RefusedAt()
				reached := p.Reaches(refusedAt, 0.9*ceiling)
				t.Logf("request %d refused after %v, with Retry-After %v: 90 %% of the ceiling %v later", n, refusedAt, tc.wait, reached)
				most := time.Minute
				if tc.wait > 0 {
					most += 2*tc.wait + 30*time.Second
				}
				if reached > most {
					t.Errorf("request %d refused, with Retry-After %v: 90 %% of the ceiling %v later, want at most %v", n, tc.wait, reached, most)
				}
			})
		}
	}
}

// TestInFlightIsNoPace: who refuses whatever is more than a few in flight, like
// nginx's limit_conn, says nothing about the pace.
func TestInFlightIsNoPace(t *testing.T) {
	const records, ceiling = 3000, 50
	for _, status := range []int{429, 503} {
		for _, most := range []int{1, 2, 4, 10} {
			for _, took := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
				name := fmt.Sprintf("%d above %d in flight, %v each", status, most, took)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := sim.Crowded(status, most, took.Seconds())
						var state []byte
						records := records
						if most == 1 {
							records /= 5
						}
						got := sim.Job(p, sim.Owned(perSecond(ceiling), sim.Workers), records, 3*time.Hour, &state)
						ideal := time.Duration(float64(records) / min(ceiling, float64(most)/took.Seconds()) * float64(time.Second))
						refused, _ := p.Refused()
						t.Logf("%v, the best is %v: %.2f times, %d refused", got, ideal, got.Seconds()/ideal.Seconds(), refused)
						if got > ideal*3/2 {
							t.Errorf("%v, the best is %v, want at most half as much again", got, ideal)
						}
					})
				})
			}
		}
	}
}

// TestPaceIsWhatIsUsed: where eight in flight are all that the owner allows, and
// an answer takes 100 ms, no more than 80 a second are delivered, and what is
// kept is not far above it.
func TestPaceIsWhatIsUsed(t *testing.T) {
	for _, workers := range []int{1, 8, 32} {
		synctest.Test(t, func(t *testing.T) {
			p := sim.Plain(nil, func(*rand.Rand) float64 { return 0.1 })
			var state []byte
			sim.Job(p, sim.Owned(perSecond(1000), workers), 5000, time.Hour, &state)
			delivered := float64(workers) / 0.1
			if got := keptPace(t, state); got > 1.5*delivered {
				t.Errorf("%d in flight: %v/s are kept, want at most 1.5 times the %v/s that were delivered", workers, got, delivered)
			}
		})
	}
}

// TestLongBlocksAreLearned: where each refusal is followed by a block that is as
// long as a window, or longer than any, what was allowed between two of them is
// learned, and more is tried no more often than a block is worth.
func TestLongBlocksAreLearned(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		block    time.Duration
		from, to time.Duration
		rates    []float64
		refused  int // at most; a window that a first count told is not doubted again and again
	}{
		{time.Minute, 0, 2 * time.Hour, []float64{0.4, 2}, 22},
		{5 * time.Minute, time.Hour, 6 * time.Hour, []float64{0.4, 2}, 20},
		{15 * time.Minute, 4 * time.Hour, 10 * time.Hour, []float64{0.4, 2}, 40},
		{time.Hour, 20 * time.Hour, 30 * time.Hour, []float64{0.4}, 85}, // at 2 it takes as long to play as all of these
	} {
		for _, rate := range tc.rates {
			t.Run(fmt.Sprintf("%v/s and %v", rate, tc.block), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := sim.Boxed(300*rate, 300, tc.block.Seconds())
					var state []byte
					sim.Play(p, sim.Owned(perSecond(20), sim.Workers), tc.to, &state)
					share := p.Work(tc.from, tc.to) / (rate * (tc.to - tc.from).Seconds())
					refused, requests := p.Refused()
					t.Logf("%.0f %% of the work from %v on, %d refused of %d", 100*share, tc.from, refused, requests)
					if share < 0.84 {
						t.Errorf("%.0f %% of the work from %v on, want 84 %%", 100*share, tc.from)
					}
					if refused > tc.refused {
						t.Errorf("%d requests refused, want at most %d", refused, tc.refused)
					}
				})
			})
		}
	}
}

// TestStartIsQuick: where nothing objects, the pace doubles with each eight
// answers, and every two seconds at most.
func TestStartIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sim.Plain(nil, ordinary)
		var state []byte
		sim.Play(p, sim.Owned(perSecond(200), sim.Workers), time.Minute, &state)
		if got := p.Reaches(0, 128); got > 22*time.Second {
			t.Errorf("128/s after %v, want 22s", got)
		}
	})
}

// keptPace returns the pace that state keeps.
func keptPace(t *testing.T, state []byte) float64 {
	var kept struct {
		Interval float64 `json:"interval_ns"`
	}
	if err := json.Unmarshal(state, &kept); err != nil {
		t.Fatal(err)
	}
	return 1e9 / kept.Interval
}
