package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// usedUp is the outcome of a refusal that calls a quota used up.
func usedUp(code string, hold time.Duration) gate.Outcome {
	return gate.Outcome{Signal: law.Silent, QuotaUsed: true, Code: code, Hold: hold}
}

// refusedInTurn lets n requests be refused with o, each when the silence after the one
// before is over, and returns the silences.
func refusedInTurn(t *testing.T, g *gate.Gate, now *time.Time, n int, o gate.Outcome) (silences []time.Duration) {
	t.Helper()
	for range n {
		p := g.Leave(&gate.Request{}, *now)
		g.Settle(*now, p, &o)
		until := g.Status(*now).HoldUntil
		if until.IsZero() {
			until = *now
		}
		silences = append(silences, until.Sub(*now).Truncate(time.Second))
		*now = until.Add(time.Second)
	}
	return silences
}

// TestQuotaIsAskedForMoreRarely, whatever it says at first, unless it says when
// it ends.
func TestQuotaIsAskedForMoreRarely(t *testing.T) {
	const m, h = time.Minute, time.Hour
	day := usedUp("daily", -1)
	day.Period = 24 * h
	told := usedUp("daily", 7*time.Second)
	told.Windows = []response.Quota{{Name: "day", Limit: 100, Remaining: 0, Reset: 7 * time.Second, Window: 24 * h}}
	for _, tc := range []struct {
		name string
		o    gate.Outcome
		want [4]time.Duration // at least
		last time.Duration    // of twelve
	}{
		{"it says nothing", usedUp("limit", -1), [4]time.Duration{m, m, 2 * m, 4 * m}, h},
		{"it says now", usedUp("limit", 0), [4]time.Duration{m, m, 2 * m, 4 * m}, h},
		{"it says half a minute", usedUp("limit", m/2), [4]time.Duration{m / 2, m / 2, m, 2 * m}, h},
		{"it says two hours", usedUp("limit", 2*h), [4]time.Duration{2 * h, 2 * h, 2 * h, 2 * h}, 2 * h},
		{"it is that of a day", day, [4]time.Duration{h, h, h, h}, h},
		{"it says when it ends", told, [4]time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second, 7 * time.Second}, 7 * time.Second},
	} {
		g, now := open(t, collection.Provider{Unpaced: true}), t0
		got := refusedInTurn(t, g, &now, 12, tc.o)
		for i, want := range append(tc.want[:], tc.last) {
			at := i
			if i == len(tc.want) {
				at = len(got) - 1
			}
			if got[at] < want || got[at] > want+want/8+2*time.Second {
				t.Errorf("%s: silence %d is %v, want %v; all: %v", tc.name, at+1, got[at], want, got)
			}
		}
	}
}

// TestQuotaThatEndsSoonIsAPace: the next refusal of it is one of the pace, also in
// a later run, until it lasts.
func TestQuotaThatEndsSoonIsAPace(t *testing.T) {
	begin := func(state []byte, now time.Time) *gate.Gate {
		g := open(t, collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}, StartPerSecond: 10})
		if err := g.Restore(state, now); err != nil {
			t.Fatal(err)
		}
		return g
	}
	g, now := begin(nil, t0), t0
	isPace := func(code string) bool {
		t.Helper()
		was := g.Rate()
		p := g.Leave(&gate.Request{}, now)
		o := usedUp(code, -1)
		g.Settle(now, p, &o)
		return g.Rate() < was && g.Status(now).HoldUntil.IsZero()
	}
	answer := func() {
		t.Helper()
		var stop *collection.Stop
		if now, stop = attempt(t, g, now.Add(time.Second), good); stop != nil {
			t.Fatal(stop)
		}
	}
	if isPace("limit") {
		t.Error("the first is a pace")
	}
	sent := g.Leave(&gate.Request{}, now) // before the refusal was known to end
	now = now.Add(3 * time.Minute)
	g.Settle(now, sent, &good)
	g = begin(g.Snapshot(now), now)
	answer()
	if isPace("other") {
		t.Error("another one is a pace as well")
	}
	now = now.Add(20 * time.Minute)
	answer()
	if isPace("other") {
		t.Error("one that lasted for longer is a pace")
	}
	now = now.Add(20 * time.Minute)
	answer()
	g = begin(g.Snapshot(now), now)
	if !isPace("limit") {
		t.Error("one that ended soon is no pace")
	}
	now = now.Add(11 * time.Minute)
	p := g.Leave(&gate.Request{}, now)
	o := usedUp("limit", -1)
	g.Settle(now, p, &o)
	if g.Status(now).HoldUntil.Sub(now) < 11*time.Minute {
		t.Error("it lasts, and is still a pace")
	}
}

