package pacing

import (
	"math/rand/v2"
	"time"

	"collect/collection"
)

// Retry-After is whole seconds, and many clients are told the same one: a
// little later is polite, earlier is never.
const (
	holdLeast  = 50 * time.Millisecond
	holdSpread = 100 * time.Millisecond
)

// quotaHold is how long a provider is left alone whose quota is used up and
// which does not say until when. No documented quota is shorter than an hour.
const quotaHold = time.Hour

// A gate is everything that decides whether a request may leave: one state,
// changed by a request that leaves and by an attempt that ends, at times it is
// told. It has no clock and no goroutine. The law inside is exchangeable.
type gate struct {
	law         law
	windows     []window
	breaker     breaker
	freeze      freeze
	hold        time.Time // the provider asked for silence until then
	ceiling     float64   // the strictest pace the owner allows; 0: none declared
	longestWait time.Duration
	concurrency int
	inFlight    int
}

// A plan says what a request must wait for: until a time, for a change (if the
// time is zero), or not at all.
type plan struct {
	stop  *collection.Stop
	ready bool
	until time.Time
	cause collection.WaitCause
}

// plan decides for a request that itself must not leave before notBefore, in
// a run that ends at deadline (zero: never).
func (g *gate) plan(now, notBefore, deadline time.Time) plan {
	if stop := g.refuse(now, deadline); stop != nil {
		return plan{stop: stop}
	}
	var p plan
	longest := func(until time.Time, cause collection.WaitCause) {
		if until.After(p.until) {
			p.until, p.cause = until, cause
		}
	}
	at, lawOpen := g.law.next(now)
	longest(at, collection.WaitPacing)
	for i := range g.windows {
		longest(g.windows[i].next(now), collection.WaitWindow)
	}
	longest(notBefore, collection.WaitBackoff)
	longest(g.hold, collection.WaitRetryAfter)
	if g.breaker.state == open {
		longest(g.breaker.until, collection.WaitBreaker)
	}
	switch {
	case p.until.After(now):
		if !deadline.IsZero() && !p.until.Before(deadline) {
			return plan{stop: &collection.Stop{Reason: collection.WallClock}}
		}
		return p
	case g.breaker.probing:
		return plan{cause: collection.WaitBreaker}
	case g.freeze.testing || !lawOpen || g.inFlight >= g.concurrency:
		return plan{}
	}
	return plan{ready: true}
}

// refuse returns the stop for a request whose wait would not help.
func (g *gate) refuse(now, deadline time.Time) *collection.Stop {
	late := func(until time.Time) bool { return !deadline.IsZero() && !until.Before(deadline) }
	switch {
	case g.freeze.blocks(now):
		return g.frozen(0)
	case g.hold.After(now) && (g.hold.Sub(now) > g.longestWait+holdLeast+holdSpread || late(g.hold)):
		return &collection.Stop{Reason: collection.RetryAfter, NotBefore: g.hold}
	case g.breaker.state == open && g.breaker.until.After(now) && late(g.breaker.until):
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: g.breaker.until}
	}
	return nil
}

func (g *gate) frozen(status int) *collection.Stop {
	stop := &collection.Stop{Reason: collection.Frozen, NotBefore: g.freeze.until, Status: status}
	if g.freeze.operator {
		stop.Detail = "until an operator releases it"
	}
	return stop
}

// A pass is the permission for one attempt.
type pass struct {
	ticket
	retry  bool // the same request was sent before
	probe  bool // of the breaker
	test   bool // of the freeze
	save   bool // the state must be saved before it leaves
	change []collection.Event
}

// leave records that a request leaves at now, after a plan that was ready.
func (g *gate) leave(now time.Time) pass {
	var p pass
	p.ticket = g.law.onSend(now)
	for i := range g.windows {
		g.windows[i].add(now, 1)
		p.save = g.windows[i].reserve() || p.save
	}
	g.inFlight++
	p.test = g.freeze.onSend()
	var change *collection.BreakerInfo
	if p.probe, change = g.breaker.onSend(p.id); change != nil {
		p.save = true
		p.change = append(p.change, collection.Event{Kind: collection.BreakerChanged, Breaker: change})
	}
	return p
}

// An outcome is what became of an attempt, as far as the gate is concerned.
type outcome struct {
	signal   signal
	weak     bool          // nothing but a 503 says so, which may be by chance
	windows  []quota       // limits that were announced
	hold     time.Duration // the provider asked for it; negative: it did not
	quota    bool          // a quota is used up: a hold, and no news about the pace
	refused  string        // why the account is refused; "" if it is not
	operator bool          // and only an operator may release it
}

// settle records the end of an attempt. save says that the new state must be
// saved before anything else leaves.
func (g *gate) settle(now time.Time, p pass, o outcome) (changes []collection.Event, save bool) {
	g.inFlight--
	was, evidence := g.law.rate(), g.evidence(p, o)
	g.law.onResult(p.ticket, o, now)
	if rate := g.law.rate(); o.signal == throttled && rate < was {
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: rate, Previous: was, Reason: "throttled",
		}})
	}
	if o.quota && o.hold < 0 {
		o.hold = quotaHold
	}
	if o.hold >= 0 {
		until := now.Add(o.hold + holdLeast + rand.N(holdSpread))
		if until.After(g.hold) {
			g.hold, save = until, true
		}
	}
	if change := g.breaker.onResult(p.id, p.probe, evidence, g.law.latest(), now); change != nil {
		changes, save = append(changes, collection.Event{Kind: collection.BreakerChanged, Breaker: change}), true
	}
	if change := g.freeze.onResult(p, o, g.law.latest(), now); change != nil {
		changes, save = append(changes, collection.Event{Kind: collection.FreezeChanged, Freeze: change}), true
	}
	return changes, save
}

// evidence returns the signal that the breaker counts for an attempt. What is
// bad counts once: neither the retries of one request, which may be broken on
// its own, nor what was in flight when the provider refused the first of it
// says more about the provider than that first one. The probe always counts.
func (g *gate) evidence(p pass, o outcome) signal {
	again := p.retry && (o.signal == throttled || o.signal == failed)
	if !p.probe && (again || o.signal == throttled && g.law.known(p.ticket, o)) {
		return silent
	}
	return o.signal
}
