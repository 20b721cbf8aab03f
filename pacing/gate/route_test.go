package gate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// send lets one request of a stream leave as soon as it may, and settles it.
func send(tb testing.TB, g *gate.Gate, stream string, now time.Time, o gate.Outcome) (time.Time, *collection.Stop) {
	tb.Helper()
	r := gate.Request{Stream: stream}
	for range 20 {
		switch p := g.Plan(&r, now); {
		case p.Stop != nil:
			return now, p.Stop
		case p.Ready:
			g.Settle(now, g.Leave(&r, now), &o)
			return now, nil
		default:
			now = p.Until
		}
	}
	tb.Fatal("the wait never ends")
	return now, nil
}

// told is a good answer that names the bucket of its request.
func told(key string) gate.Outcome { return gate.Outcome{Signal: law.Succeeded, Hold: -1, Key: key} }

// TestDeclaredRoutesHaveTheirOwnPace: a refusal of one slows that one down, and
// what concerns the account concerns both.
func TestDeclaredRoutesHaveTheirOwnPace(t *testing.T) {
	p := collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}, "hits": {Name: "search"}}}
	g, now := open(t, p), t0
	for range 30 {
		now, _ = send(t, g, "found", now, good)
		now, _ = send(t, g, "issues", now, good)
	}
	was, wasSearch := g.RateOf("issues"), g.RateOf("found")
	now, _ = send(t, g, "found", now, refused)
	if got := g.RateOf("issues"); got != was {
		t.Errorf("a refused search moved the pace of issues from %v to %v", was, got)
	}
	if got := g.RateOf("hits"); got >= wasSearch {
		t.Errorf("a refused search left its pace at %v", got)
	}
	g.Settle(now, g.Leave(&gate.Request{Stream: "found"}, now), &gate.Outcome{Signal: law.Throttled, Hold: 30 * time.Second})
	if at, _ := send(t, g, "issues", now, good); at.Sub(now) < 30*time.Second {
		t.Errorf("a hold that names no route was over for issues after %v", at.Sub(now))
	}
}

// TestRoutesTogetherWaitForTheirPace: what all routes together wait for is a ceiling only where there is one.
func TestRoutesTogetherWaitForTheirPace(t *testing.T) {
	for _, ceilings := range [][]collection.Ceiling{nil, {{Count: 4, Per: time.Second}}} {
		g, now := open(t, collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}, Ceilings: ceilings}), t0
		causes := map[collection.WaitCause]int{}
		for i := range 100 {
			r := gate.Request{Stream: []string{"issues", "found"}[i%2]}
			p := g.Plan(&r, now)
			for ; !p.Ready; p = g.Plan(&r, now) {
				causes[p.Cause]++
				now = p.Until
			}
			g.Settle(now, g.Leave(&r, now), &good)
		}
		if windows := causes[collection.WaitWindow]; windows > 0 != (ceilings != nil) || causes[collection.WaitPacing] == 0 {
			t.Errorf("ceilings %v: waits by cause: %v", ceilings, causes)
		}
	}
}

// TestTheRouteOfNowIsTold: a stream by another route is done, and what requests leave by now is slower. Its fall
// has its own paces, and it is what limits.
func TestTheRouteOfNowIsTold(t *testing.T) {
	g, now := open(t, collection.Provider{Routes: map[string]collection.Route{"first": {Name: "one"}, "second": {Name: "two"}}}), t0
	for range 300 {
		now, _ = send(t, g, "first", now, good)
	}
	for range 20 {
		now, _ = send(t, g, "second", now, good)
	}
	r := gate.Request{Stream: "second"}
	was := g.RateOf("second")
	changes, _ := g.Settle(now, g.Leave(&r, now), &refused)
	is := g.RateOf("second")
	var fell *collection.RateInfo
	for _, e := range changes {
		fell = cmp.Or(e.Rate, fell)
	}
	if fell == nil || fell.Route != "two" || fell.Previous != was || fell.Learned != is || is >= was {
		t.Errorf("told %+v, want a fall of two from %v to %v", fell, was, is)
	}
	for i := range 40 {
		now, _ = send(t, g, "second", now, good)
		if k := g.Status(now); i >= 2 && (k.Limit() == nil || k.Limit().Route != "two") {
			t.Fatalf("after %d requests %+v binds, want what is of two", i, k.Limit())
		}
	}
	for range 10 {
		now, _ = send(t, g, "first", now, good)
	}
	if k := g.Status(now.Add(10 * time.Second)); k.Limit() == nil || k.Limit().Route == "two" {
		t.Errorf("%+v binds, though nothing leaves by two any more", k.Limit())
	}
}

