package dst_test

import "collect/collection"

// A twin sweeps streams without partitions, and knows no tombstones: in these
// histories there are no others.

// sight notes which commit showed records.
func (s *shelf) sight(records []collection.Record, commit int64) {
	if !s.sweeps {
		return
	}
	for _, r := range records {
		s.seen[r.Key] = commit
	}
}

// sweep judges the evidence of a pass that sl belongs to, and marks what a complete
// walk did not show.
func (s *shelf) sweep(sl *collection.Slice, e collection.Evidence, commit int64) (_ collection.Evidence, next collection.Cursor, marked int) {
	e = e.Following(sl, s.sweeps)
	if !e.Sweeping() || !sl.Next.Done || e.Contradiction() != "" {
		e, next = e.Judged(sl)
		return e, next, 0
	}
	before, judged := e.Sweep()
	var missing, lacking []string
	earlier := int64(0) // marked in the same pass
	for key, is := range s.records {
		switch seen, known := s.seen[key]; {
		case is.deleted >= max(e.Pass, 1):
			earlier++
		case is.deleted == 0 && known && seen < judged:
			lacking = append(lacking, key)
			if seen < before {
				missing = append(missing, key)
			}
		}
	}
	lost, living := int64(len(lacking)), int64(len(s.keys)-s.deleted)
	if lost > 0 && !collection.MaySweep(lost, earlier, living) {
		e.Lost, e.Living = lost+earlier, living+earlier
	}
	if e, next = e.Judged(sl); e.Lost > 0 {
		return e, next, 0
	}
	for _, key := range missing {
		is := s.records[key]
		is.deleted = commit
		s.records[key] = is
	}
	for key, seen := range s.seen {
		if seen < before {
			delete(s.seen, key)
		}
	}
	s.deleted += len(missing)
	return e, next, len(missing)
}
