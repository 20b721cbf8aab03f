package gate_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// leftOf is a good answer that says what is left of a limit.
func leftOf(remaining, limit float64, reset time.Duration) gate.Outcome {
	return gate.Outcome{Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{
		{Name: "hourly", Limit: limit, Remaining: remaining, Reset: reset},
	}}
}

// TestReserveLeavesAShare: never before it is reached, and then until the
// reset, also in the next process; the pace is as before.
func TestReserveLeavesAShare(t *testing.T) {
	for _, tc := range []struct {
		share     float64
		remaining float64
		want      bool // it is left
	}{
		{0.2, 5000, false}, {0.2, 1001, false}, {0.2, 1000, true}, {0.2, 999, true}, {0.2, 1, true},
		{0, 1, false}, {0.001, 6, false}, {0.001, 5, true},
	} {
		p := collection.Provider{Unpaced: true, Reserve: tc.share}
		g, err := gate.New(p, "", time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := attempt(t, g, t0, leftOf(tc.remaining, 5000, 40*time.Minute))
		again, err := gate.New(p, "", time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Restore(g.Snapshot(now), now); err != nil {
			t.Fatal(err)
		}
		for _, g := range []*gate.Gate{g, again} {
			plan := g.Plan(&gate.Request{}, now)
			if got := plan.Cause == collection.WaitReserve && plan.Until.Sub(now) >= 40*time.Minute; got != tc.want {
				t.Errorf("%v of 5000 left, %v reserved: %+v", tc.remaining, tc.share, plan)
			}
			if got := binding(g.Status(now)) == gate.ReserveOf; got != tc.want {
				t.Errorf("%v of 5000 left, %v reserved: %s binds", tc.remaining, tc.share, binding(g.Status(now)))
			}
		}
		if at, _ := attempt(t, g, now, good); tc.want && at.Sub(now) < 40*time.Minute || !tc.want && at.Sub(now) > time.Minute {
			t.Errorf("%v of 5000 left, %v reserved: the next one left after %v", tc.remaining, tc.share, at.Sub(now))
		}
	}
}

// TestReserveIsNoNewsOfThePace: with it and without it, the law ends at the
// same pace.
func TestReserveIsNoNewsOfThePace(t *testing.T) {
	var rates []float64
	for _, share := range []float64{0, 0.2} {
		g, err := gate.New(collection.Provider{Reserve: share}, "", time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		now := t0
		for i := range 30 {
			now, _ = attempt(t, g, now, leftOf(float64(1020-i), 5000, 20*time.Minute))
		}
		rates = append(rates, g.Rate())
	}
	if rates[0] != rates[1] {
		t.Errorf("the pace is %v/s without a reserve and %v/s with one", rates[0], rates[1])
	}
}

// TestReserveTooLongEndsTheRun as a planned pause that says until when.
func TestReserveTooLongEndsTheRun(t *testing.T) {
	g := open(t, collection.Provider{Reserve: 0.5}) // waits a minute at most
	now, _ := attempt(t, g, t0, leftOf(10, 100, time.Hour))
	for name, r := range map[string]gate.Request{"patience": {}, "time": {Deadline: now.Add(30 * time.Second)}} {
		stop := g.Plan(&r, now).Stop
		if stop == nil || stop.Reason != collection.Quota || stop.Reason.Kind() != collection.Planned || stop.NotBefore.Sub(now) < time.Hour || stop.Detail == "" {
			t.Errorf("beyond the %s: %+v", name, stop)
		}
	}
}

// TestReserveConcernsWhatIsNamed: that of a route leaves the others alone, and
// what is no count of requests, or has no end, says nothing.
func TestReserveConcernsWhatIsNamed(t *testing.T) {
	g, err := gate.New(collection.Provider{Reserve: 0.2, Routes: map[string]collection.Route{"found": {Name: "search"}}}, "", time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	now, _ := send(t, g, "issues", t0, told("core"))
	o := leftOf(1, 30, 10*time.Minute)
	o.Key = "search"
	now, _ = send(t, g, "found", now, o)
	if at, _ := send(t, g, "issues", now, good); at.Sub(now) > time.Minute {
		t.Errorf("issues waited %v for the reserve of searches", at.Sub(now))
	}
	if at, _ := send(t, g, "found", now, good); at.Sub(now) < 10*time.Minute {
		t.Errorf("a search left %v after its reserve was reached", at.Sub(now))
	}
	for name, q := range map[string]response.Quota{
		"tokens":        {Limit: 100, Remaining: 0, Reset: time.Hour, Unit: "tokens"},
		"no limit":      {Limit: -1, Remaining: 0, Reset: time.Hour},
		"a limit of 0":  {Limit: 0, Remaining: 0, Reset: time.Hour},
		"no remainder":  {Limit: 100, Remaining: -1, Reset: time.Hour},
		"no reset":      {Limit: 100, Remaining: 0, Reset: -1},
		"more than all": {Limit: 100, Remaining: 120, Reset: time.Hour},
	} {
		g := open(t, collection.Provider{Reserve: 0.2})
		now, _ := attempt(t, g, t0, gate.Outcome{Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{q}})
		if at, stop := attempt(t, g, now, good); stop != nil || at.Sub(now) > time.Minute {
			t.Errorf("%s: %v, %+v", name, at.Sub(now), stop)
		}
	}
}

// TestNoReserve: who declares none is not held back by what is left, nor by
// what was saved when one was declared.
func TestNoReserve(t *testing.T) {
	g := open(t, collection.Provider{Unpaced: true})
	o := leftOf(0, 100, 40*time.Minute)
	o.Hold = 0
	now, _ := attempt(t, g, t0, o)
	later := now.Add(200 * ms) // the silence of no time is over
	saved := resume(t, collection.Provider{Unpaced: true}, []byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z",
		"reserved_until":"2026-11-21T11:00:00Z","reserved_share":0.2,"routes":[{"reserved_until":"2026-11-21T11:00:00Z"}]}`), t0)
	for _, g := range []*gate.Gate{g, saved} {
		if plan := g.Plan(&gate.Request{}, later); !plan.Ready {
			t.Errorf("%+v, want to leave", plan)
		}
	}
}

// TestReserveOfCeilings: long ones are lower by the share, and short ones stay.
func TestReserveOfCeilings(t *testing.T) {
	for _, tc := range []struct {
		ceiling collection.Ceiling
		want    int
	}{
		{collection.Ceiling{Count: 100, Per: 24 * time.Hour}, 80},
		{collection.Ceiling{Count: 100, Per: time.Hour}, 80},
		{collection.Ceiling{Count: 100, Per: time.Minute}, 100},
		{collection.Ceiling{Count: 1, Per: time.Hour}, 1}, // less than one would be none
	} {
		p := collection.Provider{Unpaced: true, Reserve: 0.2, Ceilings: []collection.Ceiling{tc.ceiling}}
		g := open(t, p)
		sent := 0
		for g.Plan(&gate.Request{}, t0).Ready {
			g.Settle(t0, g.Leave(&gate.Request{}, t0), &good)
			sent++
		}
		if sent != tc.want {
			t.Errorf("%d of %+v left", sent, tc.ceiling)
		}
	}
}

// TestDayIsCountedAcrossKills: however often the process is killed, between
// which requests and whatever it was that saved the state last, no day has more
// requests than its ceiling, reserve included.
func TestDayIsCountedAcrossKills(t *testing.T) {
	var checks, kills, full int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		count := rapid.IntRange(1, 300).Draw(t, "a day")
		p := collection.Provider{Unpaced: true, Reserve: rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "reserve"),
			Ceilings: []collection.Ceiling{{Count: count, Per: 24 * time.Hour}, {Count: 50, Per: time.Hour}}}
		allowed := max(1, int(float64(count)*(1-p.Reserve)))
		now := t0
		open := func(state []byte) *gate.Gate {
			g, err := gate.New(p, "", time.Hour, 1)
			if err == nil {
				err = g.Restore(state, now)
			}
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		var disk []byte
		g := open(nil)
		var sent []time.Time
		for range rapid.IntRange(20, 400).Draw(t, "steps") {
			if rapid.IntRange(0, 15).Draw(t, "kill") == 0 {
				kills++
				g = open(disk)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute)
			plan := g.Plan(&gate.Request{}, now)
			if !plan.Ready {
				full++
				if rapid.Bool().Draw(t, "wait") {
					if now = plan.Until; plan.Stop != nil {
						now = plan.Stop.NotBefore // too long for a run: a later one
					}
				}
				continue
			}
			pass := g.Leave(&gate.Request{}, now)
			if pass.Save {
				disk = g.Snapshot(now)
			}
			sent = append(sent, now)
			if _, save := g.Settle(now, pass, &good); save {
				disk = g.Snapshot(now)
			}
			day := 0
			for _, at := range sent {
				if now.Sub(at) < 24*time.Hour {
					day++
				}
			}
			if day > allowed {
				t.Fatalf("%d requests in a day, of %d", day, allowed)
			}
		}
	})
	if min(kills, full) < 3*checks {
		t.Errorf("in %d checks %d kills, and full %d times", checks, kills, full)
	}
}

// TestAnnouncedQuotaUsedUpIsAPlannedEnd, also in the next run: what was asked for
// was answered, so it is no complaint of the provider. One that is over sooner
// than a run may wait is waited for.
func TestAnnouncedQuotaUsedUpIsAPlannedEnd(t *testing.T) {
	for _, tc := range []struct {
		name    string
		hold    time.Duration
		signal  law.Signal
		reset   time.Duration
		planned bool
	}{
		{"the last of an hour", 40 * time.Minute, law.Succeeded, 40 * time.Minute, true},
		{"a refusal after it", 40 * time.Minute, law.Throttled, 40 * time.Minute, false},
		{"the last of it, and an hour of silence is asked for", time.Hour, law.Succeeded, 40 * time.Minute, false},
	} {
		p := collection.Provider{}
		g := open(t, p)
		o := leftOf(0, 5000, tc.reset)
		o.Hold, o.Signal = tc.hold, tc.signal
		now, _ := attempt(t, g, t0, o)
		for who, g := range map[string]*gate.Gate{"this run": g, "the next one": resume(t, p, g.Snapshot(now), now)} {
			stop := g.Plan(&gate.Request{}, now).Stop
			if stop == nil || (stop.Reason == collection.Quota) != tc.planned || stop.NotBefore.Sub(now) < tc.hold {
				t.Errorf("%s, %s: %+v, want a planned end: %t", tc.name, who, stop, tc.planned)
			}
			if got := binding(g.Status(now)) == gate.ReserveOf; got != tc.planned {
				t.Errorf("%s, %s: %s binds", tc.name, who, binding(g.Status(now)))
			}
			if plan := g.Plan(&gate.Request{}, now.Add(tc.hold+time.Second)); plan.Stop != nil {
				t.Errorf("%s, %s: when there is more: %+v", tc.name, who, plan.Stop)
			}
		}
	}
	less := resume(t, collection.Provider{}, func() []byte {
		g := open(t, collection.Provider{Reserve: 0.2})
		now, _ := attempt(t, g, t0, leftOf(900, 5000, 40*time.Minute))
		return g.Snapshot(now)
	}(), t0.Add(time.Minute))
	if stop := less.Plan(&gate.Request{}, t0.Add(time.Minute)).Stop; stop != nil {
		t.Errorf("without the reserve that it was left for: %+v", stop)
	}
}
