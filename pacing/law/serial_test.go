package law_test

import (
	"fmt"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestTroubleOfAList: a list is asked for page by page. Trouble that is over costs what it lasted: a minute later the
// pace is what it was before, or would be without it.
func TestTroubleOfAList(t *testing.T) {
	n := 0
	failed := law.Outcome{Signal: law.Failed, Hold: -1, Overdue: true}
	among := func(all ...int) bool {
		for _, one := range all {
			if one == n {
				return true
			}
		}
		return false
	}
	spell := func(from, length time.Duration) func(*provider) (law.Outcome, time.Duration) {
		return func(p *provider) (law.Outcome, time.Duration) {
			if from <= p.now && p.now < from+length {
				return granted(true), 4 * s
			}
			return granted(true), 50 * ms
		}
	}
	for _, tc := range []struct {
		name   string
		over   time.Duration
		answer func(*provider) (law.Outcome, time.Duration)
	}{
		{"slow for 15 s", 195 * s, spell(180*s, 15*s)},
		{"slow for 60 s", 240 * s, spell(180*s, 60*s)},
		{"slow for 15 s at the start", 17 * s, spell(2*s, 15*s)},
		{"six 502 of 29", 60 * s, func(*provider) (law.Outcome, time.Duration) {
			if among(4, 6, 13, 16, 23, 29) {
				return failed, 20 * ms
			}
			return granted(true), 50 * ms
		}},
		{"three unanswered", 120 * s, func(*provider) (law.Outcome, time.Duration) {
			if among(9, 10, 11) {
				return failed, 30 * s
			}
			return granted(true), 50 * ms
		}},
	} {
		for _, ceiling := range []float64{0, 40} {
			t.Run(fmt.Sprintf("%s, ceiling %v", tc.name, ceiling), func(t *testing.T) {
				n = 0
				after := 0
				w := world{start: 1, ceiling: ceiling, workers: 1, lasts: 6 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
					n++
					p.now -= time.Hour
					o, took := tc.answer(p)
					if p.now >= tc.over+time.Minute && p.now < tc.over+2*time.Minute {
						after++
					}
					p.now += time.Hour
					return o, took
				}}
				w.play(t, law.Plateau)
				if after < 500 {
					t.Errorf("%d requests in the second minute after it was over, want 500", after)
				}
			})
		}
	}
}