// TestARouteThatWasLeftIsNotTold: two requests of a stream wait by the route of all, whose window is announced as slow, when the
// answer to the first of them names another route. Nobody waits by the first route from then on, and it limits nothing.
func TestARouteThatWasLeftIsNotTold(t *testing.T) {
	g, now := open(t, collection.Provider{}), t0
	answer := func(key string, limit, remaining float64, reset time.Duration) gate.Outcome {
		o := told(key)
		o.Windows = []response.Quota{{Name: key, Limit: limit, Remaining: remaining, Reset: reset}}
		return o
	}
	for range 2 {
		now, _ = send(t, g, "channels", now, answer("lists", 2, 1, 10*time.Second))
	}
	one, other := gate.Request{Stream: "messages"}, gate.Request{Stream: "messages"}
	p := g.Plan(&one, now)
	now = p.Until
	g.Plan(&one, now)
	left := g.Leave(&one, now)
	if p = g.Plan(&other, now); p.Ready {
		t.Fatal("the second request waits for nothing")
	}
	first := answer("pages", 5, 4, 5*time.Second)
	g.Settle(now, left, &first)
	for i := range 40 {
		now, _ = send(t, g, "messages", now, answer("pages", 5, float64(4-i%5), 5*time.Second))
		if is := g.Status(now); i >= 12 && (is.Limit() == nil || is.Limit().Route != "pages") {
			t.Fatalf("after %d requests by pages %+v binds", i, is.Limit())
		}
	}
}

// TestALimitOfOtherRequestsBindsNone: the first answers of a stream name a limit of 30 a minute. All others name one of 600 a minute,
// and the provider grants 300. It refuses a pace that the second limit promises. The first limit does not bound the pace then.
func TestALimitOfOtherRequestsBindsNone(t *testing.T) {
	g, now := open(t, collection.Provider{}), t0
	tokens, filled, answered := 5.0, now, 0
	for i := 0; now.Sub(t0) < 20*time.Minute; i++ {
		r := gate.Request{Stream: "core"}
		for p := g.Plan(&r, now); !p.Ready; p = g.Plan(&r, now) {
			now = p.Until
		}
		tokens, filled = min(5, tokens+5*now.Sub(filled).Seconds()), now
		o := gate.Outcome{Signal: law.Succeeded, Hold: -1}
		if tokens < 1 {
			o.Signal = law.Throttled
		} else {
			tokens--
			answered++
		}
		o.Windows = []response.Quota{{Name: "core", Limit: 600, Remaining: 500, Reset: 40 * time.Second, Window: time.Minute}}
		if i < 4 {
			o.Windows[0] = response.Quota{Name: "search", Limit: 30, Remaining: 25, Reset: 40 * time.Second, Window: time.Minute}
		}
		g.Settle(now.Add(50*time.Millisecond), g.Leave(&r, now), &o)
	}
	if answered < 5000 {
		t.Errorf("%d answers in 20 minutes, want 5000 of the 6000 that are granted", answered)
	}
}

