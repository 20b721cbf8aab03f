package records

import (
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
func (b *Batch) contest(at place, r *collection.Record, is *stored) (taken bool, err error) {
	both, err := b.bothHave(at, r, is)
	if err != nil {
		return false, err
	}
	if both {
		return false, b.claim(at.stream, is.id, is.owner, max(is.slice, is.pass), at.partition, b.Commit)
	}
	data := format.Shared(r.Data)
	n, err := b.tx.Change(`UPDATE records SET partition_id = ?, slice_id = ?, data = ?, sum = ?, mark_scale = ?, mark = ? WHERE id = ? AND `+sound,
		at.partition, b.Commit, data, b.tx.RecordSum(at.stream.ID, at.partition, b.Commit, r.Key, data, r.Mark, 0), r.Mark.Scale, r.Mark.Value, is.id)
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, format.ChangedRecord(is.id)
	}
	b.news.Look(at.stream, r.Data)
	if err := b.unclaim(is.id, at.partition); err != nil {
		return false, err
	}
	if err := b.claim(at.stream, is.id, is.owner, max(is.slice, is.pass)); err != nil {
		return false, err
	}
	return true, b.unreject(at.stream, r.Key)
}

// bothHave reports whether the partition that has a stored record may still have
// it, though another one has a record with its key.
func (b *Batch) bothHave(at place, r *collection.Record, is *stored) (bool, error) {
	if is.mark.After(r.Mark) {
		return true, nil // a record that moved does not become older
	}
	begun, err := b.Begun(b.tx, at.stream.ID, at.lane)
	if err != nil || begun == 0 {
		return true, err
	}
	var shown int64
	var had bool
	err = b.tx.Row(`SELECT max(max(CAST(?1 AS BIGINT), CAST(?2 AS BIGINT)), max(
			coalesce((SELECT seen FROM claims WHERE record_id = ?3 AND partition_id = ?4), 0),
			coalesce((SELECT seen FROM sightings WHERE record_id = ?3 AND partition_id = ?4), 0))),
		EXISTS (SELECT 1 FROM claims WHERE record_id = ?3 AND partition_id = ?5),
		EXISTS (SELECT 1 FROM checkpoints WHERE partition_id = ?4 AND lane = ?6 AND length(since) > 0)`,
		is.slice, is.pass, is.id, is.owner, at.partition, string(at.lane)).Scan(&shown, &had, &is.silent)
	is.silent = is.silent || at.stream.Refresh != collection.EachRun
	return shown >= begun || had && is.silent, err
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
