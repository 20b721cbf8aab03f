package share

import (
	"net"
	"time"

	"collect/pacing/desk"
	"collect/pacing/gate"
)

// Meet returns a desk that leads, and one that is its guest for each of the
// configurations, over connections in memory. end ends all of them.
func Meet(g *gate.Gate, file string, guests []Config) (all []*Desk, end func(), err error) {
	return meetAt(&leader{desk: desk.New(g), claim: paper(file), guests: map[*visitor]bool{}}, guests)
}

// MeetAll is Meet where the first configuration is of the one that leads.
func MeetAll(g *gate.Gate, file string, all []Config) ([]*Desk, func(), error) {
	own := g.Share(all[0].Ceilings, all[0].Concurrency)
	return meetAt(&leader{desk: desk.New(g), own: own, claim: paper(file), guests: map[*visitor]bool{}}, all[1:])
}

func meetAt(l *leader, guests []Config) (all []*Desk, end func(), err error) {
	all = []*Desk{{place: l, flights: map[uint64]flight{}, finding: make(chan struct{}, 1)}}
	for _, c := range guests {
		ours, theirs := net.Pipe()
		l.serve(theirs)
		v, err := greet(ours, nil, c)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, &Desk{place: v, flights: map[uint64]flight{}, finding: make(chan struct{}, 1)})
	}
	return all, func() {
		for _, d := range all[1:] {
			d.Close()
		}
		all[0].Close()
	}, nil
}

// Die ends d as a kill of its process would: the kernel closes what it had.
func (d *Desk) Die() {
	switch p := d.place.(type) {
	case *guest:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.left = true
		p.line.conn.Close()
	case *leader:
		p.mu.Lock()
		p.closed = true
		guests := p.guests
		p.guests = nil
		p.mu.Unlock()
		if u, ok := p.listener.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false)
		}
		p.listener.Close()
		for v := range guests {
			v.line.conn.Close()
		}
		switch c := p.claim.(type) {
		case *locked:
			c.lock.Abandon()
		case *lease:
			c.mu.Lock()
			c.ended = true // it renews no more, and does not leave
			c.mu.Unlock()
		}
	}
}

// Stop makes d deaf and dumb, as if its process were stopped, until the returned
// function is called.
func (d *Desk) Stop() (wake func()) {
	if g, ok := d.place.(*guest); ok {
		g.line.mu.Lock()
		return g.line.mu.Unlock
	}
	l := d.place.(*leader)
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	var stopped []*visitor
	for v := range l.guests {
		v.line.mu.Lock()
		stopped = append(stopped, v)
	}
	return func() {
		for _, v := range stopped {
			v.line.mu.Unlock()
		}
	}
}

// Leads reports whether this process leads.
func (d *Desk) Leads() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, leads := d.place.(*leader)
	return leads
}

// paper is a claim that nobody else has: the state is in a file of that name.
type paper string

func (p paper) current() bool                 { return true }
func (p paper) state() ([]byte, error)        { return readState(string(p)) }
func (p paper) save(state []byte) error       { return replace(string(p), state) }
func (p paper) killed() bool                  { return false }
func (p paper) listen() (net.Listener, error) { return nil, nil }
func (p paper) end() error                    { return nil }

// How long a leader leads that is not heard of, and what waits for a directory.
const (
	LeaseLasts = leaseLasts
	LeaseHolds = leaseHolds
	AwayLonger = awayLonger
)

// Across returns what a process whose clock is ahead of the directory's by theirs
// reads, when one whose clock is ahead by ours says that a wait ends at a time, and
// the state that it reads then.
func Across(ours, theirs time.Duration, until time.Time, state []byte) (time.Time, []byte) {
	now := time.Now()
	from, to := &clock{now.Add(ours), now}, &clock{now.Add(theirs), now}
	r := reply{Wait: &waiting{Until: until}, State: state}.out(from).(reply).in(to)
	return r.Wait.Until, r.State
}
