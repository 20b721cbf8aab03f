package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestShutOut: a provider that grants 5 a second, and shuts out for a fixed time who was faster, is asked nearly as fast as
// before when that is over. What was granted before it counts, and not how long it shut out.
func TestShutOut(t *testing.T) {
	for _, tc := range []struct {
		shut  time.Duration
		least int // answers of the 2,400 in the 8 minutes after the first
	}{{30 * s, 1600}, {time.Minute, 1300}, {2 * time.Minute, 1100}, {5 * time.Minute, 900}} {
		var until, first law.Moment
		r := begin(t, &provider{}, law.Memory{}, time.Hour)
		r.answer = func(p *provider) (law.Outcome, time.Duration) {
			if p.now >= until {
				if p.bucket(5, 5) {
					return granted(true), 50 * ms
				}
				until = p.now + tc.shut
				first = max(first, until)
			}
			o := granted(false)
			o.Hold = until - p.now
			return o, 50 * ms
		}
		for first == 0 {
			r.step()
		}
		begins := first
		r.until(begins)
		if answered := r.until(begins + 8*time.Minute); answered < tc.least {
			t.Errorf("in 8 minutes after it shut out for %v, %d are answered at %.1f/s, want %d or more", tc.shut, answered, r.law.Rate(), tc.least)
		}
	}
}
