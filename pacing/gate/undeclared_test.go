package gate_test

import (
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// A granting bucket grants a rate, and no more than three at once.
type granting struct {
	rate, tokens float64
	at           time.Time
}

func (b *granting) take(now time.Time) gate.Outcome {
	b.tokens = min(3, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	if b.tokens < 1 {
		return refused
	}
	b.tokens--
	return good
}

// ask lets each stream send whenever it may, for d, to the bucket that it has. It
// returns the time after that, and what became of routes. No refusal makes the
// pace faster.
func ask(t *testing.T, g *gate.Gate, now time.Time, d time.Duration, streams map[string]*granting) (_ time.Time, told []collection.RouteInfo) {
	t.Helper()
	line := []string{"issues", "search"} // who left stands at its end
	for end := now.Add(d); now.Before(end); {
		wake := now.Add(time.Second)
		for _, s := range slices.Clone(line) {
			r := gate.Request{Stream: s}
			p := g.Plan(&r, now)
			if !p.Ready {
				if p.Until.After(now) && p.Until.Before(wake) {
					wake = p.Until
				}
				continue
			}
			line = append(slices.DeleteFunc(line, func(l string) bool { return l == s }), s)
			wake = now
			o := streams[s].take(now)
			before := g.Rate()
			changes, _ := g.Settle(now, g.Leave(&r, now), &o)
			for _, e := range changes {
				if e.Route != nil {
					told = append(told, *e.Route)
				}
			}
			wake = now // it asks for its next turn at once
			if got := g.Rate(); o.Signal == law.Throttled && got > before+1e-9 {
				t.Fatalf("a refusal of %s makes %v/s of %v/s", s, got, before)
			}
		}
		now = wake
	}
	return now, told
}

// TestUndeclaredRouteIsShownAndKept: a stream that meets all refusals gets a
// route, under its name, also in the next process; unless it is declared then.
func TestUndeclaredRouteIsShownAndKept(t *testing.T) {
	p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}
	g, now := open(t, p), t0
	now, told := ask(t, g, now, 30*time.Minute, map[string]*granting{"issues": {rate: 10}, "search": {rate: 1}})
	if g.Routes() != 2 || g.RouteOf("search") == 0 || g.RouteOf("issues") != 0 {
		t.Fatalf("%d routes: search has %d, issues %d", g.Routes(), g.RouteOf("search"), g.RouteOf("issues"))
	}
	want := []collection.RouteInfo{{Stream: "search", State: collection.RouteTried}, {Stream: "search", State: collection.RouteKept}}
	if !slices.Equal(told, want) {
		t.Errorf("told of routes: %+v, want %+v", told, want)
	}
	state := g.Snapshot(now)
	for _, g := range []*gate.Gate{g, resume(t, p, state, now)} {
		shown := 0.0
		for _, c := range g.Status(now).Constraints {
			if c.Name == gate.Learned && c.Route == "search" {
				shown = c.PerSecond
			}
		}
		if shown < 0.4 || shown > 1.1 || g.RateOf("issues") < 4 { // a refusal of the last minute may have halved it
			t.Errorf("search is shown with %v/s, and issues have %v/s; want 1 and 10", shown, g.RateOf("issues"))
		}
	}
	seen, err := gate.Inspect(state, now)
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, c := range seen.Constraints {
		named = named || c.Route == "search"
	}
	if !named {
		t.Errorf("a look at what was saved does not name it: %+v", seen.Constraints)
	}
	p.Routes = map[string]collection.Route{"search": {Name: "slow"}}
	if g := resume(t, p, state, now); g.Routes() != 2 || g.RouteOf("search") != 1 {
		t.Errorf("declared now: %d routes, and search has %d", g.Routes(), g.RouteOf("search"))
	}
}

// TestOneBucketIsOneRoute: streams of one bucket share its refusals, and a route.
func TestOneBucketIsOneRoute(t *testing.T) {
	g := open(t, collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}})
	shared := &granting{rate: 3}
	_, told := ask(t, g, t0, 3*time.Hour, map[string]*granting{"issues": shared, "search": shared})
	for i, r := range told { // each trial ends before the next one
		if want := []collection.RouteState{collection.RouteTried, collection.RouteGivenUp}[i%2]; r.State != want {
			t.Errorf("change %d of a route is %q, want %q", i, r.State, want)
		}
	}
	if len(told) == 0 || len(told)%2 != 0 {
		t.Errorf("%+v: want trials, and that each ended", told)
	}
	if g.Routes() != 1 {
		t.Errorf("%d routes of one bucket, search at %v/s and issues at %v/s", g.Routes(), g.RateOf("search"), g.RateOf("issues"))
	}
}
