package share

import (
	"context"
	"errors"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

// Order tells those who share an account what an operator wants, by the state
// that the order makes of the one that he saw: see [gate.Gate.Obey]. A process
// that leads obeys before its next request leaves, and all record the events: it
// was heard. If none leads, the next one goes on with the state. If no process ever
// shared an account there, there is none to tell.
func Order(ctx context.Context, at At, state []byte, events ...collection.Event) (heard bool, err error) {
	err = meet(ctx, at,
		func(c claim) error { return hand(c, state) },
		func(g *guest) error {
			_, err := g.ask(call{Do: obey, State: state, Events: events})
			heard = err == nil
			return err
		})
	return heard, err
}

// Present returns the processes that share an account now, and its state as
// they have it. If there are none, it is the state that the next one goes on
// with; nil if no process ever shared an account there.
func Present(ctx context.Context, at At) (state []byte, all []collection.Holder, err error) {
	err = meet(ctx, at,
		func(c claim) (err error) {
			state, err = c.state()
			return err
		},
		func(g *guest) error {
			r, err := g.ask(call{Do: present})
			state, all = r.State, r.Present
			return err
		})
	return state, all, err
}

// Kept returns the state of an account that a leader, of now or of before, saved
// last; nil if there was none. It asks no process, and changes nothing.
func Kept(ctx context.Context, at At) ([]byte, error) {
	if at.Directory == nil {
		return readState(lockFile(at.Dir, at.Account))
	}
	ctx, cancel := within(ctx)
	defer cancel()
	asked := time.Now()
	there, err := at.Directory.Now(ctx)
	if err != nil {
		return nil, err
	}
	state, err := at.Directory.State(ctx, at.Account)
	c := &clock{asked, there}
	return c.stateIn(state), err
}

// hand leaves an order for the next process that leads.
func hand(c claim, order []byte) error {
	kept, err := c.state()
	if err != nil {
		return err
	}
	next, err := gate.Hand(kept, order, time.Now())
	if err != nil {
		return err
	}
	return c.save(next)
}

// meet calls there with the process that leads, or alone, with the right to lead, if
// none does. If no process ever shared an account there, it calls neither.
func meet(ctx context.Context, at At, alone func(claim) error, there func(*guest) error) error {
	on := at.ground()
	if !on.exists() {
		return nil
	}
	for deadline := time.Now().Add(max(beatLonger, 2*leaseLasts)); ; {
		c, err := on.claim(ctx)
		if err == nil {
			return errors.Join(alone(c), c.end())
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		if g, err := visit(ctx, on, Config{}); err == nil {
			return errors.Join(there(g), g.close())
		}
		if time.Now().After(deadline) {
			return errors.New("the process that leads does not answer")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(on.lookEvery()):
		}
	}
}
