// Package records keeps the records of streams, each with a sum of its row, and
// finds out when one is not what was stored.
package records

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/streams"
)

// A Batch is the records of one transaction.
type Batch struct {
	Commit    int64 // the commit whose records are being stored
	Undecided int   // how many records of the newest slice are contested, and were not counted as rejected yet

	// Begun returns the commit that began the newest pass over the partitions of a
	// stream; 0 if that is not known.
	Begun func(t database.Tx, stream int64, lane collection.Lane) (int64, error)

	tx        database.Tx
	newest    int64           // the newest record that is counted; where records are stored as lists it is not known
	inserted  int64           // the records that were inserted as lists, and are not counted
	uncounted *streams.Stream // the stream of all records that are not counted; nil if there may be none
	news      *streams.News
}

// NewBatch returns a batch behind the newest record.
func NewBatch(t database.Tx, newest int64, news *streams.News) *Batch {
	return &Batch{tx: t, newest: newest, news: news}
}

// A Count says what became of the records of a slice that its pass follows. Of a slice
// whose pass is not followed, Inserted need not be known.
type Count struct {
	collection.Redelivered
	Inserted, Unproven int64
}

// Store stores the records and the rejected records of a slice, and counts them.
// before is the evidence of the pass that the slice goes on with or begins, and pass the commit
// that began it; 0 if none is followed.
func (b *Batch) Store(s *streams.Stream, partition, pass int64, before *collection.Evidence, sl *collection.Slice, result *collection.Committed) (n Count, err error) {
	lists := b.tx.Dialect().Lists
	exact := pass != 0 && !lists // the number of the newest record is needed
	if exact || b.uncounted != s {
		if _, err := b.count(); err != nil {
			return n, err
		}
	}
	inserted, at := b.inserted, place{s, partition, sl.Lane, sl.Decides}
	b.Undecided = 0
	b.news.Begin(s)
	store := b.upsert
	if lists {
		store = b.upsertAll
	}
	done, err := store(s, partition, pass, sl.Records)
	if err != nil {
		return n, err
	}
	w := weighing{records: sl.Records, result: result, alone: s.Parent == "" && sl.Partition == ""}
	unchanged, err := b.weigh(at, done.unchanged, &w)
	if err != nil {
		return n, err
	}
	result.Moved, n.Unproven = int(w.moved), w.unproven
	living := len(sl.Records) - tombstones(sl.Records)
	if err := b.news.Learn(s, living-len(unchanged), living); err != nil {
		return n, err
	}
	if unchanged, err = b.bury(at, pass, unchanged, &w); err != nil {
		return n, err
	}
	if s.Sweeps {
		if err := b.sight(s, partition, sl.Records); err != nil {
			return n, err
		}
	}
	result.Changed = len(sl.Records) - len(unchanged)
	if result.Changed > 0 {
		b.uncounted = s
	}
	n.Inserted = b.inserted - inserted
	if exact {
		if n.Inserted, err = b.count(); err != nil {
			return n, err
		}
	}
	if pass != 0 && n.Inserted < int64(len(sl.Records)) {
		if err := b.notePass(s, partition, pass, before, &done, sl.Records, unchanged, &n); err != nil {
			return n, err
		}
	}
	if err := b.sort(at, sl, &w, result); err != nil || sl.Decides == nil {
		return n, err
	}
	return n, b.decide(at, sl, result)
}

// A weighing is what becomes of the records of a slice that were not stored at once.
type weighing struct {
	records   []collection.Record
	result    *collection.Committed
	alone     bool  // there is no other partition
	moved     int64 // records that another partition had
	unproven  int64 // of these, records that it may still have
	rejected  []int // indexes of records whose key is that of another record, in order
	contested []int // indexes of those that may have moved, in order
}

// weigh looks at the records that were not stored, and returns the indexes of those
// that changed nothing.
func (b *Batch) weigh(at place, unchanged []int, w *weighing) ([]int, error) {
	kept := unchanged[:0]
	for _, i := range unchanged {
		r := &w.records[i]
		if w.alone && r.Mark == (collection.Mark{}) {
			kept = append(kept, i) // it has the same bytes
			continue
		}
		taken, err := b.leave(at, i, w)
		if err != nil {
			return nil, err
		}
		if taken {
			w.moved++
		} else {
			kept = append(kept, i)
		}
	}
	return kept, nil
}

