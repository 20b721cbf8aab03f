package records

import (
	"database/sql"
	"errors"
	"slices"

	"collect/collection"
	"collect/store/internal/format"
	"collect/store/internal/streams"
)

// noData is what is stored of a record that was deleted before it was ever seen.
const noData = "{}"

// tombstones counts the records that the provider says it deleted.
func tombstones(records []collection.Record) (n int) {
	for i := range records {
		if records[i].Deleted {
			n++
		}
	}
	return n
}

// bury marks the records as deleted that the provider says it deleted, and adds
// the indexes of tombstones that changed nothing to unchanged.
func (b *Batch) bury(at place, pass int64, unchanged []int, w *weighing) ([]int, error) {
	for i := range w.records {
		r := &w.records[i]
		if !r.Deleted {
			continue
		}
		buried, err := b.buryOne(at.stream, at.partition, pass, r)
		if err != nil {
			return nil, err
		}
		if buried {
			w.result.Deleted++
			continue
		}
		n, _ := slices.BinarySearch(unchanged, i)
		unchanged = slices.Insert(unchanged, n, i)
		if _, err := b.weigh(at, []int{i}, w); err != nil {
			return nil, err
		}
	}
	return unchanged, nil
}

// buryOne marks the record of a tombstone, unless the stored one is of another
// partition, of a later version, or marked already. What the tombstone says is
// later than any version before, also where it has no mark: then the mark of the
// record stays.
func (b *Batch) buryOne(s *streams.Stream, partition, pass int64, r *collection.Record) (bool, error) {
	var id, owner, slice, sum, deleted int64
	var data string
	var is collection.Mark
	err := b.tx.Row(`SELECT id, partition_id, slice_id, sum, data, mark_scale, mark, deleted FROM records WHERE stream_id = ? AND key = ?`,
		s.ID, r.Key).Scan(&id, &owner, &slice, &sum, &data, &is.Scale, &is.Value, &deleted)
	if errors.Is(err, sql.ErrNoRows) {
		b.inserted++
		return true, b.tx.Exec(`INSERT INTO records (stream_id, key, partition_id, slice_id, data, sum, mark_scale, mark, pass, deleted)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?4)`, s.ID, r.Key, partition, b.Commit, noData,
			b.tx.RecordSum(s.ID, partition, b.Commit, r.Key, noData, r.Mark, b.Commit), r.Mark.Scale, r.Mark.Value, pass)
	}
	if err != nil || owner != partition || is.After(r.Mark) {
		return false, err
	}
	if sum != b.tx.RecordSum(s.ID, owner, slice, r.Key, data, is, deleted) {
		return false, format.ChangedRecord(id) // a new sum would make it whole
	}
	since, mark := b.Commit, is
	if r.Mark != (collection.Mark{}) {
		mark = r.Mark
	}
	if deleted != 0 {
		if mark == is {
			return false, nil
		}
		since = deleted
	}
	return deleted == 0, b.tx.Exec(`UPDATE records SET deleted = ?, mark_scale = ?, mark = ?, sum = ? WHERE id = ?`,
		since, mark.Scale, mark.Value, b.tx.RecordSum(s.ID, owner, slice, r.Key, data, mark, since), id)
}
