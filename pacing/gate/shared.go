package gate

import (
	"encoding/json"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// A party is a process that uses the gate, and what it has in flight.
type party struct {
	most, inFlight int
	asked          bool // for most: nobody else has a part of it
}

// parties are the processes that use a gate, by what their requests say.
type parties struct {
	now    map[int]*party
	joined int // that ever did
}

// of returns the party of a request; nil if there are none.
func (p *parties) of(r *Request) *party {
	if p == nil {
		return nil
	}
	return p.now[r.Party]
}

// room reports whether another request of its own may be in flight.
func (p *party) room() bool { return p == nil || p.inFlight < p.most }

func (p *party) count(n int) {
	if p != nil {
		p.inFlight += n
	}
}

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
		c = g.reserved(c)
		usable = append(usable, c)
		g.windows.Allow(c)
	}
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

// Newest returns the state that was saved last; one that cannot be read is
// older than any other.
func Newest(a, b []byte) []byte {
	if recordedAt(b).After(recordedAt(a)) {
		return b
	}
	return a
}

func recordedAt(state []byte) time.Time {
	var k kept
	if json.Unmarshal(state, &k) != nil {
		return time.Time{}
	}
	return k.RecordedAt
}