// TestTheWaitOfTheOneRouteInUseIsTold: a route was refused, so that what is known of its waits is of a faster
// pace. The pause after the refusal is what limits all the same, and not the bound of the account.
func TestTheWaitOfTheOneRouteInUseIsTold(t *testing.T) {
	g, now := open(t, collection.Provider{Routes: map[string]collection.Route{"first": {Name: "one"}, "second": {Name: "two"}}}), t0
	for range 30 {
		now, _ = send(t, g, "first", now, good)
	}
	now, _ = send(t, g, "first", now, refused)
	is := g.Status(now)
	s, err := gate.Inspect(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*gate.Constraint{is.Limit(), s.Limit()} {
		if k == nil || k.Name != gate.Learned || k.Route != "one" {
			t.Errorf("%+v binds, want the refusals of one", k)
		}
	}
	for range 6 { // until it is asked much more seldom
		now, _ = send(t, g, "first", now, refused)
	}
	for range 20 { // the other one may leave all the same
		now, _ = send(t, g, "second", now, good)
	}
	if is = g.Status(now); is.Limit() == nil || is.Limit().Blocks {
		t.Errorf("%+v binds, though requests leave by two", is.Limit())
	}
}

// TestTheRouteThatWaitsBinds: the runs before waited by the route of all. This one has work by another route only, which is refused
// from its first request on, and each other one as it asks again. That route is what binds: after a refusal, in the pause, while
// a request asks, and for who reads the saved state.
func TestTheRouteThatWaitsBinds(t *testing.T) {
	p := collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}}
	before, now := open(t, p), t0
	for i := range 80 {
		o := good
		if i == 40 {
			o = refused
		}
		now, _ = send(t, before, "issues", now, o)
	}
	g := resume(t, p, before.Snapshot(now), now)
	binds := func(when string, at time.Time) {
		t.Helper()
		saved, err := gate.Inspect(g.Snapshot(now), at)
		if err != nil {
			t.Fatal(err)
		}
		is := g.Status(at)
		for whose, k := range map[string]*gate.Constraint{"the run": is.Limit(), "a reader": saved.Limit()} {
			if k == nil || k.Name != gate.Learned || k.Route != "search" {
				t.Errorf("%s, for %s: %+v binds, want the refusals of search", when, whose, k)
			}
		}
	}
	r := gate.Request{Stream: "found"}
	for i := range 5 {
		for plan := g.Plan(&r, now); !plan.Ready; plan = g.Plan(&r, now) {
			now = plan.Until
		}
		pass := g.Leave(&r, now)
		if i > 0 {
			binds("while a request asks", now)
		}
		changes, _ := g.Settle(now, pass, &refused)
		for _, e := range changes {
			if e.Rate != nil && e.Rate.Binds != string(gate.Learned) {
				t.Errorf("the fall says that %s binds", e.Rate.Binds)
			}
		}
		until := g.Plan(&r, now).Until
		binds("after a refusal", now)
		binds("in the pause", now.Add(until.Sub(now)/2))
		if is := g.Status(now); i > 1 && !is.Limit().Blocks {
			t.Errorf("after %d refusals: %+v blocks nothing", i+1, is.Limit())
		}
	}
	other := resume(t, p, g.Snapshot(now), now)
	other.Plan(&r, now)
	at := now
	for range 12 {
		at, _ = send(t, other, "issues", at, good)
	}
	if is := other.Status(at); is.Limit() == nil || is.Limit().Blocks {
		t.Errorf("%+v binds, though requests leave by the other route", is.Limit())
	}
	now, _ = send(t, g, "found", now, good)
	saved, err := gate.Inspect(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	if k := saved.Limit(); k == nil || k.Route != "search" || k.Blocks {
		t.Errorf("after an answer: %+v binds, want the pace of search", k)
	}
}

// TestTheOnlyRouteThatWaitsBinds, though requests left by a slower one until a moment ago: it is asked for silence, and what
// requests waited for before that is over.
func TestTheOnlyRouteThatWaitsBinds(t *testing.T) {
	p := collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}}
	for name, last := range map[string]gate.Outcome{
		"refused": {Signal: law.Throttled, Hold: 40 * time.Second, Key: "search"},
		"told":    {Signal: law.Succeeded, Hold: 40 * time.Second, Key: "search"},
	} {
		g, now := open(t, p), t0
		for range 40 {
			now, _ = send(t, g, "found", now, good)
		}
		for range 20 {
			now, _ = send(t, g, "issues", now, good)
		}
		now, _ = send(t, g, "issues", now, refused)
		now, _ = send(t, g, "issues", now, good)
		now, _ = send(t, g, "found", now, last)
		g.Plan(&gate.Request{Stream: "found"}, now)
		saved, err := gate.Inspect(g.Snapshot(now), now.Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		is := g.Status(now)
		for _, k := range []*gate.Constraint{is.Limit(), saved.Limit()} {
			if k == nil || k.Name != gate.HoldOf || k.Route != "search" {
				t.Errorf("%s: %+v binds, want the silence of search", name, k)
			}
		}
		if g.Plan(&gate.Request{Stream: "issues"}, now); g.Status(now).Binding() == string(gate.HoldOf) {
			t.Errorf("%s: the silence of search binds, though a request waits by the other route", name)
		}
	}
}

