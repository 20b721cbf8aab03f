package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"

	"collect/collection"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
	"collect/store/sqlite/internal/lanes"
)

// Commit stores slices in one transaction; see store.Ledger.
func (l *ledger) Commit(ctx context.Context, slices ...collection.Slice) ([]collection.Committed, error) {
	if len(slices) == 0 {
		return nil, nil
	}
	// What a commit learns of fields counts only when it is durable, which is
	// after it gave back the writer's turn.
	l.committing.Lock()
	defer l.committing.Unlock()
	b := batch{ledger: l, results: make([]collection.Committed, len(slices)), lanes: lanes.Changes{}}
	err := l.store.db.Writer.Update(ctx, func(t database.Tx) error {
		b.Tx = t
		if err := b.sign(); err != nil {
			return err
		}
		for i := range slices {
			if err := b.commit(&slices[i], &b.results[i]); err != nil {
				return err
			}
		}
		if err := b.addFields(); err != nil {
			return err
		}
		if err := b.saveSchemas(); err != nil {
			return err
		}
		if err := b.lanes.Save(t); err != nil {
			return err
		}
		return b.tally(slices)
	}, l.tookEffect)
	if err != nil {
		return nil, err
	}
	for s, names := range b.fresh {
		maps.Copy(s.fields, names)
	}
	for s, at := range b.learned {
		at.changed = false
		s.learned = at
	}
	return b.results, nil
}

// A batch is the slices of one transaction.
type batch struct {
	database.Tx
	ledger  *ledger
	last    int64 // the newest commit
	newest  int64 // the newest record
	results []collection.Committed
	fresh   map[*stream]map[string]bool // fields seen for the first time, or with their first escape: true
	learned map[*stream]learned         // the same of what the records are like
	order   map[*stream][]field         // the same in the order seen
	lanes   lanes.Changes
}

// sign numbers the commit, like every write of a ledger, and reads in the same
// statement what the rows to come are counted from.
func (b *batch) sign() error {
	b.ledger.writes++
	err := b.Row(signQuery+` RETURNING (SELECT coalesce(max(id), 0) FROM slices), (SELECT coalesce(max(id), 0) FROM records)`,
		b.ledger.signature()...).Scan(&b.last, &b.newest)
	if errors.Is(err, sql.ErrNoRows) {
		return collection.ErrFenced
	}
	return err
}

