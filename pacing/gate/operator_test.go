package gate_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/law"
	"collect/pacing/response"
)

// resume opens a gate that continues with state.
func resume(tb testing.TB, p collection.Provider, state []byte, now time.Time) *gate.Gate {
	tb.Helper()
	g := open(tb, p)
	if err := g.Restore(state, now); err != nil {
		tb.Fatal(err)
	}
	return g
}

// attempt lets one request leave as soon as it may, and settles it at once.
// It returns when it left; the stop is what kept it.
func attempt(tb testing.TB, g *gate.Gate, now time.Time, o gate.Outcome) (time.Time, *collection.Stop) {
	tb.Helper()
	for range 10 {
		switch p := g.Plan(&gate.Request{}, now); {
		case p.Stop != nil:
			return now, p.Stop
		case p.Ready:
			g.Settle(now, g.Leave(&gate.Request{}, now), &o)
			return now, nil
		case p.Until.IsZero():
			tb.Fatal("the only request waits for another")
		default:
			now = p.Until
		}
	}
	tb.Fatal("the wait never ends")
	return now, nil
}

var (
	good    = gate.Outcome{Signal: law.Succeeded, Hold: -1}
	failing = gate.Outcome{Signal: law.Failed, Hold: -1}
)

// TestForcedOpen: nothing leaves, across restarts and whatever time passes,
// until the operator releases it; then one probe does.
func TestForcedOpen(t *testing.T) {
	state, events, err := gate.ForceOpen(nil, t0, "maintenance\n\x1b[31m at  acme")
	if err != nil || len(events) != 1 {
		t.Fatalf("ForceOpen: %+v, %v", events, err)
	}
	want := collection.BreakerInfo{Previous: halt.Closed, State: halt.Open, Reason: "forced_by_operator", Trigger: "operator"}
	if *events[0].Breaker != want || !events[0].Time.Equal(t0) {
		t.Errorf("told as %+v, want %+v", *events[0].Breaker, want)
	}
	for _, age := range []time.Duration{0, time.Hour, 1000 * time.Hour} {
		now := t0.Add(age)
		g := resume(t, collection.Provider{}, state, now)
		_, stop := attempt(t, g, now, good)
		if stop == nil || stop.Reason != collection.CircuitOpen || !stop.NotBefore.IsZero() ||
			stop.Detail != "an operator holds the breaker open: maintenance [31m at acme" {
			t.Errorf("after %v: %+v, want circuit_open by an operator", age, stop)
		}
		state = g.Snapshot(now)
	}
	if status, err := gate.Inspect(state, t0.Add(1000*time.Hour)); err != nil || !status.Forced || status.Breaker != halt.Open ||
		!status.ForcedSince.Equal(t0) || status.ForcedNote != "maintenance [31m at acme" || !status.OpenUntil.IsZero() {
		t.Errorf("status %+v, %v, want forced open", status, err)
	}
	if again, events, err := gate.ForceOpen(state, t0, "again"); err != nil || events != nil || !bytes.Equal(again, state) {
		t.Errorf("forced again: %+v, %v, want no change", events, err)
	}

	now := t0.Add(2000 * time.Hour)
	state, events, err = gate.ReleaseBreaker(state, now)
	if err != nil || len(events) != 1 || events[0].Breaker.Reason != "released_by_operator" || events[0].Breaker.State != halt.Open {
		t.Fatalf("ReleaseBreaker: %+v, %v", events, err)
	}
	g := resume(t, collection.Provider{}, state, now)
	now, stop := attempt(t, g, now, failing)
	if stop != nil {
		t.Fatalf("released, and still %+v", stop)
	}
	if got := g.Status(now); got.Forced || got.Breaker != halt.Open {
		t.Errorf("after a probe that failed: %+v, want open by itself", got)
	}
	if state, events, err := gate.ReleaseBreaker(g.Snapshot(now), now); err != nil || events != nil {
		t.Errorf("released again: %s, %+v, %v, want nothing", state, events, err)
	}
}

