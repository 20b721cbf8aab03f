package runner_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"collect/collection"
)

// errCrash is the end of the process, as far as a test can tell: nothing works
// after it.
var errCrash = errors.New("crashed")

// memory is a ledger in memory that can fail at any durable step, before or
// after its effect. What survives is durable; reopen makes a ledger over it
// for the next run.
type memory struct {
	*durable
	failAt      int // the durable step that crashes; 0: none
	afterEffect bool
	answer      error // what the failing commit answers; nil: any step fails with errCrash, and all later ones

	steps  int
	looked atomic.Int64 // places that were looked at
	dead   bool
	leased map[int64]bool // or left by this run, and stuck
}

// durable is what a crash does not take away.
type durable struct {
	mu       sync.Mutex
	records  map[string]map[string]record
	rejected int
	at       map[collection.Place]collection.Checkpoint
	gaps     []collection.Gap
	commits  int64
	passed   map[collection.Place]map[string]bool // the keys that the newest pass delivered
	provider map[string][]byte
}

type record struct {
	partition collection.Partition
	data      []byte
	commit    int64 // that stored these bytes
}

func newMemory() *memory {
	return &memory{leased: map[int64]bool{}, durable: &durable{passed: map[collection.Place]map[string]bool{},
		records: map[string]map[string]record{}, at: map[collection.Place]collection.Checkpoint{}, provider: map[string][]byte{},
	}}
}

// reopen returns a ledger for the next run over what survived.
func (m *memory) reopen() *memory {
	for i := range m.gaps {
		if m.gaps[i].State == collection.GapLeased {
			m.gaps[i].State = collection.GapOpen
		}
	}
	return &memory{durable: m.durable, leased: map[int64]bool{}}
}

// step makes one durable step of effect, or crashes around it.
func (m *memory) step(commit bool, effect func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errCrash
	}
	if m.answer != nil && !commit {
		return effect()
	}
	m.steps++
	full := m.failAt > 0 && m.steps > m.failAt && errors.Is(m.answer, collection.ErrFull) // and it stays full
	if m.steps != m.failAt && !full {
		return effect()
	}
	if m.afterEffect {
		if err := effect(); err != nil {
			return err
		}
	}
	if m.answer != nil {
		return m.answer
	}
	m.dead = true
	return errCrash
}

func (m *memory) Epoch() int64 { return 0 }

func (m *memory) Checkpoint(_ context.Context, at collection.Place) (collection.Checkpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return collection.Checkpoint{}, errCrash
	}
	c := m.at[at]
	c.Place = at
	return c, nil
}

func (m *memory) Commit(_ context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	var results []collection.Committed
	err := m.step(true, func() error {
		moved := map[collection.Place]collection.Cursor{}
		for _, s := range group {
			at, ok := moved[s.Place]
			if !ok {
				at = m.at[s.Place].Cursor
			}
			if s.Fills == 0 && at != s.From {
				return collection.ErrCursorMoved
			}
			if at == s.From {
				moved[s.Place] = s.Next
			}
		}
		m.commits++
		for _, s := range group {
			results = append(results, m.apply(s))
		}
		return nil
	})
	return results, err
}

// evidence returns e after s.
func (m *memory) evidence(e collection.Evidence, s *collection.Slice) collection.Evidence {
	if s.BeginsPass() {
		m.passed[s.Place] = map[string]bool{}
	}
	var again int64
	for _, r := range s.Records {
		if m.passed[s.Place][r.Key] {
			again++
		}
		m.passed[s.Place][r.Key] = true
	}
	return e.With(s, m.commits, int64(len(m.records[s.Stream])), collection.Redelivered{Again: again})
}

func (m *memory) apply(s collection.Slice) collection.Committed {
	result := collection.Committed{Commit: m.commits, Rejected: len(s.Rejected)}
	if m.records[s.Stream] == nil {
		m.records[s.Stream] = map[string]record{}
	}
	for _, r := range s.Records {
		if old, ok := m.records[s.Stream][r.Key]; !ok || !bytes.Equal(old.data, r.Data) {
			result.Changed++
			m.records[s.Stream][r.Key] = record{s.Partition, slices.Clone(r.Data), m.commits}
		}
	}
	m.rejected += len(s.Rejected)
	at := m.at[s.Place]
	if at.Cursor == s.From {
		at = collection.Checkpoint{Place: s.Place, Commit: m.commits, Evidence: m.evidence(at.Evidence, &s)}
		at.Evidence, at.Cursor = at.Evidence.Judged(&s)
		s.Next, m.at[s.Place] = at.Cursor, at
	}
	result.Next, result.Evidence = at.Cursor, at.Evidence
	for i := range m.gaps {
		g := &m.gaps[i]
		if owed(*g) && s.Anew && g.Place == s.Place && g.Cursor == s.From {
			g.Cursor = s.Next
		}
		passed := !s.Anew && g.Place == s.Place && (g.Cursor == s.From || s.Next.Done && g.Reason.Kind() == collection.Planned)
		if owed(*g) && s.Leaves != nil && g.ID == s.Fills {
			g.Cursor = s.Next // the rest is owed
		}
		if owed(*g) && s.Leaves == nil && (passed || g.ID == s.Fills) {
			g.State = collection.GapRecovered
			result.Closed = append(result.Closed, *g)
		}
	}
	if s.Leaves != nil && s.Fills == 0 {
		result.Left = m.open(true, *s.Leaves)
	}
	return result
}

