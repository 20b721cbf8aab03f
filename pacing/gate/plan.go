package gate

import (
	"cmp"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
	"collect/pacing/response"
)

// A Plan says what a request must wait for: until a time, for a change (if the
// time is zero), or not at all.
type Plan struct {
	Stop  *collection.Stop
	Ready bool
	Until time.Time
	Cause collection.WaitCause // "": for the answer to a request in flight
}

// A Request asks to leave. Zero times bind nothing.
type Request struct {
	Stream    string    // which it is for; "" for none
	Party     int       `json:"-"` // the process that asks, as [Gate.Share] named it; 0: the only one
	NotBefore time.Time // the end of its back-off
	Deadline  time.Time // when its run ends: what would wait beyond it is stopped
	Retry     bool      // the same request was sent before
	Ahead     bool      // it goes to the front of the line: its answer decides what the others wait for
}

// DoubtFor is how long nothing leaves after access was denied [doubtMost] times in a row, unless a request is
// answered well: the server that checks credentials may be away for a moment. Chosen.
const DoubtFor = 5 * time.Second

// doubtMost is how many denials in a row put the account in doubt: one or two may be about their records. Chosen.
const doubtMost = 3

// doubts reports whether the account is in doubt. Then the requests that are not ahead wait for [DoubtFor], and
// requests leave one at a time.
func (g *Gate) doubts() bool { return g.denials == doubtMost }

// Plan decides for r at now.
func (g *Gate) Plan(r *Request, at time.Time) Plan {
	now := g.now(at)
	l := g.routes.Lane(r.Stream)
	way := g.routes.All[l.Route]
	if !g.calm {
		if stop := g.refuse(r, way, now); stop != nil {
			return Plan{Stop: stop}
		}
		if g.asking(way, now) {
			return Plan{}
		}
	}
	until, open := way.Pace.Next(now)
	if !g.calm && g.asks(way, now) {
		until, open = now, true
	}
	cause, paced := collection.WaitPacing, max(until, now)
	next, full := g.windows.Next(now, l.Units)
	if full != nil && next > until {
		until, cause = next, collection.WaitWindow
		if until-paced > g.longestWait+ceiling.Transit {
			return Plan{Stop: &collection.Stop{Reason: collection.RequestCap, NotBefore: g.clock.When(until), Detail: full.UsedUp()}}
		}
	}
	if !r.NotBefore.IsZero() {
		until, cause = longest(until, cause, g.clock.Of(r.NotBefore), collection.WaitBackoff)
	}
	if !g.calm {
		until, cause = g.others(way, now, until, cause)
		if g.doubts() && !r.Ahead {
			until, cause = longest(until, cause, g.denied+DoubtFor, collection.WaitBackoff)
		}
		g.calm = g.isCalm(now)
	}
	switch {
	case until > now:
		if g.late(r, until) {
			answers := cause == collection.WaitPacing && g.slots.InFlight() > 0 // one of them may let r leave sooner
			if answers && !g.late(r, now) {
				return Plan{Until: g.clock.When(until)}
			}
			stop := &collection.Stop{Reason: collection.WallClock}
			if stop.Detail = g.slow(cause, full, way); stop.Detail != "" && !answers {
				stop.NotBefore = g.clock.When(until)
			}
			return Plan{Stop: stop}
		}
		if cause != collection.WaitBackoff { // which is its own
			way.Usage.Waits, way.Usage.Until = usage.ByTime, until
		}
		if cause == collection.WaitPacing && !open {
			cause = "" // an answer is waited for: the time is when that wait is given up
		}
		return Plan{Until: g.clock.When(until), Cause: cause}
	case g.breaker.Probing:
		return Plan{Cause: collection.WaitBreaker}
	case !g.calm && g.slots.InFlight() > 0 && (g.quotas.probes() || g.doubts()):
		return Plan{}
	case g.freeze.Testing || !open || !g.slots.Room() || !g.parties.of(r.Party).room():
		way.Usage.Waits = usage.BySlot
		return Plan{}
	}
	return Plan{Ready: true}
}

// slow says what holds back a request that would leave too late; "" for what
// holds for this run alone.
func (g *Gate) slow(cause collection.WaitCause, full *ceiling.Window, way *route.Route) string {
	switch {
	case cause == collection.WaitWindow && full != nil:
		return full.UsedUp()
	case cause == collection.WaitPacing && way.Pace.Keep().Refused() > passes:
		return "the provider refused every request for " + ceiling.InWords(way.Pace.Keep().Refused())
	case cause == collection.WaitPacing && way.Pace.Rate() > 0:
		return "the pace is one request every " + ceiling.InWords(time.Duration(float64(time.Second)/way.Pace.Rate()))
	case cause == collection.WaitReserve:
		return g.usedWords()
	}
	return ""
}

// longest returns the later of two waits, the first if they are equal.
func longest(a law.Moment, why collection.WaitCause, b law.Moment, because collection.WaitCause) (law.Moment, collection.WaitCause) {
	if b > a {
		return b, because
	}
	return a, why
}

