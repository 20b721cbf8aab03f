package law

// The constants of the cap of what is in flight.
const (
	capKept   = 256 // latest outcomes: as many as next counts
	capProof  = 6   // answers with one less in flight than what was refused
	capTrials = 32  // answers with one more in flight, until it is believed
	capTurns  = 8   // of each place, before one more is tried
)

// An occupancy is an outcome: the requests in flight when it left, and what
// became of it. Ten thousand providers have a log of them, so it is small.
type occupancy uint16

const (
	occupied occupancy = 1<<13 - 1 // mask of the requests in flight, at most
	weakly   occupancy = 1 << 13   // it was refused, by nothing but a 503
	refused  occupancy = 1 << 14
	began    occupancy = 1 << 15 // it was refused, and began an episode
)

// An inFlightCap finds out whether the provider counts requests in flight and not
// requests in time: then everything above some number was refused, and nothing
// below it. From time to time it tries one more.
type inFlightCap struct {
	log    []occupancy // a ring
	next   uint8       // in log, the oldest once it is full; it wraps with the ring
	trial  bool
	places int // in flight; 0: the provider does not count them
	used   int // answers at most since it was last changed,
	every  int // and how many there are before one more is tried
}

func (c *inFlightCap) note(inFlight int32, became occupancy) {
	o := occupancy(min(inFlight, int32(occupied))) | became
	if len(c.log) < capKept {
		c.log = append(c.log, o)
		return
	}
	c.log[c.next] = o
	c.next++
}

func (c *inFlightCap) answered(d *Ticket) {
	c.note(d.inFlight, 0)
	if int(d.inFlight) >= c.limit() {
		c.used++
	}
}

func (c *inFlightCap) refused(d *Ticket, fresh, weak bool) {
	became := refused
	if fresh {
		became |= began
	}
	if weak {
		became |= weakly
	}
	c.note(d.inFlight, became)
}

// limit returns how many may be in flight.
func (c *inFlightCap) limit() int {
	if c.trial {
		return c.places + 1
	}
	return c.places
}

// blame returns how many may be in flight if that is what is counted, or 0. A
// bare 503 that more in flight would have deserved came by chance.
func (c *inFlightCap) blame() int {
	least, most, episodes := 1<<30, 0, 0
	for _, o := range c.log {
		if o&refused == 0 {
			most = max(most, int(o&occupied))
		}
	}
	for _, o := range c.log {
		inFlight := int(o & occupied)
		if o&refused == 0 || o&weakly != 0 && inFlight <= most {
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
	if below < capProof {
		return 0
	}
	return least - 1
}

// cap allows so many in flight from here on.
func (c *inFlightCap) cap(places int) {
	*c = inFlightCap{log: c.log[:0], places: places, every: capTurns * places}
}

// capped reports whether what is in flight is controlled, and not the pace.
func (c *inFlightCap) capped() bool { return c.places > 0 }

// confirmed reports whether one more was tried, and refused.
func (c *inFlightCap) confirmed() bool { return c.capped() && c.every > capTurns*c.places }

// widen tries one more in flight, if enough answers came since the last change and
// more is looked for now.
func (c *inFlightCap) widen(look bool) {
	switch {
	case c.trial && c.used >= capTrials:
		c.cap(c.places + 1)
	case !c.trial && c.used >= c.every && look:
		c.trial, c.used = true, 0
	}
}

// exceeded reports whether the request d was refused because it was one in flight
// more than there are places for, which says nothing about the pace.
func (c *inFlightCap) exceeded(d *Ticket) bool {
	if !c.capped() || int(d.inFlight) <= c.places {
		return false
	}
	if c.trial {
		c.trial, c.used = false, 0
		c.every = min(probeMost, 2*c.every)
	}
	return true
}

// fewer allows one less in flight than when d left, which was refused because too many were. It reports false if d was
// the only one.
func (c *inFlightCap) fewer(d *Ticket) bool {
	if d.inFlight > 1 && (!c.capped() || int(d.inFlight) <= c.places) {
		c.cap(int(d.inFlight) - 1)
	}
	return d.inFlight > 1
}

// found looks at an episode that was not by chance, and reports whether it tells
// of what is in flight. If queued, it may be that of a queue that was too long.
func (c *inFlightCap) found(queued bool) bool {
	if c.capped() || queued {
		return false
	}
	places := c.blame()
	if places > 0 {
		c.cap(places)
	}
	return places > 0
}
