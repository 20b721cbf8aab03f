package runner_test

import (
	"testing"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// TestARunGoesOnWithABackfill: one that was begun and cut short is finished by the runs
// that come anyway, behind their own work, each request once; one that is at its end,
// and streams whose backfill nobody began, are left alone.
func TestARunGoesOnWithABackfill(t *testing.T) {
	for _, mode := range []collection.Mode{collection.Forward, collection.Resume} {
		bubble(t, string(mode), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			sent := func(change func(*runner.Config)) int64 {
				t.Helper()
				before := p.requests()
				m = m.reopen()
				if _, err := do(t, m, p, change); err != nil {
					t.Fatal(err)
				}
				return int64(p.requests() - before)
			}
			backfill := func(requests int64, streams ...string) func(*runner.Config) {
				return func(c *runner.Config) {
					c.Run.Lane, c.Streams = collection.Backfill, streams
					c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: requests})
				}
			}
			plain := func(c *runner.Config) { c.Run.Mode, c.Onward = mode, true }
			all, again := sent(nil), sent(plain)
			if got := sent(backfill(2, "items")); got != 2 {
				t.Fatalf("the backfill of one stream sent %d requests, want 2", got)
			}
			if got := sent(func(c *runner.Config) { c.Run.Mode = mode }); got != again || len(m.owes()) == 0 {
				t.Errorf("a run of one lane sent %d requests and owes %d gaps, want %d, and the backfill's", got, len(m.owes()), again)
			}
			if got := sent(plain); got != again+1 {
				t.Errorf("a run behind the backfill of one stream sent %d requests, want %d and the one that was left", got, again)
			}
			if got := sent(backfill(5)); got != 5 {
				t.Fatalf("the backfill of all streams sent %d requests, want 5", got)
			}
			if got, want := sent(plain), again+all-3-5; got != want {
				t.Errorf("the run that finishes the backfill sent %d requests, want %d", got, want)
			}
			for _, stream := range []string{"items", "details", "notes"} {
				if at := m.at[collection.Place{Stream: stream, Lane: collection.Backfill}]; !at.Done {
					t.Errorf("the backfill of %s is not at its end: %+v", stream, at)
				}
			}
			checkAll(t, m, p)
			if got := sent(plain); got != again {
				t.Errorf("a run behind a backfill at its end sent %d requests, want %d", got, again)
			}
		})
	}
}
