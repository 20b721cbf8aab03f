package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// burst lets requests leave at now until none may any more, and returns how
// many did.
func burst(g *gate.Gate, now time.Time) (n int) {
	for ; n < 1000 && g.Plan(&gate.Request{}, now).Ready; n++ {
		g.Leave(&gate.Request{}, now)
	}
	return n
}

// TestShareHoldsTheCeilingsOfAll: who joins an account with a lower ceiling
// lowers it for all, with another window adds it, and with a higher one, or one
// that is none, changes nothing; the share for people is taken off each.
func TestShareHoldsTheCeilingsOfAll(t *testing.T) {
	minute := func(n int) collection.Ceiling { return collection.Ceiling{Count: n, Per: time.Minute} }
	own := collection.Provider{Unpaced: true, Reserve: 0.5, Ceilings: []collection.Ceiling{minute(20)}}
	for _, tc := range []struct {
		name   string
		joins  []collection.Ceiling
		leave  int     // at once
		strict float64 // the strictest pace, as people are told
		then   string  // the ceilings
	}{
		{"nothing", nil, 20, 20. / 60, "20 in 1m0s"},
		{"higher", []collection.Ceiling{minute(30)}, 20, 20. / 60, "20 in 1m0s"},
		{"lower", []collection.Ceiling{minute(5)}, 5, 5. / 60, "5 in 1m0s"},
		{"none", []collection.Ceiling{minute(0), {Count: 3}, {Count: -1, Per: time.Second}, {Count: 1, Per: -time.Second}, minute(7)}, 7, 7. / 60, "7 in 1m0s"},
		{"lower and another window", []collection.Ceiling{minute(19), {Count: 3, Per: 10 * time.Second}}, 3, 0.3, "19 in 1m0s, 3 in 10s"},
		{"another window", []collection.Ceiling{{Count: 3, Per: 10 * time.Second}}, 3, 0.3, "20 in 1m0s, 3 in 10s"},
		{"another window and lower", []collection.Ceiling{{Count: 3, Per: 10 * time.Second}, minute(2)}, 2, 2. / 60, "2 in 1m0s, 3 in 10s"},
		{"a slower window", []collection.Ceiling{{Count: 3, Per: 30 * time.Second}}, 3, 0.1, "20 in 1m0s, 3 in 30s"},
		{"of a day, half of which is for people", []collection.Ceiling{{Count: 8, Per: 24 * time.Hour}}, 4, 20. / 60, "20 in 1m0s, 4 in 24h0m0s"},
	} {
		g, err := gate.New(own, "", time.Minute, 1)
		if err != nil {
			t.Fatal(err)
		}
		g.Share(tc.joins, 100)
		if got := *g.Status(t0).Ceiling; got < tc.strict*0.999 || got > tc.strict*1.001 {
			t.Errorf("%s: the ceiling is %v/s, want %v/s", tc.name, got, tc.strict)
		}
		var ceilings []string
		for _, c := range g.Status(t0).Constraints {
			if c.Name == gate.CeilingOf {
				ceilings = append(ceilings, fmt.Sprintf("%d in %v", c.Count, c.Window))
			}
		}
		if got := strings.Join(ceilings, ", "); got != tc.then {
			t.Errorf("%s: the ceilings are %s, want %s", tc.name, got, tc.then)
		}
		if got := burst(g, t0); got != tc.leave {
			t.Errorf("%s: %d leave at once, want %d", tc.name, got, tc.leave)
		}
	}
}

// TestEachProcessHasItsOwnInFlight: what a process asks for is its own, however
// many of them use the account. What the provider allows is for all of them, and
// those who ask for nothing share what one of them would have.
func TestEachProcessHasItsOwnInFlight(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    collection.Provider
		asks []int
		want []int // in flight of each, when all want many
	}{
		{"one each", collection.Provider{}, []int{1, 1, 1}, []int{1, 1, 1}},
		{"more and fewer", collection.Provider{}, []int{2, 5, 3}, []int{2, 5, 3}},
		{"of your own", collection.Provider{Unpaced: true}, []int{0, 0, 4}, []int{1, 1, 4}},
		{"declared", collection.Provider{Concurrency: collection.Concurrency{Max: 4, Law: "fixed"}}, []int{1, 0, 2}, []int{1, 3, 0}},
		{"nothing asked", collection.Provider{Unpaced: true, Concurrency: collection.Concurrency{Max: 8, Law: "fixed"}}, []int{0, 0}, []int{8, 0}},
	} {
		tc.p.Ceilings = []collection.Ceiling{{Count: 1000, Per: time.Millisecond}}
		tc.p.StartPerSecond = 1e6
		g, err := gate.New(tc.p, "", time.Minute, tc.asks[0])
		if err != nil {
			t.Fatal(err)
		}
		var who []int
		for _, n := range tc.asks {
			who = append(who, g.Share(nil, n))
		}
		var got []int
		var flying []gate.Pass
		now := t0
		for _, one := range who {
			n := 0
			for r := (gate.Request{Party: one}); n < 100; n++ {
				p := g.Plan(&r, now)
				for p.Until.After(now) {
					now = p.Until
					p = g.Plan(&r, now)
				}
				if !p.Ready {
					break
				}
				flying = append(flying, g.Leave(&r, now))
			}
			got = append(got, n)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v of those who ask for %v are in flight, want %v", tc.name, got, tc.asks, tc.want)
		}
		for i, p := range flying {
			g.Settle(now, p, &good)
			if i == len(flying)-1 && !g.Plan(&gate.Request{Party: who[0]}, now.Add(time.Minute)).Ready {
				t.Errorf("%s: no place came back", tc.name)
			}
		}
		before := g.Concurrency()
		if g.Part(who[0]); tc.p.Concurrency.Max == 0 && g.Concurrency() != before-tc.want[0] {
			t.Errorf("%s: %d may be in flight, and %d when the first has left", tc.name, before, g.Concurrency())
		}
	}
}

