package gate

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

// of returns the party that says who it is; nil if there are none.
func (p *parties) of(who int) *party {
	if p == nil {
		return nil
	}
	return p.now[who]
}

// count returns how many processes use the gate; 0 if it is one that shares nothing.
func (p *parties) count() int {
	if p == nil {
		return 0
	}
	return len(p.now)
}

// room reports whether another request of its own may be in flight.
func (p *party) room() bool { return p == nil || p.inFlight < p.most }

func (p *party) count(n int) {
	if p != nil {
		p.inFlight += n
	}
}
