package sim_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// TestResetOnlyBesideARefusal: limit and remaining are told with every answer, and the reset
// with a refusal alone. It ends with its wait, and the pace goes on as it does
// where no reset is told.
func TestResetOnlyBesideARefusal(t *testing.T) {
	began := time.Date(2026, time.March, 1, 0, 0, 17, 0, time.UTC)
	at := func(l sim.Left, later float64) time.Time {
		return began.Add(time.Duration((l.Now + later) * float64(time.Second)))
	}
	epoch := func(later float64) func(http.Header, sim.Left) {
		return func(h http.Header, l sim.Left) { set(h, "X-RateLimit-Reset", float64(at(l, later).Unix())) }
	}
	jira := func(more float64) func(http.Header, sim.Left) { // in whole minutes, rounded down, or up
		return func(h http.Header, l sim.Left) {
			set(h, "Retry-After", 5)
			h.Set("X-RateLimit-Reset", at(l, 5+more).Format("2006-01-02T15:04Z"))
		}
	}
	bucket := func() sim.Limiter { return sim.Bucket(4, 20) }
	window := func() sim.Limiter { return sim.Window(40, 10) }
	for _, tc := range []struct {
		name    string
		limit   func() sim.Limiter
		refusal func(http.Header, sim.Left)
		refused int
	}{
		{"a bucket, without a reset", bucket, func(http.Header, sim.Left) {}, 6},
		{"a bucket, and 5 s", bucket, epoch(5), 6},
		{"a bucket, and a minute that is over", bucket, jira(0), 6},
		{"a bucket, and the next minute", bucket, jira(59), 6},
		{"a window, without a reset", window, after, 8},
		{"a window", window, func(h http.Header, l sim.Left) {
			after(h, l)
			epoch(l.Wait)(h, l)
		}, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit, first := tc.limit(), 0.0
				p := sim.Plain(limit, ordinary).Tell(func(h http.Header, all ...sim.Left) {
					l := all[0]
					h.Set("Date", at(l, 0).Format(http.TimeFormat))
					set(h, "X-RateLimit-Limit", l.Limit)
					set(h, "X-RateLimit-Remaining", l.Remaining)
					if l.Wait > 0 {
						tc.refusal(h, l)
						if first == 0 {
							first = l.Now
						}
					}
				}, limit)
				var state []byte
				sim.Job(p, sim.Owned(collection.Provider{}, 0), 1e6, 5*time.Minute, &state)
				refused, _ := p.Refused()
				said, all := "", 0
				const spans = 12 // of ten seconds, after one in which the answer is silence and the climb back
				for i := range spans + 2 {
					from := first + 10*float64(i)
					n := p.AnsweredBy(from+10) - p.AnsweredBy(from)
					said += fmt.Sprint(" ", n)
					if i >= 2 {
						all += n
					}
				}
				t.Logf("refused first after %.0f s; in each 10 s from there%s; %d refused", first, said, refused)
				if all < 0.8*40*spans || refused > tc.refused {
					t.Errorf("after a refusal%s are answered in each 10 s, of 40, and %d are refused, want 32 each on average, and at most %d", said, refused, tc.refused)
				}
			})
		})
	}
}

// TestIntervalOfALimit: a limit that is told with its window, and not with what is left
// of it, is used up nearly, and never exceeded.
func TestIntervalOfALimit(t *testing.T) {
	for _, tc := range []struct {
		limit, seconds float64
		left           bool // is told as well
	}{{5, 1, false}, {50, 1, false}, {300, 60, false}, {300, 60, true}, {100, 10, true}} {
		t.Run(fmt.Sprintf("%v in %v s, %t", tc.limit, tc.seconds, tc.left), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := sim.Sliding(tc.limit, tc.seconds)
				p := sim.Plain(limit, ordinary).Tell(func(h http.Header, all ...sim.Left) {
					set(h, "X-Rate-Limit-Limit", tc.limit)
					h.Set("X-Rate-Limit-Interval", fmt.Sprintf("%vs", tc.seconds))
					if tc.left {
						set(h, "X-Rate-Limit-Remaining", all[0].Remaining)
					}
				}, limit)
				var state []byte
				records := int(300 * tc.limit / tc.seconds)
				took := sim.Job(p, sim.Owned(collection.Provider{}, 0), records, time.Hour, &state)
				refused, _ := p.Refused()
				t.Logf("%.0f s, %d refused", took.Seconds(), refused)
				if took > 330*time.Second || refused > 0 {
					t.Errorf("%d requests took %v, %d of them refused, want five minutes, a tenth more at most, and none", records, took, refused)
				}
			})
		})
	}
}
