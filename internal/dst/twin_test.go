package dst_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// A twin is a stage with a store in memory that does what the real one does,
// in a few hundred lines of maps. Histories in which the runner, the governed
// client and the connector language have their troubles need no more, and are
// played many times as fast. Whether it is a twin is seen again and again:
// some of the histories are played on both stages, and must not differ.
type twin struct {
	own props

	mu       sync.Mutex
	holder   *twinLedger // has the lock; nil: nobody
	epoch    int64       // of the lease
	leaseOf  string      // the run that signed the lease; "": released
	runs     []twinRun
	shelves  map[string]*shelf // by stream
	rejected map[string]bool   // the bytes in quarantine
	at       map[collection.Place]collection.Checkpoint
	gaps     []*twinGap // by id, from 1 on
	owed     []*twinGap // those that are owed, by id
	commits  []commit
	learned  map[string][]byte // by domain
}

// A twinRun is what is known of a run.
type twinRun struct {
	on           bool // it has not ended
	heard, ended time.Time
}

// A shelf has the records of a stream.
type shelf struct {
	records  map[string]shelved
	versions map[string]int   // of the records
	keys     []string         // in order
	deleted  int              // how many of the records are
	sweeps   bool             // what a complete walk lacks is marked
	seen     map[string]int64 // the commit that showed a record last, in a stream that sweeps
}

type shelved struct {
	partition collection.Partition
	data      string
	mark      collection.Mark
	pass      int64 // that delivered it last; 0: of one page
	commit    int64 // that stored these bytes
	deleted   int64 // the commit that marked it; 0: none
}

func newTwin() *twin {
	s := &twin{own: newProps()}
	s.clear()
	return s
}

func (s *twin) clear() {
	s.holder, s.epoch, s.leaseOf, s.runs, s.gaps, s.owed, s.commits = nil, 0, "", nil, nil, nil, nil
	s.shelves, s.rejected = map[string]*shelf{}, map[string]bool{}
	s.at, s.learned = map[collection.Place]collection.Checkpoint{}, map[string][]byte{}
}

func (s *twin) props() props                                              { return s.own }
func (s *twin) sweep(testing.TB)                                          { s.clear() }
func (s *twin) another(testing.TB) stage                                  { return newTwin() }
func (s *twin) strike(testing.TB)                                         {}
func (s *twin) enter(_ context.Context, alone bool) (keeper, bool, error) { return s, alone, nil }
func (s *twin) leave(keeper) error                                        { return nil }

func (s *twin) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder = nil
}

// stored returns a time as it is stored.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		return last
	}
	return t.UTC().Truncate(time.Microsecond)
}

// rounded returns what must not come too early, as it is stored.
func rounded(t time.Time) time.Time { return stored(t.Add(time.Microsecond - 1)) }

func (s *twin) Begin(ctx context.Context, run collection.Run, streams []collection.Stream) (store.Ledger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil {
		return nil, &store.HeldError{Run: collection.Run{ID: s.leaseOf, BeatAt: s.runs[len(s.runs)-1].heard}}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l, now := &twinLedger{twin: s, run: run.ID, parents: map[string]bool{}}, stored(time.Now())
	s.takeLease(l)
	s.moveBack(now)
	l.number = len(s.runs)
	s.runs = append(s.runs, twinRun{on: true, heard: now})
	for _, stream := range streams {
		l.parents[stream.Name] = stream.Parent != ""
		if s.shelves[stream.Name] == nil {
			s.shelves[stream.Name] = &shelf{records: map[string]shelved{}, versions: map[string]int{}, seen: map[string]int64{}}
		}
		s.shelves[stream.Name].sweeps = stream.Sweeps
	}
	return l, nil
}

// takeLease gives the lock and the lease to l, and ends what the dead left.
func (s *twin) takeLease(l *twinLedger) {
	s.epoch++
	s.holder, s.leaseOf, l.epoch = l, l.run, s.epoch
	for i := range s.runs {
		if r := &s.runs[i]; r.on {
			r.on, r.ended = false, r.heard
		}
	}
	s.free()
}

// free opens the gaps that are leased.
func (s *twin) free() {
	for _, g := range s.owed {
		if g.State == collection.GapLeased {
			g.State = collection.GapOpen
		}
	}
}

// moveBack moves what gaps wait for if the clock was set back.
func (s *twin) moveBack(now time.Time) {
	if len(s.runs) == 0 {
		return
	}
	waits := func(g *twinGap) bool {
		return !g.NotBefore.IsZero() && (g.State == collection.GapOpen || g.State == collection.GapLeased)
	}
	run := s.runs[len(s.runs)-1]
	last := latest(run.heard, run.ended)
	for _, g := range s.owed {
		if waits(g) {
			last = latest(last, g.OpenedAt, g.TriedAt)
		}
	}
	back := last.Sub(now)
	if back <= 0 {
		return
	}
	for _, g := range s.owed {
		if waits(g) {
			g.NotBefore = rounded(g.NotBefore.Add(-back))
		}
		g.OpenedAt, g.TriedAt = earliest(g.OpenedAt, now), earliest(g.TriedAt, now)
	}
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }

func (s *twin) Provider(_ context.Context, domain string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.learned[domain]), nil
}

