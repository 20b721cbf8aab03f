package runner

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"collect/collection"
)

// parentsPage is how many parents are looked at in one read: transport, never
// a bound on the work.
const parentsPage = 500

// mostFetched is how many partitions are fetched, or wait for their transaction, for
// each request that may be in flight. As many others are being stored. Those that wait
// share the next transaction; a process that is killed fetches all of them again.
const mostFetched = 2

// A task is one partition to walk.
type task struct {
	at         collection.Place
	checkpoint collection.Cursor
	version    string
	parent     string // its key
	after      string // the key of the parent whose partition was given before it; the pass began behind that of the first
	stored     int64  // the commit of its bytes
}

// pass walks the partitions of a stream that are not settled, several side by
// side. Each has a checkpoint of its own, so their order does not matter; the
// stream's own place says which pass is being made, at which parent, and whether
// it is done. A pass that is done is opened again for partitions that joined it
// late, or followed by the next if the run begins anew.
//
// A pass goes on behind the parent it stands at, first with what the run before it had
// in flight, and then looks at the parents before that one. In the order of keys, a run
// would look at every settled partition before its first request, which takes seconds
// with a hundred thousand of them. A pass is done when one run has looked at every parent.
func (r *Runner) pass(ctx context.Context, stream collection.Stream, checkpoint collection.Cursor) error {
	home, current := r.home(stream), checkpoint
	told, err := r.toldOfStale(ctx, stream, checkpoint)
	if err != nil {
		return inStream(stream, err)
	}
	if checkpoint.Done && r.anew || checkpoint == (collection.Cursor{}) {
		n, _ := strconv.ParseInt(checkpoint.Version, 10, 64) // "" is pass 0
		current = collection.Cursor{Version: strconv.FormatInt(n+1, 10)}
		if _, err := r.save(collection.Slice{Place: home, From: checkpoint, Next: current}); err != nil {
			return inStream(stream, err)
		}
	}
	r.read(stream.Name) // what recovery met does not count
	r.forgetDoubt(stream.Name)
	r.passes(stream.Name, !current.Done)
	defer r.passes(stream.Name, false)
	waits := r.awaits(stream.Name)
	p := &passage{stream: stream, home: home, at: current, begin: current.Token, stale: stale{told: told}}
	tasks := make(chan task)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(tasks)
		return r.plan(ctx, p, tasks)
	})
	places := make(chan struct{}, mostFetched*r.Concurrency)
	for range 2 * mostFetched * r.Concurrency {
		group.Go(func() error {
			for {
				places <- struct{}{}
				leave := sync.OnceFunc(func() { <-places })
				t, ok := <-tasks
				if !ok {
					leave()
					return nil
				}
				err := r.take(ctx, course{stream: stream, at: t.at, version: t.version, taken: leave}, t.checkpoint)
				leave()
				if err != nil {
					return err
				}
				if r.ended() == nil {
					p.ends(t)
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if r.ended() != nil {
		return r.stand(p)
	}
	if r.givenUp(stream.Name) {
		return r.giveUp(ctx, stream, p.at)
	}
	unsure := r.inDoubt(stream.Name)
	if last := (collection.Cursor{Version: p.at.Version, Done: true}); last != p.at || unsure {
		if _, err := r.save(collection.Slice{Place: home, From: p.at, Next: last, Told: collection.Told{Unsure: unsure}}); err != nil {
			return inStream(stream, err)
		}
	}
	if err := r.tellStale(context.WithoutCancel(ctx), p); err != nil {
		return inStream(stream, err)
	}
	r.finish(home)
	return r.settleWaits(context.WithoutCancel(ctx), stream, waits)
}

// take walks a partition, unless the run or the stream is at its end: what was not
// begun is ahead of the checkpoint.
func (r *Runner) take(ctx context.Context, c course, checkpoint collection.Cursor) error {
	if r.ended() != nil || r.givenUp(c.stream.Name) {
		return nil
	}
	c.guard = r.newRepeats()
	return r.walkBehind(collection.WithPlace(ctx, c.at), c, checkpoint)
}

// noteDoubt notes that the finished walk of a partition may lack records. A partition without records is
// no doubt: most parents have no children.
func (r *Runner) noteDoubt(at collection.Place, e collection.Evidence) {
	if at.Partition != "" && e.Records > 0 && e.Doubt() != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.doubted[at.Stream] = true
	}
}

// forgetDoubt forgets what was noted of the partitions of a stream.
func (r *Runner) forgetDoubt(stream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.doubted, stream)
}

// inDoubt reports whether something is not known of the walk of a partition of a stream.
func (r *Runner) inDoubt(stream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubted[stream]
}

// passes notes whether a pass is made that finds again what was not finished.
func (r *Runner) passes(stream string, finds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passing[stream] = finds
}

// goesOn reports whether the pass that a partition belongs to finds it again, so
// that a stop in it that ends the run is no gap of its own: the pass itself is
// left with one. So it is of a stop that ends the walks of one account: each pass looks at
// what was not finished, whether it came to its end or not.
func (r *Runner) goesOn(at collection.Place, stop *collection.Stop) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waits := r.waits[at.Stream]; at.Partition != "" && waits != nil && stop.Reason.EndsRun() && !stop.EndsRun() {
		if waits.n++; waits.stop == nil {
			waits.stop = stop
		}
		return true
	}
	return at.Partition != "" && r.passing[at.Stream] && stop.EndsRun()
}

// A passage is one run's way through a pass.
type passage struct {
	stream collection.Stream
	home   collection.Place
	at     collection.Cursor // the checkpoint; its token is the key of the parent that the pass goes on behind
	begin  string            // the token that the run began with
	passed int64             // parents that no partition is wanted of, so far
	stale  stale
	sent   string // the key of the parent whose partition was last given to a worker; "": none since the checkpoint

	mu     sync.Mutex
	flight []task // what the workers have, in the order they were given it; when the run ends, all they may have left
}

// begins notes that a partition is given to a worker.
func (p *passage) begins(t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = append(p.flight, t)
}

// ends notes that a partition needs nothing more of this run.
func (p *passage) ends(t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = slices.DeleteFunc(p.flight, func(f task) bool { return f.at.Partition == t.at.Partition })
}

// moving reports whether a partition is in flight.
func (p *passage) moving(partition collection.Partition) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.flight, func(f task) bool { return f.at.Partition == partition })
}

