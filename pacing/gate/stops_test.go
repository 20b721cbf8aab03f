package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// TestDeadlineStopsWaits: a wait that would not end before the run does is not
// begun, to the instant; a run without an end waits.
func TestDeadlineStopsWaits(t *testing.T) {
	p := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1, Per: 20 * time.Second}}}
	g := open(t, p)
	g.Settle(t0, g.Leave(&gate.Request{}, t0), &good)
	free := t0.Add(20*time.Second + ceiling.Transit)
	for _, tc := range []struct {
		deadline time.Time
		stopped  bool
	}{{time.Time{}, false}, {free.Add(-1), true}, {free, true}, {free.Add(1), false}} {
		plan := g.Plan(&gate.Request{Deadline: tc.deadline}, t0)
		if got := plan.Stop != nil; got != tc.stopped || got && plan.Stop.Reason != collection.WallClock || !got && !plan.Until.Equal(free) {
			t.Errorf("deadline %v: %+v, stopped %t, want %t", tc.deadline, plan, got, tc.stopped)
		}
	}
	if plan := g.Plan(&gate.Request{Deadline: free}, free); !plan.Ready {
		t.Errorf("who need not wait is not asked whether it fits: %+v", plan)
	}
}

// TestAnswersMayComeBeforeTheDeadline: while everything is refused, a probe hangs. Its answer
// may let others leave before it is given up, so their run goes on until its end, and is told
// no time then.
func TestAnswersMayComeBeforeTheDeadline(t *testing.T) {
	g, now := open(t, collection.Provider{Concurrency: collection.Concurrency{Max: 4}}), t0
	refused := gate.Outcome{Signal: law.Throttled, Hold: -1}
	for range 2 {
		now, _ = attempt(t, g, now, refused)
	}
	now = g.Plan(&gate.Request{}, now).Until
	g.Leave(&gate.Request{}, now)
	until := g.Plan(&gate.Request{}, now).Until
	deadline := now.Add(until.Sub(now) / 2)
	r := &gate.Request{Deadline: deadline}
	if plan := g.Plan(r, now); plan.Stop != nil || !plan.Until.Equal(until) {
		t.Fatalf("beside the probe: %+v, want a wait until %v", plan, until)
	}
	if stop := g.Plan(r, deadline).Stop; stop == nil || stop.Reason != collection.WallClock || !stop.NotBefore.IsZero() {
		t.Errorf("at the deadline: %+v, want wall_clock, and no time", stop)
	}
}

// TestOpenBreakerAndTheDeadline: a run that ends before the breaker lets a
// probe out is told when that is; one that lasts longer waits.
func TestOpenBreakerAndTheDeadline(t *testing.T) {
	g, now := open(t, collection.Provider{Unpaced: true}), t0
	for range 5 {
		g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Failed, Hold: -1})
	}
	until := g.OpenUntil()
	if plan := g.Plan(&gate.Request{Deadline: until}, now); plan.Stop == nil || plan.Stop.Reason != collection.CircuitOpen || !plan.Stop.NotBefore.Equal(until) {
		t.Errorf("a run that ends when the breaker lets a probe out: %+v, want circuit_open until %v", plan, until)
	}
	if plan := g.Plan(&gate.Request{Deadline: until.Add(1)}, now); plan.Stop != nil || !plan.Until.Equal(until) {
		t.Errorf("a run that lasts longer: %+v, want a wait until %v", plan, until)
	}
	if plan := g.Plan(&gate.Request{Deadline: until.Add(-1)}, until); plan.Stop != nil || !plan.Ready {
		t.Errorf("when the breaker's time is over: %+v, want a probe", plan)
	}
}

