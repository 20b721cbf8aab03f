package records

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/streams"
)

// A place is where a slice was found.
type place struct {
	stream    *streams.Stream
	partition int64
	lane      collection.Lane
	decides   *collection.Decision // what the slice says of contested records
}

// A stored is what is there under the key of a record that was not stored.
type stored struct {
	id, owner, slice, sum, pass, deleted int64
	mark                                 collection.Mark
	silent                               bool // its partition is not asked for what is as it was; known once it is contested
}

// contest decides what becomes of a record whose key is that of a record with other
// bytes in another partition.
//
// A record moves from one parent to another, and then its newest version is what
// counts. Or two records share the key, which the connector file has to mend: then
// both are still there. The difference is whether the other partition has shown its
// own since the pass over all partitions began. A partition that is asked from a
// mark, or only when its parent changed, does not show what is as it was: there the
// record has moved the first time, and one that comes back is told.
//
// A record that moves while the partitions are read is shown by both as well. So it is
// contested until both were read again, unless its key was found to be shared before.
func (b *Batch) contest(at place, r *collection.Record, is *stored) (verdict, error) {
	what, err := b.judge(at, r, is)
	switch {
	case err != nil:
		return what, err
	case what == moved:
		return what, b.take(at, r, is)
	}
	return what, b.claim(at.stream, is.id, is.owner, max(is.slice, is.pass), at.partition, b.Commit)
}

// A verdict says what a record is whose key another partition has.
type verdict int

const (
	moved     verdict = iota // it came from there
	contested                // it may have come from there
	collided                 // it is another one
)

// take stores a record that moved here.
func (b *Batch) take(at place, r *collection.Record, is *stored) error {
	data := format.Shared(r.Data)
	n, err := b.tx.Change(`UPDATE records SET partition_id = ?, slice_id = ?, data = ?, sum = ?, mark_scale = ?, mark = ? WHERE id = ? AND `+sound,
		at.partition, b.Commit, data, b.tx.RecordSum(at.stream.ID, at.partition, b.Commit, r.Key, data, r.Mark, 0), r.Mark.Scale, r.Mark.Value, is.id)
	if err != nil {
		return err
	}
	if n == 0 {
		return format.ChangedRecord(is.id)
	}
	b.news.Look(at.stream, r.Data)
	if err := b.unclaim(is.id, at.partition); err != nil {
		return err
	}
	if err := b.claim(at.stream, is.id, is.owner, max(is.slice, is.pass)); err != nil {
		return err
	}
	if at.decides != nil { // another partition may have a later version, and is decided about by itself
		return b.tx.Exec(`DELETE FROM quarantine WHERE stream_id = ? AND partition_id = ? AND key = ? AND key <> ''`, at.stream.ID, at.partition, r.Key)
	}
	return b.unreject(at.stream, r.Key)
}

// judge returns the verdict on a record whose key another partition has.
func (b *Batch) judge(at place, r *collection.Record, is *stored) (verdict, error) {
	if at.decides != nil {
		if _, here := slices.BinarySearch(at.decides.Moved, r.Key); here {
			return moved, nil
		}
		return collided, nil
	}
	begun, err := b.Begun(b.tx, at.stream.ID, at.lane)
	if err != nil || begun == 0 {
		return collided, err
	}
	var shown int64
	var had, known bool
	err = b.tx.Row(`SELECT max(max(CAST(?1 AS BIGINT), CAST(?2 AS BIGINT)), max(
			coalesce((SELECT seen FROM claims WHERE record_id = ?3 AND partition_id = ?4), 0),
			coalesce((SELECT seen FROM sightings WHERE record_id = ?3 AND partition_id = ?4), 0))),
		EXISTS (SELECT 1 FROM claims WHERE record_id = ?3 AND partition_id = ?5),
		EXISTS (SELECT 1 FROM checkpoints WHERE partition_id = ?4 AND lane = ?6 AND length(since) > 0),
		EXISTS (SELECT 1 FROM quarantine WHERE stream_id = ?7 AND key = ?8 AND key <> '' AND reason = ?9)`,
		is.slice, is.pass, is.id, is.owner, at.partition, string(at.lane), at.stream.ID, r.Key, collection.KeyCollision).Scan(&shown, &had, &is.silent, &known)
	is.silent = is.silent || at.stream.Refresh != collection.EachRun
	switch {
	case err != nil || shown < begun && !(had && is.silent) && !is.mark.After(r.Mark): // one that moved does not become older
		return moved, err
	case known:
		return collided, nil
	}
	return contested, nil
}

const (
	// undecided are the contested records of a partition.
	undecided = ` FROM quarantine WHERE stream_id = ?1 AND partition_id = ?2 AND reason = '` + string(collection.Contested) + `'`

	// collide makes collisions of those with key ?3, or of all, unless the same bytes are one already.
	collide = `UPDATE quarantine SET reason = '` + collection.KeyCollision + `' WHERE id IN (SELECT id` + undecided + ` AND (?3 = '' OR key = ?3)) AND NOT EXISTS (
		SELECT 1 FROM quarantine o WHERE o.stream_id = ?1 AND o.partition_id = ?2 AND o.reason = '` + collection.KeyCollision + `' AND o.digest = quarantine.digest)`
)

// decide ends what was contested in a place. A record that moved here, and that its list does not show any more, is
// stored as it came: it was deleted or moved on since, or its list hides it. Its mark is not known by now, so that
// it takes the place of none with a mark, and stays in quarantine.
func (b *Batch) decide(at place, sl *collection.Slice, result *collection.Committed) error {
	var err error
	if sl.Decides.Shared {
		n := int64(0)
		n, err = b.tx.Change(collide, at.stream.ID, at.partition, "")
		result.Rejected += int(n)
	} else {
		err = b.settle(at, sl, result)
	}
	if err != nil {
		return err
	}
	return b.tx.Exec(`DELETE`+undecided, at.stream.ID, at.partition)
}