// TestTakeOverSpendsShortWindows: what the dead process sent in them is not
// known. A window that was saved goes on as it was.
func TestTakeOverSpendsShortWindows(t *testing.T) {
	p := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 4, Per: 10 * time.Second}, {Count: 6, Per: time.Minute}}}
	g, err := gate.New(p, "", time.Minute, 100)
	if err != nil {
		t.Fatal(err)
	}
	g.Leave(&gate.Request{}, t0)
	now := t0.Add(3 * time.Second)
	g.TakeOver(now)
	if got := burst(g, now.Add(7*time.Second+ceiling.Transit)); got != 1 { // what is known to have left is over
		t.Errorf("%d leave 7 s later, want 1", got)
	}
	if got := burst(g, now.Add(10*time.Second+ceiling.Transit-ms)); got != 0 {
		t.Errorf("%d leave before ten seconds, want none", got)
	}
	if got := burst(g, now.Add(10*time.Second+ceiling.Transit)); got != 3 {
		t.Errorf("%d leave after ten seconds, want 3", got)
	}
	if got := burst(g, now.Add(21*time.Second)); got != 1 {
		t.Errorf("%d leave then, want the one that the minute has left", got)
	}
}

// TestObeyForgetsWhatFlew: an answer to what left before the operator's word
// says nothing about the time after it.
func TestObeyForgetsWhatFlew(t *testing.T) {
	g, now := open(t, collection.Provider{Unpaced: true}), t0
	p := g.Leave(&gate.Request{}, now)
	closed, _, err := gate.ForceClosed(g.Snapshot(now), now, "")
	if err == nil {
		err = g.Obey(closed, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	released, _, err := gate.ReleaseBreaker(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Obey(released, now); err != nil {
		t.Fatal(err)
	}
	if err := g.Obey([]byte("{"), now); err == nil {
		t.Error("a state that cannot be read is obeyed")
	}
	for range 5 {
		g.Settle(now, p, &gate.Outcome{Signal: law.Failed, Hold: -1})
	}
	if !g.Closed() {
		t.Error("what left before opens the breaker")
	}
}

// TestNewest is the state that was saved last; one that cannot be read is
// older than any.
func TestNewest(t *testing.T) {
	g := open(t, collection.Provider{})
	first, second, broken := string(g.Snapshot(t0)), string(g.Snapshot(t0.Add(time.Second))), "{"
	for _, tc := range [][3]string{{first, second, second}, {second, first, second}, {broken, first, first}, {first, broken, first}, {first, "", first}} {
		if got := gate.Newest([]byte(tc[0]), []byte(tc[1])); string(got) != tc[2] {
			t.Errorf("Newest(%s, %s) = %s, want %s", tc[0], tc[1], got, tc[2])
		}
	}
}

// TestProcessesAreCounted that share a gate, also by who reads what it saved.
func TestProcessesAreCounted(t *testing.T) {
	g := open(t, collection.Provider{})
	if n := g.Status(t0).Processes; n != 0 {
		t.Errorf("alone it has %d processes", n)
	}
	g.Share(nil, 0)
	who := g.Share(nil, 0)
	seen, err := gate.Inspect(g.Snapshot(t0), t0)
	if err != nil || seen.Processes != 2 || g.Status(t0).Processes != 2 {
		t.Errorf("%d processes are seen, %d live, want 2 (%v)", seen.Processes, g.Status(t0).Processes, err)
	}
	g.Part(who)
	if n := g.Status(t0).Processes; n != 1 {
		t.Errorf("after one left there are %d processes", n)
	}
}