// TestQuotaIsProbedOnce at a time: who is refused eight times in one silence has
// asked eight times.
func TestQuotaIsProbedOnce(t *testing.T) {
	g, err := gate.New(collection.Provider{Unpaced: true}, "", time.Hour, 8)
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	refusedInTurn(t, g, &now, 1, usedUp("limit", -1))
	probe := g.Leave(&gate.Request{}, now)
	if p := g.Plan(&gate.Request{}, now); p.Ready || !p.Until.IsZero() || p.Stop != nil {
		t.Errorf("with a probe on its way: %+v, want a wait for what becomes of it", p)
	}
	g.Settle(now, probe, &good)
	if p := g.Plan(&gate.Request{}, now); !p.Ready {
		t.Errorf("after it was answered: %+v, want it ready", p)
	}
}

// TestQuotaOfARoute leaves the others alone, and their answers say nothing of it.
func TestQuotaOfARoute(t *testing.T) {
	g, err := gate.New(collection.Provider{Unpaced: true, Routes: map[string]collection.Route{"found": {Name: "search"}}}, "", time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	now, known := t0, good
	known.Key = "search"
	now, _ = send(t, g, "found", now, known)
	o := usedUp("limit", -1)
	o.Key = "search"
	now, _ = send(t, g, "found", now, o)
	if at, stop := send(t, g, "issues", now, good); stop != nil || at != now {
		t.Errorf("issues: %v, %v later, want it at once", stop, at.Sub(now))
	}
	at, _ := send(t, g, "found", now, o)
	if at.Sub(now) < time.Minute {
		t.Errorf("found left %v later", at.Sub(now))
	}
	if at, _ := send(t, g, "found", at, o); at.Sub(now) < 2*time.Minute {
		t.Errorf("and again %v later", at.Sub(now))
	}
	if at, _ := send(t, g, "found", at.Add(5*time.Minute), good); at.Sub(now) < 3*time.Minute {
		t.Errorf("and again %v later: the issue that was answered ended it", at.Sub(now))
	}
}

// TestAQuotaWithoutAnEndIsNoRequestedPause: a stop for it, and what waits, say which quota it is, in
// a later run, too.
func TestAQuotaWithoutAnEndIsNoRequestedPause(t *testing.T) {
	for _, quota := range []bool{true, false} {
		g, now := open(t, collection.Provider{}), t0
		o := gate.Outcome{Signal: law.Throttled, Hold: 2 * time.Hour, Basis: response.Basis{By: response.Asked}}
		want := gate.Constraint{Name: gate.HoldOf, Basis: o.Basis}
		detail, cause := "", collection.WaitRetryAfter
		if quota {
			o = usedUp("DAILY", -1)
			o.Period, o.Basis.Quota = 24*time.Hour, "daily"
			want.Basis = response.Basis{By: response.UsedUp, Quota: "daily"}
			detail, cause = "it says that the quota daily is used up, and not when there is more: one request asks then", collection.WaitReserve
		}
		g.Settle(now, g.Leave(&gate.Request{}, now), &o)
		for _, run := range []string{"this run", "the next run"} {
			stop := g.Plan(&gate.Request{}, now.Add(time.Second)).Stop
			if stop == nil || stop.Reason != collection.RetryAfter || stop.Detail != detail {
				t.Errorf("%s, a quota: %t: stopped with %+v, want %q", run, quota, stop, detail)
			}
			status := g.Status(now)
			if k := status.Limit(); k == nil || k.Name != want.Name || k.Basis != want.Basis || k.Cause() != cause {
				t.Errorf("%s, a quota: %t: %+v binds, want %+v for %s", run, quota, k, want, cause)
			}
			seen, err := gate.Inspect(g.Snapshot(now), now)
			if k := seen.Limit(); err != nil || k == nil || k.Basis != want.Basis {
				t.Errorf("%s, a quota: %t: %+v is saved, %v", run, quota, k, err)
			}
			next := open(t, collection.Provider{})
			if err := next.Restore(g.Snapshot(now), now); err != nil {
				t.Fatal(err)
			}
			g = next
		}
	}
}

// TestRefusalOfABudget: where a budget is all that a refusal can come from, it is a quota that is
// used up, unless what left after nothing was left of it was granted.
func TestRefusalOfABudget(t *testing.T) {
	told := func(o gate.Outcome, left float64) gate.Outcome {
		o.Windows = []response.Quota{{Name: "tokens", Limit: 400, Remaining: left, Reset: -1}}
		return o
	}
	refused := told(gate.Outcome{Signal: law.Throttled, Hold: -1, Period: 24 * time.Hour}, 0)
	refused.Basis.Quota = "tokens"
	broken := told(gate.Outcome{Signal: law.Failed, Hold: -1}, 0)
	other := told(refused, 0)
	other.Windows[0].Name = "points"
	for _, tc := range []struct {
		name  string
		turns []gate.Outcome // of requests that leave one after the other
		saved bool           // another run goes on after the first of them
		then  []gate.Outcome // of two that are in flight at once
		last  gate.Outcome
		quota bool
	}{
		{"the first answer", nil, false, nil, refused, true},
		{"the last of it was granted", []gate.Outcome{told(good, 10), told(good, 0)}, false, nil, refused, true},
		{"the last two were in flight at once", []gate.Outcome{told(good, 10)}, false, []gate.Outcome{told(good, 0), told(good, 0)}, refused, true},
		{"two were granted in turn", []gate.Outcome{told(good, 0), told(good, 0)}, false, nil, refused, false},
		{"one failed, and one was granted", []gate.Outcome{told(good, 10), told(broken, 0), told(good, 0)}, false, nil, refused, true},
		{"one of the two in an earlier run", []gate.Outcome{told(good, 0), told(good, 0)}, true, nil, refused, true},
		{"two were granted, and then more was left", []gate.Outcome{told(good, 0), told(good, 0), told(good, 390), told(good, 0)}, false, nil, refused, true},
		{"two were granted, and nothing is left of another one", []gate.Outcome{told(good, 0), told(good, 0)}, false, nil, other, true},
	} {
		g, now := open(t, collection.Provider{}), t0
		for i, o := range tc.turns {
			if tc.saved && i == 1 {
				state := g.Snapshot(now)
				g = open(t, collection.Provider{})
				if err := g.Restore(state, now); err != nil {
					t.Fatal(err)
				}
			}
			now, _ = attempt(t, g, now.Add(time.Second), o)
		}
		var passes []gate.Pass
		for range tc.then {
			now = now.Add(time.Second)
			passes = append(passes, g.Leave(&gate.Request{}, now))
		}
		for i, o := range tc.then {
			now = now.Add(time.Second)
			g.Settle(now, passes[i], &o)
		}
		was := g.Rate()
		silence := refusedInTurn(t, g, &now, 1, tc.last)[0]
		if quota := silence >= 59*time.Minute; quota != tc.quota || quota != (g.Rate() >= was) {
			t.Errorf("%s: a silence of %v, and a pace of %v after %v; is it a quota? %t", tc.name, silence, g.Rate(), was, tc.quota)
		}
	}
}