// reached returns the key of the parent that the pass goes on behind: the one before the
// first that is in flight. The run's very first does not count: if it is what ends each run,
// or takes many runs, those behind it do not wait for it.
func (p *passage) reached() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	flight := p.flight
	if len(flight) > 0 && flight[0].after == p.begin {
		flight = flight[1:]
	}
	if len(flight) == 0 {
		return p.sent
	}
	return flight[0].after
}

// stand moves the checkpoint of a pass to the parent that it has reached.
// It is where the next run begins, and promises nothing about the parents before it.
// A run that has asked for nothing yet leaves it where it is. A gap that says where the
// pass goes on moves with it: it is owed until the pass is done.
func (r *Runner) stand(p *passage) error {
	if p.sent == "" || p.at.Done || r.Budget.Tally().Requests == 0 {
		return nil
	}
	next := p.at
	next.Token, p.sent = p.reached(), ""
	if next == p.at {
		return nil
	}
	_, err := r.save(collection.Slice{Place: p.home, From: p.at, Next: next, Anew: true})
	p.at = next
	return inStream(p.stream, err)
}

// reopen takes a pass that came to its end for one under way, since partitions joined it: it is the
// same pass, and is complete when they are collected, too.
func (r *Runner) reopen(p *passage) error {
	next := collection.Cursor{Version: p.at.Version}
	_, err := r.save(collection.Slice{Place: p.home, From: p.at, Next: next, Anew: true})
	p.at = next
	r.passes(p.stream.Name, true)
	return inStream(p.stream, err)
}

// plan sends the partitions that are to be walked, in the order of their
// parents' keys: those behind the checkpoint of the pass first.
func (r *Runner) plan(ctx context.Context, p *passage, tasks chan<- task) error {
	if err := r.planFrom(ctx, p, p.begin, "", tasks); err != nil || p.begin == "" {
		return err
	}
	return r.planFrom(ctx, p, "", p.begin, tasks)
}