// commit stores one slice. Its row in slices, which is its number, its audit
// trail and its event, is written last, when everything is counted.
func (b *batch) commit(sl *collection.Slice, result *collection.Committed) error {
	s, err := b.ledger.stream(sl.Stream)
	if err != nil {
		return err
	}
	here, err := b.stand(s, sl.Place)
	if err != nil {
		return err
	}
	moves := here.at.Cursor == sl.From
	if sl.Fills == 0 && !moves {
		return collection.ErrCursorMoved // the caller knows the place
	}
	b.last++
	result.Commit = b.last
	n, err := b.storeRecords(here, sl, moves, result)
	if err != nil {
		return err
	}
	next := here.at
	if moves {
		next = collection.Checkpoint{Commit: b.last, Epoch: b.ledger.epoch}
		stored := int64(0)
		if sl.AsksStored() {
			if err := b.Row(`SELECT records FROM streams WHERE id = ?`, s.id).Scan(&stored); err != nil {
				return err
			}
		}
		evidence := here.at.Evidence.With(sl, b.last, stored, n.again, n.replaced)
		next.Evidence, next.Cursor = evidence.Judged(sl)
		if err := saveCheckpoint(b.Tx, here.partition, sl.Place, next); err != nil {
			return err
		}
		var from *collection.Cursor
		if here.begun {
			from = &here.at.Cursor
		}
		b.lanes.Move(s.id, sl.Place, from, next.Cursor)
	}
	result.Next, result.Evidence = next.Cursor, next.Evidence
	if here.owes {
		passed := *sl
		if moves {
			passed.Next = next.Cursor
		}
		if result.Closed, err = b.ledger.passGaps(b.Tx, here.place, &passed, moves); err != nil {
			return err
		}
	}
	if sl.Leaves != nil {
		left := *sl.Leaves
		left.Place, left.Cursor = sl.Place, sl.From
		if result.Left, err = b.ledger.deferGap(b.Tx, here.place, left, true, moves && next.Cursor != sl.From); err != nil {
			return err
		}
	}
	return b.Exec(`INSERT INTO slices
			(id, partition_id, lane, run, epoch, previous, fills, records, changed, rejected, older, done, committed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		b.last, here.partition, string(sl.Lane), b.ledger.run, b.ledger.epoch, here.at.Commit, sl.Fills,
		len(sl.Records)+len(sl.Rejected), result.Changed, result.Rejected, result.Older, moves && next.Done, format.Time(b.Now))
}

// A standing is how a place stands: its checkpoint, and whether a gap is owed
// anywhere in it.
type standing struct {
	place
	at    collection.Checkpoint
	begun bool // it has a checkpoint
	owes  bool
}

// standQuery finds a standing. ?4 is the digest of the zero cursor, where a
// place stands that was never committed.
const standQuery = `
	SELECT p.id, c.token, c.since, c.high, c.version, coalesce(c.done, 0), c.meaning, coalesce(c.digest, ?4), coalesce(c.slice_id, 0), coalesce(c.evidence, ''),
		c.partition_id IS NOT NULL, EXISTS (SELECT 1 FROM gaps g WHERE g.partition_id = p.id AND g.lane = ?3 AND g.state IN ('open', 'leased', 'dead'))
	FROM partitions p LEFT JOIN checkpoints c ON c.partition_id = p.id AND c.lane = ?3
	WHERE p.stream_id = ?1 AND p.partition = ?2`

// stand returns how a place stands, making its partition if need be.
func (b *batch) stand(s *stream, at collection.Place) (standing, error) {
	here := standing{place: place{at, s, 0}}
	var sum []byte
	dest := append([]any{&here.partition}, format.CursorColumns(&here.at.Cursor)...)
	err := b.Row(standQuery, s.id, string(at.Partition), string(at.Lane), collection.Cursor{}.Digest()).
		Scan(append(dest, &sum, &here.at.Commit, format.EvidenceTo(&here.at.Evidence), &here.begun, &here.owes)...)
	if errors.Is(err, sql.ErrNoRows) {
		here.partition, err = b.Insert(makePartition, s.id, string(at.Partition))
		return here, err
	}
	if err != nil {
		return here, err
	}
	return here, format.CheckCursor(here.at.Cursor, sum)
}

// A count says what became of the records of a slice.
type count struct{ inserted, again, replaced int64 }

// storeRecords stores the records and the rejected records of a slice, and
// counts them.
func (b *batch) storeRecords(here standing, sl *collection.Slice, moves bool, result *collection.Committed) (n count, err error) {
	s, partition, newest := here.stream, here.partition, b.newest
	pass := int64(0)
	switch {
	case !moves || !sl.Tracked():
	case sl.BeginsPass():
		pass = b.last
	default:
		pass = here.at.Evidence.Pass
	}
	s.sample.Reset()
	unchanged, err := b.upsert(s, partition, pass, sl.Records)
	if err != nil {
		return n, err
	}
	if err := b.learn(s, sl, len(sl.Records)-len(unchanged)); err != nil {
		return n, err
	}
	result.Changed = len(sl.Records) - len(unchanged)
	if result.Changed > 0 {
		if err := b.count(s); err != nil {
			return n, err
		}
	}
	n.inserted = b.newest - newest
	if pass != 0 && n.inserted < int64(len(sl.Records)) {
		if err := b.notePass(here.place, pass, newest, sl.Records, unchanged, &n); err != nil {
			return n, err
		}
	}
	alone := s.Parent == "" && sl.Partition == "" // there is no other partition
	rejected := sl.Rejected
	for _, i := range unchanged {
		r := &sl.Records[i]
		if alone && r.Mark == (collection.Mark{}) {
			continue // it has the same bytes
		}
		collides, older, err := b.leave(s, partition, r)
		if err != nil {
			return n, err
		}
		if collides {
			rejected = append(slices.Clip(rejected), collection.Rejected{Data: r.Data, Reason: collection.KeyCollision})
		}
		if older {
			result.Older++
		}
	}
	for _, r := range rejected {
		if err := b.quarantine(s, partition, r.Reason, r.Data); err != nil {
			return n, err
		}
	}
	result.Rejected = len(rejected)
	return n, nil
}

// notePass notes that pass delivered records which the store had, newest being
// the newest record before the slice, and counts those that the pass had
// delivered before. Inserted records are noted already.
func (b *batch) notePass(p place, pass, newest int64, records []collection.Record, unchanged []int, n *count) error {
	onlyInserted := int64(len(records)-len(unchanged)) == n.inserted
	for i := range records {
		_, same := slices.BinarySearch(unchanged, i)
		if !same && onlyInserted {
			continue
		}
		key := records[i].Key
		noted, err := b.Change(`UPDATE records SET pass = ?1 WHERE stream_id = ?2 AND key = ?3 AND partition_id = ?4 AND pass <> ?1`,
			pass, p.stream.id, key, p.partition)
		if err != nil {
			return err
		}
		if noted > 0 {
			continue
		}
		var again bool
		err = b.Row(`SELECT partition_id = ? AND id <= ? FROM records WHERE stream_id = ? AND key = ?`,
			p.partition, newest, p.stream.id, key).Scan(&again)
		if err != nil {
			return err
		}
		if again {
			n.again++
			if !same {
				n.replaced++
			}
		}
	}
	return nil
}

// leave tells why a record was not stored: its key is that of a record of
// another partition, it is older than what is stored, or it has the same bytes.
// Those may have been stored without their mark.
func (b *batch) leave(s *stream, partition int64, r *collection.Record) (collides, older bool, err error) {
	var id, owner, slice, sum int64
	var same bool
	var is collection.Mark
	err = b.Row(`SELECT id, partition_id, slice_id, sum, mark_scale, mark, data IS ? FROM records WHERE stream_id = ? AND key = ?`,
		format.Shared(r.Data), s.id, r.Key).Scan(&id, &owner, &slice, &sum, &is.Scale, &is.Value, &same)
	if err != nil {
		return false, false, err
	}
	switch {
	case owner != partition:
		return !same, false, nil
	case is.After(r.Mark):
		return false, true, nil
	case !same || is == r.Mark || r.Mark == (collection.Mark{}):
		return false, false, nil
	}
	if sum != format.RecordSum(s.id, owner, slice, r.Key, format.Shared(r.Data), is) {
		return false, false, format.ChangedRecord(id) // a new sum would make it whole
	}
	return false, false, b.Exec(`UPDATE records SET mark_scale = ?, mark = ?, sum = ? WHERE id = ?`,
		r.Mark.Scale, r.Mark.Value, format.RecordSum(s.id, owner, slice, r.Key, format.Shared(r.Data), r.Mark), id)
}

// upsert stores a record if it is new or has other bytes, unless its key
// belongs to another partition or what is stored is of a later version.
const upsert = `INSERT INTO records (stream_id, key, partition_id, slice_id, data, sum, mark_scale, mark, pass) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (stream_id, key) DO UPDATE SET slice_id = excluded.slice_id, data = excluded.data, sum = excluded.sum,
		mark_scale = excluded.mark_scale, mark = excluded.mark
	WHERE data IS NOT excluded.data AND partition_id = excluded.partition_id
		AND NOT (mark_scale = excluded.mark_scale AND mark > excluded.mark)`

// upsert stores the records that are new or have other bytes, unless they are
// older, and returns the indexes of the others.
func (b *batch) upsert(s *stream, partition, pass int64, records []collection.Record) (unchanged []int, err error) {
	args := [...]driver.NamedValue{
		{Ordinal: 1, Value: s.id}, {Ordinal: 2}, {Ordinal: 3, Value: partition}, {Ordinal: 4, Value: b.last}, {Ordinal: 5}, {Ordinal: 6},
		{Ordinal: 7}, {Ordinal: 8}, {Ordinal: 9, Value: pass},
	}
	err = b.Inner(upsert, func(stmt driver.StmtExecContext) error {
		for i := range records {
			r := &records[i]
			data := format.Shared(r.Data)
			args[1].Value, args[4].Value, args[5].Value = r.Key, data, format.RecordSum(s.id, partition, b.last, r.Key, data, r.Mark)
			args[6].Value, args[7].Value = r.Mark.Scale, r.Mark.Value
			done, err := stmt.ExecContext(context.Background(), args[:])
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			if n == 0 {
				unchanged = append(unchanged, i)
			} else {
				b.lookForFields(s, r.Data)
			}
		}
		return nil
	})
	return unchanged, err
}

// count adds the records that a slice inserted to those of its stream. Rows of
// records are never deleted, so that they are numbered without a hole.
func (b *batch) count(s *stream) error {
	err := b.Row(`UPDATE streams SET records = records + (SELECT max(id) FROM records) - ?1
		WHERE id = ?2 AND (SELECT max(id) FROM records) > ?1
		RETURNING (SELECT max(id) FROM records)`, b.newest, s.id).Scan(&b.newest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // all that changed was there before
	}
	return err
}

// quarantine keeps bytes that cannot be stored under a key. The same bytes are
// kept once, however often a slice is repeated.
func (b *batch) quarantine(s *stream, partition int64, reason string, data []byte) error {
	sum := sha256.Sum256(data)
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	return b.Exec(`INSERT INTO quarantine
			(stream_id, partition_id, reason, digest, data, seen, first_slice, last_slice)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?6)
		ON CONFLICT (stream_id, partition_id, reason, digest) DO UPDATE SET seen = seen + 1, last_slice = ?6`,
		s.id, partition, reason, sum[:], data, b.last)
}

// tally adds the slices to what their run has done, so that a run whose
// process dies has not done nothing.
func (b *batch) tally(slices []collection.Slice) error {
	var n collection.Tally
	var spent collection.Tally // the most that any of them knows of
	for i := range slices {
		known := &slices[i].Spent
		spent.Requests, spent.Retries = max(spent.Requests, known.Requests), max(spent.Retries, known.Retries)
		spent.Throttled = max(spent.Throttled, known.Throttled)
		if delivered := len(slices[i].Records) + len(slices[i].Rejected); delivered > 0 {
			n.Slices++
			n.Records += int64(delivered)
		}
		n.Changed += int64(b.results[i].Changed)
		n.Rejected += int64(b.results[i].Rejected)
		n.Older += int64(b.results[i].Older)
	}
	if n == (collection.Tally{}) {
		return nil
	}
	return b.Exec(`UPDATE runs SET slices = slices + ?, records = records + ?, changed = changed + ?, rejected = rejected + ?,
		older = older + ?,
		requests = max(requests, ?), retries = max(retries, ?), throttled = max(throttled, ?) WHERE id = ?`,
		n.Slices, n.Records, n.Changed, n.Rejected, n.Older, spent.Requests, spent.Retries, spent.Throttled, b.ledger.run)
}

// lookForFields notes the fields of a record that its stream does not know.
func (b *batch) lookForFields(s *stream, data []byte) {
	seen := b.fresh[s]
	if seen == nil {
		seen = map[string]bool{}
	}
	names := s.newFields(data, seen)
	if len(names) == 0 {
		return
	}
	if b.fresh == nil {
		b.fresh, b.order = map[*stream]map[string]bool{}, map[*stream][]field{}
	}
	b.fresh[s] = seen
	b.order[s] = append(b.order[s], names...)
}

// addFields records the fields that were noted.
func (b *batch) addFields() error {
	for s, names := range b.order {
		if err := addFields(b.Tx, s, names); err != nil {
			return err
		}
	}
	return nil
}
