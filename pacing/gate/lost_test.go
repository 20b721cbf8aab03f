package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/law"
)

// TestLossesAreTheLawsFirst: what was in flight when a provider dropped more
// than one request is one piece of evidence, as refusals are: the pace falls,
// once, and the breaker stays closed. It opens if the probes are lost as well.
// A law that knows nothing of losses leaves all of them to the breaker.
func TestLossesAreTheLawsFirst(t *testing.T) {
	const givenUp = 30 * time.Second
	for _, tc := range []struct {
		law  string
		open bool // by what was in flight
	}{{law.Plateau, false}, {law.AIMD, true}} {
		g, err := gate.New(collection.Provider{StartPerSecond: 2}, tc.law, time.Hour, 32)
		if err != nil {
			t.Fatal(err)
		}
		now := t0
		for range 20 {
			p := g.Leave(&gate.Request{}, now)
			now = now.Add(100 * ms)
			g.Settle(now, p, &good)
		}
		var flying []gate.Pass
		for range 12 {
			flying = append(flying, g.Leave(&gate.Request{}, now))
		}
		now = now.Add(givenUp)
		var told []collection.RateInfo
		was := g.Rate()
		for _, p := range flying {
			changes, _ := g.Settle(now, p, &failing)
			for _, c := range changes {
				if c.Kind == collection.RateChanged {
					told = append(told, *c.Rate)
				}
			}
		}
		if got := g.Status(now).Breaker == halt.Open; got != tc.open {
			t.Errorf("under %s the breaker is open after 12 lost requests: %t, want %t", tc.law, got, tc.open)
		}
		if tc.open {
			continue
		}
		want := collection.RateInfo{Learned: was / 2, Previous: was, Reason: "no usable answer", Binds: string(gate.Learned)}
		if len(told) != 1 || told[0] != want {
			t.Errorf("of the pace is told %+v, want %+v", told, want)
		}
		for range 8 {
			p := g.Leave(&gate.Request{}, now)
			now = now.Add(givenUp)
			g.Settle(now, p, &failing)
		}
		if got := g.Status(now).Breaker; got != halt.Open {
			t.Errorf("after 8 lost probes the breaker is %s", got)
		}
	}
}

// TestOverdueNarrows: what a gateway gave up halves what may be in flight, once
// for what was in flight together.
func TestOverdueNarrows(t *testing.T) {
	p := collection.Provider{StartPerSecond: 2, Concurrency: collection.Concurrency{Max: 8}}
	g, err := gate.New(p, law.Plateau, time.Hour, 0)
	if err != nil {
		t.Fatal(err)
	}
	var flying []gate.Pass
	for range 4 {
		flying = append(flying, g.Leave(&gate.Request{}, t0))
	}
	for _, p := range flying {
		g.Settle(t0.Add(time.Second), p, &gate.Outcome{Signal: law.Failed, Overdue: true, Hold: -1})
	}
	if got := g.Concurrency(); got != 4 {
		t.Errorf("%d may be in flight after four requests of 8 that were given up, want 4", got)
	}
}
