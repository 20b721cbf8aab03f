package gate_test

import (
	"fmt"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// TestLongestReasonIsWaitedFor, and only that: whichever it is, whatever else
// there is to wait for. Of some that end together the first is named.
func TestLongestReasonIsWaitedFor(t *testing.T) {
	reasons := [...]collection.WaitCause{collection.WaitWindow, collection.WaitBackoff, collection.WaitReserve, collection.WaitRetryAfter, collection.WaitBreaker}
	type waits [len(reasons)]time.Duration
	plan := func(w waits) gate.Plan {
		at := func(d time.Duration) string { return t0.Add(d).Format(time.RFC3339Nano) }
		p := collection.Provider{Unpaced: true, Reserve: 0.5, Ceilings: []collection.Ceiling{{Count: 1, Per: time.Minute}}}
		g := resume(t, p, fmt.Appendf(nil, `{"version":1,"recorded_at":%q,"windows":[{"per":60000000000,"log":[{"at":%q,"n":1}]}],
			"reserved_until":%q,"hold_until":%q,"breaker":{"until":%q,"trips":1}}`, at(0), at(w[0]-time.Minute-ceiling.Transit), at(w[2]), at(w[3]), at(w[4])), t0)
		return g.Plan(&gate.Request{NotBefore: t0.Add(w[1])}, t0)
	}
	for i, cause := range reasons {
		w := waits{10 * time.Second, 20 * time.Second, 20 * time.Second, 10 * time.Second, 10 * time.Second}
		w[i] = 50 * time.Second
		if got := plan(w); got.Cause != cause || got.Until.Sub(t0) != 50*time.Second {
			t.Errorf("%v: %+v, want 50s for %s", w, got, cause)
		}
	}
	together := waits{time.Second, time.Second, time.Second, time.Second, time.Second}
	if got := plan(together); got.Cause != collection.WaitWindow || got.Until.Sub(t0) != time.Second {
		t.Errorf("%v: %+v, want a second for the window", together, got)
	}
	if got := plan(waits{}); !got.Ready {
		t.Errorf("nothing to wait for: %+v", got)
	}
}

// TestSilenceIsPolite: a little later than the provider asked, and never
// earlier, also if it asked for no time at all. It is saved before anything
// else leaves, and once.
func TestSilenceIsPolite(t *testing.T) {
	for _, hold := range []time.Duration{0, 10 * time.Second} {
		g := open(t, collection.Provider{Unpaced: true})
		g.Draw(func() float64 { return 0.5 })
		settle := func() bool {
			_, save := g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Throttled, Hold: hold})
			return save
		}
		if !settle() {
			t.Errorf("a silence of %v is not saved", hold)
		}
		if settle() {
			t.Errorf("a silence of %v that is known is saved again", hold)
		}
		if got := g.HoldUntil(t0).Sub(t0); got != hold+100*ms {
			t.Errorf("asked for %v, it is silent for %v", hold, got)
		}
	}
}

// TestSilenceUnderAnotherName: a refusal under a name that the route of its
// request does not have holds back both, and is saved.
func TestSilenceUnderAnotherName(t *testing.T) {
	for _, wide := range []bool{false, true} {
		g := open(t, collection.Provider{Unpaced: true})
		g.Draw(func() float64 { return 0 })
		send(t, g, "issues", t0, told("core"))
		_, save := g.Settle(t0, g.Leave(&gate.Request{Stream: "issues"}, t0), &gate.Outcome{Signal: law.Throttled, Hold: 10 * time.Second, Key: "search", Wide: wide})
		if until := g.Plan(&gate.Request{Stream: "issues"}, t0).Until; !save || until.Sub(t0) < 10*time.Second {
			t.Errorf("for all: %t: saved %t, and the next one leaves after %v", wide, save, until.Sub(t0))
		}
	}
}

