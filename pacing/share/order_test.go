package share_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
)

// TestOrder: an operator's order is heard by a process that leads, at once, and
// else by the next one.
func TestOrder(t *testing.T) {
	c := account(t, unpaced)
	enter := func() (*share.Desk, *pacing.Governor) {
		d := join(t, c)
		return d, govern(t, &provider{}, []*share.Desk{d}, pacing.BudgetLimits{})[0]
	}
	order := func(change func([]byte, time.Time, string) ([]byte, []collection.Event, error)) {
		state, _, err := change(nil, time.Now(), "maintenance")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := share.Order(t.Context(), c.At, state); err != nil {
			t.Fatal(err)
		}
	}
	stopped := func(when string, g *pacing.Governor, want collection.Reason) {
		t.Helper()
		stop, _ := errors.AsType[*collection.Stop](get(t.Context(), g, "acme.test"))
		if got := stop; want == "" && got != nil || want != "" && (got == nil || got.Reason != want) {
			t.Errorf("%s: %v, want %q", when, got, want)
		}
	}
	d, g := enter()
	stopped("before", g, "")
	order(gate.ForceOpen)
	stopped("held open by an operator", g, collection.CircuitOpen)
	d.Close()
	d, g = enter()
	stopped("in the next process", g, collection.CircuitOpen)
	d.Close()
	order(gate.ForceFreeze)
	d, g = enter()
	defer d.Close()
	stopped("frozen by an operator while nobody led", g, collection.Frozen)
}

// TestOrderIsRecorded by the process that leads and by its guests. Who only
// asks takes no part.
func TestOrderIsRecorded(t *testing.T) {
	c := account(t, unpaced)
	state, events, err := gate.ForceOpen(nil, time.Now(), "maintenance")
	if err != nil {
		t.Fatal(err)
	}
	if heard, err := share.Order(t.Context(), c.At, state, events...); heard || err != nil {
		t.Errorf("an order that nobody can hear: heard %t, %v", heard, err)
	}
	var told []chan []collection.Event
	for range 2 {
		recorded := make(chan []collection.Event, 1)
		told = append(told, recorded)
		c.Obeyed = func(events []collection.Event) { recorded <- events }
		defer join(t, c).Close()
	}
	now, present, err := share.Present(t.Context(), c.At)
	if want := []collection.Holder{{PID: os.Getpid()}, {PID: os.Getpid()}}; err != nil || !slices.Equal(present, want) {
		t.Errorf("processes %v, %v; want %v", present, err, want)
	}
	if st, err := gate.Inspect(now, time.Now()); err != nil || !st.Forced {
		t.Errorf("the state that they have: %+v, %v; want the breaker that was ordered before", st, err)
	}
	if state, events, err = gate.ReleaseBreaker(now, time.Now()); err != nil {
		t.Fatal(err)
	}
	if heard, err := share.Order(t.Context(), c.At, state, events...); !heard || err != nil {
		t.Fatalf("heard %t, %v", heard, err)
	}
	for i, recorded := range told {
		select {
		case got := <-recorded:
			if len(got) != 1 || got[0].Kind != collection.BreakerChanged {
				t.Errorf("process %d was told of %+v", i, got)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("process %d was not told", i)
		}
	}
}

// TestStaleOrder: who releases a freeze that was replaced since is told, whether
// somebody leads or not, and the newer one stays.
func TestStaleOrder(t *testing.T) {
	c := account(t, unpaced)
	join(t, c).Close() // somebody met there
	give := func(state []byte, _ []collection.Event, err error) ([]byte, error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		heard, err := share.Order(t.Context(), c.At, state)
		if heard && err != nil {
			t.Errorf("heard, with %v", err)
		}
		return state, err
	}
	now := time.Now()
	saw, err := give(gate.ForceHold(nil, now, now.Add(time.Hour), "lunch"))
	if err == nil {
		_, err = give(gate.ForceFreeze(saw, now.Add(time.Second), "contract ended"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := give(gate.Release(saw, now)); !errors.Is(err, gate.ErrStale) {
		t.Errorf("where nobody leads: %v, want %v", err, gate.ErrStale)
	}
	defer join(t, c).Close()
	if _, err := give(gate.Release(saw, now)); err == nil || err.Error() != gate.ErrStale.Error() {
		t.Errorf("where somebody leads: %v, want %v", err, gate.ErrStale)
	}
	state, _, err := share.Present(t.Context(), c.At)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := gate.Inspect(state, time.Now()); err != nil || st.FreezeNote != "contract ended" {
		t.Errorf("frozen for %q, %v; want the newer freeze", st.FreezeNote, err)
	}
}
