package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
	"collect/pacing/response"
)

// stateVersion is the version of the saved form. Fields are only ever added to
// a version.
const stateVersion = 1

// kept is the saved form of a gate, as JSON.
type kept struct {
	Version    int       `json:"version"`
	RecordedAt time.Time `json:"recorded_at"`
	law.Memory           // of the law
	Ceiling    float64   `json:"ceiling_per_second,omitempty"`
	Left       time.Time `json:"left_at,omitzero"` // the latest request; zero: that is not known
	Hold       time.Time `json:"hold_until,omitzero"`
	Basis      *Basis    `json:"hold_basis,omitempty"`
	Rejected   time.Time `json:"rejected_at,omitzero"` // the credential, with no answer since
	orders
	fresh
	Windows   []ceiling.Kept     `json:"windows,omitempty"`
	Reserve   time.Time          `json:"reserved_until,omitzero"`
	Share     float64            `json:"reserved_share,omitempty"` // of a limit, which is for people
	Clamp     *ceiling.KeptClamp `json:"clamp,omitempty"`
	Routes    []route.Kept       `json:"routes,omitempty"`
	Quotas    []keptQuota        `json:"quotas,omitempty"`
	Usage     *usage.Kept        `json:"usage,omitempty"`
	Processes int                `json:"processes,omitempty"`        // that shared the pace
	Paces     []float64          `json:"paces_per_second,omitempty"` // that are in force, by route; 0: nothing left by it

	Announced []Quota `json:"announced,omitempty"`    // each limit as it was last
	Tried     int     `json:"routes_tried,omitempty"` // that turned out to be none
	Saw       *look   `json:"saw,omitempty"`          // by the operator who ordered this state, if one did
}

// parseState reads a saved state. If the clock has been set back since, times
// to come are moved with it: no hold gets longer than it was. Times that no
// process can have saved are cut to the longest that one can.
func parseState(state []byte, now time.Time) (kept, error) {
	var k kept
	if err := json.Unmarshal(state, &k); err != nil {
		return kept{}, err
	}
	if k.Version != stateVersion {
		return kept{}, fmt.Errorf("version %d is not known", k.Version)
	}
	back := min(0, now.Sub(k.RecordedAt))
	k.RecordedAt = k.RecordedAt.Add(back)
	move := func(t *time.Time, longest time.Duration) {
		if t.IsZero() {
			return
		}
		if *t = t.Add(back); t.Sub(now) > longest {
			*t = now.Add(longest)
		}
	}
	move(&k.HeardAt, 0)
	move(&k.Left, 0)
	move(&k.Rejected, 0)
	if k.Clamp != nil {
		move(&k.Clamp.Since, 0)
	}
	const longestHold = response.Believed + holdLeast + holdSpread
	move(&k.Hold, longestHold)
	move(&k.Reserve, longestHold)
	for i := range k.Routes {
		r := &k.Routes[i]
		move(&r.Hold, longestHold)
		move(&r.Reserve, longestHold)
		move(&r.Told, 0)
		if r.Memory != nil {
			move(&r.Memory.HeardAt, 0)
		}
	}
	for i := range k.Announced {
		move(&k.Announced[i].Told, 0)
		move(&k.Announced[i].Ends, response.Believed)
	}
	for i := range k.Quotas {
		move(&k.Quotas[i].Since, 0)
	}
	k.Move(move, response.Believed)
	for i := range k.Budgets {
		move(&k.Budgets[i].At, 0)
		move(&k.Budgets[i].Until, response.Believed)
	}
	k.orders = k.standing(now)
	return k, nil
}

// ErrStale is the error of an order to release what is not what the operator
// saw: the provider, or another operator, said something since.
var ErrStale = errors.New("the state has changed since it was looked at")

// A look is what an operator saw who gave an order.
type look struct {
	orders
	Bound bool `json:"bound,omitempty"` // a refusal of the account bounds the pace
}

// amend returns what the order o makes of a state that is not the one that its
// giver saw.
func (o *kept) amend(is *kept, now time.Time) (orders, error) {
	if o.Saw == nil { // by a process that knows no looks
		return o.orders, nil
	}
	halted, ok := o.Kept.Amend(o.Saw.Kept, is.Kept)
	if !ok {
		return is.orders, ErrStale
	}
	budgets, ok := o.Budgets.Amend(o.Saw.Budgets, is.Budgets)
	if !ok {
		return is.orders, ErrStale
	}
	asked := is.Ask
	if o.Ask != nil && !o.Ask.same(o.Saw.Ask) && !o.Ask.same(is.Ask) {
		if asked = o.Ask; slices.ContainsFunc(is.ends(now), func(end time.Time) bool { return !asked.saw(end) }) {
			return is.orders, ErrStale
		}
	}
	return orders{halted, budgets, asked}, nil
}

// orders are what people may order, and what stops everything: it is amended, where
// the rest of a state is what a provider taught.
type orders struct {
	halt.Kept
	Budgets ceiling.Orders `json:"budgets,omitempty"`
	Ask     *ask           `json:"ask,omitempty"` // nil: none was given
}

// released reports whether o lets a test request out, which was did not.
func (o orders) released(was orders) bool {
	return was.Freeze != nil && !was.Freeze.Released && (o.Freeze == nil || o.Freeze.Released)
}

// standing returns o without what has ended by now.
func (o orders) standing(now time.Time) orders {
	o.Kept = o.Standing(now)
	o.Budgets, _ = o.Budgets.Standing(now)
	return o
}

// forgive forgets the paces at which the account was refused.
func (k *kept) forgive() {
	k.Forgive()
	for i := range k.Routes {
		if m := k.Routes[i].Memory; m != nil {
			m.Forgive()
		}
	}
}

// bounded reports whether a refusal of the account bounds a pace.
func (k *kept) bounded() bool {
	if _, ok := k.BanBound(0); ok {
		return true
	}
	return slices.ContainsFunc(k.Routes, func(r route.Kept) bool {
		if r.Memory == nil {
			return false
		}
		_, ok := r.Memory.BanBound(0)
		return ok
	})
}

// forgives reports whether k orders that no refusal bounds the pace any more.
func (k *kept) forgives() bool { return k.Saw != nil && k.Saw.Bound && !k.bounded() }
