package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// TestUsedUpCeiling: a run does not sit through a ceiling that is used up for
// longer than it waits for a provider that asks for silence. It ends as planned,
// and knows when it goes on, also in a process after it.
func TestUsedUpCeiling(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ceiling collection.Ceiling
		words   string // "": it waits
	}{
		{"a minute", collection.Ceiling{Count: 3, Per: time.Minute}, ""},
		{"an hour", collection.Ceiling{Count: 3, Per: time.Hour}, "the ceiling of 3 requests an hour is used up"},
		{"a day", collection.Ceiling{Count: 3, Per: 24 * time.Hour}, "the ceiling of 3 requests a day is used up"},
		{"another length", collection.Ceiling{Count: 3, Per: 90 * time.Minute}, "the ceiling of 3 requests in 90 min is used up"},
	} {
		p := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{tc.ceiling}}
		g, now := open(t, p), t0
		for range tc.ceiling.Count {
			now = now.Add(time.Second)
			g.Settle(now, g.Leave(&gate.Request{}, now), &good)
		}
		g.SettleUp()
		free := t0.Add(time.Second + tc.ceiling.Per + ceiling.Transit)
		for who, g := range map[string]*gate.Gate{"this process": g, "the next one": resume(t, p, g.Snapshot(now), now)} {
			plan := g.Plan(&gate.Request{}, now)
			if tc.words == "" {
				if plan.Stop != nil || !plan.Until.Equal(free) {
					t.Errorf("%s, %s: %+v, want a wait until %v", tc.name, who, plan, free)
				}
				continue
			}
			if stop := plan.Stop; stop == nil || stop.Reason != collection.RequestCap || stop.Detail != tc.words || !stop.NotBefore.Equal(free) {
				t.Errorf("%s, %s: %+v %+v, want request_cap until %v: %s", tc.name, who, plan, stop, free, tc.words)
			}
			if plan := g.Plan(&gate.Request{}, free); !plan.Ready {
				t.Errorf("%s, %s: when it is free again %+v", tc.name, who, plan)
			}
		}
	}
}

// TestSlowCeilingIsAPace: requests that leave at the pace of their ceiling wait
// for each other however long that is, and not for the ceiling.
func TestSlowCeilingIsAPace(t *testing.T) {
	g, now := open(t, collection.Provider{Ceilings: []collection.Ceiling{{Count: 2, Per: 14 * time.Minute}}}), t0
	for i := range 10 {
		at, stop := attempt(t, g, now, good)
		if stop != nil {
			t.Fatalf("request %d: %v", i+1, stop)
		}
		now = at
	}
}

// TestSlowPaceGoesOn: the pace of a run goes on from the last request of the
// run before, so that runs which are shorter than an interval send something.
// The first there ever was leaves at once. After a crash it is not known when the
// latest left, and the first request waits an interval.
func TestSlowPaceGoesOn(t *testing.T) {
	for _, name := range law.Laws() {
		p := collection.Provider{Law: name, StartPerSecond: 0.1}
		waits := func(g *gate.Gate, now time.Time) time.Duration {
			t.Helper()
			plan := g.Plan(&gate.Request{}, now)
			if plan.Ready {
				return 0
			}
			return plan.Until.Sub(now).Round(time.Second)
		}
		g := resume(t, p, nil, t0)
		if got := waits(g, t0); got != 0 {
			t.Errorf("%s: the first request there ever was waits %v", name, got)
		}
		left, _ := attempt(t, g, t0, good)
		crashed := g.Snapshot(left.Add(time.Second))
		g.SettleUp()
		state := g.Snapshot(left.Add(time.Second))
		interval := time.Duration(float64(time.Second) / g.Rate()).Round(time.Second)
		for after, want := range map[time.Duration]time.Duration{2 * time.Second: interval - 2*time.Second, time.Hour: 0} {
			now := left.Add(after)
			g := resume(t, p, state, now)
			if got := waits(g, now); got != want {
				t.Errorf("%s: %v after the last request: waits %v, want %v", name, after, got, want)
			}
			idle := left.Add(after + time.Second)
			g.SettleUp()
			if got, want := waits(resume(t, p, g.Snapshot(idle), idle), idle), max(0, want-time.Second); got != want {
				t.Errorf("%s: after a run that sent nothing: waits %v, want %v", name, got, want)
			}
			g.Plan(&gate.Request{}, now.Add(time.Minute))
			if pass := g.Leave(&gate.Request{}, now.Add(time.Minute)); !pass.Save {
				t.Errorf("%s: a request leaves, and what is saved says that none has", name)
			}
			if pass := g.Leave(&gate.Request{}, now.Add(2*time.Minute)); pass.Save {
				t.Errorf("%s: each request is saved", name)
			}
			if got := waits(resume(t, p, g.Snapshot(now.Add(3*time.Minute)), now.Add(3*time.Minute)), now.Add(3*time.Minute)); got != interval {
				t.Errorf("%s: after a crash: waits %v, want %v", name, got, interval)
			}
		}
		if got := waits(resume(t, p, crashed, left.Add(time.Minute)), left.Add(time.Minute)); got != interval {
			t.Errorf("%s: after a crash: waits %v, want %v", name, got, interval)
		}
	}
}

// TestTooLateSaysWhy: a run in which nothing can leave any more is told what
// holds it back, and until when.
func TestTooLateSaysWhy(t *testing.T) {
	for _, tc := range []struct {
		p     collection.Provider
		words string
	}{
		{collection.Provider{StartPerSecond: 0.1}, "the pace is one request every 9.17 s"},
		{collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1, Per: 20 * time.Second}}}, "the ceiling of 1 request in 20 s is used up"},
	} {
		g := open(t, tc.p)
		now, _ := attempt(t, g, t0, good)
		deadline := now.Add(5 * time.Second)
		stop := g.Plan(&gate.Request{Deadline: deadline}, now).Stop
		if stop == nil || stop.Reason != collection.WallClock || stop.Detail != tc.words || !stop.NotBefore.After(deadline) {
			t.Errorf("%+v, want wall_clock after %v: %s", stop, deadline, tc.words)
		}
	}
}
