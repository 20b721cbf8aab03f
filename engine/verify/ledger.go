package verify

import (
	"cmp"
	"container/heap"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/store"
)

// A ledger takes what a walk delivers, as the store of a run does, and compares it
// with the records of one stream. It keeps checkpoints in memory alone. The promises of its methods are
// those of store.Ledger.
type ledger struct {
	*comparison
	at       collection.Place // the home of the stream
	parents  []collection.Parent
	all      int64                           // partitions that the stream has
	versions map[collection.Partition]string // that the partitions to read cover

	mu      sync.Mutex
	commits int64
	places  map[collection.Place]collection.Checkpoint
	changes bool // only which keys come is of interest
	left    []collection.Gap
	learned []byte
	warned  []string
}

// open reads what is stored of a stream, and draws the partitions to read.
func (v *verification) open(ctx context.Context, state store.StreamState) (*ledger, error) {
	l := &ledger{
		comparison: newComparison(state, v.began), learned: v.learned, places: map[collection.Place]collection.Checkpoint{},
		versions: map[collection.Partition]string{},
	}
	l.at = collection.Place{Stream: state.Name, Lane: l.lane.Lane}
	if state.Parent != "" {
		if err := v.draw(ctx, l); err != nil {
			return nil, err
		}
	}
	for _, gap := range v.owed {
		if gap.Stream == state.Name && gap.Lane == l.lane.Lane && !gap.Reason.Settled() {
			l.owed[gap.Partition] = true
		}
	}
	for record, err := range v.Store.Records(ctx, v.Target.Name, state.Name) {
		if err != nil {
			return nil, err
		}
		if record.Deleted {
			continue // the provider is not expected to have it
		}
		if _, read := l.versions[record.Partition]; state.Parent != "" && !read {
			continue
		}
		l.know(record)
	}
	return l, nil
}

// looksForChanges reports whether the newest walk of the stream ended with a mark, and
// something differs that the next one may have.
func (l *ledger) looksForChanges() bool {
	return l.stream.Parent == "" && l.lane.Complete && l.lane.Since != "" &&
		l.looksAgain(func(collection.Partition) bool { return l.places[l.at].Done })
}

// fromToken returns a ledger that notes what the next run of the stream will have.
func (l *ledger) fromToken() *ledger {
	l.brought = map[uint64]bool{}
	return &ledger{
		comparison: l.comparison, at: l.at, learned: l.learned, versions: l.versions, changes: true,
		places: map[collection.Place]collection.Checkpoint{l.at: {Place: l.at, Cursor: collection.Cursor{Since: l.lane.Since, Done: true}}},
	}
}

// draw draws the parents whose partitions are read, at random, so that several
// verifications see different ones.
func (v *verification) draw(ctx context.Context, l *ledger) error {
	seed, seen := maphash.MakeSeed(), map[collection.Partition]bool{}
	drawn := &lots{}
	for record, err := range v.Store.Records(ctx, v.Target.Name, l.stream.Parent) {
		if err != nil {
			return err
		}
		if record.Deleted {
			continue
		}
		parent := collection.Parent{Partition: record.Partition, Record: record.Record}
		partition, version, wanted, err := v.Target.Connector.Partition(l.stream.Name, parent)
		if err != nil || !wanted || seen[partition] {
			continue // of a parent that no partition can be made of there is a gap
		}
		seen[partition] = true
		heap.Push(drawn, lot{maphash.String(seed, record.Key), parent, partition, version, !record.CommittedAt.Before(l.lane.Began)})
		if v.Sample > 0 && drawn.Len() > v.Sample {
			heap.Pop(drawn)
		}
	}
	l.all = int64(len(seen))
	for _, d := range *drawn {
		l.parents = append(l.parents, d.parent)
		l.versions[d.partition], l.newer[d.partition] = d.version, d.newer
	}
	slices.SortFunc(l.parents, func(a, b collection.Parent) int { return cmp.Compare(a.Key, b.Key) })
	return nil
}