func (s *twin) Gaps(context.Context, string) (gaps []store.OwnedGap, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.owed {
		gaps = append(gaps, store.OwnedGap{Connector: "sim", Gap: g.Gap})
	}
	slices.SortFunc(gaps, func(a, b store.OwnedGap) int { return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), cmp.Compare(a.ID, b.ID)) })
	return gaps, nil
}

func (s *twin) Reset(_ context.Context, _ string, at collection.Place, to collection.Cursor, _ store.Audit) error {
	return s.operate(func(l *twinLedger, now time.Time) {
		cp := s.at[at]
		cp.Place, cp.Cursor, cp.Epoch, cp.SavedAt = at, to, l.epoch, now
		s.at[at] = cp
		all := at.Partition == ""
		for where, cp := range s.at {
			if !all || where.Stream != at.Stream || where.Lane != at.Lane {
				continue
			}
			if isUnmade(where.Partition) {
				delete(s.at, where)
				continue
			}
			cp.Cursor, cp.Epoch, cp.SavedAt = to, l.epoch, now
			s.at[where] = cp
		}
		for key, r := range s.shelves[at.Stream].records {
			if all || r.partition == at.Partition {
				r.mark = collection.Mark{}
				s.shelves[at.Stream].records[key] = r
			}
		}
		for _, g := range slices.Clone(s.owed) {
			if g.Place == at || all && g.Stream == at.Stream && g.Lane == at.Lane {
				s.close(g, collection.GapSuperseded)
			}
		}
	})
}

func (s *twin) Revive(_ context.Context, _ string, gaps []int64, _ store.Audit) (revived []collection.Gap, err error) {
	err = s.operate(func(*twinLedger, time.Time) {
		for _, id := range gaps {
			for _, g := range s.owed {
				if g.ID == id && g.State == collection.GapDead {
					g.Gap = g.Reopened()
					revived = append(revived, g.Gap)
				}
			}
		}
	})
	return revived, err
}

func (s *twin) Waive(_ context.Context, _ string, gaps []int64, audit store.Audit) (waived []collection.Gap, err error) {
	err = s.operate(func(_ *twinLedger, now time.Time) {
		for _, id := range gaps {
			for _, g := range s.owed {
				if g.ID == id && !g.Waived() && g.Waivable() {
					g.Gap = g.GivenUp(collection.Waiver{Who: audit.Who, Why: audit.Why, At: now})
					waived = append(waived, g.Gap)
				}
			}
		}
	})
	return waived, err
}

func (s *twin) Override(_ context.Context, _, domain string, edit store.Edit, _ store.Audit, _ ...collection.Event) error {
	var edited error
	held := s.operate(func(*twinLedger, time.Time) {
		var state []byte
		if state, edited = edit(s.learned[domain]); edited == nil {
			s.learned[domain] = state
		}
	})
	return errors.Join(held, edited)
}

// operate makes a change by hand, under a lease of its own.
func (s *twin) operate(change func(*twinLedger, time.Time)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil {
		return &store.HeldError{Run: collection.Run{ID: s.leaseOf}}
	}
	l := &twinLedger{twin: s}
	s.takeLease(l)
	change(l, stored(time.Now()))
	s.holder, s.leaseOf = nil, ""
	return nil
}
