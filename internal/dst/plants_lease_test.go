package dst_test

import (
	"context"
	"errors"
	"time"

	"collect/collection"
	"collect/store"
)

// A deaf ledger hears no beat.
type deaf struct{ store.Ledger }

func (deaf) Beat(context.Context, time.Time, collection.Tally, collection.Metrics) error { return nil }

// An impatient keeper takes a lease whose holder was not heard of for a minute,
// whether it is dead, was stopped, or has another clock.
type impatient struct {
	keeper
	p *process
}

func byAge(p *process, k keeper) keeper { return impatient{k, p} }

func (k impatient) Begin(ctx context.Context, run collection.Run, streams []collection.Stream) (store.Ledger, error) {
	l, err := k.keeper.Begin(ctx, run, streams)
	if held, ok := errors.AsType[*store.HeldError](err); ok && time.Since(held.Run.BeatAt) > time.Minute {
		k.p.h.stage.unlock()
		return k.keeper.Begin(ctx, run, streams)
	}
	return l, err
}