// TestFreezeEndsWithAnAnswer to its test request, and with nothing else: not
// with a failure of it, and not with the answer to what left before.
func TestFreezeEndsWithAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		signal law.Signal
		thaws  bool
	}{{law.Succeeded, true}, {law.Answered, true}, {law.Throttled, false}, {law.Failed, false}, {law.Silent, false}} {
		g, err := gate.New(collection.Provider{Unpaced: true}, "", time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		now := t0
		refused, early := g.Leave(&gate.Request{}, now), g.Leave(&gate.Request{}, now)
		g.Settle(now, refused, &gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
		g.Settle(now, early, &good)
		if !g.Status(now).Frozen {
			t.Error("the answer to what left before ends the freeze")
		}
		now = now.Add(15 * time.Minute)
		test := g.Leave(&gate.Request{}, now)
		if plan := g.Plan(&gate.Request{}, now); plan.Ready || plan.Stop != nil || !plan.Until.IsZero() {
			t.Errorf("beside the test request: %+v, want to wait for its answer", plan)
		}
		g.Settle(now, test, &gate.Outcome{Signal: tc.signal, Hold: -1})
		if got := !g.Status(now).Frozen; got != tc.thaws {
			t.Errorf("after a test request with signal %d the freeze is over: %t", tc.signal, got)
		}
	}
}

// TestReleasedWhileItIsTested: an operator releases what is being tested. No second test leaves,
// and the answer to the first one ends the freeze.
func TestReleasedWhileItIsTested(t *testing.T) {
	g, now := open(t, collection.Provider{Unpaced: true}), t0
	g.Settle(now, g.Leave(&gate.Request{}, now), &forbidden)
	now = now.Add(15 * time.Minute)
	test := g.Leave(&gate.Request{}, now)
	order, _, err := gate.Release(g.Snapshot(now), now)
	if err == nil {
		err = g.Obey(order, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := g.Plan(&gate.Request{}, now); p.Ready {
		t.Error("a second test may leave")
	}
	if changes, _ := g.Settle(now, test, &good); len(changes) != 1 || changes[0].Freeze == nil || changes[0].Freeze.Frozen {
		t.Errorf("the answer tells %+v, want that the freeze is over", changes)
	}
}

// TestReleaseLetsOneOut: what an operator releases lets one test request out, also in the next
// process and in one that follows a crash; a 403 freezes it again, for a person, and an answer
// lets the others out.
func TestReleaseLetsOneOut(t *testing.T) {
	p := collection.Provider{Unpaced: true, Concurrency: collection.Concurrency{Max: 4}}
	hold := gate.Outcome{Signal: law.Answered, Hold: -1, Refused: "forbidden", Operator: true}
	g, now := open(t, p), t0
	g.Settle(now, g.Leave(&gate.Request{}, now), &hold)
	release := func() []byte {
		order, events, err := gate.Release(g.Snapshot(now), now)
		if err != nil || len(events) != 1 {
			t.Fatalf("Release: %v, %v", events, err)
		}
		return order
	}
	test := func() gate.Pass {
		t.Helper()
		if p := g.Plan(&gate.Request{}, now); !p.Ready {
			t.Fatalf("no test may leave: %+v", p)
		}
		pass := g.Leave(&gate.Request{}, now)
		if p := g.Plan(&gate.Request{}, now); p.Ready || p.Stop != nil {
			t.Errorf("beside the test: %+v, want a wait for its end", p)
		}
		return pass
	}
	if err := g.Obey(release(), now); err != nil {
		t.Fatal(err)
	}
	g.Settle(now, test(), &hold)
	if stop := g.Plan(&gate.Request{}, now.Add(1000*time.Hour)).Stop; stop == nil || stop.Reason != collection.Frozen || !stop.NotBefore.IsZero() {
		t.Errorf("after a 403, it stops with %+v, want a freeze for a person", stop)
	}
	g = resume(t, p, release(), now)
	test() // and the process dies
	g = resume(t, p, g.Snapshot(now), now)
	g.Settle(now, test(), &good)
	for range 3 {
		if p := g.Plan(&gate.Request{}, now); !p.Ready {
			t.Fatalf("after an answer: %+v", p)
		}
		g.Settle(now, g.Leave(&gate.Request{}, now), &good)
	}
}

// TestWhatTheBreakerCounts: neither the retries of one request, nor what flew
// together; five requests that fail are enough.
func TestWhatTheBreakerCounts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		retry  bool
		signal law.Signal
		opens  bool
	}{
		{"five that fail", false, law.Failed, true},
		{"one that fails, and its retries", true, law.Failed, false},
		{"refusals of one episode", false, law.Throttled, false},
		{"five that are cancelled", false, law.Silent, false},
		{"five that are wrong", false, law.Answered, false},
	} {
		g, now := open(t, collection.Provider{}), t0
		for i := range 5 {
			p := g.Leave(&gate.Request{Retry: tc.retry && i > 0}, now)
			g.Settle(now, p, &gate.Outcome{Signal: tc.signal, Hold: -1})
		}
		if got := !g.Closed(); got != tc.opens {
			t.Errorf("%s: the breaker is open: %t", tc.name, got)
		}
	}
}

// TestClampsThatAreNone are refused.
func TestClampsThatAreNone(t *testing.T) {
	for _, c := range []collection.Clamp{{Burn: 1}, {Burn: -0.1}, {Least: 1}, {Least: -0.1}, {Step: 0.009}, {Step: 1}, {Cooldown: -1}} {
		if _, err := gate.New(collection.Provider{Clamp: c}, "", time.Minute, 1); err == nil {
			t.Errorf("a clamp of %+v is accepted", c)
		}
	}
	if _, err := gate.New(collection.Provider{Clamp: collection.Clamp{Burn: 0.99, Least: 0.01, Step: 0.01, Cooldown: 1}}, "", time.Minute, 1); err != nil {
		t.Error(err)
	}
}

// TestWhatFliesTogetherIsRefusedTogether: the refusals of what had left before
// the freeze began are the same one, unless one of them says more.
func TestWhatFliesTogetherIsRefusedTogether(t *testing.T) {
	suspended := gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "suspended", Operator: true}
	for _, tc := range []struct {
		second gate.Outcome
		until  time.Time // zero: a person must act
		words  string
	}{
		{forbidden, t0.Add(15 * time.Minute), ""},
		{suspended, time.Time{}, "until an operator releases it"},
	} {
		g, err := gate.New(collection.Provider{Unpaced: true}, "", time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		first, second := g.Leave(&gate.Request{}, t0), g.Leave(&gate.Request{}, t0)
		g.Settle(t0, first, &forbidden)
		g.Settle(t0, second, &tc.second)
		if stop := g.Frozen(); stop == nil || !stop.NotBefore.Equal(tc.until) || stop.Detail != tc.words {
			t.Errorf("then %s: %+v, want until %v, %q", tc.second.Refused, stop, tc.until, tc.words)
		}
	}
}

// TestFrozenInWords says who froze it, and why if he said so.
func TestFrozenInWords(t *testing.T) {
	for note, want := range map[string]string{"": "an operator froze it", "lunch": "an operator froze it: lunch"} {
		state, _, err := gate.ForceFreeze(nil, t0, note)
		g := open(t, collection.Provider{})
		if err == nil {
			err = g.Restore(state, t0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if stop := g.Frozen(); stop == nil || stop.Detail != want {
			t.Errorf("frozen with %q: %+v, want %q", note, stop, want)
		}
	}
}
