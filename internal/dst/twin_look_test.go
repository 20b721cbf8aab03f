package dst_test

import (
	"maps"
	"slices"
	"time"

	"collect/collection"
)

// look reads what is stored.
func (s *twin) look() (rest, []commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := rest{
		cursors: make(map[collection.Place]collection.Cursor, len(s.at)), records: make(map[string]map[string]int, len(s.shelves)),
		deleted: map[string]int64{}, bodies: maps.Clone(s.rejected), gaps: slices.Grow([]gap(nil), len(s.gaps)),
	}
	for at, cp := range s.at {
		r.cursors[at] = cp.Cursor
	}
	for _, g := range s.gaps {
		r.gaps = append(r.gaps, gap{
			id: g.ID, at: g.Place, cursor: g.Cursor, reason: g.Reason, state: g.State, attempts: g.Attempts, until: g.NotBefore, run: g.Run,
		})
	}
	for stream, shelf := range s.shelves {
		if len(shelf.records) > 0 {
			r.records[stream] = maps.Clone(shelf.versions)
		}
		if shelf.deleted == 0 {
			continue
		}
		for key, is := range shelf.records {
			if is.deleted != 0 {
				r.deleted[key] = is.deleted
			}
		}
	}
	return r, s.commits, nil
}

// age makes everything that is stored older by d.
func (s *twin) age(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	move := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = stored(t.Add(-d))
			}
		}
	}
	for at, cp := range s.at {
		move(&cp.SavedAt)
		s.at[at] = cp
	}
	for _, g := range s.gaps {
		move(&g.NotBefore, &g.OpenedAt, &g.TriedAt)
	}
	for i := range s.runs {
		move(&s.runs[i].heard, &s.runs[i].ended)
	}
	for domain, state := range s.learned {
		s.learned[domain] = []byte(older(string(state), d))
	}
	return nil
}
