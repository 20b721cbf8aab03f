package runner

import (
	"context"
	"errors"

	"collect/collection"
)

// A committer commits slices. Slices that wait for the disk at the same time
// share one transaction, so that many small slices cost one flush together;
// each caller waits until its own slice is durable.
type committer struct {
	ledger Ledger
	spent  func() collection.Tally // what the run has spent so far
	queue  chan pending
	done   chan struct{}
}

type pending struct {
	slice  collection.Slice
	answer chan<- committed
}

type committed struct {
	collection.Committed
	err error
}

// maxShared bounds the slices of one transaction, and with them the memory it
// holds and the work that a failed one repeats.
const maxShared = 64

func newCommitter(ledger Ledger, spent func() collection.Tally) *committer {
	return &committer{ledger: ledger, spent: spent, queue: make(chan pending), done: make(chan struct{})}
}

// start begins to serve commit; close ends it, after which commit must not be
// called.
func (c *committer) start() { go c.serve() }

func (c *committer) close() {
	close(c.queue)
	<-c.done
}

// commit stores slice and returns when it is durable. A page that was fetched
// is saved even when the run is being cancelled.
func (c *committer) commit(slice collection.Slice) (collection.Committed, error) {
	answer := make(chan committed, 1)
	slice.Spent = c.spent()
	c.queue <- pending{slice, answer}
	got := <-answer
	return got.Committed, got.err
}

func (c *committer) serve() {
	defer close(c.done)
	var batch []pending
	for first := range c.queue {
		batch = append(batch[:0], first)
	gather:
		for len(batch) < maxShared {
			select {
			case next, ok := <-c.queue:
				if !ok {
					break gather
				}
				batch = append(batch, next)
			default:
				break gather
			}
		}
		c.commitAll(batch)
		clear(batch) // the records are in the store now
	}
}

// commitAll commits a batch together and, if that fails for one of them, each
// alone, so that every caller learns what became of its own slice.
func (c *committer) commitAll(batch []pending) {
	slices := make([]collection.Slice, len(batch))
	for i, p := range batch {
		slices[i] = p.slice
	}
	results, err := c.ledger.Commit(context.Background(), slices...)
	if err == nil {
		for i, p := range batch {
			p.answer <- committed{Committed: results[i]}
		}
		return
	}
	for _, p := range batch {
		alone := err
		var result collection.Committed
		if len(batch) > 1 || errors.Is(err, collection.ErrUnknown) {
			result, alone = c.settle(p.slice, err)
		}
		p.answer <- committed{result, alone}
	}
}

// settleTries bounds how often a commit with an unknown outcome is repeated
// before the run gives up.
const settleTries = 3

// settle finds out what became of one slice of a batch that failed with err,
// and commits it if it is not stored yet.
func (c *committer) settle(slice collection.Slice, err error) (collection.Committed, error) {
	ctx := context.Background()
	for range settleTries {
		if errors.Is(err, collection.ErrUnknown) {
			// A slice that fills a gap moves no checkpoint that would tell, and
			// its records are upserts: committing it again is the answer. It is
			// the answer, too, where another run moved the checkpoint, which may
			// have left a gap in place of the slice: the ledger refuses it.
			at, readErr := c.ledger.Checkpoint(ctx, slice.Place)
			if readErr != nil {
				return collection.Committed{}, errors.Join(err, readErr)
			}
			there := at.Cursor == slice.Next || slice.Else != nil && at.Cursor == *slice.Else
			moved := there && at.Cursor != slice.From && at.Epoch == c.ledger.Epoch()
			if slice.Fills == 0 && moved {
				return collection.Committed{Commit: at.Commit, Next: at.Cursor, Evidence: at.Evidence}, nil
			}
		}
		var results []collection.Committed
		results, err = c.ledger.Commit(ctx, slice)
		if err == nil {
			return results[0], nil
		}
		if !errors.Is(err, collection.ErrUnknown) {
			break
		}
	}
	return collection.Committed{}, err
}
