package law

// The constants of the in-flight control.
const (
	crowdKept   = 256 // latest outcomes: as many as next counts
	crowdProof  = 6   // answers with one less in flight than what was refused
	crowdTrials = 32  // answers with one more in flight, until it is believed
)

// An occupancy is an outcome: the requests in flight when it left, and what
// became of it. Ten thousand providers have a log of them, so it is small.
type occupancy uint16

const (
	occupied occupancy = 1<<14 - 1 // mask of the requests in flight, at most
	refused  occupancy = 1 << 14
	began    occupancy = 1 << 15 // it was refused, and began an episode
)

// A crowd finds out whether the provider counts requests in flight and not
// requests in time: then everything above some number was refused, and nothing
// below it.
type crowd struct {
	log    []occupancy // a ring
	next   uint8       // in log, the oldest once it is full; it wraps with the ring
	trial  bool
	places int // in flight; 0: the provider does not count them
	used   int // answers at most since it was last changed
	spare  int // refusals with room to spare
}

func (c *crowd) note(inFlight int32, became occupancy) {
	o := occupancy(min(inFlight, int32(occupied))) | became
	if len(c.log) < crowdKept {
		c.log = append(c.log, o)
		return
	}
	c.log[c.next] = o
	c.next++
}

func (c *crowd) accept(d *Ticket) {
	c.note(d.inFlight, 0)
	if int(d.inFlight) >= c.limitInFlight() {
		c.used++
	}
}

func (c *crowd) refuse(d *Ticket, fresh bool) {
	became := refused
	if fresh {
		became |= began
	}
	c.note(d.inFlight, became)
}

// limitInFlight returns how many may be in flight.
func (c *crowd) limitInFlight() int {
	if c.trial {
		return c.places + 1
	}
	return c.places
}

// blame returns how many may be in flight if that is what is counted, or 0.
func (c *crowd) blame() int {
	least, most, episodes := 1<<30, 0, 0
	for _, o := range c.log {
		inFlight := int(o & occupied)
		if o&refused == 0 {
			most = max(most, inFlight)
			continue
		}
		least = min(least, inFlight)
		if o&began != 0 {
			episodes++
		}
	}
	if episodes < 2 || least <= most || least < 2 {
		return 0
	}
	below := 0
	for _, o := range c.log {
		if int(o) == least-1 {
			below++
		}
	}
	if below < crowdProof {
		return 0
	}
	return least - 1
}

// widen tries one more in flight from time to time. It reports true: under
// this control the pace itself is that of the owner.
func (p *plateau) widen(now Moment) bool {
	if p.trial {
		if p.used >= crowdTrials {
			p.crowd.places++
			p.trial, p.used = false, 0
		}
	} else if p.used >= p.every && p.calmed(now) == 0 {
		p.trial, p.used = true, 0
	}
	p.r = min(p.bound(), 2*p.r)
	return true
}

// crowded ends an episode under the control of what is in flight. It reports
// false if there is none, or if it turned out to be wrong.
func (p *plateau) crowded() bool {
	if p.crowd.places == 0 {
		if p.crowd.places = p.blame(); p.crowd.places == 0 {
			return false
		}
		p.trial, p.used, p.spare, p.every = false, 0, 0, probeLeast
		p.log, p.crowd.next = p.log[:0], 0
		return true
	}
	if p.trial {
		p.trial, p.used = false, 0
		p.every = min(probeMost, 2*p.every)
		return true
	}
	p.spare++
	if p.spare < 2 {
		p.crowd.places = max(1, p.crowd.places-1)
		return true
	}
	p.crowd = crowd{}
	return false
}
