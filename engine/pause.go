package engine

import (
	"context"

	"collect/report/problem"
)

// mayBegin returns a *problem.PausedError if a person paused the connector.
func (r *Run) mayBegin(ctx context.Context) error {
	pause, err := r.Store.Paused(ctx, r.Target.Name)
	if err == nil && !pause.At.IsZero() {
		err = &problem.PausedError{Connector: r.Target.Name, Pause: pause}
	}
	return err
}

// PauseWords says what an order to pause a connector, or to let it run again, did.
// flags are what commands repeat.
func PauseWords(name, flags string, on, changed bool) string {
	switch {
	case on && changed:
		return "paused: no run of " + name + " begins. To end it: " + problem.Command("unpause", name, flags) + " --reason WHY"
	case on:
		return name + " is paused already; nothing was changed"
	case changed:
		return "no longer paused: the next run of " + name + " begins as usual; now: " + problem.Command("run", name, flags)
	}
	return name + " is not paused; nothing was changed"
}
