package gate

import (
	"time"

	"collect/collection"
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
	stream string
	route  int32
	retry  bool
	probe  bool // of the breaker
	test   bool // of the freeze
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
	now := g.clock.moment(at)
	l := g.laneOf(r.Stream)
	g.sent++
	slot := g.slots.Take()
	p := Pass{ID: g.sent, slot: int32(slot.Index())}
	f := g.flights.at(slot.Index())
	f.id, f.slot, f.stream, f.route = g.sent, slot, r.Stream, int32(l.route)
	f.ticket = g.routes[l.route].onSend(l.weight, now)
	p.Save, g.settled, g.left = g.settled, false, now
	for i := range g.windows {
		w := &g.windows[i]
		w.add(now, l.units)
		if w.spend(l.units) {
			p.Save = true
		}
	}
	f.retry, f.probe, f.test = r.Retry, false, false
	if !g.calm {
		f.test = g.freeze.onSend()
		var change *collection.BreakerInfo
		if f.probe, change = g.breaker.onSend(p.ID, now); change != nil {
			p.Save = true
			p.Change = &collection.Event{Kind: collection.BreakerChanged, Breaker: change}
		}
	}
	return p
}

// Settle records the end of an attempt, once. save says that the new state must
// be saved before anything else leaves.
func (g *Gate) Settle(at time.Time, p Pass, o *Outcome) (changes []collection.Event, save bool) {
	now := g.clock.moment(at)
	f := g.flights.of(p)
	if f == nil {
		return nil, false
	}
	g.slots.Release(f.slot, flown(o.Signal), now-f.ticket.Left())
	if g.calm && o.isPlain() {
		changes, save = g.answered(f, o, now)
	} else {
		g.calm = false
		changes, save = g.weigh(f, o, at, now)
	}
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
func (g *Gate) answered(f *flight, o *Outcome, now moment) (changes []collection.Event, save bool) {
	way := g.routes[f.route]
	way.heard, way.spoke = now, true
	way.law.OnResult(f.ticket, o.forLaw(), now)
	if f.id > g.breaker.fence {
		g.breaker.count()
	}
	if g.ceiling > 0 && g.clamp.count(false, now) {
		if was := g.clamp.decide(law.Succeeded, now); was > 0 {
			g.calm = false
			return []collection.Event{g.clampChanged(was)}, true
		}
	}
	return nil, false
}

// weigh settles any flight.
func (g *Gate) weigh(f *flight, o *Outcome, at time.Time, now moment) (changes []collection.Event, save bool) {
	way := g.routes[f.route]
	if o.Signal != law.Silent && o.Signal != law.Failed {
		way.heard, way.spoke = now, true
	}
	fresh, was := false, 0.0 // of a refusal: it begins an episode, and the pace before it
	if o.Signal == law.Throttled || o.Signal == law.Failed {
		fresh, was = !way.law.Known(f.ticket, o.forLaw()), way.law.Rate()
	}
	hold := way.law.OnResult(f.ticket, o.forLaw(), now)
	if was > 0 && way.law.Rate() < was {
		reason := "throttled"
		if o.Signal == law.Failed {
			reason = "not answered"
		}
		changes = append(changes, collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: way.law.Rate(), Previous: was, Reason: reason,
		}})
	}
	if o.Key != "" {
		way = g.routes[g.learn(f.stream, int(f.route), o)]
	}
	if o.MaxRate > 0 {
		way.announce(o.MaxRate, o.Signal != law.Succeeded, now)
	}
	if hold >= 0 || o.QuotaUsed || g.share > 0 {
		save = g.silence(way, o, hold, now)
		if own := g.routes[g.laneOf(f.stream).route]; own != way {
			save = g.silence(own, o, hold, now) || save
		}
	}
	if g.ceiling > 0 && o.Signal != law.Silent && g.clamp.count(fresh && o.Signal == law.Throttled, now) {
		if was := g.clamp.decide(o.Signal, now); was > 0 {
			changes, save = append(changes, g.clampChanged(was)), true
		}
	}
	if change := g.breaker.onResult(f.id, f.probe, evidence(f, o.Signal, fresh), g.sent, now); change != nil {
		g.breaker.blame(change, o.Why, at)
		changes, save = append(changes, collection.Event{Kind: collection.BreakerChanged, Breaker: change}), true
	}
	if o.Refused != "" || f.test {
		if change := g.freeze.onResult(f, o, g.sent, &g.clock, now); change != nil {
			changes, save = append(changes, collection.Event{Kind: collection.FreezeChanged, Freeze: change}), true
		}
	}
	g.nameBinding(changes, at)
	return changes, save
}
