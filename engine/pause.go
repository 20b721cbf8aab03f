package engine

import (
	"context"
	"time"

	"collect/report/problem"
	"collect/store"
)

// pauseEvery is how often a run asks whether a person paused its connector.
const pauseEvery = 2 * time.Second

// mayBegin returns a *problem.PausedError if a person paused the connector.
func (r *Run) mayBegin(ctx context.Context) error {
	pause, err := r.Store.Paused(ctx, r.Target.Name)
	if err == nil && !pause.At.IsZero() {
		err = &problem.PausedError{Connector: r.Target.Name, Pause: pause}
	}
	return err
}

// heedPause ends the run, as planned, with what is in flight, once a person pauses its connector.
// It asks until stop is called. What cannot be read now is asked for the next time.
func (r *Run) heedPause(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pauseEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			pause, err := r.Store.Paused(ctx, r.Target.Name)
			if err != nil || pause.At.IsZero() {
				continue
			}
			r.mu.Lock()
			r.paused = pause
			r.mu.Unlock()
			r.budget.Interrupt()
			return
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// pausedBy returns who ended the run by pausing its connector; the zero Pause if that is not
// what ended it.
func (r *Run) pausedBy() store.Pause {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked {
		return store.Pause{}
	}
	return r.paused
}

// PauseWords says what an order to pause a connector, or to let it run again, did.
// flags are what commands repeat.
func PauseWords(name, flags string, on, changed bool) string {
	switch {
	case on && changed:
		return "paused: no run of " + name + " begins; one that is on stops within 5 s, once what is in flight is stored. To end the pause: " + problem.Command("unpause", name, flags) + " --reason WHY"
	case on:
		return name + " is paused already; nothing was changed"
	case changed:
		return "no longer paused: the next run of " + name + " begins as usual; now: " + problem.Command("run", name, flags)
	}
	return name + " is not paused; nothing was changed"
}