// TestForcedClosed: no outcome opens it, and what holds requests back for
// another reason still does.
func TestForcedClosed(t *testing.T) {
	g := open(t, collection.Provider{})
	now, bad := t0, 0
	for g.Status(now).Breaker == halt.Closed {
		now, _ = attempt(t, g, now, failing)
		bad++
	}
	state, events, err := gate.ForceClosed(g.Snapshot(now), now, "they fix it by hand")
	if err != nil || len(events) != 1 || events[0].Breaker.Previous != halt.Open || events[0].Breaker.State != halt.Closed {
		t.Fatalf("ForceClosed: %+v, %v", events, err)
	}
	g = resume(t, collection.Provider{}, state, now)
	for range 3 * bad {
		var stop *collection.Stop
		if now, stop = attempt(t, g, now, failing); stop != nil {
			t.Fatalf("stopped: %+v", stop)
		}
	}
	if got := g.Status(now); got.Breaker != halt.Closed || !got.Forced {
		t.Errorf("after %d failures: %+v, want forced closed", 3*bad, got)
	}
	g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Throttled, Hold: time.Hour})
	if _, stop := attempt(t, resume(t, collection.Provider{}, g.Snapshot(now), now), now, good); stop == nil || stop.Reason != collection.RetryAfter {
		t.Errorf("forced closed, inside a hold: %+v, want retry_after", stop)
	}

	state, _, err = gate.ReleaseBreaker(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := gate.Inspect(state, now); err != nil || got.Forced || got.Breaker != halt.Closed {
		t.Errorf("released: %+v, %v, want closed by itself", got, err)
	}
}

// TestForceKeepsWhatWasLearned: whatever an operator does in whatever order,
// the pace, the holds and the counts stay.
func TestForceKeepsWhatWasLearned(t *testing.T) {
	p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 100, Per: time.Hour}}}
	g, now := open(t, p), t0
	for range 20 {
		now, _ = attempt(t, g, now, good)
	}
	g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Throttled, Hold: 30 * time.Second})
	g.SettleUp()
	want := g.Snapshot(now)
	state := want
	step := func(next []byte, events []collection.Event, err error) {
		t.Helper()
		if err != nil || len(events) != 1 {
			t.Fatalf("%+v, %v, want one event", events, err)
		}
		state = next
	}
	step(gate.ForceOpen(state, now, "a"))
	step(gate.ForceClosed(state, now, "b"))
	step(gate.ForceFreeze(state, now, "c"))
	step(gate.ForceOpen(state, now, "d"))
	step(gate.Release(state, now))
	step(gate.ForceHold(state, now, now.Add(time.Hour), "e"))
	step(gate.ForceClosed(state, now, "f"))
	step(gate.ReleaseBreaker(state, now))
	step(gate.Release(state, now))
	state, _, _ = bytes.Cut(state, []byte(`,"saw":`))           // the last field: what the last order was given on
	before, freeze, _ := bytes.Cut(state, []byte(`,"freeze":`)) // which the test request ends
	if _, rest, ok := bytes.Cut(freeze, []byte(`"released":true}`)); !ok || !bytes.Equal(slices.Concat(before, rest, []byte("}")), want) {
		t.Errorf("became\n%s\nof\n%s", state, want)
	}
}