// settle stores the records that moved here as the quarantine has them, if the slice does not show them. It leaves a record in
// quarantine if nothing tells where it belongs.
func (b *Batch) settle(at place, sl *collection.Slice, result *collection.Committed) error {
	shown := map[string]bool{}
	for i := range sl.Records {
		shown[sl.Records[i].Key] = true
	}
	unknown := sl.Decides.Unknown
	for _, key := range sl.Decides.Moved {
		if shown[key] {
			continue
		}
		r := collection.Record{Key: key}
		err := b.tx.Row(`SELECT data`+undecided+` AND key = ?3 ORDER BY last_slice DESC LIMIT 1`, at.stream.ID, at.partition, key).Scan((*[]byte)(&r.Data))
		if errors.Is(err, sql.ErrNoRows) {
			continue // it is stored meanwhile
		}
		if err != nil {
			return err
		}
		is, same, err := b.under(at.stream, &r)
		switch {
		case err != nil:
			return err
		case same, is.deleted != 0:
		case is.mark != collection.Mark{}:
			unknown = append(unknown, key)
		default:
			if err := b.take(at, &r, &is); err != nil {
				return err
			}
			result.Moved, result.Changed = result.Moved+1, result.Changed+1
		}
	}
	for _, key := range unknown {
		if _, err := b.tx.Change(collide, at.stream.ID, at.partition, key); err != nil {
			return err
		}
	}
	return nil
}

// Contested returns the records of a partition whose keys other partitions have; see store.Ledger.
func Contested(ctx context.Context, r *database.Readers, stream int64, of collection.Partition) (all []collection.Contest, err error) {
	err = r.Query(ctx, func(row database.Scanner) error {
		var partition collection.Partition
		var key string
		err := row.Scan(format.TextTo((*string)(&partition)), format.TextTo(&key))
		if n := len(all); n == 0 || all[n-1].Partition != partition {
			all = append(all, collection.Contest{Partition: partition})
		}
		last := &all[len(all)-1]
		last.Keys = append(last.Keys, key)
		return err
	}, `SELECT DISTINCT owner.partition, q.key FROM quarantine q JOIN partitions p ON p.id = q.partition_id
			JOIN records r ON r.stream_id = q.stream_id AND r.key = q.key JOIN partitions owner ON owner.id = r.partition_id
		WHERE q.stream_id = ? AND p.partition = ? AND q.reason = ? AND q.key <> ''
		ORDER BY 1, 2`, stream, string(of), string(collection.Contested))
	return all, err
}

// claim notes that partitions brought a record, each with the commit that did so
// last.
func (b *Batch) claim(s *streams.Stream, record int64, seen ...int64) error {
	s.Claims = true
	for ; len(seen) > 0; seen = seen[2:] {
		err := b.tx.Exec(`INSERT INTO claims (record_id, partition_id, seen) VALUES (?1, ?2, ?3)
			ON CONFLICT (record_id, partition_id) DO UPDATE SET seen = max(claims.seen, ?3)`, record, seen[0], seen[1])
		if err != nil {
			return err
		}
	}
	return nil
}

// unclaim forgets that a partition brought a record.
func (b *Batch) unclaim(record, partition int64) error {
	return b.tx.Exec(`DELETE FROM claims WHERE record_id = ? AND partition_id = ?`, record, partition)
}

// agree notes that a partition brought what is stored. Of a record that another
// partition has it says that the two lists have the same record.
func (b *Batch) agree(at place, key string, is *stored) error {
	switch {
	case !at.stream.Claims:
		return nil
	case is.owner != at.partition:
		return b.unclaim(is.id, at.partition)
	}
	if at.stream.Rejects && at.stream.Refresh == collection.EachRun {
		if err := b.tx.Exec(endSilent, is.id, at.partition, at.stream.ID, key); err != nil {
			return err
		}
	}
	return b.tx.Exec(`UPDATE claims SET seen = ? WHERE record_id = ? AND partition_id = ?`, b.Commit, is.id, at.partition)
}

// endSilent ends the quarantine of what other partitions had under a key, and have
// not shown since the partition of the record showed it last. Those that are asked
// from a mark say nothing by that.
const endSilent = `DELETE FROM quarantine WHERE stream_id = ?3 AND key = ?4 AND key <> '' AND partition_id IN (
	SELECT c.partition_id FROM claims c JOIN claims mine ON mine.record_id = c.record_id AND mine.partition_id = ?2
	WHERE c.record_id = ?1 AND c.partition_id <> ?2 AND c.seen < mine.seen
		AND NOT EXISTS (SELECT 1 FROM checkpoints k WHERE k.partition_id = c.partition_id AND length(k.since) > 0))`

// left notes that a partition says of a record that it was deleted there, which
// another partition has: it moved, or it was another one with its key.
func (b *Batch) left(at place, key string, is *stored) error {
	if err := b.unclaim(is.id, at.partition); err != nil || !at.stream.Rejects {
		return err
	}
	return b.tx.Exec(`DELETE FROM quarantine WHERE stream_id = ? AND partition_id = ? AND key = ? AND key <> ''`, at.stream.ID, at.partition, key)
}

// ForgetClaims forgets which partitions brought the records of a stream: who starts it
// over may have given it another key.
func ForgetClaims(t database.Tx, stream int64) error {
	return t.Exec(`DELETE FROM claims WHERE record_id IN (SELECT id FROM records WHERE stream_id = ?)`, stream)
}
