package pacing_test

import (
	"io"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// TestBadInputIsNoBurst: whatever a provider answers, the next request leaves
// no earlier than the pace allows, nothing leaves inside a wait that was asked
// for, and no number makes the wait endless.
func TestBadInputIsNoBurst(t *testing.T) {
	const soon, refused = 240 * ms, 2 * time.Second // the pace of an answer, and of a refusal
	past := time.Now().Add(-48 * time.Hour).UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		name   string
		status int
		header http.Header
		body   string
		least  time.Duration
	}{
		{"Retry-After 0", 429, http.Header{"Retry-After": {"0"}}, "", refused},
		{"negative", 429, http.Header{"Retry-After": {"-100"}}, "", refused},
		{"in the past", 429, http.Header{"Retry-After": {past}}, "", refused},
		{"garbage", 429, http.Header{"Retry-After": {"\x00 soon; 5"}}, "", refused},
		{"292 years", 429, http.Header{"Retry-After": {"9223372036"}}, "", refused}, // a time in 2262
		{"more than a number", 429, http.Header{"Retry-After": {"99999999999999999999"}}, "", 24 * time.Hour},
		{"repeated", 429, http.Header{"Retry-After": {"60", "1", "-5", "x"}}, "", time.Minute},
		{"joined", 429, http.Header{"Retry-After": {"60, 1"}}, "", time.Minute},
		{"on a success", 200, http.Header{"Retry-After": {"3600"}}, "", soon},
		{"a reset in the past", 200, http.Header{"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"50"}, "X-Ratelimit-Reset": {"1000000000"}}, "", soon},
		{"used up, reset in the past", 200, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1000000000"}}, "", soon},
		{"more left than there is", 200, http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"1000000"}, "X-Ratelimit-Reset": {"1"}}, "", soon},
		{"a limit of 0", 200, http.Header{"X-Ratelimit-Limit": {"0"}, "X-Ratelimit-Remaining": {"0"}}, "", soon},
		{"no numbers", 200, http.Header{"X-Ratelimit-Limit": {"NaN"}, "X-Ratelimit-Remaining": {"Inf"}, "X-Ratelimit-Reset": {"-Inf"}}, "", soon},
		{"a rate of no number", 200, http.Header{"X-Amzn-Ratelimit-Limit": {"NaN"}}, "", soon},
		{"a rate without end", 200, http.Header{"X-Amzn-Ratelimit-Limit": {"1e400"}}, "", soon},
		{"an error in a success", 200, nil, `{"errors":[{"type":"RATE_LIMITED"}]}`, refused},
		{"endless buckets", 200, http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Bucket": {string(make([]byte, 4096))}}, "", soon},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					if asked++; asked > 1 {
						io.WriteString(w, `{}`)
						return
					}
					maps.Copy(w.Header(), tc.header)
					w.WriteHeader(tc.status)
					io.WriteString(w, tc.body)
				})
				g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{
					Limits: collection.Limits{LongestWait: 400 * 24 * time.Hour},
				}})
				start := time.Now()
				for range 8 {
					fetch(t, g)
				}
				gaps := m.gaps(start)
				for i, gap := range gaps[1:] {
					least := soon
					if i == 0 {
						least = tc.least
					}
					if gap < least {
						t.Errorf("request %d left after %v, want %v at least: %v", i+2, gap, least, gaps)
					}
				}
				if got := time.Since(start); got > 366*24*time.Hour {
					t.Errorf("8 requests took %v", got)
				}
			})
		})
	}
}

// TestReserveIsNoBudgetOfTheRun: the run ends as planned, and no budget of its
// own is told to be used up.
func TestReserveIsNoBudgetOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Ratelimit-Limit"] = []string{"100"}
			w.Header()["X-Ratelimit-Remaining"] = []string{"20"}
			w.Header()["X-Ratelimit-Reset"] = []string{"3000"}
		})
		g := govern(t, pacing.Config{Base: m, Observe: j.observe, Provider: collection.Provider{Reserve: 0.2}})
		mustFetch(t, g)
		stop := stopOf(t, g)
		if stop.Reason != collection.Quota || time.Until(stop.NotBefore) < 3000*time.Second || m.count() != 1 {
			t.Errorf("%+v after %d requests, want a planned stop until the reset after 1", stop, m.count())
		}
		if got := j.of(collection.BudgetExhausted); len(got) != 0 {
			t.Errorf("told: %+v", got)
		}
	})
}
