package gate

import (
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
)

// Leave records that r leaves at now, after a plan that was ready.
func (g *Gate) Leave(r *Request, at time.Time) Pass {
	now := g.clock.Moment(at)
	l := g.routes.Lane(r.Stream)
	g.sent++
	slot := g.slots.Take()
	p := Pass{ID: g.sent, slot: int32(slot.Index())}
	f := g.flights.at(slot.Index())
	if l.Route == 0 {
		g.routes.Mixes(r.Stream, f.left > 0 && f.stream != r.Stream)
	}
	f.id, f.slot, f.stream, f.way = g.sent, slot, r.Stream, g.routes.All[l.Route]
	f.left, f.pace = now, f.way.Pace
	f.party = g.parties.of(r.Party)
	f.party.count(1)
	f.asks = !g.calm && g.asks(f.way, now)
	f.ticket = f.way.Leave(l.Weight, now)
	p.Save, g.settled, g.left = g.settled, false, now
	if f.asks {
		g.endAsk()
		p.Save = true
	}
	g.pulse.Leave(g.sent, now)
	if g.windows.Leave(now, l.Units) {
		p.Save = true
	}
	f.retry, f.probe, f.test = r.Retry, false, false
	if !g.calm {
		f.test = g.freeze.OnSend()
		var change *collection.BreakerInfo
		if f.probe, change = g.breaker.OnSend(p.ID, now); change != nil {
			p.Save = true
			p.Change = &collection.Event{Kind: collection.BreakerChanged, Breaker: change}
		}
	}
	return p
}

// Settle records the end of an attempt, once. save says that the new state must
// be saved before anything else leaves.
func (g *Gate) Settle(at time.Time, p Pass, o *Outcome) (changes []collection.Event, save bool) {
	now := g.clock.Moment(at)
	f := g.flights.of(p)
	if f == nil {
		return nil, false
	}
	took := now - f.left
	f.party.count(-1)
	news := false
	if o.Signal == law.Throttled && o.Period > 0 && !g.heard.grants(o.Windows) {
		c := *o // nothing else is said: the budget is a quota that is used up
		c.Signal, c.QuotaUsed, c.Code = law.Silent, true, o.Basis.Quota
		o = &c
	}
	if !g.calm || o.QuotaUsed {
		o, news = g.quotas.suppose(o, f.way.Key(), f.left, now)
	}
	if len(o.Windows) > 0 {
		if g.heard == nil {
			g.heard = &heard{}
		}
		g.heard.hear(o, f.left, now, at)
	}
	if len(o.Windows) > 0 || o.Signal == law.Throttled {
		if windows, reset := f.way.Empty.Believe(o.Signal, o.Windows, f.left, now); reset >= 0 {
			o = o.without(windows, reset)
		}
	}
	g.slots.Release(f.slot, flown(o), took)
	g.pulse.End(o.Signal == law.Failed || o.Signal == law.Silent && o.Why != "" && !o.QuotaUsed, now)
	if g.calm && o.isPlain() {
		changes, save = g.answered(f, o, now)
	} else {
		g.calm = false
		changes, save = g.weigh(f, o, at, now)
	}
	save = g.noteRejected(o, at) || save || news
	switch {
	case o.Denied:
		g.denied, g.denials = now, min(doubtMost, g.denials+1)
	case o.Signal == law.Succeeded:
		g.denials = 0
	}
	if g.slots.Paced() {
		g.slots.Pace(g.Rate())
	}
	f.id = 0
	return changes, save
}

// noteRejected notes whether the credential is rejected, and reports whether that is news.
func (g *Gate) noteRejected(o *Outcome, at time.Time) bool {
	switch {
	case o.Rejected && g.rejected == 0:
		g.rejected = at.UnixNano()
		return true
	case g.rejected != 0 && o.Signal == law.Succeeded:
		g.rejected = 0
		return true
	}
	return false
}

// rejectedAt returns when the credential was last rejected; zero if it was not, or something was answered since.
func (g *Gate) rejectedAt() time.Time {
	if g.rejected == 0 {
		return time.Time{}
	}
	return time.Unix(0, g.rejected).UTC()
}

// restoreRejected goes on from a saved time.
func (g *Gate) restoreRejected(at time.Time) {
	if g.rejected = 0; !at.IsZero() {
		g.rejected = at.UnixNano()
	}
}

// answered settles a flight in the calm, with an outcome that is plain.
func (g *Gate) answered(f *flight, o *Outcome, now law.Moment) (changes []collection.Event, save bool) {
	f.way.Hears(now)
	if hold := f.pace.OnResult(f.ticket, o.forLaw(f.retry), now); hold > 0 {
		g.calm, save = false, g.hush(f.way, o.lacking(), hold, now)
	}
	if f.id > g.breaker.Fence {
		g.breaker.Count(f.id, false)
	}
	if g.ceiling > 0 {
		if change := g.clamp.Observe(law.Succeeded, false, now); change != nil {
			g.calm = false
			return []collection.Event{g.clampChanged(change)}, true
		}
	}
	return nil, save
}

