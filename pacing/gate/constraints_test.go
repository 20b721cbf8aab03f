package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
	"collect/pacing/response"
)

// lines describes constraints, one each: times are seconds from now.
func lines(all []gate.Constraint, now time.Time) []string {
	var said []string
	for _, c := range all {
		var b strings.Builder
		fmt.Fprintf(&b, "%s(%s)", c.Name, c.Route)
		if c.Window > 0 {
			fmt.Fprintf(&b, " %d of %d in %v", c.Used, c.Count, c.Window)
		}
		if c.PerSecond > 0 {
			fmt.Fprintf(&b, " %.3g/s", c.PerSecond)
		}
		if !c.Until.IsZero() {
			fmt.Fprintf(&b, " until %v", c.Until.Sub(now))
		}
		if !c.Since.IsZero() {
			fmt.Fprintf(&b, " since %v", c.Since.Sub(now))
		}
		if c.Blocks {
			b.WriteString(" blocks")
		}
		if c.Binds {
			b.WriteString(" binds")
		}
		said = append(said, b.String())
	}
	return said
}

// everything is a saved state in which all there is limits something.
const everything = `{"version":1,"recorded_at":"2026-11-21T10:00:00Z",
	"interval_ns":500000000,"heard_at":"2026-11-21T09:59:00Z","ceiling_per_second":4,
	"hold_until":"2026-11-21T10:00:20Z","reserved_until":"2026-11-21T10:00:30Z",
	"breaker":{"until":"2026-11-21T10:00:40Z","trips":1},
	"freeze":{"strikes":1,"until":"2026-11-21T10:10:00Z","reason":"forbidden"},
	"clamp":{"share":0.75,"since":"2026-11-21T09:59:50Z"},
	"windows":[
		{"per":1000000000,"count":4,"log":[{"at":"2026-11-21T09:59:59.5Z","n":4}]},
		{"per":3600000000000,"count":100,"log":[{"at":"2026-11-21T08:59:59.95Z","n":7},{"at":"2026-11-21T09:30:00Z","n":50}],"ahead":50},
		{"per":86400000000000,"count":1000,"log":[{"at":"2026-11-20T10:00:01Z","n":-5},{"at":"2026-11-20T10:00:01Z","n":9}],"ahead":1001}],
	"routes":[{"announced_per_second":3,"announced_at":"2026-11-21T09:59:30Z"},
		{"name":"search","memory":{"interval_ns":2000000000,"heard_at":"2026-11-21T09:59:55Z"},"hold_until":"2026-11-21T12:00:00Z"},
		{"key":"graphql","memory":{},"reserved_until":"2026-11-21T10:00:50Z","announced_per_second":0.1,"announced_at":"2026-11-21T09:58:19Z"}]}`

