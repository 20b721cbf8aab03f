package gate

import (
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// Share lets a process use the gate, which asks for concurrency requests in
// flight, 0 for nothing in particular: its ceilings hold for all, and what it
// may have in flight is its own. A ceiling that is none is left out. It returns
// what the requests of that process must say, and [Gate.Part] takes.
func (g *Gate) Share(ceilings []collection.Ceiling, concurrency int) (who int) {
	if g.parties == nil {
		g.parties = &parties{now: map[int]*party{}}
	}
	g.parties.joined++
	who = g.parties.joined
	allowed := collection.Provider{Concurrency: collection.Concurrency{Max: int(g.declared)}, Unpaced: g.unpaced}
	g.parties.now[who] = &party{most: allowed.InFlight(concurrency), asked: concurrency > 0 || g.unpaced}
	g.divide()
	var usable []collection.Ceiling
	for _, c := range ceilings {
		if c.Count <= 0 || c.Per <= 0 {
			continue
		}
		c = ceiling.Reserved(c, g.share)
		usable = append(usable, c)
		g.windows.Allow(c)
	}
	g.lift(g.clock.Moment(g.clock.Now()))
	if interval := ceiling.Strictest(usable); interval > 0 && (g.ceiling == 0 || law.PerSecond(interval) < g.ceiling) {
		g.ceiling = law.PerSecond(interval)
	}
	return who
}

// Part notes that a process uses the gate no more.
func (g *Gate) Part(who int) {
	if g.parties != nil {
		delete(g.parties.now, who)
		g.divide()
	}
}

// divide sets how many requests may be in flight of all processes together:
// what is declared, or as many as each of them may have. Those who asked for
// nothing share what one of them would have.
func (g *Gate) divide() {
	most, shared := 0, 0
	for _, p := range g.parties.now {
		if p.asked {
			most += p.most
		} else {
			shared = p.most
		}
	}
	switch {
	case g.declared > 0:
		g.slots.Bound(int(g.declared))
	case most+shared > 0:
		g.slots.Bound(most + shared)
	}
}

// TakeOver goes on for a process that died a moment ago: what it sent and did not
// save counts as the most that it can have been.
func (g *Gate) TakeOver(at time.Time) {
	g.windows.TakeOver(g.clock.Moment(at))
}
