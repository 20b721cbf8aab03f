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
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// A Gate is everything that decides whether a request may leave: one state,
// changed by a request that leaves and by an attempt that ends, at times it is
// told. It has no clock and no goroutine. The law inside is exchangeable.
type Gate struct {
	routes  []*route        // the first is the route of all that have no other
	lanes   map[string]lane // by stream
	newLaw  func() law.Law
	random  func() float64
	windows []window
	clamp   clamp
	breaker breaker
	freeze  freeze
	flights *inflight.Limiter

	clock   timeline
	hold    moment  // the provider asked for silence until then
	reserve moment  // what is left until then is for people
	share   float64 // of a long limit, which is for people
	ceiling float64 // the strictest pace the owner allows; 0: none declared
	unpaced bool
	last    departed
	sent    uint64

	longestWait time.Duration
}

// New returns the gate of p, whose pace moves by the law called name, or by
// that of p if it is "". So many requests are in flight as p and the user's
// concurrency allow; 0 asks for nothing in particular. An error names what is
// wrong with p or with name.
func New(p collection.Provider, name string, longestWait time.Duration, concurrency int) (*Gate, error) {
	g := &Gate{
		longestWait: longestWait, breaker: breaker{state: Closed},
		share: p.Reserve, unpaced: p.Unpaced, random: rand.Float64,
	}
	var err error
	if g.clamp, err = newClamp(p.Clamp); err != nil {
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
		ceilings = append(ceilings, g.reserved(c))
	}
	for _, c := range ceilings {
		g.windows = append(g.windows, newWindow(c))
	}
	start, most := cmp.Or(p.StartPerSecond, law.Start), law.Ceiling
	if strictest := strictest(ceilings); strictest > 0 {
		g.ceiling = law.PerSecond(strictest)
		most = g.ceiling
	}
	name = cmp.Or(name, p.Law)
	first, err := law.New(name, start, most, g.random)
	if err != nil {
		return nil, err
	}
	g.newLaw = func() law.Law {
		l, _ := law.New(name, start, most, g.random) // as the first
		if p.Unpaced {
			l = law.Unpaced()
		}
		return l
	}
	if p.Unpaced {
		first = law.Unpaced()
	}
	g.routes = []*route{{law: first}}
	g.declare(p)
	g.flights, err = limiter(p.Concurrency, concurrency)
	return g, err
}

// Draw makes g draw its chance from random, in [0, 1), and not from the
// generator of the process: a simulation can then be played again. It must come
// before g is used.
func (g *Gate) Draw(random func() float64) {
	g.random = random
	for _, way := range g.routes {
		way.law = g.newLaw()
	}
}

// limiter returns the bound of the requests in flight. What nobody declared
// stays where the user put it.
func limiter(c collection.Concurrency, asked int) (*inflight.Limiter, error) {
	if c.Max > 0 && c.Law == "" {
		c.Law = inflight.AIMD
	}
	return inflight.New(c.Law, c.Of(asked))
}

// A Plan says what a request must wait for: until a time, for a change (if the
// time is zero), or not at all.
type Plan struct {
	Stop  *collection.Stop
	Ready bool
	Until time.Time
	Cause collection.WaitCause
}

// A Request asks to leave. Zero times bind nothing.
type Request struct {
	Stream    string    // which it is for; "" for none
	NotBefore time.Time // the end of its back-off
	Deadline  time.Time // when its run ends: what would wait beyond it is stopped
}

// Plan decides for r at now.
func (g *Gate) Plan(r Request, at time.Time) Plan {
	now := g.clock.moment(at)
	l := g.laneOf(r.Stream)
	way := g.routes[l.route]
	if stop := g.refuse(&r, way, now); stop != nil {
		return Plan{Stop: stop}
	}
	until, lawOpen := way.law.Next(now)
	cause := collection.WaitPacing
	longest := func(m moment, c collection.WaitCause) {
		if m > until {
			until, cause = m, c
		}
	}
	if way.most > 0 {
		longest(way.earliest(now), collection.WaitPacing)
	}
	if most := g.spread(); most > 0 {
		longest(g.last.then(most), collection.WaitWindow)
	}
	for i := range g.windows {
		if !g.windows[i].fits(l.units) {
			longest(g.windows[i].next(now, l.units), collection.WaitWindow)
		}
	}
	if !r.NotBefore.IsZero() {
		longest(g.clock.of(r.NotBefore), collection.WaitBackoff)
	}
	longest(max(g.reserve, way.reserve), collection.WaitReserve)
	longest(max(g.hold, way.hold), collection.WaitRetryAfter)
	if g.breaker.state == Open { // and not by force: see refuse
		longest(g.breaker.until, collection.WaitBreaker)
	}
	switch {
	case until > now:
		if g.late(&r, until) {
			return Plan{Stop: &collection.Stop{Reason: collection.WallClock}}
		}
		return Plan{Until: g.clock.when(until), Cause: cause}
	case g.breaker.probing:
		return Plan{Cause: collection.WaitBreaker}
	case g.freeze.testing || !lawOpen || !g.flights.Room():
		return Plan{}
	}
	return Plan{Ready: true}
}

// late reports whether r's run has ended at until.
func (g *Gate) late(r *Request, until moment) bool {
	return !r.Deadline.IsZero() && until >= g.clock.of(r.Deadline)
}

