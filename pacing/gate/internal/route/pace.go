package route

import (
	"time"

	"collect/pacing/law"
)

// A Pace is a law that can be paused: it goes on where it stopped, as if the time
// between had not been.
type Pace struct {
	law.Law
	by   time.Duration
	last law.Moment // when it was last told something
}

// pause returns the pace, which is used no more until it is resumed.
func (p *Pace) pause(now law.Moment) *Pace {
	p.last = now
	return p
}

// resume ends a pause.
func (p *Pace) resume(now law.Moment) *Pace {
	p.by += now - p.last
	return p
}

// Next, OnSend and OnResult are those of the law, by its own time.
func (p *Pace) Next(now law.Moment) (law.Moment, bool) {
	at, open := p.Law.Next(now - p.by)
	return at + p.by, open
}

func (p *Pace) OnSend(now law.Moment, weight float64) law.Ticket {
	return p.Law.OnSend(now-p.by, weight)
}

func (p *Pace) OnResult(t law.Ticket, o law.Outcome, now law.Moment) time.Duration {
	p.last = now
	return p.Law.OnResult(t, o, now-p.by)
}

// Forgive forgets that a pace was forbidden.
func (p *Pace) Forgive() {
	if l, ok := p.Law.(interface{ Forgive() }); ok {
		l.Forgive()
	}
}
