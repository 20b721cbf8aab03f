package share

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"collect/internal/filelock"
	"collect/pacing/gate"
)

// Order tells those who share an account what an operator wants: the breaker
// and the freeze of state. A process that leads obeys before its next request
// leaves; if none does, the next one goes on with it. Where nobody ever met,
// there is nobody to tell.
func Order(ctx context.Context, dir, account string, state []byte) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	path := filepath.Join(dir, account+".lock")
	for deadline := time.Now().Add(beatLonger); ; {
		lock, err := filelock.Acquire(path)
		if err == nil {
			return errors.Join(hand(path, state), lock.Release())
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return err
		}
		if g, err := visit(path, Config{}); err == nil {
			_, err = g.ask(call{Do: obey, State: state})
			return errors.Join(err, g.close())
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

// hand leaves state for the next process that leads, unless there is a newer
// one.
func hand(lock string, state []byte) error {
	file := stateFile(lock)
	kept, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return replace(file, gate.Newest(kept, state))
}
