package runner_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/runner"
)

// TestARunThatSendsNothingLeavesAllAsItIs: neither the gaps nor the checkpoints
// move while the provider has asked for silence, however often a run begins.
func TestARunThatSendsNothingLeavesAllAsItIs(t *testing.T) {
	for _, test := range []struct {
		mode    collection.Mode
		refused string
	}{
		{collection.Forward, "item-004"}, {collection.Resume, "item-004"},
		{collection.Forward, "item-029"}, {collection.Resume, "item-029"}, // nothing else is left then
	} {
		mode := test.mode
		bubble(t, string(mode)+" "+test.refused, func(t *testing.T) {
			m, p := newMemory(), &provider{n: 30}
			if _, err := do(t, m, p, capped(12)); err != nil {
				t.Fatal(err)
			}
			m = m.reopen()
			p.answer = map[string]*http.Response{"/details/" + test.refused + "?page=": {StatusCode: 429, Header: http.Header{"Retry-After": {"86400"}}}}
			run, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 4 })
			if err != nil || run.Reason != collection.RetryAfter {
				t.Fatalf("ended with %q, %v, want %s", run.Reason, err, collection.RetryAfter)
			}
			asked, owed, at := len(p.asked), m.reopen().owes(), maps.Clone(m.at)
			for turn := range 3 {
				m = m.reopen()
				time.Sleep(time.Hour)
				var told []string
				run, err := do(t, m, p, func(c *runner.Config) {
					c.Concurrency, c.Run.Mode = 4, mode
					c.Observe = func(e collection.Event) {
						if e.Gap != nil {
							told = append(told, fmt.Sprint(e.Kind, " ", e.Gap.ID))
						}
					}
				})
				if err != nil || run.Reason != collection.RetryAfter || len(p.asked) != asked {
					t.Fatalf("run %d ended with %q, %v, after %d requests, want %s and none", turn, run.Reason, err, len(p.asked)-asked, collection.RetryAfter)
				}
				if got := m.reopen().owes(); !slices.Equal(got, owed) { // what was taken for recovery is given back
					t.Errorf("run %d owes %d gaps %+v, want the %d that were owed %+v", turn, len(got), got, len(owed), owed)
				}
				if !maps.Equal(m.at, at) {
					t.Errorf("run %d moved a checkpoint", turn)
				}
				if len(told) > 0 || run.Tally.GapsOpen > 0 || run.Tally.GapsShut > 0 {
					t.Errorf("run %d tells of %v, and counts %d opened and %d filled, want nothing", turn, told, run.Tally.GapsOpen, run.Tally.GapsShut)
				}
			}
			m = m.reopen()
			time.Sleep(24 * time.Hour)
			p.answer = nil
			if _, err := do(t, m, p, nil); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
		})
	}
}