// TestSlowerIsTold: once for an episode of refusals, with what binds then. An
// answer is no news.
func TestSlowerIsTold(t *testing.T) {
	g, err := gate.New(collection.Provider{StartPerSecond: 2}, "", time.Minute, 4)
	if err != nil {
		t.Fatal(err)
	}
	answered, first, second := g.Leave(&gate.Request{}, t0), g.Leave(&gate.Request{}, t0), g.Leave(&gate.Request{}, t0)
	if changes, _ := g.Settle(t0, answered, &good); len(changes) != 0 {
		t.Errorf("an answer tells %+v, want nothing", changes)
	}
	was := g.Rate()
	changes, _ := g.Settle(t0, first, &refused)
	want := collection.RateInfo{Learned: g.Rate(), Previous: was, Reason: "throttled", Binds: string(gate.Learned)}
	if len(changes) != 1 || changes[0].Kind != collection.RateChanged || *changes[0].Rate != want || want.Learned >= was {
		t.Errorf("a refusal tells %+v, want %+v", changes, want)
	}
	if changes, _ := g.Settle(t0, second, &refused); len(changes) != 0 {
		t.Errorf("the next refusal of the same tells %+v, want nothing", changes)
	}
}

// TestBoundInFlight: what a provider declares gives way to a refusal and comes
// back, unless it says otherwise; what only the user asks for stays.
func TestBoundInFlight(t *testing.T) {
	for _, tc := range []struct {
		declared              collection.Concurrency
		asked                 int
		first, refused, after int
	}{
		{collection.Concurrency{}, 0, 1, 1, 1},
		{collection.Concurrency{}, 5, 5, 5, 5},
		{collection.Concurrency{Max: 8}, 0, 8, 4, 8},
		{collection.Concurrency{Max: 8}, 2, 2, 1, 2},
		{collection.Concurrency{Max: 8, Law: inflight.Fixed}, 0, 8, 8, 8},
		{collection.Concurrency{Max: 8, Law: inflight.Gradient}, 0, 4, 4, 8}, // which goes by the time of the answers
	} {
		g, err := gate.New(collection.Provider{Unpaced: true, Concurrency: tc.declared}, "", time.Minute, tc.asked)
		if err != nil {
			t.Fatal(err)
		}
		first, now := g.Concurrency(), t0
		g.Settle(now, g.Leave(&gate.Request{}, now), &refused)
		less := g.Concurrency()
		for range 1000 {
			var flying []gate.Pass
			for range g.Concurrency() {
				flying = append(flying, g.Leave(&gate.Request{}, now))
			}
			now = now.Add(100 * ms) // each is answered as soon as the others
			for _, p := range flying {
				g.Settle(now, p, &good)
			}
		}
		if after := g.Concurrency(); first != tc.first || less != tc.refused || after != tc.after {
			t.Errorf("%+v, asked for %d: %d may fly, after a refusal %d, and after many answers %d, want %d, %d and %d",
				tc.declared, tc.asked, first, less, after, tc.first, tc.refused, tc.after)
		}
	}
}

// TestSlowAnswersFlyFewer where the bound goes by the time of the answers, which
// is that from when they left.
func TestSlowAnswersFlyFewer(t *testing.T) {
	g, err := gate.New(collection.Provider{Unpaced: true, Concurrency: collection.Concurrency{Max: 8, Law: inflight.Gradient}}, "", time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	rounds := func(n int, took time.Duration) {
		for range n {
			var flying []gate.Pass
			for range g.Concurrency() {
				flying = append(flying, g.Leave(&gate.Request{}, now))
			}
			now = now.Add(took)
			for _, p := range flying {
				g.Settle(now, p, &good)
			}
		}
	}
	rounds(200, 100*ms)
	quick := g.Concurrency()
	if rounds(4, 10*time.Second); quick != 8 || g.Concurrency() >= quick {
		t.Errorf("%d fly while answers are quick, and %d when they are slow, want 8 and fewer", quick, g.Concurrency())
	}
}
