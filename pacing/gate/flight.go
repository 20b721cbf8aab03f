package gate

import (
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// A Pass is the permission for one attempt. With no more than four fields and
// four words it is passed in registers.
type Pass struct {
	ID     uint64            // from 1, rising
	Change *collection.Event // of the breaker, whose probe it is; nil: none
	Save   bool              // the state must be saved before it leaves
	slot   int32             // the index of its slot in flight
}

// A flight is an attempt that has left and not ended. It stays with the gate:
// what travels with the attempt is a [Pass], which is small.
type flight struct {
	id     uint64 // of its pass; 0: it has ended
	ticket law.Ticket
	slot   inflight.Slot
	party  *party // whose it is; nil: of the only process
	stream string
	way    *route
	old    *paused // the law that its route had when it left; nil: it has it still
	left   law.Moment
	retry  bool
	probe  bool // of the breaker
	test   bool // of the freeze
}

// law returns the law that it left under.
func (f *flight) law() law.Law {
	if f.old != nil {
		return f.old
	}
	return f.way.law
}

// flights are kept by the index of their slot in flight.
type flights []flight

// at returns the place of the flight in slot i.
func (f *flights) at(i int) *flight {
	for i >= len(*f) {
		*f = append(*f, flight{})
	}
	return &(*f)[i]
}

// of returns the flight of p; nil if it has ended.
func (f flights) of(p Pass) *flight {
	if i := int(p.slot); i < len(f) && f[i].id == p.ID && p.ID > 0 {
		return &f[i]
	}
	return nil
}

// Leave records that r leaves at now, after a plan that was ready.
func (g *Gate) Leave(r *Request, at time.Time) Pass {
	now := g.clock.Moment(at)
	l := g.laneOf(r.Stream)
	g.sent++
	slot := g.slots.Take()
	p := Pass{ID: g.sent, slot: int32(slot.Index())}
	f := g.flights.at(slot.Index())
	if l.route == 0 && (g.mix != nil || f.left > 0 && f.stream != r.Stream) {
		g.sends(r.Stream)
	}
	f.id, f.slot, f.stream, f.way = g.sent, slot, r.Stream, g.routes[l.route]
	f.left, f.old = now, nil
	f.party = g.parties.of(r)
	f.party.count(1)
	f.ticket = f.way.onSend(l.weight, now)
	p.Save, g.settled, g.left = g.settled, false, now
	f.way.usage.leave()
	g.pulse.leave(g.sent, now)
	if g.windows.Leave(now, l.units) {
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
	if !g.calm || o.QuotaUsed {
		o, news = g.suppose(f, o, now)
	}
	if len(o.Windows) > 0 || o.Signal == law.Throttled {
		o = f.way.empty.suppose(o, f.left, now)
	}
	g.slots.Release(f.slot, flown(o), took)
	if o.Signal == law.Succeeded {
		g.pulse.answer(took)
	}
	if g.calm && o.isPlain() {
		changes, save = g.answered(f, o, now)
	} else {
		g.calm = false
		changes, save = g.weigh(f, o, at, now)
	}
	save = save || news
	if g.slots.Paced() {
		g.slots.Pace(g.Rate())
	}
	f.id = 0
	return changes, save
}

// isPlain reports whether o says that all is well, and no more than a law reads.
func (o *Outcome) isPlain() bool {
	return o.Signal == law.Succeeded && o.Hold < 0 && o.Key == "" && o.MaxRate <= 0 && o.Refused == "" && !o.QuotaUsed
}

// answered settles a flight in the calm, with an outcome that is plain.
func (g *Gate) answered(f *flight, o *Outcome, now law.Moment) (changes []collection.Event, save bool) {
	f.way.heard, f.way.spoke = now, true
	f.law().OnResult(f.ticket, o.forLaw(f.retry), now)
	if f.id > g.breaker.Fence {
		g.breaker.Count()
	}
	if g.ceiling > 0 {
		if change := g.clamp.Observe(law.Succeeded, false, now); change != nil {
			g.calm = false
			return []collection.Event{g.clampChanged(change)}, true
		}
	}
	return nil, false
}

// weigh settles any flight.
func (g *Gate) weigh(f *flight, o *Outcome, at time.Time, now law.Moment) (changes []collection.Event, save bool) {
	way := f.way
	if o.Signal != law.Silent && o.Signal != law.Failed {
		way.heard, way.spoke = now, true
	}
	fresh, was := false, 0.0 // of a refusal: it begins an episode, and the pace before it
	if o.Signal == law.Throttled || o.Signal == law.Failed {
		fresh, was = !f.law().Known(f.ticket, o.forLaw(f.retry)), f.law().Rate()
	}
	shown := o.Signal == law.Throttled && !o.Weak && o.Key == "" // a refusal of the stream, or of all
	if shown && g.mix != nil && f.old == nil && f.way == g.routes[0] {
		g.blame(f)
	}
	hold := f.law().OnResult(f.ticket, o.forLaw(f.retry), now)
	if was > 0 && f.law().Rate() < was && f.old == nil {
		way.usage = usage{} // of a faster pace
		reason := "throttled"
		if o.Signal == law.Failed {
			reason = "not answered"
		}
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: f.law().Rate(), Previous: was, Reason: reason,
		}})
	}
	if o.Key != "" {
		way = g.learn(f.stream, way, o)
	}
	if o.MaxRate > 0 {
		way.announce(o.MaxRate, o.Signal != law.Succeeded, now)
	}
	if hold >= 0 || g.share > 0 {
		save = g.silence(way, o, hold, now)
		if own := g.routes[g.laneOf(f.stream).route]; own != way {
			save = g.silence(own, o, hold, now) || save
		}
	}
	if g.ceiling > 0 && o.Signal != law.Silent {
		if change := g.clamp.Observe(o.Signal, fresh && o.Signal == law.Throttled, now); change != nil {
			changes, save = append(changes, g.clampChanged(change)), true
		}
	}
	if change := g.breaker.OnResult(f.id, f.probe, evidence(f, o.Signal, fresh), g.sent, now); change != nil {
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
	if g.mix != nil && g.mix.due != "" && o.Signal == law.Succeeded && f.stream != g.mix.due && f.old == nil && f.way == g.routes[0] {
		changes, save = append(changes, g.try(now)...), true
	}
	if f.old == nil {
		told := g.tell(f, o.Signal, shown && fresh, now)
		changes, save = append(changes, told...), save || len(told) > 0
	}
	g.nameBinding(changes, at)
	return changes, save
}

// clampChanged tells of a move of the clamp.
func (g *Gate) clampChanged(change *collection.ClampInfo) collection.Event {
	change.Ceiling = change.Ratio * g.ceiling
	return collection.Event{Kind: collection.ClampChanged, Clamp: change}
}