// planFrom does so for the parents behind after, up to last; "" is all of them.
func (r *Runner) planFrom(ctx context.Context, p *passage, after, last string, tasks chan<- task) error {
	given := after
	over := func() bool { return r.ended() != nil || r.givenUp(p.stream.Name) }
	for !over() && (last == "" || after < last) {
		parents, err := r.Ledger.Parents(ctx, p.stream.Parent, after, parentsPage)
		if err != nil {
			return err
		}
		if err := r.stand(p); err != nil || len(parents) == 0 {
			return err
		}
		after = parents[len(parents)-1].Key
		page, err := r.unsettled(ctx, p, parents)
		if err != nil {
			return err
		}
		if len(page) > 0 && p.at.Done {
			if err := r.reopen(p); err != nil {
				return err
			}
		}
		for _, t := range page {
			t.after = given
			p.begins(t)
			select {
			case tasks <- t:
				p.sent, given = t.parent, t.parent
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if over() {
				return nil
			}
		}
	}
	return nil
}

// unsettled returns the partitions of parents that are neither collected in
// the version wanted, and for the bytes that the parent has, nor owed by a gap, which is recovery's to fill.
func (r *Runner) unsettled(ctx context.Context, p *passage, parents []collection.Parent) ([]task, error) {
	stream := p.stream
	var tasks []task
	var places []collection.Place
	unmade := map[string]error{} // why no partition can be made of a parent, by its key
	seen := map[collection.Partition]bool{}
	for _, parent := range parents {
		partition, version, ok, err := r.Connector.Partition(stream.Name, parent)
		if err != nil {
			unmade[parent.Key] = err
			continue
		}
		if !ok {
			p.passed++
			continue
		}
		// A partition in flight is not looked at: its checkpoint is moving.
		if p.moving(partition) || seen[partition] {
			continue
		}
		seen[partition] = true
		if stream.Refresh == collection.EachRun {
			version = p.at.Version
		}
		at := collection.Place{Stream: stream.Name, Partition: partition, Lane: r.lane}
		tasks, places = append(tasks, task{at: at, version: version, parent: parent.Key, stored: parent.Commit}), append(places, at)
	}
	r.mu.Lock()
	r.passed[stream.Name] = max(r.passed[stream.Name], p.passed)
	r.mu.Unlock()
	if err := r.leaveParents(ctx, stream, unmade); err != nil {
		return nil, err
	}
	states, err := r.Ledger.Places(ctx, places)
	if err != nil {
		return nil, err
	}
	open := tasks[:0]
	for i, t := range tasks {
		t.checkpoint = states[i].Checkpoint.Cursor
		lost := r.lost(states[i])
		collected := t.checkpoint.Done && t.checkpoint.Version == t.version
		switch stream.Refresh {
		case collection.Once:
			collected = t.checkpoint.Done
			if collected && !lost && states[i].Checkpoint.Begun() <= t.stored {
				p.stale.add(t)
			}
		case collection.WhenChanged:
			// A version may be as coarse as a day. A walk that began before the
			// parent's bytes were stored belongs to the bytes before them. What one
			// walk lacks, one of a later run has to lack, too.
			last := states[i].Checkpoint
			collected = collected && last.Begun() > t.stored && (last.Evidence.Lacks == 0 || last.Epoch == r.Ledger.Epoch())
		}
		again := stream.Refresh != collection.Once && states[i].Absent.Due(t.version, stream.Role, time.Now())
		if lost || !collected && (!states[i].Owed || again) {
			open = append(open, t)
		} else {
			r.noteDoubt(t.at, states[i].Checkpoint.Evidence)
		}
	}
	return open, nil
}

// leaveParents leaves a gap for each parent that no partition can be made of, so
// that none is skipped in silence. What a gap owes already is recovery's to try.
func (r *Runner) leaveParents(ctx context.Context, stream collection.Stream, causes map[string]error) error {
	keys := slices.Sorted(maps.Keys(causes))
	places := make([]collection.Place, len(keys))
	for i, key := range keys {
		places[i] = collection.Place{Stream: stream.Name, Lane: r.lane, Partition: collection.Unmade(key)}
	}
	states, err := r.Ledger.Places(ctx, places)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if !states[i].Owed {
			if err := r.leaveParent(ctx, stream, places[i], causes[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaveParent leaves a gap at the place of [collection.Unmade].
func (r *Runner) leaveParent(ctx context.Context, stream collection.Stream, at collection.Place, cause error) error {
	stop := &collection.Stop{Reason: collection.SchemaDrift, Detail: cause.Error()}
	r.met(at, stop)
	return r.leave(ctx, r.gap(stream, at, collection.Cursor{}, stop), stop)
}

// fillParent tries the gap that leaveParents left. It is filled when a partition
// can be made of the parent: that one is then the pass's to collect.
func (r *Runner) fillParent(ctx context.Context, stream collection.Stream, gap collection.Gap, key string) error {
	parent, found, err := r.parent(ctx, stream.Parent, key)
	if err != nil {
		return err
	}
	if found {
		if _, _, _, err := r.Connector.Partition(stream.Name, parent); err != nil {
			return r.leaveParent(ctx, stream, gap.Place, err)
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
