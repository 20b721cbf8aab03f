package runner_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/runner"
)

// A cautious shelf takes an unexplained 403 for a refusal of the account.
type cautious struct{ connectors.Connector }

func (c cautious) Provider() collection.Provider {
	p := c.Connector.Provider()
	p.Forbidden = collection.Hold
	return p
}

// TestFreezeNamesWhatWasRefused: requests that wait for their turn hear of a freeze
// before the one that was refused does, which names the place all the same.
func TestFreezeNamesWhatWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 20}
		p.fail("/details/item-003?page=", http.StatusForbidden)
		p.before = func(int) { time.Sleep(time.Second) } // so that several wait
		r, err := runner.New(runner.Config{
			Connector: cautious{shelf{}}, Ledger: m, Domain: "shelf", Base: p, Concurrency: 4,
			Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
			Observe: func(e collection.Event) {
				if e.Freeze != nil {
					time.Sleep(time.Second) // the others are faster
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		run, err := r.Do(t.Context())
		stops := r.Stops()
		if err != nil || run.Reason != collection.Frozen || len(stops) != 1 {
			t.Fatalf("ended for %q, %v, with %+v", run.Reason, err, stops)
		}
		const refused = "item=item-003"
		if met := stops[0]; met.At.Partition.String() != refused || met.Stop.Status != http.StatusForbidden {
			t.Errorf("the freeze is told at %s with %d, want %s with 403", met.At.Partition, met.Stop.Status, refused)
		}
		for _, gap := range m.owes() {
			if !strings.HasPrefix(gap.Detail, "403 to details "+refused) {
				t.Errorf("the gap of %s says %q, want what was refused", gap.Stream, gap.Detail)
			}
		}
	})
}