// others returns the longest wait of the constraints that rarely apply.
func (g *Gate) others(way *route.Route, now, until law.Moment, cause collection.WaitCause) (law.Moment, collection.WaitCause) {
	if way.Most > 0 {
		until, cause = longest(until, cause, way.Earliest(now), collection.WaitPacing)
	}
	if most := g.spread(); most > 0 {
		why := collection.WaitWindow
		if g.ceiling == 0 && g.lowered == 0 {
			why = collection.WaitPacing // it is the highest pace that any route earned
		}
		for _, r := range g.routes.All {
			until, cause = longest(until, cause, r.Then(most), why)
		}
	}
	hold, reserve, basis := g.held(way, now)
	until, cause = longest(until, cause, reserve, collection.WaitReserve)
	until, cause = longest(until, cause, hold, causeOf(basis))
	if g.breaker.State == halt.Open { // and not by force: see refuse
		until, cause = longest(until, cause, g.breaker.Until, collection.WaitBreaker)
	}
	return until, cause
}

// spread returns the rate that all requests together must not exceed, in
// addition to what each law says; 0 if the one law sees to it.
func (g *Gate) spread() float64 {
	if g.lowered == 0 && (g.ceiling == 0 || g.clamp.Share() == 1) && (len(g.routes.All) == 1 || g.unpaced) {
		return 0
	}
	most := cmp.Or(g.ceiling, g.Most()) * g.clamped()
	if g.lowered > 0 {
		most = min(most, g.lowered)
	}
	return most
}

// clamped returns how much of the ceiling is in force. Without a ceiling there
// is nothing to clamp.
func (g *Gate) clamped() float64 {
	if g.ceiling == 0 {
		return 1
	}
	return g.clamp.Share()
}

// isCalm reports whether none of those has a say, nor will before something
// happens that ends the calm: an outcome that says more than that all is well,
// an order, or a state.
func (g *Gate) isCalm(now law.Moment) bool {
	way := g.routes.All[0]
	return g.routes.One() && way.Most == 0 && !g.doubts() && g.silence(way) <= now && !g.asks(way, now) &&
		g.share == 0 && g.lowered == 0 && !g.quotas.open() && g.clamp.Share() == 1 && !g.freeze.Frozen && g.breaker.State == halt.Closed
}

// late reports whether r's run has ended at until.
func (g *Gate) late(r *Request, until law.Moment) bool {
	return !r.Deadline.IsZero() && until >= g.clock.Of(r.Deadline)
}

// Refuse returns the stop for a request whose wait would not help.
func (g *Gate) Refuse(r *Request, now time.Time) *collection.Stop {
	return g.refuse(r, g.routes.By(r.Stream), g.now(now))
}

func (g *Gate) refuse(r *Request, way *route.Route, now law.Moment) *collection.Stop {
	tooLong := func(until law.Moment) bool { return until-now > g.longestWait+holdLeast+holdSpread }
	late := func(until law.Moment) bool { return until > now && g.late(r, until) }
	hold, reserve, basis := g.held(way, now)
	switch {
	case g.freeze.Blocks(now):
		return g.Frozen()
	case tooLong(hold):
		stop := &collection.Stop{Reason: collection.RetryAfter, NotBefore: g.clock.When(hold)}
		if basis.By != response.Asked {
			stop.Detail = basis.Words()
		}
		if basis.Renewed() && g.heard.lasts(stop.NotBefore) {
			stop.Reason = collection.Quota
		}
		return stop
	case g.breaker.State == halt.Open && g.breaker.Forced != nil:
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: g.breaker.Forced.Until, Detail: g.breaker.Forced.Words()}
	case g.breaker.State == halt.Open && late(g.breaker.Until):
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: g.clock.When(g.breaker.Until), Detail: g.breaker.Failure.Told()}
	case tooLong(reserve), late(reserve):
		return &collection.Stop{Reason: collection.Quota, NotBefore: g.clock.When(reserve), Detail: g.usedWords()}
	case late(hold): // it is the run that is short, and not the silence that is long
		return &collection.Stop{Reason: collection.WallClock, NotBefore: g.clock.When(hold), Detail: cmp.Or(basis.Words(), "the provider asked to wait")}
	}
	return nil
}

// held returns until when way is left alone, and why, and until when what is left is for people:
// not at all if a request asks whether that is over.
func (g *Gate) held(way *route.Route, now law.Moment) (hold, reserve law.Moment, why Basis) {
	switch {
	case g.asks(way, now) || g.asking(way, now):
		return 0, 0, Basis{}
	case way.Hold > g.hold:
		hold, why = way.Hold, basisOf(way.Basis)
	default:
		hold, why = g.hold, basisOf(g.basis)
	}
	return hold, max(g.reserve, way.Reserve), why
}

// basisOf returns b; zero for nil.
func basisOf(b *Basis) Basis {
	if b == nil {
		return Basis{}
	}
	return *b
}

// Frozen returns the stop for everything while the account is frozen; nil if
// it is not.
func (g *Gate) Frozen() *collection.Stop {
	if !g.freeze.Frozen {
		return nil
	}
	stop := &collection.Stop{Reason: collection.Frozen, NotBefore: g.freeze.Ends(&g.clock)}
	switch {
	case g.freeze.Reason == halt.ByOperator:
		stop.Detail = "an operator froze it"
		if g.freeze.Note != "" {
			stop.Detail += ": " + g.freeze.Note
		}
	case g.freeze.Reason == response.Challenge:
		stop.Detail = "a firewall answered in its place"
	case g.freeze.Reason == response.AbnormalUsage:
		stop.Detail = "it calls this usage abnormal"
	case g.freeze.Operator:
		stop.Detail = "until an operator releases it"
	}
	return stop
}
