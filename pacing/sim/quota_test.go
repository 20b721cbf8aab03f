package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// The words of Salesforce, for a day's requests as well as for too many at once,
// and of Google, for a day's with the wait of a minute's.
const (
	salesforceLimit = `[{"message":"TotalRequests Limit exceeded.","errorCode":"REQUEST_LIMIT_EXCEEDED"}]`
	googleDay       = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure",` +
		`"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"32s"}]}}`
)

// TestQuotasThatEndSoon: what a provider calls a quota, and grants again within
// minutes, is a pace and is learned as one.
func TestQuotasThatEndSoon(t *testing.T) {
	for _, tc := range []struct {
		name    string
		limit   func() sim.Limiter
		silence float64
		share   float64 // of the work of an hour
		refused int     // in it
	}{
		{"a bucket of 5 a second", func() sim.Limiter { return sim.Bucket(5, 10) }, 0, 0.92, 25},
		{"and a second of silence", func() sim.Limiter { return sim.Bucket(5, 10) }, 1, 0.92, 25},
		{"300 a minute", func() sim.Limiter { return sim.Window(300, 60) }, 0, 0.92, 55}, // 3 of 1000, as of a 429
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(tc.limit(), ordinary).Refuse(403, salesforceLimit, tc.silence)
				var state []byte
				sim.Play(p, sim.Owned(perSecond(20), 8), time.Hour, &state)
				share := float64(p.AnsweredBy(3600)) / (5 * 3600)
				refused, requests := p.Refused()
				t.Logf("%.1f %% of the work, %d of %d refused", 100*share, refused, requests)
				if share < tc.share || refused > tc.refused {
					t.Errorf("%.1f %% of the work, %d refused, want at least %.0f %% and at most %d", 100*share, refused, 100*tc.share, tc.refused)
				}
				sim.Play(p, sim.Owned(perSecond(20), 8), 10*time.Minute, &state)
				share = float64(p.AnsweredBy(4200)-p.AnsweredBy(3600)) / (5 * 600)
				again, _ := p.Refused()
				t.Logf("and in the next run %.1f %%, %d refused", 100*share, again-refused)
				if share < 0.9 || again-refused > 4 {
					t.Errorf("and in the next run %.1f %%, %d refused, want it kept", 100*share, again-refused)
				}
			})
		})
	}
}

// TestQuotasThatLast: one that is not granted again for hours is asked for ever
// more rarely, and within an hour of its end.
func TestQuotasThatLast(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		silence float64
	}{
		{"Salesforce", 403, salesforceLimit, 0},
		{"Salesforce, with a minute of silence", 403, salesforceLimit, 60},
		{"Google", 429, googleDay, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(sim.Window(2000, 7*3600), ordinary).Refuse(tc.status, tc.body, tc.silence)
				var state []byte
				for range 2 { // the second run goes on as the first would
					sim.Play(p, sim.Owned(perSecond(20), 8), 195*time.Minute, &state)
				}
				refused, _ := p.Refused()
				sim.Play(p, sim.Owned(perSecond(20), 8), 100*time.Minute, &state)
				later := p.AnsweredBy(7*3600+3660) - 2000
				t.Logf("%d refused in six hours, %d answered an hour after its end", refused, later)
				if refused > 40 || later < 1 {
					t.Errorf("%d refused in six hours, want a few dozen at most; %d answered an hour after its end, want some", refused, later)
				}
			})
		})
	}
}