// A lot is a partition that may be read.
type lot struct {
	number    uint64
	parent    collection.Parent
	partition collection.Partition
	version   string
	newer     bool
}

// lots is a heap with the highest number on top.
type lots []lot

func (l lots) Len() int           { return len(l) }
func (l lots) Less(i, j int) bool { return l[i].number > l[j].number }
func (l lots) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lots) Push(x any)        { *l = append(*l, x.(lot)) }
func (l *lots) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// Epoch is the number of a lease that was not taken.
func (l *ledger) Epoch() int64 { return 0 }

// Checkpoint returns where a walk stands.
func (l *ledger) Checkpoint(_ context.Context, at collection.Place) (collection.Checkpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing(at), nil
}

func (l *ledger) standing(at collection.Place) collection.Checkpoint {
	c := l.places[at]
	c.Place = at
	return c
}

// Commit compares the records of slices, and moves the walks on.
func (l *ledger) Commit(_ context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range group {
		if l.places[group[i].Place].Cursor != group[i].From {
			return nil, collection.ErrCursorMoved
		}
	}
	results := make([]collection.Committed, len(group))
	for i := range group {
		sl := &group[i]
		l.commits++
		c := l.standing(sl.Place)
		c.Commit = l.commits
		pass := c.Evidence.Pass
		if sl.BeginsPass() {
			pass = l.commits
		}
		var again collection.Redelivered
		if l.changes {
			for j := range sl.Records {
				l.brought[l.hash(sl.Records[j].Key)] = true
			}
		} else {
			again = l.delivered(sl, pass, c.Evidence)
		}
		c.Evidence, c.Cursor = c.Evidence.With(sl, l.commits, l.distinct, again).Judged(sl)
		l.places[sl.Place] = c
		results[i] = collection.Committed{Commit: l.commits, Rejected: len(sl.Rejected), Next: c.Cursor, Evidence: c.Evidence}
		if sl.Leaves != nil {
			results[i].Left = *sl.Leaves
			results[i].Left.Place, results[i].Left.Cursor = sl.Place, sl.From
			l.left = append(l.left, results[i].Left)
		}
	}
	return results, nil
}

// Defer notes what was not read.
func (l *ledger) Defer(_ context.Context, _ bool, gaps ...collection.Gap) ([]collection.Gap, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, gaps...)
	return gaps, nil
}

// Contested returns none: what differs is told.
func (l *ledger) Contested(context.Context, collection.Place) ([]collection.Contest, error) {
	return nil, nil
}

// Lease returns none: what was not read is told, and not tried again.
func (l *ledger) Lease(context.Context, collection.Lane, []string, time.Time, int) ([]collection.Gap, error) {
	return nil, nil
}

// Parents returns those that were drawn.
func (l *ledger) Parents(_ context.Context, _ string, after string, n int) ([]collection.Parent, error) {
	i, found := slices.BinarySearchFunc(l.parents, after, func(p collection.Parent, key string) int { return cmp.Compare(p.Key, key) })
	if found && after != "" {
		i++
	}
	return l.parents[i:min(i+n, len(l.parents))], nil
}

// Places returns where walks stand.
func (l *ledger) Places(_ context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := make([]collection.PlaceState, len(at))
	for i, place := range at {
		states[i].Checkpoint = l.standing(place)
	}
	return states, nil
}

// SaveProvider keeps what was learned of the account for the next stream.
func (l *ledger) SaveProvider(_ context.Context, _ string, state []byte, _ ...collection.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learned = state
	return nil
}

// Beat does nothing: there is no lease.
func (l *ledger) Beat(context.Context, time.Time, collection.Tally, collection.Metrics) error {
	return nil
}

// observe keeps what the walk warned of.
func (l *ledger) observe(e collection.Event) {
	if e.Kind != collection.WarningRaised || e.Message == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warned = append(l.warned, e.Message)
}