// TestLearnedRoutes: the first key belongs to the route of all, another one to
// a route of its own, and a hold that names a key to that route, also in the
// next process. One for everything is one for everything.
func TestLearnedRoutes(t *testing.T) {
	g, now := open(t, collection.Provider{}), t0
	for range 20 {
		now, _ = send(t, g, "messages", now, told("a1"))
	}
	pace := g.RateOf("messages")
	now, _ = send(t, g, "members", now, told("b2"))
	if g.Routes() != 2 || g.RouteOf("messages") == g.RouteOf("members") || g.RateOf("messages") < pace {
		t.Fatalf("%d routes, messages by %d at %v/s, members by %d", g.Routes(), g.RouteOf("messages"), g.RateOf("messages"), g.RouteOf("members"))
	}
	hold := gate.Outcome{Signal: law.Throttled, Hold: 50 * time.Second, Key: "b2"}
	now, _ = send(t, g, "members", now, hold)
	for _, g := range []*gate.Gate{g, resume(t, collection.Provider{}, g.Snapshot(now), now)} {
		if at, _ := send(t, g, "messages", now, told("a1")); at.Sub(now) > 10*time.Second {
			t.Errorf("messages waited %v for a hold of members", at.Sub(now))
		}
		if at, _ := send(t, g, "members", now, told("b2")); at.Sub(now) < 50*time.Second {
			t.Errorf("members left %v into a hold of 50s", at.Sub(now))
		}
	}
	now = now.Add(time.Hour)
	hold.Wide = true
	now, _ = send(t, g, "members", now, hold)
	if at, _ := send(t, g, "messages", now, told("a1")); at.Sub(now) < 50*time.Second {
		t.Errorf("messages left %v into a hold of everything", at.Sub(now))
	}
}

// TestRoutesAreBounded: a provider that names a new bucket in each answer gets
// 64, and what comes after shares the first; it never gets a burst.
func TestRoutesAreBounded(t *testing.T) {
	declared := collection.Provider{Ceilings: []collection.Ceiling{{Count: 4, Per: time.Second}}}
	g, now := open(t, declared), t0
	for i := range 300 {
		next, _ := send(t, g, fmt.Sprint("stream", i%90), now, told(fmt.Sprint("bucket", i)))
		if next.Sub(now) < 240*ms && i > 0 {
			t.Fatalf("request %d left %v after the one before it", i, next.Sub(now))
		}
		now = next
	}
	if got := g.Routes(); got != 64 {
		t.Errorf("%d routes, want 64", got)
	}
	state := g.Snapshot(now)
	again := resume(t, declared, state, now)
	if again.Routes() != 64 {
		t.Errorf("%d routes after a restart, want 64", again.Routes())
	}
	state = again.Snapshot(now) // without the counts of routes that were heard long ago
	if twice := resume(t, declared, state, now).Snapshot(now); string(twice) != string(state) {
		t.Errorf("saved as\n%s\nand again as\n%s", state, twice)
	}
}

// TestRoutesTogetherKeepTheCeiling: whatever routes there are, all requests
// together are no faster than the owner allows; without a word of the owner,
// than anybody is asked.
func TestRoutesTogetherKeepTheCeiling(t *testing.T) {
	var checks, crowded int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		most := rapid.IntRange(0, 6).Draw(t, "per second")
		p := collection.Provider{StartPerSecond: 4, Routes: map[string]collection.Route{}}
		if most > 0 {
			p.Ceilings = []collection.Ceiling{{Count: most, Per: time.Second}}
		} else {
			most = 4
		}
		streams := []string{"a", "b", "c", "d", "e"}
		for _, s := range streams {
			p.Routes[s] = collection.Route{Name: s, Weight: float64(rapid.IntRange(0, 3).Draw(t, "weight"))}
		}
		g, err := gate.New(p, "", time.Minute, 100)
		if err != nil {
			t.Fatal(err)
		}
		type left struct {
			at     time.Time
			weight int
		}
		var sent []left
		for now, end := t0, t0.Add(20*time.Second); now.Before(end); {
			wake := now.Add(time.Second)
			for _, s := range streams {
				r := gate.Request{Stream: s}
				plan := g.Plan(&r, now)
				if !plan.Ready {
					if plan.Until.After(now) && plan.Until.Before(wake) {
						wake = plan.Until
					}
					continue
				}
				g.Settle(now, g.Leave(&r, now), &good)
				sent = append(sent, left{now, max(1, int(p.Routes[s].Weight))})
			}
			now = wake
		}
		for i, first := range sent {
			work, bound := 0, most+2 // the last one may be paid for later
			for _, l := range sent[i:] {
				if l.at.Sub(first.at) >= time.Second {
					break
				}
				work += l.weight
			}
			if len(p.Ceilings) > 0 {
				bound = max(most, first.weight) // exact; what is heavier leaves alone
			}
			if work > bound {
				t.Fatalf("work of %d left in a second, of %d", work, bound)
			}
			if work == most {
				crowded++
			}
		}
	})
	if crowded < 10*checks {
		t.Errorf("in %d checks the ceiling was reached %d times", checks, crowded)
	}
}