// TestInspectTellsEverything that limits the pace, how much, and since when.
func TestInspectTellsEverything(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	hour := func(left time.Duration) string {
		return fmt.Sprintf("ceiling() 100 of 100 in 1h0m0s until %v blocks binds", left+ceiling.Transit)
	}
	for _, tc := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{
			"freeze() until 10m0s blocks",
			"breaker() until 40s blocks",
			"hold() until 20s blocks",
			"reserve() until 30s blocks",
			"ceiling() 4 of 4 in 1s 4/s",
			hour(30 * time.Minute),
			"ceiling() 9 of 1000 in 24h0m0s",
			"clamp() 3/s since -10s",
			"learned() 2/s since -1m0s",
			"announced() 3/s since -30s",
			"hold(search) until 2h0m0s blocks",
			"learned(search) 0.5/s since -5s",
			"reserve(graphql) until 50s blocks",
		}},
		{20 * time.Second, []string{
			"freeze() until 9m40s blocks",
			"breaker() until 20s blocks",
			"reserve() until 10s blocks",
			"ceiling() 0 of 4 in 1s 4/s",
			hour(30*time.Minute - 20*time.Second),
		}},
		{40 * time.Second, []string{
			"freeze() until 9m20s blocks",
			"breaker() until 0s",
		}},
		{10 * time.Minute, []string{
			"freeze() until 0s",
			"breaker() until -9m20s",
			"ceiling() 0 of 4 in 1s 4/s",
			hour(20 * time.Minute),
		}},
		{time.Hour, []string{
			"freeze() until -50m0s",
			"breaker() until -59m20s",
			"ceiling() 0 of 4 in 1s 4/s",
			"ceiling() 50 of 100 in 1h0m0s",
		}},
	} {
		at := now.Add(tc.after)
		st, err := gate.Inspect([]byte(everything), at)
		if err != nil {
			t.Fatal(err)
		}
		got := lines(st.Constraints, at)
		if len(got) < len(tc.want) || tc.after == 0 && len(got) != len(tc.want) {
			t.Fatalf("after %v:\n%s\nwant\n%s", tc.after, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
		for i, want := range tc.want {
			if got[i] != want {
				t.Errorf("after %v: %s, want %s", tc.after, got[i], want)
			}
		}
	}
}

// TestInspectBelievesNothingThatIsNone: what no process can have saved limits
// nothing.
func TestInspectBelievesNothingThatIsNone(t *testing.T) {
	for _, part := range []string{`"clamp":{"share":0}`, `"clamp":{"share":1}`, `"clamp":{"share":-1}`, `"interval_ns":0`, `"interval_ns":-5`,
		`"routes":[{"announced_per_second":0}]`, `"routes":[{},{"key":"a","memory":{"interval_ns":0}}]`} {
		st, err := gate.Inspect([]byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z","ceiling_per_second":4,`+part+`}`), t0)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Constraints) != 0 || st.PerSecond != 0 {
			t.Errorf("%s: %v and %v/s, want nothing", part, lines(st.Constraints, t0), st.PerSecond)
		}
	}
}

// TestRoutesGoOn in the next process: what is declared, what the provider named,
// the streams that belong to it, their silence and what was announced. Where
// the two differ about a stream, the provider is right.
func TestRoutesGoOn(t *testing.T) {
	p := collection.Provider{Unpaced: true, Reserve: 0.5, Routes: map[string]collection.Route{"found": {Name: "search"}}}
	const saved = `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","routes":[
		{"key":"core","hold_until":"2026-11-21T10:00:10Z","announced_per_second":%s,"announced_at":"2026-11-21T10:00:00Z"},
		{"name":"search","key":"s","hold_until":"2026-11-21T10:00:20Z","streams":["found","more"]},
		{"key":"graphql","reserved_until":"2026-11-21T10:00:30Z","streams":["issues","found"]},
		{"name":"search","streams":["issues"]},
		{"name":"gone","hold_until":"2026-11-21T10:00:12Z","streams":["old"]}]}`
	restored := func(announced string) *gate.Gate {
		g := open(t, p)
		if err := g.Restore(fmt.Appendf(nil, saved, announced), t0); err != nil {
			t.Fatal(err)
		}
		return g
	}
	waits := func(g *gate.Gate, stream string) time.Duration {
		if until := g.Plan(&gate.Request{Stream: stream}, t0).Until; !until.IsZero() {
			return until.Sub(t0)
		}
		return 0
	}
	g := restored("0")
	for stream, want := range map[string]time.Duration{"": 12 * time.Second, "old": 12 * time.Second, "found": 30 * time.Second, "more": 20 * time.Second, "issues": 30 * time.Second} {
		if got := waits(g, stream); got != want {
			t.Errorf("a request for %q waits for %v, want %v", stream, got, want)
		}
	}
	for announced, want := range map[string]float64{"2": 2, "0.0003": 0.0003, "0.0002": 0, "-1": 0} {
		found := 0.0
		for _, c := range restored(announced).Status(t0).Constraints {
			if c.Name == gate.Announced {
				found = c.PerSecond
			}
		}
		if found != want {
			t.Errorf("announced %s/s goes on as %v/s, want %v/s", announced, found, want)
		}
	}
	// An answer under the name that the provider gave goes to the same route.
	other := gate.Outcome{Signal: law.Succeeded, Hold: time.Hour, Key: "graphql"}
	g.Settle(t0, g.Leave(&gate.Request{Stream: "issues"}, t0), &other)
	if stop := g.Refuse(&gate.Request{Stream: "issues"}, t0); stop == nil || stop.Reason != collection.RetryAfter {
		t.Errorf("its own hour of silence: %v", stop)
	}
	if stop := g.Refuse(&gate.Request{Stream: "more"}, t0); stop != nil {
		t.Errorf("the silence of another route: %v", stop)
	}
}

// TestLongestWait: what a provider asks for is waited for up to the longest
// wait, and the politeness that is added to it stops no run.
func TestLongestWait(t *testing.T) {
	for hold, stopped := range map[time.Duration]bool{time.Second: false, time.Minute: false, time.Minute + 100*ms: false, time.Minute + 100*ms + 1: true, 2 * time.Minute: true} {
		g := open(t, collection.Provider{Unpaced: true})
		g.Draw(func() float64 { return 0 })
		g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Throttled, Hold: hold})
		if got := g.Refuse(&gate.Request{}, t0) != nil; got != stopped {
			t.Errorf("a silence of %v stops the run: %t, want %t", hold, got, stopped)
		}
		if end := t0.Add(hold + 50*ms); g.Refuse(&gate.Request{Deadline: end}, end) != nil {
			t.Errorf("a silence of %v stops a run at its end", hold)
		}
	}
}

// TestHeardIsWhatTheProviderSaid: neither a failure nor a request that was
// given up confirms the pace.
func TestHeardIsWhatTheProviderSaid(t *testing.T) {
	for signal, heard := range map[law.Signal]bool{law.Silent: false, law.Failed: false, law.Succeeded: true, law.Answered: true, law.Throttled: true} {
		g := open(t, collection.Provider{})
		g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: signal, Hold: -1})
		if got := !g.Status(t0).HeardAt.IsZero(); got != heard {
			t.Errorf("signal %d: heard %t, want %t", signal, got, heard)
		}
	}
}