// sort ends the quarantine of the records that are stored, and begins that of the
// others.
func (b *Batch) sort(at place, sl *collection.Slice, w *weighing, result *collection.Committed) error {
	for i := range sl.Records {
		r := &sl.Records[i]
		var err error
		switch {
		case among(w.rejected, i):
			result.Rejected++
			err = b.reject(at.stream, at.partition, collection.Rejected{Data: r.Data, Reason: collection.KeyCollision, Key: r.Key})
		case among(w.contested, i):
			b.Undecided++
			err = b.reject(at.stream, at.partition, collection.Rejected{Data: r.Data, Reason: string(collection.Contested), Key: r.Key})
		case at.stream.Rejects:
			err = b.admit(at.stream, at.partition, r)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range sl.Rejected {
		if err := b.reject(at.stream, at.partition, r); err != nil {
			return err
		}
		result.Rejected++
	}
	return nil
}

// among reports whether i is one of indexes, which are in order.
func among(indexes []int, i int) bool {
	_, found := slices.BinarySearch(indexes, i)
	return found
}

// An upserted says what became of the records of a slice, by their indexes in order.
type upserted struct {
	unchanged []int // they are not stored
	known     []int // where records are stored as lists, those that were there; all others are new
	newest    int64 // the newest record before the slice, or a number behind it that none of the slice has
}

// notePass notes that pass delivered records which the store had, and counts those that the pass had
// delivered before. Inserted records are noted already.
func (b *Batch) notePass(s *streams.Stream, partition, pass int64, before *collection.Evidence, done *upserted, records []collection.Record, unchanged []int, n *Count) error {
	onlyInserted := int64(len(records)-len(unchanged)) == n.Inserted
	fresh := false // one before had not come before
	for i := range records {
		_, same := slices.BinarySearch(unchanged, i)
		if !same && onlyInserted {
			fresh = true
			continue
		}
		if _, known := slices.BinarySearch(done.known, i); !known && !records[i].Deleted && b.tx.Dialect().Lists {
			fresh = true
			continue
		}
		key := records[i].Key
		noted, err := b.tx.Change(`UPDATE records SET pass = ?1 WHERE stream_id = ?2 AND key = ?3 AND partition_id = ?4 AND pass <> ?1`,
			pass, s.ID, key, partition)
		if err != nil {
			return err
		}
		if noted > 0 {
			fresh = true
			continue
		}
		var ours, there bool
		err = b.tx.Row(`SELECT partition_id = ?, id <= ? FROM records WHERE stream_id = ? AND key = ?`,
			partition, done.newest, s.ID, key).Scan(&ours, &there)
		if err != nil {
			return err
		}
		fresh = fresh || ours && !there
		if ours && there {
			n.Count(&records[i], same, fresh, before)
		}
	}
	return nil
}

// leave looks at why record i was not stored: its key is that of a record of another
// partition, it is older than the stored one, or it has the same bytes. Those may have
// been stored without their mark. taken reports that it was stored after all, since
// it moved here.
func (b *Batch) leave(at place, i int, w *weighing) (taken bool, err error) {
	r := &w.records[i]
	is, same, err := b.under(at.stream, r)
	if err != nil {
		return false, err
	}
	switch {
	case same && !r.Deleted:
		if err := b.agree(at, r.Key, &is); err != nil {
			return false, err
		}
	case same, is.owner == at.partition, r.Deleted && is.deleted != 0:
	case r.Deleted:
		return false, b.left(at, r.Key, &is)
	default:
		what, err := b.contest(at, r, &is)
		switch {
		case err != nil:
		case what == collided:
			w.rejected = append(w.rejected, i)
		case what == contested:
			w.contested = append(w.contested, i)
		case is.silent:
			w.unproven++
		}
		return err == nil && what == moved, err
	}
	switch {
	case is.owner != at.partition:
		return false, nil
	case is.mark.After(r.Mark):
		w.result.Older++
		return false, nil
	case r.Deleted, !same || is.mark == r.Mark || r.Mark == (collection.Mark{}):
		return false, nil
	}
	if is.sum != b.tx.RecordSum(at.stream.ID, is.owner, is.slice, r.Key, format.Shared(r.Data), is.mark, is.deleted) {
		return false, format.ChangedRecord(is.id) // a new sum would make it whole
	}
	return false, b.tx.Exec(`UPDATE records SET mark_scale = ?, mark = ?, sum = ? WHERE id = ?`,
		r.Mark.Scale, r.Mark.Value, b.tx.RecordSum(at.stream.ID, is.owner, is.slice, r.Key, format.Shared(r.Data), r.Mark, is.deleted), is.id)
}

// under returns what is stored under the key of a record, and whether it has the same bytes.
func (b *Batch) under(s *streams.Stream, r *collection.Record) (is stored, same bool, err error) {
	err = b.tx.Row(`SELECT id, partition_id, slice_id, sum, pass, deleted, mark_scale, mark, data IS NOT DISTINCT FROM ? FROM records WHERE stream_id = ? AND key = ?`,
		format.Shared(r.Data), s.ID, r.Key).Scan(&is.id, &is.owner, &is.slice, &is.sum, &is.pass, &is.deleted, &is.mark.Scale, &is.mark.Value, &same)
	return is, same, err
}

// upsert stores a record if it is new, has other bytes or is deleted, unless its
// key belongs to another partition or the stored record is of a later version. A
// record that is deleted belongs to whichever partition has it again.
const upsert = `INSERT INTO records (stream_id, key, partition_id, slice_id, data, sum, mark_scale, mark, pass) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (stream_id, key) DO UPDATE SET slice_id = excluded.slice_id, data = excluded.data, sum = excluded.sum,
		mark_scale = excluded.mark_scale, mark = excluded.mark, partition_id = excluded.partition_id, deleted = 0
	WHERE (deleted <> 0 OR data IS NOT excluded.data AND partition_id = excluded.partition_id)
		AND NOT (mark_scale = excluded.mark_scale AND mark > excluded.mark)`

// upsert stores the records that are new or have other bytes, unless they are
// older. Tombstones are not its affair.
func (b *Batch) upsert(s *streams.Stream, partition, pass int64, records []collection.Record) (done upserted, err error) {
	done.newest = b.newest
	args := [...]driver.NamedValue{
		{Ordinal: 1, Value: s.ID}, {Ordinal: 2}, {Ordinal: 3, Value: partition}, {Ordinal: 4, Value: b.Commit}, {Ordinal: 5}, {Ordinal: 6},
		{Ordinal: 7}, {Ordinal: 8}, {Ordinal: 9, Value: pass},
	}
	err = b.tx.Inner(upsert, func(stmt driver.StmtExecContext) error {
		for i := range records {
			r := &records[i]
			if r.Deleted {
				continue
			}
			data := format.Shared(r.Data)
			args[1].Value, args[4].Value, args[5].Value = r.Key, data, b.tx.RecordSum(s.ID, partition, b.Commit, r.Key, data, r.Mark, 0)
			args[6].Value, args[7].Value = r.Mark.Scale, r.Mark.Value
			one, err := stmt.ExecContext(context.Background(), args[:])
			if err != nil {
				return err
			}
			n, err := one.RowsAffected()
			if err != nil {
				return err
			}
			if n == 0 {
				done.unchanged = append(done.unchanged, i)
			} else {
				b.news.Look(s, r.Data)
			}
		}
		return nil
	})
	return done, err
}

// Count adds the records that were inserted and not counted yet to those of their
// stream. It is called once for consecutive slices of a stream whose passes are not
// followed, and before anything reads the count.
func (b *Batch) Count() error {
	_, err := b.count()
	return err
}

// count does what Count does, and returns how many records it counted.
func (b *Batch) count() (n int64, err error) {
	s := b.uncounted
	if s == nil {
		return 0, nil
	}
	b.uncounted = nil
	if b.tx.Dialect().Lists {
		n, b.inserted = b.inserted, 0
		if n == 0 {
			return 0, nil
		}
		return n, b.tx.Exec(`UPDATE streams SET records = records + ? WHERE id = ?`, n, s.ID)
	}
	err = b.tx.Row(countQuery, b.newest, s.ID).Scan(&b.newest, &n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil // all that changed was there before
	}
	return n, err
}

// Rows of records are never deleted, so that they are numbered without a hole where a
// transaction that writes is alone.
const countQuery = `UPDATE streams SET records = records + (SELECT max(id) FROM records) - ?1
	WHERE id = ?2 AND (SELECT max(id) FROM records) > ?1
	RETURNING (SELECT max(id) FROM records), (SELECT max(id) FROM records) - ?1`

// ForgetMarks forgets which versions the records of a partition have, or those
// of the whole stream. Who resets a walk wants what it brings, also where the
// provider once said of a record that it is of the year 9999.
func ForgetMarks(t database.Tx, stream, partition int64, all bool) error {
	// A record that was changed by a disk keeps its sum, and is found out.
	return t.Exec(`UPDATE records SET mark_scale = '', mark = '', sum = record_sum(stream_id, partition_id, slice_id, key, data, '', '', deleted)
		WHERE stream_id = ?1 AND (?3 = 1 OR partition_id = ?2) AND mark_scale <> ''
			AND sum = record_sum(stream_id, partition_id, slice_id, key, data, mark_scale, mark, deleted)`, stream, partition, all)
}