// TestWeight: a request that counts as 4 waits four times as long, and takes
// four of a ceiling.
func TestWeight(t *testing.T) {
	p := collection.Provider{
		StartPerSecond: 1, Ceilings: []collection.Ceiling{{Count: 1, Per: time.Second}, {Count: 12, Per: 24 * time.Hour}},
		Routes: map[string]collection.Route{"heavy": {Weight: 4}, "heaviest": {Weight: 99}},
	}
	g, now := open(t, p), t0
	now, _ = send(t, g, "heavy", now, good)
	at, _ := send(t, g, "heavy", now, good)
	if got := at.Sub(now); got < 3800*ms || got > 5*time.Second {
		t.Errorf("the second one left after %v, want 4s", got)
	}
	now, _ = send(t, g, "heavy", at, good)
	if at, stop := send(t, g, "light", now, good); stop == nil || stop.NotBefore.Sub(t0) < 24*time.Hour {
		t.Errorf("12 a day were spent, and another one left after %v: %+v", at.Sub(t0), stop)
	}
	if at, stop := send(t, open(t, p), "heaviest", t0, good); stop != nil || at.Sub(t0) > time.Minute {
		t.Errorf("what counts as more than the ceiling leaves after %v: %+v, want alone", at.Sub(t0), stop)
	}
}

// TestDroppedRouteKeepsItsSilence: a route that is declared no more leaves its
// hold to all.
func TestDroppedRouteKeepsItsSilence(t *testing.T) {
	p := collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}}
	g, now := open(t, p), t0
	now, _ = send(t, g, "found", now, gate.Outcome{Signal: law.Throttled, Hold: 40 * time.Second, Key: "search"})
	state := g.Snapshot(now)
	for _, stream := range []string{"found", "issues"} {
		g := resume(t, collection.Provider{}, state, now)
		if at, _ := send(t, g, stream, now, good); at.Sub(now) < 40*time.Second {
			t.Errorf("%s left %v into the hold", stream, at.Sub(now))
		}
		if got := g.Routes(); got != 1 {
			t.Errorf("%d routes, want only that of all", got)
		}
	}
}

// TestNamesAreBounded: what a provider calls a bucket counts up to 128 bytes,
// also in the next process, and 256 streams are told apart.
func TestNamesAreBounded(t *testing.T) {
	for length, routes := range map[int]int{128: 2, 129: 1} {
		g := open(t, collection.Provider{Unpaced: true})
		send(t, g, "messages", t0, told("a"))
		send(t, g, "members", t0, told(strings.Repeat("b", length)))
		if got := g.Routes(); got != routes {
			t.Errorf("a name of %d bytes: %d routes, want %d", length, got, routes)
		}
		state := fmt.Appendf(nil, `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","routes":[{"key":"a"},{"key":%q}]}`, strings.Repeat("b", length))
		if got := resume(t, collection.Provider{}, state, t0).Routes(); got != routes {
			t.Errorf("a saved name of %d bytes: %d routes, want %d", length, got, routes)
		}
	}
	p := collection.Provider{Routes: map[string]collection.Route{}}
	for i := range 300 {
		p.Routes[fmt.Sprintf("%03d", i)] = collection.Route{Name: "other"}
	}
	g := open(t, p)
	for i := range 300 {
		if got, want := g.RouteOf(fmt.Sprintf("%03d", i)) > 0, i < 256; got != want {
			t.Errorf("stream %d has a route of its own: %t, want %t", i, got, want)
		}
	}
}

