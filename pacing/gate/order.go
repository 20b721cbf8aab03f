package gate

import (
	"encoding/json"
	"errors"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/timeline"
)

// ErrStale is the error of an order to release what is not what the operator
// saw: the provider, or another operator, said something since.
var ErrStale = errors.New("the state has changed since it was looked at")

// A look is what an operator saw who gave an order.
type look struct {
	halt.Kept
	Bound bool `json:"bound,omitempty"` // a refusal of the account bounds the pace
}

// amend returns what the order o makes of a state that is not the one that its
// giver saw.
func (o *kept) amend(is halt.Kept) (halt.Kept, error) {
	if o.Saw == nil { // by a process that knows no looks
		return o.Kept, nil
	}
	amended, ok := o.Kept.Amend(o.Saw.Kept, is)
	if !ok {
		return is, ErrStale
	}
	return amended, nil
}

// order gives an order: it returns state as change leaves it, with what it was
// before, or as it is if change has nothing to tell.
func order(state []byte, now time.Time, change func(*kept) []collection.Event) ([]byte, []collection.Event, error) {
	k := kept{Version: stateVersion}
	if len(state) > 0 {
		var err error
		if k, err = parseState(state, now); err != nil {
			return nil, nil, err
		}
	}
	k.Saw = &look{k.Kept, k.bounded()}
	if k.Breaker != nil {
		k.Breaker = new(*k.Breaker) // which the order changes
	}
	events := change(&k)
	if len(events) == 0 {
		return state, nil, nil
	}
	k.RecordedAt = timeline.Saved(now)
	edited, err := json.Marshal(k)
	if err != nil {
		return nil, nil, err
	}
	return edited, events, nil
}

// Obey carries out an operator's order. What is in flight says nothing about
// the breaker after it. It fails if the order cannot be read, and with
// [ErrStale] if it would release something else than its giver saw: a refusal
// that came after the look is not lifted.
func (g *Gate) Obey(order []byte, now time.Time) error {
	k, err := parseState(order, now)
	if err != nil {
		return err
	}
	g.clock.Moment(now)
	was := halt.Kept{Breaker: g.breaker.Keep(&g.clock), Freeze: g.freeze.Keep(&g.clock)}
	is, err := k.amend(was)
	if err != nil {
		return err
	}
	if is.Breaker != was.Breaker {
		g.breaker = halt.NewBreaker(is.Breaker, &g.clock)
	}
	if is.Freeze == nil && (was.Freeze != nil || k.forgives()) {
		g.forgive()
	}
	if is.Freeze != was.Freeze {
		g.freeze = halt.NewFreeze(is.Freeze, &g.clock)
	}
	g.breaker.Fence, g.freeze.Fence = g.sent, g.sent
	g.calm = false
	return nil
}

// forgive forgets the paces at which the account was refused.
func (g *Gate) forgive() {
	for _, r := range g.routes.All {
		r.Pace.Forgive()
	}
}

// Hand returns what the next process goes on with: the order, or state with
// its changes if that was saved later. A state that cannot be read is older
// than any order. It fails as [Gate.Obey] does.
func Hand(state, order []byte, now time.Time) ([]byte, error) {
	if !recordedAt(state).After(recordedAt(order)) {
		return order, nil
	}
	return Amend(state, order, now)
}

// Amend returns state with the changes of the order, whichever was saved later:
// what was said since its giver looked stays, also where a clock was set. Of a
// state that cannot be read nothing can stay: it gives way to the order. It
// fails as [Gate.Obey] does.
func Amend(state, order []byte, now time.Time) ([]byte, error) {
	k, err := parseState(state, now)
	if err != nil {
		return order, nil
	}
	o, err := parseState(order, now)
	if err != nil {
		return nil, err
	}
	is, err := o.amend(k.Kept)
	if err != nil {
		return nil, err
	}
	if is.Freeze == nil && (k.Freeze != nil || o.forgives()) {
		k.forgive()
	}
	k.Kept, k.Saw, k.RecordedAt = is, nil, timeline.Saved(now)
	return json.Marshal(k)
}
