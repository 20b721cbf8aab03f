package runner

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"collect/collection"
)

// parentsPage is how many parents are looked at in one read: transport, never
// a bound on the work.
const parentsPage = 500

// A task is one partition to walk.
type task struct {
	at         collection.Place
	checkpoint collection.Cursor
	version    string
}

// pass walks the partitions of a stream that are not settled, several side by
// side. Each has a checkpoint of its own, so their order does not matter; the
// stream's own place says which pass is being made, and whether it is done. A
// pass that is done is gone on with, for partitions that joined it late, or
// followed by the next if the run begins anew.
func (r *Runner) pass(ctx context.Context, stream collection.Stream, checkpoint collection.Cursor) error {
	home, current := r.home(stream), checkpoint
	if checkpoint.Done && r.anew || checkpoint == (collection.Cursor{}) {
		n, _ := strconv.ParseInt(checkpoint.Version, 10, 64) // "" is pass 0
		current = collection.Cursor{Version: strconv.FormatInt(n+1, 10)}
		if _, err := r.save(collection.Slice{Place: home, From: checkpoint, Next: current}); err != nil {
			return inStream(stream, err)
		}
	}
	r.read(stream.Name) // what recovery met does not count
	tasks := make(chan task)
	busy := &busy{at: map[collection.Partition]bool{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(tasks)
		return r.plan(ctx, stream, current.Version, busy, tasks)
	})
	for range r.Concurrency {
		group.Go(func() error {
			for t := range tasks {
				if r.ended() != nil || r.givenUp(stream.Name) {
					continue // what was not begun is ahead of the checkpoint
				}
				if err := r.walk(ctx, stream, t.at, t.checkpoint, t.version); err != nil {
					return err
				}
				busy.remove(t.at.Partition)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if r.ended() != nil {
		return nil
	}
	if r.givenUp(stream.Name) {
		return r.giveUp(ctx, stream, current)
	}
	last := current
	last.Done = true
	if last != current {
		if _, err := r.save(collection.Slice{Place: home, From: current, Next: last}); err != nil {
			return inStream(stream, err)
		}
	}
	r.finish(home)
	return nil
}

// plan sends the partitions that are to be walked, in the order of their
// parents' keys.
func (r *Runner) plan(ctx context.Context, stream collection.Stream, pass string, busy *busy, tasks chan<- task) error {
	for after := ""; r.ended() == nil && !r.givenUp(stream.Name); {
		parents, err := r.Ledger.Parents(ctx, stream.Parent, after, parentsPage)
		if err != nil {
			return err
		}
		if len(parents) == 0 {
			return nil
		}
		after = parents[len(parents)-1].Key
		page, err := r.unsettled(ctx, stream, pass, busy, parents)
		if err != nil {
			return err
		}
		for _, t := range page {
			busy.add(t.at.Partition)
			select {
			case tasks <- t:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if r.ended() != nil || r.givenUp(stream.Name) {
				return nil
			}
		}
	}
	return nil
}

// unsettled returns the partitions of parents that are neither collected in
// the version wanted nor owed by a gap, which is recovery's to fill.
func (r *Runner) unsettled(ctx context.Context, stream collection.Stream, pass string, busy *busy, parents []collection.Parent) ([]task, error) {
	var tasks []task
	var places []collection.Place
	seen := map[collection.Partition]bool{}
	for _, parent := range parents {
		partition, version, ok, err := r.Connector.Partition(stream.Name, parent)
		if err != nil {
			if err := r.leaveParent(ctx, stream, parent, err); err != nil {
				return nil, err
			}
			continue
		}
		// A partition in flight is not looked at: its checkpoint is moving.
		if !ok || seen[partition] || busy.has(partition) {
			continue
		}
		seen[partition] = true
		if stream.Refresh == collection.EachRun {
			version = pass
		}
		at := collection.Place{Stream: stream.Name, Partition: partition, Lane: r.Run.Lane}
		tasks, places = append(tasks, task{at: at, version: version}), append(places, at)
	}
	states, err := r.Ledger.Places(ctx, places)
	if err != nil {
		return nil, err
	}
	open := tasks[:0]
	for i, t := range tasks {
		t.checkpoint = states[i].Checkpoint.Cursor
		lost := r.lost(states[i])
		collected := t.checkpoint.Done && (t.checkpoint.Version == t.version || stream.Refresh == collection.Once)
		if lost || !collected && !states[i].Owed {
			open = append(open, t)
		}
	}
	return open, nil
}

// leaveParent leaves a gap for a parent that no partition can be made of, so
// that it is not skipped in silence.
func (r *Runner) leaveParent(ctx context.Context, stream collection.Stream, parent collection.Parent, cause error) error {
	at := collection.Place{Stream: stream.Name, Lane: r.Run.Lane, Partition: collection.Unmade(parent.Key)}
	stop := &collection.Stop{Reason: collection.SchemaDrift, Detail: cause.Error()}
	r.met(at, stop)
	return r.leave(ctx, r.gap(stream, at, collection.Cursor{}, stop), stop)
}

// fillParent tries the gap that leaveParent left. It is filled when a partition
// can be made of the parent: that one is then the pass's to collect.
func (r *Runner) fillParent(ctx context.Context, stream collection.Stream, gap collection.Gap, key string) error {
	parent, found, err := r.parent(ctx, stream.Parent, key)
	if err != nil {
		return err
	}
	if found {
		if _, _, _, err := r.Connector.Partition(stream.Name, parent); err != nil {
			return r.leaveParent(ctx, stream, parent, err)
		}
	}
	_, err = r.save(collection.Slice{Place: gap.Place, From: gap.Cursor, Next: collection.Cursor{Done: true}, Fills: gap.ID})
	return inStream(stream, err)
}

// parent returns the stored record of a stream with that key.
func (r *Runner) parent(ctx context.Context, stream, key string) (parent collection.Parent, found bool, err error) {
	after := key[:max(0, len(key)-1)] // a key before it, and not long before
	for {
		page, err := r.Ledger.Parents(ctx, stream, after, parentsPage)
		if err != nil || len(page) == 0 {
			return collection.Parent{}, false, err
		}
		for _, parent := range page {
			if parent.Key >= key {
				return parent, parent.Key == key, nil
			}
		}
		after = page[len(page)-1].Key
	}
}

// busy is the set of partitions in flight.
type busy struct {
	mu sync.Mutex
	at map[collection.Partition]bool
}

func (b *busy) add(p collection.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[p] = true
}

func (b *busy) remove(p collection.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.at, p)
}

func (b *busy) has(p collection.Partition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at[p]
}
