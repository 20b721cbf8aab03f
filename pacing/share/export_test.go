package share

import (
	"net"

	"collect/pacing/desk"
	"collect/pacing/gate"
)

// Meet returns a desk that leads, and one that is its guest for each of the
// configurations, over connections in memory. end ends all of them.
func Meet(g *gate.Gate, file string, guests []Config) (all []*Desk, end func(), err error) {
	return meetAt(&leader{desk: desk.New(g), file: file, guests: map[*visitor]bool{}}, guests)
}

// MeetAll is Meet where the first configuration is of the one that leads.
func MeetAll(g *gate.Gate, file string, all []Config) ([]*Desk, func(), error) {
	own := g.Share(all[0].Ceilings, all[0].Concurrency)
	return meetAt(&leader{desk: desk.New(g), own: own, file: file, guests: map[*visitor]bool{}}, all[1:])
}

func meetAt(l *leader, guests []Config) (all []*Desk, end func(), err error) {
	all = []*Desk{{place: l, flights: map[uint64]flight{}}}
	for _, c := range guests {
		ours, theirs := net.Pipe()
		l.serve(theirs)
		v, err := greet(ours, c)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, &Desk{place: v, flights: map[uint64]flight{}})
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
		p.listener.(*net.UnixListener).SetUnlinkOnClose(false)
		p.listener.Close()
		for v := range guests {
			v.line.conn.Close()
		}
		p.lock.Abandon()
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
