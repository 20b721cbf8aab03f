package gate

import (
	"time"

	"collect/pacing/gate/internal/route"
	"collect/pacing/law"
	"collect/pacing/response"
)

// usedWords says why nothing is left of an announced limit.
func (g *Gate) usedWords() string {
	if g.share > 0 {
		return "the rest of the quota is reserved for people"
	}
	return "the provider's quota is used up"
}

// reach returns how long to leave an announced limit alone, because nothing of it
// is left, or only the share that is for people; a negative time if there is
// more, or nobody said when there will be. Where a share is for people, what is
// in flight is taken as spent. Where none is, that a short limit is used up is the
// law's.
//
// It is a wait, and no news of the pace: nothing is slowed down before it, and
// nothing after it.
func (g *Gate) reach(o *Outcome) time.Duration {
	var wait time.Duration = -1
	for _, q := range o.Windows {
		if q.Unit != "" || q.Limit <= 0 || q.Remaining < 0 || q.Reset < 0 {
			continue
		}
		switch {
		case g.share > 0 && q.Remaining-float64(g.slots.InFlight()) <= g.share*q.Limit,
			g.share == 0 && q.Remaining == 0 && o.Signal == law.Succeeded && o.Hold >= q.Reset && max(q.Window, q.Reset) >= response.BudgetFrom:
			wait = max(wait, q.Reset)
		}
	}
	return wait
}

// Retry-After is whole seconds, and many clients are told the same one: a
// little later is polite, earlier is never.
const (
	holdLeast  = 50 * time.Millisecond
	holdSpread = 100 * time.Millisecond
)

// hush notes the silence that o asks for, of its route or of all, and until when
// nothing is left of a limit. It reports whether it changed.
func (g *Gate) hush(way *route.Route, o *Outcome, wait time.Duration, now law.Moment) (changed bool) {
	hold, basis, reserve := &g.hold, &g.basis, &g.reserve
	if o.Key != "" {
		reserve = &way.Reserve
		if !o.Wide {
			hold, basis = &way.Hold, &way.Basis
		}
	}
	reach := g.reach(o)
	if o.Signal == law.Succeeded && wait <= reach {
		wait = -1 // what was asked for was answered, and no more is to be had
	}
	if changed = g.lengthen(hold, wait, now); changed {
		*basis = nil
		if o.Basis != (Basis{}) {
			*basis = new(o.Basis)
		}
	}
	return g.lengthen(reserve, reach, now) || changed
}

// lengthen moves until to the end of wait, and reports whether it moved. A
// negative wait is none.
func (g *Gate) lengthen(until *law.Moment, wait time.Duration, now law.Moment) bool {
	if wait < 0 {
		return false
	}
	to := now + wait + holdLeast + time.Duration(g.random()*float64(holdSpread))
	if to <= *until {
		return false
	}
	*until = to
	return true
}
