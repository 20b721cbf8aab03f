package sim_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestGatewayTimeoutsSlowDown: a server of one thread does one thing at a time,
// and the gateway before it says with a 504 that too much is asked for at once.
// The pace finds what the thread can do, and little more is answered 504.
func TestGatewayTimeoutsSlowDown(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{4, 8, 32} {
		t.Run(fmt.Sprint(inFlight, " in flight"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rate, records = 25, 5000
				p := sim.Gateway(rate, 0.12)
				var state []byte
				took := sim.Job(p, sim.Owned(perSecond(50), inFlight), records, time.Hour, &state)
				refused, requests := p.Refused()
				share := records / rate / took.Seconds()
				t.Logf("%v: %.0f %% of the work, %d of %d requests answered 504", took, 100*share, refused, requests)
				if share < 0.65 || 100*refused > requests {
					t.Errorf("%.0f %% of the work, %d of %d requests answered 504; want 65 %%, and one in a hundred", 100*share, refused, requests)
				}
			})
		})
	}
}

// TestSlowGateway: a server that needs seconds for an answer, behind a gateway that
// gives up. A start that fills its queue before anything is answered is told
// nothing but 504 for a minute, and whatever it asks meanwhile keeps the queue full.
func TestSlowGateway(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{3, 4, 5, 6} {
		t.Run(fmt.Sprint(seconds, " s each"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Gateway(1/seconds, 6*seconds)
				var state []byte
				sim.Play(p, sim.Owned(perSecond(20), sim.Workers), time.Hour, &state)
				s := p.Score(0, time.Hour)
				t.Logf("%.0f %% of the work, %d of %d requests answered 504", 100*s.Share, s.Refusals, s.Requests)
				if s.Share < 0.75 || s.Refusals > 60 {
					t.Errorf("%.0f %% of the work, %d of %d requests answered 504; want 75 %%, and 60", 100*s.Share, s.Refusals, s.Requests)
				}
			})
		})
	}
}

// TestSlowQueueIsNoOutage: where the start fills a queue that takes minutes to work
// off, everything in flight is given up, and nothing is answered for longer than
// in many an outage. The pace finds what the server can do all the same.
func TestSlowQueueIsNoOutage(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{3, 3.5, 4} {
		t.Run(fmt.Sprint(seconds, " s each"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Queue(1 / seconds)
				var state []byte
				sim.Play(p, sim.Owned(perSecond(20), sim.Workers), 2*time.Hour, &state)
				s := p.Score(0, 2*time.Hour)
				t.Logf("%.0f %% of the work, answers take %.1f times as long as alone", 100*s.Share, s.Latency)
				if s.Share < 0.85 || s.Latency > 2.5 {
					t.Errorf("%.0f %% of the work, answers take %.1f times as long as alone; want 85 %%, and 2.5 times", 100*s.Share, s.Latency)
				}
			})
		})
	}
}

// TestFaultsOfAnyPace: a gateway that gives up one request in forty, however slow
// the pace, is no limit to be found below it.
func TestFaultsOfAnyPace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		after  float64 // seconds
		share  float64
	}{{502, 0.1, 0.85}, {504, 10, 0.6}} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rate, records = 8, 20_000
				p := sim.Plain(sim.Bucket(rate, 8), ordinary)
				p.Faulty(40, tc.status, tc.after)
				var state []byte
				took := sim.Job(p, sim.Owned(perSecond(20), sim.Workers), records, 24*time.Hour, &state)
				share := records / rate / took.Seconds()
				t.Logf("%v: %.0f %% of the work", took, 100*share)
				if share < tc.share {
					t.Errorf("%.0f %% of the work, want %.0f %%", 100*share, 100*tc.share)
				}
			})
		})
	}
}