// TestOperatorsFreeze lasts until it is released, and a hold until its time.
func TestOperatorsFreeze(t *testing.T) {
	state, events, err := gate.ForceFreeze(nil, t0, "contract ended")
	if err != nil || len(events) != 1 || !events[0].Freeze.Frozen || events[0].Freeze.Reason != gate.ByOperator {
		t.Fatalf("ForceFreeze: %+v, %v", events, err)
	}
	if _, stop := attempt(t, resume(t, collection.Provider{}, state, t0), t0.Add(9000*time.Hour), good); stop == nil || stop.Reason != collection.Frozen {
		t.Errorf("frozen by an operator: %+v", stop)
	}
	if got, _ := gate.Inspect(state, t0); !got.Frozen || got.FreezeNote != "contract ended" || got.FreezeReason != gate.ByOperator {
		t.Errorf("status %+v", got)
	}
	if _, events, _ := gate.ForceHold(state, t0, t0.Add(time.Hour), "shorter"); events != nil {
		t.Errorf("a hold replaced a freeze: %+v", events)
	}

	// Held longer after the second refusal: the third one is still the third.
	now, g := t0, open(t, collection.Provider{})
	for range 2 {
		now, _ = attempt(t, g, now, gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
		now = g.Status(now).FrozenUntil
	}
	state, _, _ = gate.ForceHold(g.Snapshot(now), now, now.Add(time.Hour), "")
	g = resume(t, collection.Provider{}, state, now.Add(time.Hour))
	now, _ = attempt(t, g, now.Add(time.Hour), gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
	if got := g.Status(now); !got.Frozen || !got.FrozenUntil.IsZero() {
		t.Errorf("refused for the third time: %+v, want an operator's freeze", got)
	}

	until := t0.Add(72 * time.Hour)
	state, _, err = gate.ForceHold(nil, t0, until, "until monday")
	if err != nil {
		t.Fatal(err)
	}
	if _, stop := attempt(t, resume(t, collection.Provider{}, state, t0), until.Add(-time.Second), good); stop == nil || !stop.NotBefore.Equal(until) {
		t.Errorf("held by an operator: %+v, want frozen until %v", stop, until)
	}
	g = resume(t, collection.Provider{}, state, until)
	if at, stop := attempt(t, g, until, good); stop != nil || g.Status(at).Frozen {
		t.Errorf("when the hold ends: %+v, %+v, want a request and a thaw", stop, g.Status(at))
	}
	if _, events, _ := gate.ForceHold(nil, t0, t0, "past"); events != nil {
		t.Errorf("a hold that is over: %+v", events)
	}
}

func TestOperatorsOnABadState(t *testing.T) {
	for name, do := range map[string]func([]byte) ([]byte, []collection.Event, error){
		"ForceOpen":      func(s []byte) ([]byte, []collection.Event, error) { return gate.ForceOpen(s, t0, "") },
		"ForceClosed":    func(s []byte) ([]byte, []collection.Event, error) { return gate.ForceClosed(s, t0, "") },
		"ReleaseBreaker": func(s []byte) ([]byte, []collection.Event, error) { return gate.ReleaseBreaker(s, t0) },
		"ForceFreeze":    func(s []byte) ([]byte, []collection.Event, error) { return gate.ForceFreeze(s, t0, "") },
		"ForceHold":      func(s []byte) ([]byte, []collection.Event, error) { return gate.ForceHold(s, t0, t0.Add(1), "") },
		"Release":        func(s []byte) ([]byte, []collection.Event, error) { return gate.Release(s, t0) },
	} {
		if _, _, err := do([]byte(`{"version":2}`)); err == nil {
			t.Errorf("%s changed what it cannot read", name)
		}
	}
}

// TestNotesAreBounded: an operator's words are one line that stays readable.
func TestNotesAreBounded(t *testing.T) {
	state, _, _ := gate.ForceOpen(nil, t0, strings.Repeat("ü", 500))
	if got, err := gate.Inspect(state, t0); err != nil || got.ForcedNote != strings.Repeat("ü", 100) {
		t.Errorf("kept %d bytes: %q, %v", len(got.ForcedNote), got.ForcedNote, err)
	}
}

// TestReleaseLiftsTheBound that a refusal of the account left on the pace, also
// when the freeze is over, because a test request was answered.
func TestReleaseLiftsTheBound(t *testing.T) {
	const known = `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","heard_at":"2026-11-21T10:00:00Z","interval_ns":1000000000,
		"plateau":{"target_per_second":1,"banned_per_second":0.5}`
	for name, state := range map[string]string{
		"frozen": known + `,"freeze":{"strikes":1,"until":"2026-11-21T10:15:00Z","reason":"forbidden","since":"2026-11-21T10:00:00Z"}}`,
		"thawed": known + `}`,
		"of a route": `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","routes":[{},{"key":"core","memory":{"interval_ns":1000000000,
			"heard_at":"2026-11-21T10:00:00Z","plateau":{"target_per_second":1,"banned_per_second":0.5}}}]}`,
	} {
		bounded := func(state []byte) bool { return bytes.Contains(state, []byte("banned_per_second")) }
		released, events, err := gate.Release([]byte(state), t0)
		if err != nil || bounded(released) || len(events) != 1 {
			t.Errorf("%s: released: %s, %v, %v", name, released, events, err)
		}
		g := resume(t, collection.Provider{}, []byte(state), t0)
		if err := g.Obey(released, t0); err != nil || bounded(g.Snapshot(t0)) {
			t.Errorf("%s: a run that obeyed: %s, %v", name, g.Snapshot(t0), err)
		}
		if amended, err := gate.Amend([]byte(state), released, t0); err != nil || bounded(amended) {
			t.Errorf("%s: a state that was saved meanwhile: %s, %v", name, amended, err)
		}
		// Another order, by who saw it and let it be, does not lift it.
		opened, _, err := gate.ForceOpen([]byte(state), t0, "noon")
		if err != nil || !bounded(opened) {
			t.Fatalf("%s: held open: %s, %v", name, opened, err)
		}
		g = resume(t, collection.Provider{}, []byte(state), t0)
		if err := g.Obey(opened, t0); err != nil || !bounded(g.Snapshot(t0)) {
			t.Errorf("%s: a run that was held open: %s, %v", name, g.Snapshot(t0), err)
		}
		if again, events, err := gate.Release(released, t0); err != nil || len(events) != 0 || !bytes.Equal(again, released) {
			t.Errorf("%s: released twice: %s, %v, %v", name, again, events, err)
		}
	}
}

// TestReleaseAsksDuringASilence: who knows that a provider has granted more since lets one
// request ask before the end of its silence, and only that one; its answer decides.
func TestReleaseAsksDuringASilence(t *testing.T) {
	provider := collection.Provider{Reserve: 0.5}
	refused := gate.Outcome{Signal: law.Throttled, Hold: -1}
	for name, o := range map[string]gate.Outcome{
		"asked for":          {Signal: law.Throttled, Hold: 10 * time.Minute},
		"of a route":         {Signal: law.Throttled, Hold: 10 * time.Minute, Key: "core"},
		"nothing is left":    nothingOf(100, 24*time.Hour, 10*time.Minute),
		"half is for people": {Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{{Name: "h", Limit: 100, Remaining: 40, Reset: 30 * time.Minute, Window: time.Hour}}},
		"a back-off":         refused,
	} {
		now, g := t0, open(t, provider)
		rounds := 1
		if name == "a back-off" {
			rounds = 12 // until its pauses are long
		}
		for range rounds {
			now, _ = attempt(t, g, now, o)
		}
		p := g.Plan(&gate.Request{}, now)
		if p.Ready || p.Stop == nil && p.Until.Sub(now) < time.Minute {
			t.Fatalf("%s: no silence: %+v", name, p)
		}
		state := g.Snapshot(now)
		released, events, err := gate.Release(state, now)
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: released: %v, %v", name, events, err)
		}
		obeyed := resume(t, provider, state, now)
		if err := obeyed.Obey(released, now); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		amended, err := gate.Amend(state, released, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for how, g := range map[string]*gate.Gate{"next": resume(t, provider, released, now), "obeyed": obeyed,
			"amended": resume(t, provider, amended, now)} {
			soon := now.Add(20 * time.Second) // a pace may be slow
			if p := g.Plan(&gate.Request{}, soon); !p.Ready {
				t.Errorf("%s, %s: the test request waits: %+v", name, how, p)
				continue
			}
			test := g.Leave(&gate.Request{}, soon)
			refusing, err := gate.New(provider, "", time.Minute, 4)
			if err == nil {
				err = refusing.Restore(g.Snapshot(soon), soon)
			}
			if err != nil {
				t.Fatal(err)
			}
			later := soon.Add(time.Minute)
			if p := g.Plan(&gate.Request{}, later); p.Ready {
				t.Errorf("%s, %s: another request leaves before the test is answered", name, how)
			}
			g.Settle(later, test, &good)
			if at, stop := attempt(t, g, later, good); stop != nil || at.Sub(later) > time.Minute || g.Status(at).Frozen {
				t.Errorf("%s, %s: answered, and the next one leaves after %v: %+v", name, how, at.Sub(later), stop)
			}
			// The same, refused: the silence is begun anew, and released anew.
			again := o
			again.Signal = law.Throttled
			refusing.Settle(soon, refusing.Leave(&gate.Request{}, soon), &again)
			if p := refusing.Plan(&gate.Request{}, soon.Add(5*time.Second)); p.Ready {
				t.Errorf("%s, %s: the test was refused, and the next one leaves", name, how)
			}
			anew, events, err := gate.Release(refusing.Snapshot(soon), soon)
			if err == nil {
				err = refusing.Obey(anew, soon)
			}
			if p := refusing.Plan(&gate.Request{}, soon.Add(20*time.Second)); err != nil || len(events) != 1 || !p.Ready {
				t.Errorf("%s, %s: released again: %v, %v, %+v", name, how, events, err, p)
			}
		}
	}
	if _, events, err := gate.Release(open(t, provider).Snapshot(t0), t0); err != nil || len(events) != 0 {
		t.Errorf("nothing holds: %v, %v", events, err)
	}
}

// TestAskingIsForOneRequest: unless it is answered well, the silence goes on to its end,
// whatever else came back.
func TestAskingIsForOneRequest(t *testing.T) {
	hour := gate.Outcome{Signal: law.Throttled, Hold: time.Hour}
	for name, o := range map[string]gate.Outcome{
		"a refusal that says no more": {Signal: law.Throttled, Hold: -1},
		"a refusal for a second":      {Signal: law.Throttled, Hold: time.Second},
		"an outage":                   {Signal: law.Throttled, Weak: true, Hold: -1},
		"a failure":                   failing,
		"nothing":                     {Signal: law.Silent, Hold: -1},
		"a lost request":              {Signal: law.Failed, Hold: -1, Overdue: true},
	} {
		g := open(t, collection.Provider{})
		now, _ := attempt(t, g, t0, hour)
		ends := now.Add(time.Hour)
		obey(t, g, now)
		left := 0
		for ; now.Before(ends); now = now.Add(time.Second) {
			if g.Plan(&gate.Request{}, now).Ready {
				left++
				g.Settle(now, g.Leave(&gate.Request{}, now), &o)
			}
		}
		if left != 1 {
			t.Errorf("%s: %d requests left in the hour, want 1", name, left)
		}
	}
}

// TestOthersWaitForTheOneThatAsks, however long the silence is: what it brings decides.
func TestOthersWaitForTheOneThatAsks(t *testing.T) {
	hour := gate.Outcome{Signal: law.Throttled, Hold: time.Hour}
	for _, o := range []gate.Outcome{good, failing, hour} {
		g, err := gate.New(collection.Provider{}, "", time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		now := t0
		g.Settle(now, g.Leave(&gate.Request{}, now), &hour)
		obey(t, g, now)
		now = now.Add(10 * time.Second)
		asks := g.Leave(&gate.Request{}, now)
		other := gate.Request{Deadline: now.Add(20 * time.Minute)}
		if p := g.Plan(&other, now); p != (gate.Plan{}) || g.Refuse(&other, now) != nil {
			t.Errorf("while one asks, another one is told %+v, %v", p, g.Refuse(&other, now))
		}
		g.Settle(now, asks, &o)
		p := g.Plan(&other, now.Add(10*time.Second))
		if want := o.Signal == law.Succeeded; p.Ready != want || (p.Stop == nil) != want {
			t.Errorf("after %+v another one is told %+v", o, p)
		}
	}
}

// TestAnOrderToAskEndsWithItsSilence: who gave it did not see the next one.
func TestAnOrderToAskEndsWithItsSilence(t *testing.T) {
	for _, first := range []gate.Outcome{{Signal: law.Throttled, Hold: 10 * time.Minute}, {Signal: law.Throttled, Hold: -1}} {
		g := open(t, collection.Provider{})
		now := t0
		for range 10 {
			if next, stop := attempt(t, g, now, first); stop == nil {
				now = next
			}
		}
		order, _, err := gate.Release(g.Snapshot(now), now)
		if err == nil {
			err = g.Obey(order, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !g.Status(now).Asks {
			t.Fatalf("%+v: no order", first)
		}
		now = now.Add(2 * time.Hour)
		if g.Status(now).Asks {
			t.Errorf("%+v: the silence is over, and the order to ask is not", first)
		}
		for range 3 {
			now, _ = attempt(t, g, now, good)
		}
		for range 10 {
			now, _ = attempt(t, g, now, gate.Outcome{Signal: law.Throttled, Hold: -1})
			if g.Status(now).Asks {
				t.Errorf("%+v: the order is given for the next pause, too", first)
			}
		}
		now, _ = attempt(t, g, now, gate.Outcome{Signal: law.Throttled, Hold: time.Hour})
		if p := g.Plan(&gate.Request{}, now.Add(time.Minute)); p.Ready {
			t.Errorf("%+v: a request leaves in the next silence", first)
		}
	}
}

// obey carries out the order that lets one request ask, as it is given at now.
func obey(t *testing.T, g *gate.Gate, now time.Time) {
	t.Helper()
	order, events, err := gate.Release(g.Snapshot(now), now)
	if err == nil {
		err = g.Obey(order, now)
	}
	if err != nil || len(events) != 1 {
		t.Fatalf("the order to ask: %v, %v", events, err)
	}
}

// TestAskingIsAboutOneRoute: what another route is answered says nothing of the one that is
// silent, and does not use the order up.
func TestAskingIsAboutOneRoute(t *testing.T) {
	g := open(t, collection.Provider{})
	send := func(stream string, o gate.Outcome, now time.Time) (left bool) {
		r := gate.Request{Stream: stream}
		if left = g.Plan(&r, now).Ready; left {
			g.Settle(now, g.Leave(&r, now), &o)
		}
		return left
	}
	now := t0
	core, search := gate.Outcome{Signal: law.Succeeded, Hold: -1, Key: "core"}, gate.Outcome{Signal: law.Succeeded, Hold: -1, Key: "search"}
	for range 5 {
		now = now.Add(10 * time.Second)
		send("a", core, now)
		now = now.Add(10 * time.Second)
		send("b", search, now)
	}
	now = now.Add(10 * time.Second)
	send("a", gate.Outcome{Signal: law.Throttled, Hold: time.Hour, Key: "core"}, now)
	obey(t, g, now)
	for range 3 {
		if now = now.Add(10 * time.Second); !send("b", search, now) {
			t.Fatal("the other route waits")
		}
	}
	now = now.Add(10 * time.Second)
	send("b", gate.Outcome{Signal: law.Throttled, Hold: time.Second, Key: "search"}, now)
	now = now.Add(10 * time.Second)
	if !g.Status(now).Asks {
		t.Fatal("a request of the other route, or its refusal, used the order up")
	}
	now = now.Add(10 * time.Second)
	if !send("a", core, now) || !send("a", core, now.Add(10*time.Second)) {
		t.Error("answered well, and the silent route waits")
	}
}

// TestAskingIsOfWhatWasSeen: an order does not lift a silence that its giver did not see, and
// hides no refusal of the account.
func TestAskingIsOfWhatWasSeen(t *testing.T) {
	minutes := gate.Outcome{Signal: law.Throttled, Hold: 2 * time.Minute}
	longer := gate.Outcome{Signal: law.Throttled, Hold: 6 * time.Hour}
	flying := func() (*gate.Gate, gate.Pass, time.Time) {
		g, err := gate.New(collection.Provider{}, "", time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		first := g.Leave(&gate.Request{}, t0)
		second := g.Leave(&gate.Request{}, t0)
		now := t0.Add(time.Second)
		g.Settle(now, first, &minutes)
		return g, second, now
	}
	g, second, now := flying()
	order, _, err := gate.Release(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	g.Settle(now, second, &longer)
	if err := g.Obey(order, now); !errors.Is(err, gate.ErrStale) {
		t.Errorf("a longer silence came before the order: %v", err)
	}
	if _, err := gate.Amend(g.Snapshot(now), order, now); !errors.Is(err, gate.ErrStale) {
		t.Errorf("a longer silence was saved before the order: %v", err)
	}

	for _, o := range []gate.Outcome{longer, {Signal: law.Throttled, Hold: -1}, nothingOf(100, 24*time.Hour, 6*time.Hour)} {
		g, second, now = flying()
		obey(t, g, now)
		g.Settle(now, second, &o)
		if p := g.Plan(&gate.Request{}, now.Add(time.Minute)); p.Ready {
			t.Errorf("%+v came after the order, and a request leaves", o)
		}
	}

	g, second, now = flying()
	obey(t, g, now)
	asks := g.Leave(&gate.Request{}, now.Add(10*time.Second))
	now = now.Add(11 * time.Second)
	g.Settle(now, second, &longer)
	g.Settle(now, asks, &good)
	if p := g.Plan(&gate.Request{}, now.Add(time.Minute)); p.Ready {
		t.Error("a longer silence came while one asked, and a request leaves")
	}

	for range 20 { // the end of a silence is a moment later by chance
		g, second, now = flying()
		obey(t, g, now)
		g.Settle(now, second, &gate.Outcome{Signal: law.Succeeded, Hold: minutes.Hold})
		if p := g.Plan(&gate.Request{}, now.Add(10*time.Second)); !p.Ready {
			t.Fatalf("the same silence was told again, and nothing asks: %+v", p)
		}
	}

	g, second, now = flying()
	obey(t, g, now)
	g.Settle(now, second, &gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
	if s := g.Status(now); !s.Frozen || !s.FrozenUntil.Equal(now.Add(15*time.Minute)) {
		t.Errorf("refused after the order: %+v, want frozen for 15 min", s)
	}
}

// TestAnOrderToAskIsDoneOnce: what carried it out does not do so again when it is handed the
// order once more.
func TestAnOrderToAskIsDoneOnce(t *testing.T) {
	hour := gate.Outcome{Signal: law.Throttled, Hold: time.Hour}
	g := open(t, collection.Provider{})
	now, _ := attempt(t, g, t0, hour)
	order, _, err := gate.Release(g.Snapshot(now), now)
	if err == nil {
		err = g.Obey(order, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := g.Leave(&gate.Request{}, now.Add(time.Second))
	if !p.Save {
		t.Error("the request leaves before it is saved that it did")
	}
	state := g.Snapshot(now.Add(time.Second))
	again, err := gate.Hand(state, order, now.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if p := resume(t, collection.Provider{}, again, now.Add(2*time.Second)).Plan(&gate.Request{}, now.Add(time.Minute)); p.Ready {
		t.Error("the next process asks once more")
	}
}

// TestForcedForATime: at its end one probe leaves and decides, in a process that was
// there before and in one that was not; a breaker that was held closed decides again.
func TestForcedForATime(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		state, events, err := gate.ForceOpenUntil(nil, t0, t0.Add(time.Hour), "maintenance")
		if err != nil || len(events) != 1 {
			t.Fatalf("ForceOpenUntil: %+v, %v", events, err)
		}
		if _, events, err := gate.ForceOpenUntil(state, t0, t0.Add(2*time.Hour), "longer"); err != nil || len(events) != 1 {
			t.Errorf("for another time: %+v, %v, want a change", events, err)
		}
		now := t0.Add(time.Hour - time.Millisecond)
		g := resume(t, collection.Provider{}, state, now)
		if _, stop := attempt(t, g, now, good); stop == nil || stop.Reason != collection.CircuitOpen || !stop.NotBefore.Equal(t0.Add(time.Hour)) {
			t.Errorf("before its end: %+v, want circuit_open until its end", stop)
		}
		if got := g.Status(now); !got.Forced || !got.OpenUntil.Equal(t0.Add(time.Hour)) {
			t.Errorf("before its end: %+v, want forced open until its end", got)
		}
		if now = t0.Add(time.Hour); restarted {
			g = resume(t, collection.Provider{}, state, now)
		}
		now, stop := attempt(t, g, now, failing)
		if got := g.Status(now); stop != nil || got.Forced || got.Breaker != halt.Open {
			t.Errorf("restarted: %t: at its end %+v, %+v, want a probe that failed", restarted, stop, got)
		}
	}

	state, _, err := gate.ForceClosedUntil(nil, t0, t0.Add(time.Hour), "")
	if err != nil {
		t.Fatal(err)
	}
	g, now := resume(t, collection.Provider{}, state, t0), t0
	for range 50 {
		now, _ = attempt(t, g, now, failing)
	}
	if got := g.Status(now); got.Breaker != halt.Closed || now.After(t0.Add(time.Hour)) {
		t.Fatalf("held closed: %+v after %v", got, now.Sub(t0))
	}
	now = t0.Add(time.Hour)
	for range 50 {
		now, _ = attempt(t, g, now, failing)
	}
	if got := g.Status(now); got.Forced || got.Breaker != halt.Open {
		t.Errorf("after its time: %+v, want open by itself", got)
	}
}
