package runner

import (
	"context"
	"errors"
	"slices"

	"collect/collection"
)

// A committer commits slices. Slices that wait for the disk at the same time
// share one transaction, so that many small slices cost one flush together.
type committer struct {
	ledger Ledger
	spent  func() collection.Tally // what the run has spent so far
	queue  chan *pending
	done   chan struct{}
}

// A pending is a slice on its way to the ledger.
type pending struct {
	slice  collection.Slice
	behind *pending      // the slice before it, without which it is not stored; nil: none that is not stored already
	taken  func()        // called when its transaction begins; nil: nobody waits for that
	done   chan struct{} // closed when what became of it is known
	collection.Committed
	err error
}

// maxShared bounds the slices of one transaction, and with them the memory it
// holds and the work that a failed one repeats.
const maxShared = 64

func newCommitter(ledger Ledger, spent func() collection.Tally) *committer {
	return &committer{ledger: ledger, spent: spent, queue: make(chan *pending, maxShared), done: make(chan struct{})}
}

// start begins to serve begin; close ends it, after which begin must not be
// called.
func (c *committer) start() { go c.serve() }

func (c *committer) close() {
	close(c.queue)
	<-c.done
}

// begin has p stored, whose slice, behind and taken are set. A page that was fetched
// is saved even when the run is being cancelled.
func (c *committer) begin(p *pending) *pending {
	p.slice.Spent, p.done = c.spent(), make(chan struct{})
	c.queue <- p
	return p
}

// wait returns when the slice is durable, or is not going to be.
func (p *pending) wait() (collection.Committed, error) {
	<-p.done
	return p.Committed, p.err
}

func (c *committer) serve() {
	defer close(c.done)
	var batch []*pending
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
		for _, p := range batch {
			if p.taken != nil {
				p.taken()
			}
		}
		c.commitAll(batch)
		clear(batch) // the records are in the store now
	}
}

// commitAll commits a batch together and, if that fails for one of them, each
// alone, so that it is known of each what became of it. What stands behind a slice
// that is not stored is not stored either, and nothing is once the lease is lost.
func (c *committer) commitAll(batch []*pending) {
	batch = slices.DeleteFunc(batch, (*pending).dropped)
	if len(batch) == 0 {
		return
	}
	group := make([]collection.Slice, len(batch))
	for i, p := range batch {
		group[i] = p.slice
	}
	results, err := c.ledger.Commit(context.Background(), group...)
	for i, p := range batch {
		switch {
		case err == nil:
			p.end(results[i], nil)
		case p.dropped():
		case errors.Is(err, collection.ErrUnknown), len(batch) > 1 && !errors.Is(err, collection.ErrFenced):
			p.end(c.settle(group[i:], err))
		default:
			p.end(collection.Committed{}, err)
		}
	}
}

// dropped ends a slice if the one before it was not stored.
func (p *pending) dropped() bool {
	if p.behind == nil || p.behind.err == nil {
		return false
	}
	p.end(collection.Committed{}, p.behind.err)
	return true
}

func (p *pending) end(done collection.Committed, err error) {
	p.Committed, p.err, p.behind = done, err, nil
	close(p.done)
}

// settleTries bounds how often a commit with an unknown outcome is repeated
// before the run gives up.
const settleTries = 3

// settle finds out what became of the first slice of a group that failed with err,
// and commits it if it is not stored yet. Those behind it may have been stored with
// it.
func (c *committer) settle(group []collection.Slice, err error) (collection.Committed, error) {
	ctx, slice := context.Background(), group[0]
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
			next, there := reached(group, at.Cursor)
			moved := there && at.Cursor != slice.From && at.Epoch == c.ledger.Epoch()
			if slice.Fills == 0 && moved {
				return collection.Committed{Commit: at.Commit, Next: next, Evidence: at.Evidence}, nil
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

// reached returns where the first slice of a group has moved the checkpoint of its
// place to, if that stands at a cursor because of it or of those behind it.
func reached(group []collection.Slice, at collection.Cursor) (next collection.Cursor, there bool) {
	first := &group[0]
	if first.Else != nil && at == *first.Else {
		return at, true
	}
	stands := func(s collection.Slice) bool { return s.Place == first.Place && s.Fills == 0 && s.Next == at }
	return first.Next, slices.ContainsFunc(group, stands)
}