func owed(g collection.Gap) bool {
	return g.State == collection.GapOpen || g.State == collection.GapLeased || g.State == collection.GapDead
}

func (m *memory) open(worked bool, gap collection.Gap) collection.Gap {
	i := slices.IndexFunc(m.gaps, func(g collection.Gap) bool {
		return owed(g) && g.Place == gap.Place && g.Cursor == gap.Cursor
	})
	if i < 0 {
		gap = gap.Owed(nil, worked, time.Now())
		gap.ID = int64(len(m.gaps) + 1)
		m.gaps = append(m.gaps, gap)
	} else {
		gap = gap.Owed(&m.gaps[i], worked, time.Now())
		m.gaps[i] = gap
	}
	if gap.Reason.Kind() == collection.Stuck {
		m.leased[gap.ID] = true
	}
	return gap
}

func (m *memory) Defer(_ context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error) {
	var opened []collection.Gap
	err := m.step(false, func() error {
		for _, gap := range gaps {
			opened = append(opened, m.open(worked, gap))
		}
		return nil
	})
	return opened, err
}

func (m *memory) Lease(_ context.Context, lane collection.Lane, streams []string, now time.Time, n int) ([]collection.Gap, error) {
	var due []collection.Gap
	err := m.step(false, func() error {
		for i, g := range m.gaps {
			if len(due) == n {
				break
			}
			if !g.Due(false, now) || g.Lane != lane || m.leased[g.ID] || !slices.Contains(streams, g.Stream) {
				continue
			}
			m.gaps[i].State, m.leased[g.ID] = collection.GapLeased, true
			due = append(due, m.gaps[i])
		}
		return nil
	})
	return due, err
}

func (m *memory) Parents(_ context.Context, parent, after string, n int) ([]collection.Parent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errCrash
	}
	var page []collection.Parent
	for _, key := range slices.Sorted(maps.Keys(m.records[parent])) {
		if key > after && len(page) < n {
			r := m.records[parent][key]
			page = append(page, collection.Parent{Partition: r.partition, Record: collection.Record{Key: key, Data: r.data}, Commit: r.commit})
		}
	}
	return page, nil
}

func (m *memory) Contested(context.Context, collection.Place) ([]collection.Contest, error) {
	return nil, nil
}

func (m *memory) Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errCrash
	}
	m.looked.Add(int64(len(at)))
	states := make([]collection.PlaceState, len(at))
	for i, place := range at {
		c := m.at[place]
		states[i].Checkpoint = c
		for _, g := range m.gaps {
			if owed(g) && g.Place == place && g.Cursor == c.Cursor {
				if states[i].Owed = !g.Reason.EndsRun(); !states[i].Owed {
					states[i].Left = g.Reason
				}
			}
		}
	}
	return states, nil
}

func (m *memory) SaveProvider(_ context.Context, domain string, state []byte, _ ...collection.Event) error {
	return m.step(false, func() error {
		m.provider[domain] = slices.Clone(state)
		return nil
	})
}

func (m *memory) Beat(context.Context, time.Time, collection.Tally, collection.Metrics) error {
	return nil
}

// owes returns the gaps that are owed, in the order they were opened.
func (m *memory) owes() []collection.Gap {
	var gaps []collection.Gap
	for _, g := range m.gaps {
		if owed(g) {
			gaps = append(gaps, g)
		}
	}
	slices.SortFunc(gaps, func(a, b collection.Gap) int { return cmp.Compare(a.ID, b.ID) })
	return gaps
}

// keys returns the keys stored of a stream, sorted.
func (m *memory) keys(stream string) []string {
	return slices.Sorted(maps.Keys(m.records[stream]))
}
