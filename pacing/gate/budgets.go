package gate

import (
	"math"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// A Lowered is what an operator allows of a ceiling, which is less than its owner
// declares.
type Lowered = ceiling.Lowered

// never is later than anything.
const never law.Moment = math.MaxInt64

// now returns the moment of a time, with what operators ordered until then ended.
func (g *Gate) now(at time.Time) law.Moment {
	now := g.clock.Moment(at)
	if now >= g.lifts {
		g.lift(now)
	}
	return now
}

// lift ends the orders whose time is up, puts the others in force, and notes when the
// next of them ends.
func (g *Gate) lift(now law.Moment) {
	at := g.clock.When(now)
	is := g.ordered()
	budgets, first := is.budgets.Standing(at)
	g.give(budgets, is.ask)
	g.lowered = g.windows.Lower(budgets, g.share)
	if g.lowered > 0 {
		g.calm = false
	}
	ends := g.breaker.Ends()
	if !ends.IsZero() && !ends.After(at) {
		g.breaker.Lift(now)
		ends, g.calm = time.Time{}, false
	}
	g.lifts = never
	for _, end := range []time.Time{first, ends} {
		if !end.IsZero() {
			g.lifts = min(g.lifts, g.clock.Of(end))
		}
	}
}

// allowed returns the strictest pace that the owner and the operators allow; 0 if no
// ceiling is declared.
func (g *Gate) allowed() float64 {
	if g.lowered > 0 {
		return min(g.ceiling, g.lowered)
	}
	return g.ceiling
}

// LowerCeiling returns state with a ceiling lowered to l by an operator until a time,
// or until [LiftCeiling], and the event to save it with. It is for its giver to see
// that the owner of the account allows l: a gate uses no more than is declared to it,
// whatever l says.
func LowerCeiling(state []byte, now time.Time, l Lowered) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		l.Note, l.At, l.Until = note(l.Note), timeline.Saved(now), timeline.Saved(l.Until)
		was := k.Budgets.Of(l.Per)
		if was != nil && was.Count == l.Count && was.Until.Equal(l.Until) {
			return nil
		}
		k.Budgets = k.Budgets.With(l)
		return []collection.Event{budgetChanged(now, was, &l)}
	})
}

// LiftCeiling returns state with all of a ceiling in force again, and the event to save
// it with.
func LiftCeiling(state []byte, now time.Time, per time.Duration) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		was := k.Budgets.Of(per)
		if was == nil {
			return nil
		}
		k.Budgets = k.Budgets.Without(per)
		return []collection.Event{budgetChanged(now, was, nil)}
	})
}

func budgetChanged(now time.Time, was, is *Lowered) collection.Event {
	c := collection.CeilingInfo{}
	if was != nil {
		c.Window, c.Previous = was.Per.Seconds(), new(was.Count)
	}
	if is != nil {
		c.Window, c.Count, c.Until = is.Per.Seconds(), new(is.Count), is.Until
	}
	return collection.Event{Time: now, Kind: collection.BudgetOrdered, Ceiling: &c}
}
