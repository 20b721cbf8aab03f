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
	"collect/pacing/law"
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

// A Gate is everything that decides whether a request may leave: one state,
// changed by a request that leaves and by an attempt that ends, at times it is
// told. It has no clock and no goroutine. The law inside is exchangeable.
type Gate struct {
	law         law.Law
	windows     []window
	breaker     breaker
	freeze      freeze
	hold        time.Time // the provider asked for silence until then
	ceiling     float64   // the strictest pace the owner allows; 0: none declared
	longestWait time.Duration
	concurrency int
	inFlight    int
}

// New returns the gate of p, whose pace moves by the law called name. An
// error names what is wrong with p or with name.
func New(p collection.Provider, name string, longestWait time.Duration, concurrency int) (*Gate, error) {
	g := &Gate{longestWait: longestWait, concurrency: concurrency, breaker: breaker{state: Closed}}
	for _, c := range p.Ceilings {
		if c.Count <= 0 || c.Per <= 0 {
			return nil, fmt.Errorf("ceiling of %d in %v", c.Count, c.Per)
		}
		g.windows = append(g.windows, newWindow(c))
	}
	start, ceiling := cmp.Or(p.StartPerSecond, law.Start), law.Ceiling
	if strictest := strictest(p.Ceilings); strictest > 0 {
		g.ceiling = law.PerSecond(strictest)
		ceiling = g.ceiling
	}
	var err error
	if g.law, err = law.New(name, start, ceiling); p.Unpaced {
		g.law = law.Unpaced()
	}
	return g, err
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
	NotBefore time.Time // the end of its back-off
	Deadline  time.Time // when its run ends: what would wait beyond it is stopped
}

// Plan decides for r at now.
func (g *Gate) Plan(r Request, now time.Time) Plan {
	if stop := g.Refuse(now, r.Deadline); stop != nil {
		return Plan{Stop: stop}
	}
	var p Plan
	longest := func(until time.Time, cause collection.WaitCause) {
		if until.After(p.Until) {
			p.Until, p.Cause = until, cause
		}
	}
	at, lawOpen := g.law.Next(now)
	longest(at, collection.WaitPacing)
	for i := range g.windows {
		longest(g.windows[i].next(now), collection.WaitWindow)
	}
	longest(r.NotBefore, collection.WaitBackoff)
	longest(g.hold, collection.WaitRetryAfter)
	if g.breaker.state == Open { // and not by force: see Refuse
		longest(g.breaker.until, collection.WaitBreaker)
	}
	switch {
	case p.Until.After(now):
		if !r.Deadline.IsZero() && !p.Until.Before(r.Deadline) {
			return Plan{Stop: &collection.Stop{Reason: collection.WallClock}}
		}
		return p
	case g.breaker.probing:
		return Plan{Cause: collection.WaitBreaker}
	case g.freeze.testing || !lawOpen || g.inFlight >= g.concurrency:
		return Plan{}
	}
	return Plan{Ready: true}
}

// Refuse returns the stop for a request whose wait would not help.
func (g *Gate) Refuse(now, deadline time.Time) *collection.Stop {
	late := func(until time.Time) bool { return !deadline.IsZero() && !until.Before(deadline) }
	switch {
	case g.freeze.blocks(now):
		return g.Frozen()
	case g.hold.After(now) && (g.hold.Sub(now) > g.longestWait+holdLeast+holdSpread || late(g.hold)):
		return &collection.Stop{Reason: collection.RetryAfter, NotBefore: g.hold}
	case g.breaker.forced != nil && g.breaker.state == Open:
		return &collection.Stop{Reason: collection.CircuitOpen, Detail: g.breaker.forced.words()}
	case g.breaker.state == Open && g.breaker.until.After(now) && late(g.breaker.until):
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: g.breaker.until}
	}
	return nil
}

// Frozen returns the stop for everything while the account is frozen; nil if
// it is not.
func (g *Gate) Frozen() *collection.Stop {
	if !g.freeze.frozen {
		return nil
	}
	stop := &collection.Stop{Reason: collection.Frozen, NotBefore: g.freeze.until}
	if g.freeze.operator {
		stop.Detail = "until an operator releases it"
	}
	return stop
}

// A Pass is the permission for one attempt.
type Pass struct {
	law.Ticket
	Retry  bool // the same request was sent before
	probe  bool // of the breaker
	test   bool // of the freeze
	Save   bool // the state must be saved before it leaves
	Change []collection.Event
}

// Leave records that r leaves at now, after a plan that was ready.
func (g *Gate) Leave(_ Request, now time.Time) Pass {
	var p Pass
	p.Ticket = g.law.OnSend(now, 1)
	for i := range g.windows {
		g.windows[i].add(now, 1)
		p.Save = g.windows[i].reserve() || p.Save
	}
	g.inFlight++
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
func (g *Gate) Settle(now time.Time, p Pass, o law.Outcome) (changes []collection.Event, save bool) {
	g.inFlight--
	was, evidence := g.law.Rate(), g.evidence(p, o)
	g.law.OnResult(p.Ticket, o, now)
	if rate := g.law.Rate(); o.Signal == law.Throttled && rate < was {
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: rate, Previous: was, Reason: "throttled",
		}})
	}
	if o.QuotaUsed && o.Hold < 0 {
		o.Hold = quotaHold
	}
	if o.Hold >= 0 {
		until := now.Add(o.Hold + holdLeast + rand.N(holdSpread))
		if until.After(g.hold) {
			g.hold, save = until, true
		}
	}
	if change := g.breaker.onResult(p.ID, p.probe, evidence, g.law.Latest(), now); change != nil {
		changes, save = append(changes, collection.Event{Kind: collection.BreakerChanged, Breaker: change}), true
	}
	if change := g.freeze.onResult(p, o, g.law.Latest(), now); change != nil {
		changes, save = append(changes, collection.Event{Kind: collection.FreezeChanged, Freeze: change}), true
	}
	return changes, save
}

// evidence returns the signal that the breaker counts for an attempt. What is
// bad counts once: neither the retries of one request, which may be broken on
// its own, nor what was in flight when the provider refused the first of it
// says more about the provider than that first one. The probe always counts.
func (g *Gate) evidence(p Pass, o law.Outcome) law.Signal {
	again := p.Retry && (o.Signal == law.Throttled || o.Signal == law.Failed)
	if !p.probe && (again || o.Signal == law.Throttled && g.law.Known(p.Ticket, o)) {
		return law.Silent
	}
	return o.Signal
}

// Rate returns the learned pace in requests per second; 0 if there is none.
func (g *Gate) Rate() float64 { return g.law.Rate() }

// Most returns the highest rate there can be.
func (g *Gate) Most() float64 { return g.law.Most() }

// Concurrency returns how many requests may be in flight at once.
func (g *Gate) Concurrency() int { return g.concurrency }

// Closed reports whether the breaker is.
func (g *Gate) Closed() bool { return g.breaker.state == Closed }

// OpenUntil returns when the breaker lets a probe out; the zero time if it is
// closed, or only an operator does.
func (g *Gate) OpenUntil() time.Time {
	if g.Closed() || g.breaker.forced != nil {
		return time.Time{}
	}
	return g.breaker.until
}

// HoldUntil returns until when the provider asked for silence; the zero time
// if it did not.
func (g *Gate) HoldUntil(now time.Time) time.Time {
	if !g.hold.After(now) {
		return time.Time{}
	}
	return g.hold
}

// SettleUp gives back what the windows have reserved, because the process
// ends: the next snapshot has only what has left.
func (g *Gate) SettleUp() {
	for i := range g.windows {
		g.windows[i].credit = 0
	}
}
