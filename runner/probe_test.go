package runner_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/runner"
)

// A probing is a shelf that asks for its account first.
type probing struct {
	connectors.Connector
	answer error
	asked  *int
}

func (p probing) Probe(context.Context, *http.Client) error {
	*p.asked++
	return p.answer
}

// TestProbeComesFirst: without the answer of the probe no page is asked for, and
// every stream is owed, whatever stood in its way.
func TestProbeComesFirst(t *testing.T) {
	stop := func(r collection.Reason) error { return fmt.Errorf("probe: %w", &collection.Stop{Reason: r}) }
	for _, reason := range []collection.Reason{"", collection.Auth, collection.Frozen, collection.RequestCap, collection.UpstreamPressure, collection.RateLimited} {
		bubble(t, string(reason), func(t *testing.T) {
			m, p, asked := newMemory(), &provider{n: 7}, 0
			probe := func(answer error) func(*runner.Config) {
				return func(c *runner.Config) { c.Connector = probing{c.Connector, answer, &asked} }
			}
			if reason != "" {
				run, err := do(t, m, p, probe(stop(reason)))
				if err != nil || run.Reason != reason || p.requests() != 0 {
					t.Errorf("ended for %q, %v, after %d requests, want %q after none", run.Reason, err, p.requests(), reason)
				}
				if got, want := homesOwed(m), []string{"details", "items", "notes"}; !slices.Equal(got, want) {
					t.Errorf("owed at %v, want %v", got, want)
				}
				m, asked = m.reopen(), 0
				time.Sleep(24 * time.Hour) // what was under pressure cools down
			}
			run, err := do(t, m, p, probe(nil))
			if err != nil || run.Reason != "" || asked != 1 || run.Tally.Records != 7+7+21 {
				t.Errorf("%+v, %v, after %d probes, want all records after one", run.Tally, err, asked)
			}
		})
	}
}