// Refuse returns the stop for a request whose wait would not help.
func (g *Gate) Refuse(r Request, now time.Time) *collection.Stop {
	return g.refuse(&r, g.routes[g.laneOf(r.Stream).route], g.clock.moment(now))
}

func (g *Gate) refuse(r *Request, way *route, now moment) *collection.Stop {
	tooLong := func(until moment) bool {
		return until > now && (until-now > g.longestWait+holdLeast+holdSpread || g.late(r, until))
	}
	hold, reserve := max(g.hold, way.hold), max(g.reserve, way.reserve)
	switch {
	case g.freeze.blocks(now):
		return g.Frozen()
	case tooLong(hold):
		return &collection.Stop{Reason: collection.RetryAfter, NotBefore: g.clock.when(hold)}
	case g.breaker.state == Open && g.breaker.forced != nil:
		return &collection.Stop{Reason: collection.CircuitOpen, Detail: g.breaker.forced.words()}
	case g.breaker.state == Open && g.breaker.until > now && g.late(r, g.breaker.until):
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: g.clock.when(g.breaker.until), Detail: g.breaker.failure.told()}
	case tooLong(reserve):
		return &collection.Stop{Reason: collection.RequestCap, NotBefore: g.clock.when(reserve), Detail: reservedWords}
	}
	return nil
}

// Frozen returns the stop for everything while the account is frozen; nil if
// it is not.
func (g *Gate) Frozen() *collection.Stop {
	if !g.freeze.frozen {
		return nil
	}
	stop := &collection.Stop{Reason: collection.Frozen, NotBefore: g.freeze.ends(&g.clock)}
	switch {
	case g.freeze.reason == ByOperator:
		stop.Detail = "an operator froze it"
		if g.freeze.note != "" {
			stop.Detail += ": " + g.freeze.note
		}
	case g.freeze.operator:
		stop.Detail = "until an operator releases it"
	}
	return stop
}

// A Pass is the permission for one attempt.
type Pass struct {
	ID     uint64 // from 1, rising
	Retry  bool   // the same request was sent before
	Save   bool   // the state must be saved before it leaves
	Change []collection.Event

	ticket law.Ticket
	slot   inflight.Slot
	route  int
	stream string
	at     moment
	probe  bool // of the breaker
	test   bool // of the freeze
}

// Leave records that r leaves at now, after a plan that was ready.
func (g *Gate) Leave(r Request, at time.Time) (p Pass) {
	now := g.clock.moment(at)
	l := g.laneOf(r.Stream)
	g.sent++
	p.ID, p.route, p.stream, p.at, p.slot = g.sent, l.route, r.Stream, now, g.flights.Take()
	g.last = departed{now, l.weight}
	p.ticket = g.routes[l.route].onSend(l.weight, now)
	for i := range g.windows {
		w := &g.windows[i]
		w.add(now, l.units)
		if w.spend(l.units) {
			p.Save = true
		}
	}
	p.test = g.freeze.onSend()
	var change *collection.BreakerInfo
	if p.probe, change = g.breaker.onSend(p.ID); change != nil {
		p.Save = true
		p.Change = append(p.Change, collection.Event{Kind: collection.BreakerChanged, Breaker: change})
	}
	return p
}

// Settle records the end of an attempt. save says that the new state must be
// saved before anything else leaves.
func (g *Gate) Settle(at time.Time, p Pass, o law.Outcome) (changes []collection.Event, save bool) {
	now := g.clock.moment(at)
	way := g.routes[p.route]
	if o.Signal != law.Silent && o.Signal != law.Failed {
		way.heard = at
	}
	fresh, was := false, 0.0 // of a refusal: it begins an episode, and the pace before it
	if o.Signal == law.Throttled || o.Signal == law.Failed {
		fresh, was = !way.law.Known(p.ticket, o), way.law.Rate()
	}
	o.Hold = way.law.OnResult(p.ticket, o, now)
	if was > 0 && way.law.Rate() < was {
		reason := "throttled"
		if o.Signal == law.Failed {
			reason = "not answered"
		}
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: way.law.Rate(), Previous: was, Reason: reason,
		}})
	}
	g.flights.Release(p.slot, flown(o.Signal), now-p.at)
	if o.Key != "" {
		way = g.routes[g.learn(p.stream, p.route, &o)]
	}
	if o.MaxRate > 0 {
		way.announce(o.MaxRate, o.Signal != law.Succeeded, now)
	}
	if o.Hold >= 0 || o.QuotaUsed || g.share > 0 {
		save = g.silence(way, &o, now)
		if own := g.routes[g.laneOf(p.stream).route]; own != way {
			save = g.silence(own, &o, now) || save
		}
	}
	if g.ceiling > 0 && o.Signal != law.Silent {
		if was := g.clamp.onResult(o.Signal, fresh && o.Signal == law.Throttled, now); was > 0 {
			changes, save = append(changes, g.clampChanged(was)), true
		}
	}
	if change := g.breaker.onResult(p.ID, p.probe, evidence(&p, o.Signal, fresh), g.sent, now); change != nil {
		g.breaker.blame(change, o.Why, at)
		changes, save = append(changes, collection.Event{Kind: collection.BreakerChanged, Breaker: change}), true
	}
	if o.Refused != "" || p.test {
		if change := g.freeze.onResult(&p, &o, g.sent, &g.clock, now); change != nil {
			changes, save = append(changes, collection.Event{Kind: collection.FreezeChanged, Freeze: change}), true
		}
	}
	g.nameBinding(changes, at)
	return changes, save
}
