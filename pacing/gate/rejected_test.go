package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestRejectedLongAgo: a rejected credential is told with the time at which it was rejected, by a later process and by
// whoever looks at the state, however long ago that was, until something is answered.
func TestRejectedLongAgo(t *testing.T) {
	g, now := resume(t, collection.Provider{}, nil, t0), t0
	g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Silent, Hold: -1, Rejected: true})
	state := g.Snapshot(now)
	for _, later := range []time.Duration{0, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
		now := t0.Add(later)
		seen, err := gate.Inspect(state, now)
		if err != nil || !seen.RejectedAt.Equal(t0) {
			t.Errorf("after %v: seen as rejected at %v, %v, want %v", later, seen.RejectedAt, err, t0)
		}
		g := resume(t, collection.Provider{}, state, now)
		if at := g.Status(now).RejectedAt; !at.Equal(t0) {
			t.Errorf("after %v: rejected at %v, want %v", later, at, t0)
		}
		if again := g.Snapshot(now); later > 0 {
			if seen, err := gate.Inspect(again, now); err != nil || !seen.RejectedAt.Equal(t0) {
				t.Errorf("after %v: kept as rejected at %v, %v, want %v", later, seen.RejectedAt, err, t0)
			}
		}
		g.Settle(now, g.Leave(&gate.Request{}, now), &good)
		if at := g.Status(now).RejectedAt; !at.IsZero() {
			t.Errorf("after %v and an answer: rejected at %v", later, at)
		}
	}
}
