package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/runner"
)

// taken is a ledger whose lease is lost to another run at the first commit,
// which is in vain and has an unknown outcome. The other run cannot have the
// slice, and leaves a gap in its place.
type taken struct {
	*memory
	lost bool
}

func (l *taken) Commit(ctx context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	if l.lost {
		return nil, collection.ErrFenced
	}
	l.lost = true
	other := group[0]
	other.Records = nil
	other.Leaves = &collection.Gap{Place: other.Place, Cursor: other.From, Reason: collection.BadPage}
	if _, err := l.memory.Commit(ctx, other); err != nil {
		return nil, err
	}
	at := l.at[other.Place]
	at.Epoch = l.Epoch() + 1
	l.at[other.Place] = at
	return nil, collection.ErrUnknown
}

// TestCheckpointOfAnotherRunConfirmsNothing: a checkpoint behind the slice
// does not say that the slice is stored, if another run moved it.
func TestCheckpointOfAnotherRunConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		run, err := do(t, m, &provider{n: 7}, func(c *runner.Config) { c.Ledger = &taken{memory: m} })
		if !errors.Is(err, collection.ErrFenced) {
			t.Errorf("Do = %v, want %v", err, collection.ErrFenced)
		}
		if run.Tally.Slices != 0 || run.Tally.Records != 0 {
			t.Errorf("tally %+v, want no slice: none was stored", run.Tally)
		}
	})
}
