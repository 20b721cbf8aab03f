package share

import (
	"context"
	"errors"
	"os"
	"time"

	"collect/collection"
	"collect/internal/filelock"
)

// Order tells those who share an account what an operator wants, by the state
// that the order makes of the one that he saw: see [gate.Gate.Obey]. A process
// that leads obeys before its next request leaves, and all record the events: it
// was heard. If none leads, the next one goes on with the state. If no process ever
// shared an account in dir, there is none to tell.
func Order(ctx context.Context, dir, account string, state []byte, events ...collection.Event) (heard bool, err error) {
	err = meet(ctx, dir, account,
		func(path string) error { return hand(path, state) },
		func(g *guest) error {
			_, err := g.ask(call{Do: obey, State: state, Events: events})
			heard = err == nil
			return err
		})
	return heard, err
}

// Present returns the processes that share an account now, and its state as
// they have it. If there are none, it is the state that the next one goes on
// with; nil if no process ever shared an account in dir.
func Present(ctx context.Context, dir, account string) (state []byte, pids []int, err error) {
	err = meet(ctx, dir, account,
		func(path string) (err error) {
			state, err = readState(path)
			return err
		},
		func(g *guest) error {
			r, err := g.ask(call{Do: present})
			state, pids = r.State, r.PIDs
			return err
		})
	return state, pids, err
}

// Kept returns the state of an account that a leader, of now or of before, saved
// last; nil if there was none. It asks no process, and changes nothing.
func Kept(dir, account string) ([]byte, error) {
	return readState(lockFile(dir, account))
}

// meet calls there with the process that leads, or alone, under its lock, if
// none does. If no process ever shared an account in dir, it calls neither.
func meet(ctx context.Context, dir, account string, alone func(path string) error, there func(*guest) error) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	path := lockFile(dir, account)
	for deadline := time.Now().Add(beatLonger); ; {
		lock, err := filelock.Acquire(path)
		if err == nil {
			return errors.Join(alone(path), lock.Release())
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return err
		}
		if g, err := visit(path, Config{}); err == nil {
			return errors.Join(there(g), g.close())
		}
		if time.Now().After(deadline) {
			return errors.New("the process that leads does not answer")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}
