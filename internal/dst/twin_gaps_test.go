package dst_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"collect/collection"
)

// A twinGap is a gap as a twin keeps it.
type twinGap struct {
	collection.Gap
	deferredUnder int64 // the lease it was last opened or renewed under
	leasedUnder   int64 // the lease it was last tried under; 0: never
}

// owedAt returns the gap that is owed at a cursor; nil if none is.
func (s *twin) owedAt(at collection.Place, c collection.Cursor) *twinGap {
	for _, g := range s.owed {
		if g.Place == at && g.Cursor == c {
			return g
		}
	}
	return nil
}

func (l *twinLedger) Defer(ctx context.Context, worked bool, gaps ...collection.Gap) (owed []collection.Gap, err error) {
	if len(gaps) == 0 {
		return nil, nil
	}
	err = l.update(ctx, func(now time.Time) error {
		for _, gap := range gaps {
			owed = append(owed, l.owe(gap, worked, false, now))
		}
		return nil
	})
	return owed, err
}

// owe opens a gap, or renews the one that is owed at its cursor.
func (l *twinLedger) owe(gap collection.Gap, worked, behind bool, now time.Time) collection.Gap {
	l.moveBackIfAhead(now, now)
	g := l.twin.owedAt(gap.Place, gap.Cursor)
	if g == nil {
		g = &twinGap{Gap: collection.Gap{ID: int64(len(l.twin.gaps) + 1), Place: gap.Place, Cursor: gap.Cursor, Run: l.run, OpenedAt: now}}
		if !gap.OpenedAt.IsZero() {
			g.OpenedAt = stored(gap.OpenedAt)
		}
		l.twin.gaps, l.twin.owed = append(l.twin.gaps, g), append(l.twin.owed, g)
	}
	g.Gap = gap.Owed(&g.Gap, worked, now)
	g.Behind, g.deferredUnder = g.Behind || behind, l.epoch
	if !g.NotBefore.IsZero() {
		g.NotBefore = rounded(g.NotBefore)
	}
	return g.Gap
}

func (l *twinLedger) Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) (gaps []collection.Gap, err error) {
	err = l.update(ctx, func(time.Time) error {
		now := stored(now)
		var due []*twinGap
		for _, g := range l.twin.owed {
			if g.Due(g.deferredUnder == l.epoch, now) && g.Lane == lane && g.leasedUnder != l.epoch && slices.Contains(streams, g.Stream) {
				due = append(due, g)
			}
		}
		slices.SortStableFunc(due, func(a, b *twinGap) int {
			return cmp.Or(cmp.Compare(a.Rank(now), b.Rank(now)), a.TriedAt.Compare(b.TriedAt))
		})
		for _, g := range due[:min(n, len(due))] {
			g.State, g.leasedUnder = collection.GapLeased, l.epoch
			gaps = append(gaps, g.Gap)
		}
		return nil
	})
	return gaps, err
}

// pass closes the gaps that a slice passes, and returns them.
func (s *twin) pass(sl collection.Slice, moves bool) (closed []collection.Gap) {
	for _, g := range slices.Clone(s.owed) {
		if g.Place != sl.Place {
			continue
		}
		if sl.Fills == g.ID && sl.Leaves != nil {
			g.Cursor = sl.Next // the rest is owed
			continue
		}
		if sl.Anew {
			if g.Cursor == sl.From {
				g.Cursor = sl.Next // as the walk, which begins anew
			}
			continue
		}
		here := g.Cursor == sl.From && sl.Leaves == nil
		onTheWay := sl.Next.Done && moves && g.Cursor != sl.From && !g.Behind && g.Reason.Kind() == collection.Planned
		if here || onTheWay || sl.Fills == g.ID {
			closed = append(closed, s.close(g, collection.GapRecovered))
		}
	}
	return closed
}

// close ends the life of a gap.
func (s *twin) close(g *twinGap, end collection.GapState) collection.Gap {
	g.State = end
	s.owed = slices.DeleteFunc(s.owed, func(o *twinGap) bool { return o == g })
	return g.Gap
}

func isUnmade(p collection.Partition) bool {
	_, ok := p.Unmade()
	return ok
}
