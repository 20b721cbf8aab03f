package gate_test

import (
	"errors"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/law"
)

// forbidden is a 403 that nobody can explain.
var forbidden = gate.Outcome{Signal: law.Answered, Hold: -1, Refused: "forbidden"}

// TestOrdersAreEdits: an order changes what its giver saw, and nothing that was
// said since.
func TestOrdersAreEdits(t *testing.T) {
	const testAfter = 16 * time.Minute
	send := func(o gate.Outcome) func(*gate.Gate, time.Time) {
		return func(g *gate.Gate, now time.Time) { g.Settle(now, g.Leave(&gate.Request{}, now), &o) }
	}
	obey := func(give func([]byte, time.Time, string) ([]byte, []collection.Event, error)) func(*gate.Gate, time.Time) {
		return func(g *gate.Gate, now time.Time) {
			order, _, err := give(g.Snapshot(now), now, "another operator")
			if err == nil {
				err = g.Obey(order, now)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	both := func(a, b func(*gate.Gate, time.Time)) func(*gate.Gate, time.Time) {
		return func(g *gate.Gate, now time.Time) { a(g, now); b(g, now) }
	}
	release := func(s []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
		return gate.Release(s, now)
	}
	unhold := func(s []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
		return gate.ReleaseBreaker(s, now)
	}
	hold := func(s []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
		return gate.ForceHold(s, now, now.Add(time.Minute), note)
	}
	nothing := func(*gate.Gate, time.Time) {}
	for _, tc := range []struct {
		name    string
		before  func(*gate.Gate, time.Time)
		since   func(*gate.Gate, time.Time) // the look
		order   func([]byte, time.Time, string) ([]byte, []collection.Event, error)
		stale   bool
		frozen  bool
		person  bool // only one ends it
		breaker string
	}{
		{"a freeze that was seen", send(forbidden), nothing, release, false, false, false, halt.Closed},
		{"one whose test was refused since", send(forbidden), send(forbidden), release, true, true, false, halt.Closed},
		{"one that ended since", send(forbidden), send(good), release, false, false, false, halt.Closed},
		{"one that ended, and another began", send(forbidden), both(send(good), send(forbidden)), release, true, true, false, halt.Closed},
		{"one that an operator made longer", send(forbidden), obey(gate.ForceFreeze), release, true, true, true, halt.Closed},
		{"a breaker, and a refusal since", nothing, send(forbidden), gate.ForceClosed, false, true, false, halt.Closed},
		{"a breaker that was seen", obey(gate.ForceOpen), nothing, unhold, false, false, false, halt.Open},
		{"one that is held otherwise since", obey(gate.ForceClosed), obey(gate.ForceOpen), unhold, true, false, false, halt.Open},
		{"a freeze, and a breaker since", send(forbidden), obey(gate.ForceOpen), release, false, false, false, halt.Open},
		{"a breaker that was released since", obey(gate.ForceClosed), obey(unhold), unhold, false, false, false, halt.Closed},
		{"a breaker that another holds otherwise since", nothing, obey(gate.ForceClosed), gate.ForceOpen, false, false, false, halt.Open},
		{"a hold, and a longer freeze since", nothing, obey(gate.ForceFreeze), hold, false, true, true, halt.Closed},
	} {
		g, now := open(t, collection.Provider{Unpaced: true}), t0
		tc.before(g, now)
		saw := g.Snapshot(now)
		now = now.Add(testAfter)
		order, events, err := tc.order(saw, now, "")
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: %+v, %v", tc.name, events, err)
		}
		now = now.Add(ms)
		tc.since(g, now)
		stood := g.Snapshot(now)
		if err := g.Obey(order, now); errors.Is(err, gate.ErrStale) != tc.stale || err != nil && !tc.stale {
			t.Errorf("%s: obeyed with %v, want stale %t", tc.name, err, tc.stale)
		}
		check := func(who string, st gate.Status) {
			t.Helper()
			person := st.Frozen && st.FrozenUntil.IsZero()
			if st.Frozen != tc.frozen || person != tc.person || st.Breaker != tc.breaker {
				t.Errorf("%s: %s is frozen %t, for a person %t, and %s; want %t, %t and %s",
					tc.name, who, st.Frozen, person, st.Breaker, tc.frozen, tc.person, tc.breaker)
			}
		}
		check("it", g.Status(now))
		// The same where it was left behind, and nobody leads.
		next, err := gate.Hand(stood, order, now)
		if errors.Is(err, gate.ErrStale) != tc.stale || err != nil && !tc.stale {
			t.Errorf("%s: left to the next with %v, want stale %t", tc.name, err, tc.stale)
		}
		if err != nil {
			continue
		}
		st, err := gate.Inspect(next, now)
		if err != nil {
			t.Fatal(err)
		}
		check("the next", st)
	}
}

// TestHand leaves the order as it is where nothing newer can be read.
func TestHand(t *testing.T) {
	older := open(t, collection.Provider{}).Snapshot(t0)
	order, _, err := gate.ForceOpen(older, t0.Add(time.Second), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "{", string(older), `{"version":99,"recorded_at":"2999-01-01T00:00:00Z"}`} {
		if got, err := gate.Hand([]byte(state), order, t0); err != nil || string(got) != string(order) {
			t.Errorf("Hand(%s) = %s, %v, want the order", state, got, err)
		}
	}
	if _, err := gate.Hand(older, []byte(`{"version":99}`), t0); err == nil {
		t.Error("an order that cannot be read is handed on")
	}
}

// TestAmend keeps what was said since, also where the clock was set back and
// what was said seems older than the order.
func TestAmend(t *testing.T) {
	g := open(t, collection.Provider{Unpaced: true})
	order, _, err := gate.ForceOpen(g.Snapshot(t0), t0, "")
	if err != nil {
		t.Fatal(err)
	}
	earlier := t0.Add(-time.Hour)
	g = open(t, collection.Provider{Unpaced: true})
	g.Settle(earlier, g.Leave(&gate.Request{}, earlier), &forbidden)
	said, now := g.Snapshot(earlier), earlier.Add(ms)
	next, err := gate.Amend(said, order, now)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := gate.Inspect(next, now); err != nil || !st.Frozen || st.Breaker != halt.Open {
		t.Errorf("amended it is frozen %t with breaker %s, %v; want both", st.Frozen, st.Breaker, err)
	}
	if got := gate.Newest(said, next); string(got) != string(next) {
		t.Error("what an order changed is older than what it was made of")
	}
	if got, err := gate.Amend(nil, order, t0); err != nil || string(got) != string(order) {
		t.Errorf("Amend of nothing = %s, %v, want the order", got, err)
	}
}