// weigh settles any flight.
func (g *Gate) weigh(f *flight, o *Outcome, at time.Time, now law.Moment) (changes []collection.Event, save bool) {
	way := f.way
	if o.Signal != law.Silent && o.Signal != law.Failed {
		way.Hears(now)
	}
	fresh, was, all := false, 0.0, 0.0 // of a refusal: it begins an episode, and the pace before it, of the route and of all
	if o.Signal == law.Throttled || o.Signal == law.Failed {
		fresh, was, all = !f.pace.Known(f.ticket, o.forLaw(f.retry)), f.pace.Rate(), g.Rate()
	}
	shown := o.Signal == law.Throttled && !o.Weak && o.Key == "" // a refusal of the stream, or of all
	ofAll := f.current() && f.way == g.routes.All[0]
	if shown && ofAll {
		g.routes.Refused(f.id, g.sent, f.stream)
	}
	hold := f.pace.OnResult(f.ticket, o.forLaw(f.retry), now)
	if hold > max(o.Hold, 0) {
		o = o.lacking()
	}
	if o.Signal == law.Throttled && f.pace.Keep().Backoff(0) > noticed {
		save = true // no slice may come for long that it is saved with
	}
	if was > 0 && f.pace.Rate() < was && f.current() {
		way.Usage = usage.Usage{} // of a faster pace
		reason := "throttled"
		if o.Signal == law.Failed {
			reason = "no usable answer"
		}
		fell := &collection.RateInfo{Learned: g.Rate(), Previous: all, Reason: reason}
		if name := way.Label(); way != g.routes.All[0] && name != "" {
			fell.Route, fell.Learned, fell.Previous = name, f.pace.Rate(), was
		}
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: fell})
	}
	if o.Key != "" {
		way = g.routes.Learn(f.stream, way, o.Key, o.Signal)
	}
	if o.MaxRate > 0 {
		way.Announce(o.MaxRate, o.Signal != law.Succeeded, now)
	}
	switch {
	case f.asks && o.Refused == "" && (o.Signal == law.Succeeded || o.Signal == law.Answered):
		save = g.askAnswered(f.way, now) || save
	case o.Signal == law.Throttled && g.asks(f.way, now): // its giver did not see that
		g.endAsk()
		save = true
	}
	if hold >= 0 || g.share > 0 {
		save = g.hush(way, o, hold, now) || save
		if own := g.routes.By(f.stream); own != way {
			save = g.hush(own, o, hold, now) || save
		}
	}
	if g.ceiling > 0 && o.Signal != law.Silent {
		began := fresh && o.Signal == law.Throttled && (!o.Weak || f.pace.Rate() < was)
		if change := g.clamp.Observe(o.Signal, began, now); change != nil {
			changes, save = append(changes, g.clampChanged(change)), true
		}
	}
	if change := g.breaker.OnResult(f.id, f.probe, evidence(f, o, fresh), g.sent, now); change != nil {
		g.breaker.Blame(change, o.Why, at)
		changes, save = append(changes, collection.Event{Kind: collection.BreakerChanged, Breaker: change}), true
	}
	var change *collection.FreezeInfo
	if f.test {
		change = g.freeze.Tested(o.Refused == "" && (o.Signal == law.Succeeded || o.Signal == law.Answered))
	}
	if o.Refused != "" {
		change = g.freeze.Refused(halt.Refusal{ID: f.id, Latest: g.sent, Why: o.Refused, Operator: o.Operator}, &g.clock, now)
	}
	if change != nil {
		changes, save = append(changes, collection.Event{Kind: collection.FreezeChanged, Freeze: change}), true
	}
	var told []collection.RouteInfo
	if ofAll && o.Signal == law.Succeeded {
		told = g.routes.Try(f.stream, now)
	}
	if f.current() {
		told = append(told, g.routes.Tell(f.way, f.ticket.Cost(), o.Signal, shown && fresh, now)...)
	}
	for _, r := range told {
		changes, save = append(changes, collection.Event{Kind: collection.RouteChanged, Stream: r.Stream, Route: &r}), true
	}
	g.nameBinding(changes, at)
	return changes, save
}

// clampChanged tells of a move of the clamp.
func (g *Gate) clampChanged(change *collection.ClampInfo) collection.Event {
	change.Ceiling = change.Ratio * g.ceiling
	return collection.Event{Kind: collection.ClampChanged, Clamp: change}
}

// evidence returns the signal that the breaker counts for an attempt. What is
// bad counts once: neither the retries of one request, which may be broken on
// its own, nor what was in flight when the provider refused, or lost, the first
// of it says more about the provider than that first one. The probe always
// counts.
func evidence(f *flight, o *Outcome, fresh bool) law.Signal {
	s := o.Signal
	if o.Leftover {
		s, fresh = law.Failed, true
	}
	bad := s == law.Throttled || s == law.Failed
	if !f.probe && bad && (f.retry || !fresh) {
		return law.Silent
	}
	return s
}
