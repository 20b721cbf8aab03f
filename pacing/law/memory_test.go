package law_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestNextRun: a run that starts with what an earlier one learned an hour ago
// is not slower than one that knows nothing, unless a limit was found, and
// looks for more as the earlier one did.
func TestNextRun(t *testing.T) {
	for _, tc := range []struct {
		name          string
		kept          string
		first, before float64 // the pace at first, and after 100 answers, at least
		most          float64 // after them
	}{
		{"the start went on", `"target_per_second": 8`, 4, 12, 20},
		{"the start had just begun", `"target_per_second": 1.2`, 1, 12, 20},
		{"answers became slow beyond it", `"target_per_second": 8, "slow_beyond": true, "probe_every": 256`, 4, 8, 8},
		{"answers became slow beyond the start", `"target_per_second": 1.2, "slow_beyond": true, "probe_every": 256`, 1, 1.2, 1.2},
		{"answers became slow at the start", `"target_per_second": 0.3, "slow_beyond": true, "probe_every": 256`, 0.3, 0.3, 0.3},
		{"more was refused", `"target_per_second": 1.2, "limit_per_second": 1.25, "probe_every": 256`, 0.6, 1.2, 1.2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m law.Memory
			if err := json.Unmarshal(fmt.Appendf(nil, `{"interval_ns": 125000000, "plateau": {%s}}`, tc.kept), &m); err != nil {
				t.Fatal(err)
			}
			l, now := law.NewLearner(1, 20), t0
			l.Restore(m, time.Hour)
			if got := l.Rate(); got != tc.first {
				t.Errorf("it begins with %v/s, want %v", got, tc.first)
			}
			for range 100 {
				at, _ := l.Next(now)
				now = later(now, at)
				s := l.Send(now)
				now = now.Add(10 * ms)
				l.Result(s, law.Result{Signal: law.Succeeded}, now)
			}
			if got := l.Rate(); got < tc.before || got > tc.most {
				t.Errorf("after 100 answers its pace is %v/s, want %v to %v", got, tc.before, tc.most)
			}
			if got := l.Keep().Plateau; got.Slow != m.Plateau.Slow {
				t.Errorf("it keeps that answers are slow beyond: %v, and was told %v", got.Slow, m.Plateau.Slow)
			}
		})
	}
}