// TestOneNameIsOneRoute: a saved state that names a bucket twice, or none, makes
// no second route of it.
func TestOneNameIsOneRoute(t *testing.T) {
	for _, second := range []string{`"key":"core"`, `"streams":["issues"]`} {
		g := resume(t, collection.Provider{Unpaced: true}, []byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z",
			"routes":[{"key":"core"},{`+second+`,"hold_until":"2026-11-21T10:00:10Z"}]}`), t0)
		if until := g.Plan(&gate.Request{}, t0).Until; g.Routes() != 1 || until.Sub(t0) != 10*time.Second {
			t.Errorf("%s: %d routes, and that of all is silent for %v, want one and 10s", second, g.Routes(), until.Sub(t0))
		}
	}
}

// TestUnpacedRoutes: the owner wants no pace, of one route or of several.
func TestUnpacedRoutes(t *testing.T) {
	p := collection.Provider{Unpaced: true, Routes: map[string]collection.Route{"found": {Name: "search"}}}
	g, err := gate.New(p, "", time.Minute, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for _, stream := range []string{"issues", "found"} {
			if plan := g.Plan(&gate.Request{Stream: stream}, t0); !plan.Ready {
				t.Fatalf("request %d of %s waits: %+v", i, stream, plan)
			}
			g.Leave(&gate.Request{Stream: stream}, t0)
		}
	}
}

// TestRateIsOfAllRoutes that requests left by.
func TestRateIsOfAllRoutes(t *testing.T) {
	g := open(t, collection.Provider{StartPerSecond: 1, Routes: map[string]collection.Route{"b": {Name: "b"}, "c": {Name: "c"}}})
	check := func(routes string, want float64) {
		t.Helper()
		if got := g.Rate(); got != want {
			t.Errorf("the pace of %s is %v/s, want %v/s", routes, got, want)
		}
	}
	check("none", 1)
	now, _ := send(t, g, "b", t0, good)
	check("b", g.RateOf("b"))
	send(t, g, "a", now, refused)
	check("a and b", g.RateOf("a")+g.RateOf("b"))
}

// TestAnnouncedPace: a rate that the provider announces is nearly used, and not
// exceeded, while it is fresh, not even by the next process; an error only lowers it.
func TestAnnouncedPace(t *testing.T) {
	rate := func(r float64, s law.Signal) gate.Outcome { return gate.Outcome{Signal: s, Hold: -1, MaxRate: r} }
	g, now := open(t, collection.Provider{}), t0
	now, _ = send(t, g, "", now, rate(0.1, law.Succeeded))
	for _, g := range []*gate.Gate{g, resume(t, collection.Provider{}, g.Snapshot(now), now)} {
		from, _ := send(t, g, "", now, rate(0.1, law.Succeeded))
		var got []time.Duration
		for range 3 {
			at, _ := send(t, g, "", from, rate(0.1, law.Answered))
			got, from = append(got, at.Sub(from)), at
		}
		slowest, quickest := slices.Max(got), slices.Min(got)
		if quickest < 10500*time.Millisecond || slowest > 10600*time.Millisecond {
			t.Errorf("at 0.1/s requests leave after %v, want 10.5 s", got)
		}
	}
	now, _ = send(t, g, "", now.Add(time.Minute), rate(1, law.Throttled))
	if got := binding(g.Status(now)); got != gate.Announced {
		t.Errorf("an error raised what was announced: %s binds", got)
	}
	later := now.Add(time.Hour)
	if got := binding(g.Status(later)); got != gate.Learned {
		t.Errorf("an hour later %s binds", got)
	}
	for _, bad := range []float64{0, -1} {
		fresh := open(t, collection.Provider{})
		at, _ := send(t, fresh, "", t0, rate(bad, law.Succeeded))
		if got := binding(fresh.Status(at)); got != gate.Rising {
			t.Errorf("announced %v: %s binds", bad, got)
		}
	}
	for _, bad := range []float64{1e-300, 1e-7} {
		fresh := open(t, collection.Provider{})
		at, _ := send(t, fresh, "", t0, rate(bad, law.Succeeded))
		for _, g := range []*gate.Gate{resume(t, collection.Provider{}, fresh.Snapshot(at), at), fresh} {
			if binding(g.Status(at)) != gate.Announced {
				t.Errorf("announced %v: %s binds", bad, binding(g.Status(at)))
			}
		}
		if next, _ := send(t, fresh, "", at, good); next.Sub(at) != time.Hour {
			t.Errorf("announced %v: the next one leaves after %v, want 1h", bad, next.Sub(at))
		}
	}
}
