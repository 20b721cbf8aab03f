package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/picture"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/store"
)

// A Past is what is kept of the time from From to To, for pictures.
type Past struct {
	From, To time.Time
	Begun    time.Time          // before it nothing is known
	Runs     []collection.Run   // that were on then
	Events   []collection.Event // oldest first
}

// paces are the kinds of events that pictures of a pace are made of.
var paces = []collection.EventKind{collection.RateChanged, collection.BreakerChanged, collection.FreezeChanged}

// PastOf gathers what is kept of connectors from a time until now.
func PastOf(ctx context.Context, db store.Reader, from, now time.Time, connectors ...string) (p Past, err error) {
	kept, err := db.Past(ctx, from, paces, connectors...)
	return Past{From: from, To: now, Begun: later(from, kept.Oldest), Runs: found(kept.Runs...), Events: kept.Events}, err
}

// begun returns from when on something is known.
func (p Past) begun() time.Time { return later(p.From, p.Begun) }

// of reports whether an event is of an account, which may be one of several.
func (a *Account) of(e collection.Event) bool {
	return a == nil || e.Account == "" || a.From == "" || e.Account == a.From
}

// Rate shows how fast an account was asked; with nil, what all of the events say.
func (p Past) Rate(a *Account) picture.Rate {
	r := picture.Rate{From: p.From, To: p.To}
	for _, run := range p.Runs {
		end := cmp.Or(run.EndedAt, run.SeenAt())
		if run.Tally.Requests == 0 || !end.After(run.StartedAt) || end.Before(p.From) || run.StartedAt.After(p.To) {
			continue
		}
		r.Sent = append(r.Sent, picture.Sent{From: run.StartedAt, To: end, Name: words.Clean(run.Connector), Refused: run.Tally.Throttled, PerSecond: float64(run.Tally.Requests) / end.Sub(run.StartedAt).Seconds()})
	}
	for _, e := range p.Events {
		switch {
		case e.Time.After(p.To) || !a.of(e):
		case e.Rate != nil && e.Rate.Route != "": // its paces are not those of all together
			if e.Rate.Learned < e.Rate.Previous && !e.Time.Before(p.From) {
				r.Lowered = append(r.Lowered, e.Time)
			}
		case e.Rate != nil:
			if len(r.Learned) == 0 && e.Rate.Previous > 0 && e.Time.After(p.begun()) {
				r.Learned = []picture.Level{{At: p.begun(), PerSecond: e.Rate.Previous}}
			}
			r.Learned = since(r.Learned, p.From, picture.Level{At: e.Time, PerSecond: e.Rate.Learned})
			ceiling := 0.0
			if e.Rate.Ceiling != nil {
				ceiling = *e.Rate.Ceiling
			}
			r.Ceiling = since(r.Ceiling, p.From, picture.Level{At: e.Time, PerSecond: ceiling})
			if e.Rate.Learned < e.Rate.Previous && !e.Time.Before(p.From) {
				r.Lowered = append(r.Lowered, e.Time)
			}
		}
	}
	if len(r.Learned) == 0 && len(r.Sent) > 0 && a != nil && a.Learned > 0 {
		r.Learned = []picture.Level{{At: p.begun(), PerSecond: a.Learned}} // as before
	}
	if len(r.Ceiling) == 0 && a != nil && a.Ceiling > 0 {
		r.Ceiling = []picture.Level{{At: p.From, PerSecond: a.Ceiling}} // as the files say
	}
	return r
}

// since adds a level, and forgets those that another one replaced before a time.
func since(levels []picture.Level, from time.Time, next picture.Level) []picture.Level {
	if len(levels) > 0 && !next.At.After(from) {
		levels = levels[:0]
	}
	return append(levels, next)
}

// Breaker shows when requests to an account could leave; nil: nothing is known of it.
func (p Past) Breaker(a *Account) picture.Breaker {
	b := picture.Breaker{From: p.From, To: p.To}
	if a == nil {
		return b
	}
	state, frozen := p.doorAtFirst(a)
	add := func(at time.Time) {
		door := doorOf(state, frozen)
		if n := len(b.Changes); n > 0 && !at.After(b.Changes[n-1].At) {
			b.Changes = b.Changes[:n-1] // it was so for no time
		}
		b.Changes = append(b.Changes, picture.Change{At: at, To: door})
	}
	if begun := p.begun(); begun.After(p.From) {
		b.Changes = append(b.Changes, picture.Change{At: p.From})
		add(begun)
	} else {
		add(p.From)
	}
	for _, e := range p.Events {
		switch {
		case !a.of(e) || e.Time.After(p.To):
			continue
		case e.Breaker != nil:
			state = e.Breaker.State
		case e.Freeze != nil:
			frozen = e.Freeze.Frozen
		default:
			continue
		}
		add(later(e.Time, p.From))
	}
	return b
}

// doorAtFirst returns how the breaker and the freeze of an account were before the first
// event of each.
func (p Past) doorAtFirst(a *Account) (state string, frozen bool) {
	state, frozen = a.Breaker, a.Frozen // as they are now, if nothing changed them
	for _, e := range slices.Backward(p.Events) {
		switch {
		case !a.of(e):
		case e.Breaker != nil:
			state = e.Breaker.Previous
		case e.Freeze != nil:
			frozen = !e.Freeze.Frozen
		}
	}
	return state, frozen
}

func doorOf(state string, frozen bool) picture.Door {
	switch {
	case frozen:
		return picture.DoorFrozen
	case state == gate.Open:
		return picture.DoorOpen
	case state == gate.HalfOpen:
		return picture.DoorHalf
	}
	return picture.DoorClosed
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