// TestReserveCountsWhatFlies: what is in flight is taken as spent, and a limit
// of which nothing is said holds nothing back.
func TestReserveCountsWhatFlies(t *testing.T) {
	quota := func(limit, remaining float64, reset time.Duration, unit string) response.Quota {
		return response.Quota{Name: "hour", Limit: limit, Remaining: remaining, Reset: reset, Unit: unit}
	}
	for _, tc := range []struct {
		quotas []response.Quota
		waits  bool
	}{
		{[]response.Quota{quota(100, 53, time.Minute, "")}, false},
		{[]response.Quota{quota(100, 52, time.Minute, "")}, true}, // of which two are in flight
		{[]response.Quota{quota(100, 0, 0, "")}, true},
		{[]response.Quota{quota(100, 0, -1, "")}, false},
		{[]response.Quota{quota(100, -1, time.Minute, "")}, false},
		{[]response.Quota{quota(0, 0, time.Minute, "")}, false},
		{[]response.Quota{quota(100, 0, time.Minute, "tokens"), quota(100, 10, time.Minute, "")}, true},
	} {
		g, err := gate.New(collection.Provider{Unpaced: true, Reserve: 0.5}, "", time.Hour, 4)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			g.Leave(&gate.Request{}, t0)
		}
		g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Succeeded, Hold: -1, Windows: tc.quotas})
		if got := !g.Plan(&gate.Request{}, t0).Ready; got != tc.waits {
			t.Errorf("%+v: the rest is left for people: %t, want %t", tc.quotas, got, tc.waits)
		}
	}
}

// TestAnnouncedPaceGrowsOld: it is in force for a minute, and for ten of its
// intervals if that is longer; an error only lowers one that is in force.
func TestAnnouncedPaceGrowsOld(t *testing.T) {
	announced := func(g *gate.Gate, at time.Time) float64 {
		for _, c := range g.Status(at).Constraints {
			if c.Name == gate.Announced {
				return c.PerSecond
			}
		}
		return 0
	}
	tell := func(g *gate.Gate, signal law.Signal, rate float64, at time.Time) {
		g.Settle(at, g.Leave(&gate.Request{}, at), &gate.Outcome{Signal: signal, Hold: -1, MaxRate: rate})
	}
	for rate, lasts := range map[float64]time.Duration{2: time.Minute, 0.25: time.Minute, 0.125: 80 * time.Second} {
		g := open(t, collection.Provider{Unpaced: true})
		tell(g, law.Succeeded, rate, t0)
		if got := announced(g, t0.Add(lasts)); got != rate {
			t.Errorf("%v/s is %v/s after %v", rate, got, lasts)
		}
		if got := announced(g, t0.Add(lasts+1)); got != 0 {
			t.Errorf("%v/s is in force for longer than %v", rate, lasts)
		}
		g = open(t, collection.Provider{Unpaced: true})
		tell(g, law.Succeeded, rate, t0)
		tell(g, law.Throttled, 3, t0.Add(time.Second))
		if got := announced(g, t0.Add(time.Second)); got != rate {
			t.Errorf("an error that announces 3/s makes %v/s of %v/s", got, rate)
		}
		tell(g, law.Throttled, 3, t0.Add(time.Hour))
		if got := announced(g, t0.Add(time.Hour)); got != 3 {
			t.Errorf("when %v/s is old, an error that announces 3/s makes it %v/s", rate, got)
		}
	}
}

// TestFirstRouteIsKept if there is anything to be known of it but its pace,
// which is saved apart, and for as long as there is.
func TestFirstRouteIsKept(t *testing.T) {
	for part, after := range map[string]bool{
		`"key":"core"`: true, `"hold_until":"2026-11-21T10:00:10Z"`: false, `"reserved_until":"2026-11-21T10:00:10Z"`: false,
		`"announced_per_second":2,"announced_at":"2026-11-21T10:00:00Z"`: false, `"name":""`: false,
	} {
		g := open(t, collection.Provider{Reserve: 0.5})
		if err := g.Restore([]byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z","routes":[{`+part+`}]}`), t0); err != nil {
			t.Fatal(err)
		}
		kept := func(at time.Time) bool { return strings.Contains(string(g.Snapshot(at)), `"routes"`) }
		if before := part != `"name":""`; kept(t0) != before || kept(t0.Add(time.Hour)) != after {
			t.Errorf("%s is kept %t and an hour later %t, want %t and %t", part, kept(t0), kept(t0.Add(time.Hour)), before, after)
		}
	}
}

// TestEachRouteKeepsItsPace, the first that of the account.
func TestEachRouteKeepsItsPace(t *testing.T) {
	const memory = `"interval_ns":500000000,"heard_at":"2026-11-21T10:00:00Z","plateau":{"target_per_second":2,"limit_per_second":2}`
	g := open(t, collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}})
	if err := g.Restore([]byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z","routes":[{},{"name":"search","memory":{`+memory+`}}]}`), t0); err != nil {
		t.Fatal(err)
	}
	saved := string(g.Snapshot(t0))
	if n := strings.Count(saved, `"memory"`); n != 1 || !strings.Contains(saved, `"target_per_second":2`) {
		t.Errorf("saved as %s, want the pace of search", saved)
	}
}
