package ceiling

import (
	"math"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/times"
	"collect/pacing/response"
)

// A Lowered is what an operator allows of a ceiling, which is less than its owner
// declares.
type Lowered struct {
	Per   time.Duration `json:"per"`   // the window of the ceiling
	Count float64       `json:"count"` // requests in it; of a pace, not always a whole number
	Note  string        `json:"note,omitempty"`
	At    time.Time     `json:"at"`
	Until time.Time     `json:"until,omitzero"` // zero: until an operator lifts it
}

// PerSecond returns the pace that l allows; 0 if its ceiling is counted over a
// longer time than a pace is.
func (l *Lowered) PerSecond() float64 {
	if l.Per >= response.BudgetFrom {
		return 0
	}
	return l.Count / l.Per.Seconds()
}

// same reports whether l is m: of the same order, or none.
func (l *Lowered) same(m *Lowered) bool {
	return l == m || l != nil && m != nil && l.Count == m.Count && l.Note == m.Note && times.Same(l.At, m.At)
}

// Orders are the ceilings that operators lowered, one at most for each window.
type Orders []Lowered

// Of returns what is ordered of the ceiling with a window; nil if nothing is.
func (o Orders) Of(per time.Duration) *Lowered {
	for i := range o {
		if o[i].Per == per {
			return &o[i]
		}
	}
	return nil
}

// With returns o with l in place of what it says of the window of l.
func (o Orders) With(l Lowered) Orders { return append(o.Without(l.Per), l) }

// Without returns o without what it says of a window.
func (o Orders) Without(per time.Duration) Orders {
	return slices.DeleteFunc(slices.Clone(o), func(l Lowered) bool { return l.Per == per })
}

// Standing returns those of o that have not ended at now, and when the first of
// them ends; the zero time if none does by itself.
func (o Orders) Standing(now time.Time) (left Orders, first time.Time) {
	for _, l := range o {
		if l.Until.IsZero() {
			left = append(left, l)
			continue
		}
		if !l.Until.After(now) {
			continue
		}
		if left = append(left, l); first.IsZero() || l.Until.Before(first) {
			first = l.Until
		}
	}
	return left, first
}

// Amend returns what the order o of an operator who saw one state makes of
// another. It reports false if o would allow more than an order that its giver
// did not see.
func (o Orders) Amend(saw, is Orders) (amended Orders, ok bool) {
	amended = is
	for _, l := range slices.Concat(o, saw) {
		to, was, now := o.Of(l.Per), saw.Of(l.Per), is.Of(l.Per)
		if to.same(was) {
			continue // it does not speak of it
		}
		if !now.same(was) && now != nil && (to == nil || to.Count > now.Count) {
			return is, false
		}
		if to == nil {
			amended = amended.Without(l.Per)
		} else {
			amended = amended.With(*to)
		}
	}
	return amended, true
}

// Lower puts the orders in force, and takes those back that are not among them.
// share is what is kept for people, as in [Reserved]. It returns the pace that they
// allow; 0 if they say nothing of it.
func (all Windows) Lower(orders Orders, share float64) (perSecond float64) {
	for i := range all {
		w := &all[i]
		if w.declared > 0 {
			w.Count, w.declared = w.declared, 0
		}
		l := orders.Of(w.Per)
		if l == nil || l.Count <= 0 {
			continue
		}
		lower := Reserved(collection.Ceiling{Count: max(1, int(math.Ceil(l.Count))), Per: w.Per}, share)
		if w.declared = w.Count; lower.Count < w.Count {
			w.Count = lower.Count
		}
		if pace := l.PerSecond(); pace > 0 && (perSecond == 0 || pace < perSecond) {
			perSecond = pace
		}
	}
	return perSecond
}

// Declared returns how many requests the owner of the account declares for the window,
// whatever is in force.
func (w *Window) Declared() int { return max(w.declared, w.Count) }
