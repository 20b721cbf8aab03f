package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestSilenceThatIsTooLong: a bucket that asks for a minute of silence, whatever
// the wait is, looks as if it gave little, and is not taken at that. A window
// that asks for what is left of it, or for a little less, loses nothing, and does
// not refuse more often.
func TestSilenceThatIsTooLong(t *testing.T) {
	const half = 30 * time.Minute
	for _, tc := range []struct {
		name    string
		wait    func(p *provider, rate float64) time.Duration // 0: it is granted
		least   float64                                       // of the work, on average
		refused int                                           // in all
	}{
		{"always a minute", func(p *provider, rate float64) time.Duration {
			if p.bucket(rate, 5) {
				return 0
			}
			return time.Minute
		}, 0.66, 39},
		{"a window", func(p *provider, rate float64) time.Duration {
			if ok, _, reset := p.fixed(100*rate, 100*s); !ok {
				return reset
			}
			return 0
		}, 0.97, 45},
		{"a window, too short", func(p *provider, rate float64) time.Duration {
			if ok, _, reset := p.fixed(300*rate, 300*s); !ok {
				return max(s, reset-10*s)
			}
			return 0
		}, 0.91, 62},
	} {
		rates := []float64{0.4, 0.6, 1, 2, 4, 8}
		share, refused := 0.0, 0
		for _, rate := range rates {
			w := world{start: 1, ceiling: 20, workers: 8, lasts: half, answer: func(p *provider) (law.Outcome, time.Duration) {
				wait := tc.wait(p, rate)
				if wait == 0 {
					share += 1 / (rate * half.Seconds() * float64(len(rates)))
					return granted(true), 100 * ms
				}
				refused++
				return law.Outcome{Signal: law.Throttled, Hold: wait}, 100 * ms
			}}
			w.play(t, law.Plateau)
		}
		if share < tc.least || refused > tc.refused {
			t.Errorf("%s: %.1f %% of the work in half an hour, and %d refusals, want %.0f %% and %d", tc.name, 100*share, refused, 100*tc.least, tc.refused)
		}
	}
}
