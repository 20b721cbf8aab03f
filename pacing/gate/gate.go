// Package gate decides whether a request to a provider may leave now.
//
// A [Gate] holds everything that has a say: the pace and its law, the ceilings
// of the owner, a silence that the provider asked for, the breaker, the freeze
// and the number of requests in flight. [Gate.Plan] asks all of them and makes
// one wait of it, the longest. [Gate.Leave] and [Gate.Settle] tell them what
// happened:
//
//	Plan ──until──→ (somebody waits) ──→ Plan ──ready──→ Leave ──→ … ──→ Settle
//
// It is pure: times are given, and nothing here sleeps or locks. What must
// outlive the process goes through [Gate.Snapshot] and [Gate.Restore].
package gate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// A Gate is everything that decides whether a request may leave: one state,
// changed by a request that leaves and by an attempt that ends, at times it is
// told. It has no clock and no goroutine. The law inside is exchangeable.
type Gate struct {
	routes  route.Table
	random  func() float64
	windows ceiling.Windows
	clamp   ceiling.Clamp
	breaker halt.Breaker
	freeze  halt.Freeze
	quotas  quotas
	slots   *inflight.Limiter
	flights flights
	parties *parties // the processes that share it; nil: there is one

	clock    timeline.Timeline
	rejected int64      // when the credential was last rejected, in nanoseconds since 1970; 0: it was not, or something was answered since
	denied   law.Moment // when access was last denied; see [Gate.doubts]
	hold     law.Moment // the provider asked for silence until then,
	basis    *Basis     // for which there is this reason; nil: not known
	reserve  law.Moment // what is left until then is for people
	share    float64    // of a long limit, which is for people
	ceiling  float64    // the strictest pace the owner allows; 0: none declared
	lowered  float64    // the pace that operators allow of it; 0: they say nothing
	lifts    law.Moment // when the next order of an operator ends; see [Gate.lift]
	sent     uint64
	pulse    usage.Pulse
	heard    *heard // the limits that the provider announced; nil: none

	given      *given      // what operators ordered, other than of the breaker and the freeze; nil: nothing
	fresh      *fresh      // how the law of a run begins that knows nothing
	usedBefore *usage.Kept // by the runs before; nil: that is not known
	left       law.Moment  // when the latest request left, of whichever process
	declared   int32       // requests in flight at most; 0: that is not declared
	denials    uint8       // of access, in a row; at most doubtMost
	unpaced    bool
	settled    bool // what left last is saved: nothing has left since
	calm       bool // nothing has a say but the pace, the ceilings and the slots: see [Gate.isCalm]

	longestWait time.Duration
}

// fresh is how the law of a run begins that knows nothing.
type fresh struct {
	Law   string  `json:"law,omitempty"`
	Start float64 `json:"start_per_second,omitempty"`
}

// begins returns the pace at which the law of a run begins that goes on from m, some
// time after the provider was heard; 0 if nothing was learned, or that is not known.
func (f *fresh) begins(ceiling float64, m law.Memory, ago time.Duration) float64 {
	l, err := law.New(f.Law, f.Start, ceiling, func() float64 { return 0.5 })
	if err != nil || f.Start <= 0 || m.PerSecond() == 0 {
		return 0
	}
	l.Restore(m, ago)
	return l.Rate()
}

// New returns the gate of p, whose pace moves by the law called name, or by
// that of p if it is "". So many requests are in flight as p and the user's
// concurrency allow; 0 asks for nothing in particular. An error names what is
// wrong with p or with name.
func New(p collection.Provider, name string, longestWait time.Duration, concurrency int) (*Gate, error) {
	g := &Gate{
		longestWait: longestWait, breaker: halt.NewBreaker(nil, nil), declared: int32(min(p.Concurrency.Max, inflight.Most)),
		share: p.Reserve, unpaced: p.Unpaced, random: rand.Float64,
	}
	var err error
	if g.clamp, err = ceiling.NewClamp(p.Clamp); err != nil {
		return nil, err
	}
	if !(p.Reserve >= 0 && p.Reserve < 1) {
		return nil, fmt.Errorf("a reserve of %v: it is a share from 0 to less than 1", p.Reserve)
	}
	var ceilings []collection.Ceiling
	for _, c := range p.Ceilings {
		if c.Count <= 0 || c.Per <= 0 {
			return nil, fmt.Errorf("ceiling of %d in %v", c.Count, c.Per)
		}
		ceilings = append(ceilings, ceiling.Reserved(c, g.share))
	}
	for _, c := range ceilings {
		g.windows.Allow(c)
	}
	if strictest := ceiling.Strictest(ceilings); strictest > 0 {
		g.ceiling = law.PerSecond(strictest)
	}
	most := g.ceiling
	start := cmp.Or(p.StartPerSecond, min(law.Ceiling, max(law.Start, law.StartShare*most)))
	name = cmp.Or(name, p.Law)
	if _, err := law.New(name, start, most, g.random); err != nil {
		return nil, err
	}
	g.fresh = &fresh{name, start}
	g.routes = route.New(p, func() law.Law {
		if g.unpaced { // not of p, which would be kept whole
			return law.Unpaced()
		}
		l, _ := law.New(name, start, most, g.random) // as before
		return l
	})
	g.slots, err = limiter(&p, concurrency)
	return g, err
}

// Draw makes g draw its chance from random, in [0, 1), and not from the
// generator of the process: a simulation can then be played again. It must come
// before g is used.
func (g *Gate) Draw(random func() float64) {
	g.random = random
	g.routes.Renew()
}

// limiter returns the bound of the requests in flight. What only the user asked
// for stays there, and where nothing was said the pace decides.
func limiter(p *collection.Provider, asked int) (*inflight.Limiter, error) {
	law := p.Concurrency.Law
	switch {
	case law != "":
	case p.Concurrency.Max > 0:
		law = inflight.AIMD
	case p.Undeclared(asked):
		law = inflight.Needed
	}
	return inflight.New(law, p.InFlight(asked))
}
