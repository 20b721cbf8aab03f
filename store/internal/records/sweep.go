package records

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/streams"
)

// sight notes which commit showed a record in a partition last.
const sight = `INSERT INTO sightings (record_id, partition_id, seen)
	SELECT id, CAST(?1 AS BIGINT), CAST(?2 AS BIGINT) FROM records WHERE stream_id = ?3 AND key = ?4
	ON CONFLICT (record_id, partition_id) DO UPDATE SET seen = excluded.seen`

// sight notes that a slice showed its records. Also one that was not stored, since
// it is older or belongs to another partition, is there.
func (b *Batch) sight(s *streams.Stream, partition int64, records []collection.Record) error {
	args := [...]driver.NamedValue{{Ordinal: 1, Value: partition}, {Ordinal: 2, Value: b.Commit}, {Ordinal: 3, Value: s.ID}, {Ordinal: 4}}
	return b.tx.Inner(sight, func(stmt driver.StmtExecContext) error {
		for i := range records {
			if records[i].Deleted {
				continue
			}
			args[3].Value = records[i].Key
			if _, err := stmt.ExecContext(context.Background(), args[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// A Sweep is what a walk that came to its end found missing in a partition.
type Sweep struct {
	Stream, Partition int64
	Before            int64 // the commit before which a record was shown last that is missing
}

const (
	// missing are the records that a sweep finds: of the partition, not deleted, and
	// shown by it before a commit.
	missing = `FROM sightings s CROSS JOIN records r ON r.id = s.record_id
		WHERE s.partition_id = ?1 AND s.seen < ?2 AND r.partition_id = ?1 AND r.deleted = 0`

	lostQuery = `SELECT count(*) ` + missing + ` AND NOT EXISTS (SELECT 1 FROM sightings o WHERE o.record_id = r.id AND o.partition_id <> ?1 AND ` + there + `)`

	// other is another partition that has shown a record, did not miss it since, and is not gone.
	other = `(SELECT max(o.partition_id) FROM sightings o WHERE o.record_id = records.id AND o.partition_id <> ?1 AND ` + there + `)`
	there = `NOT EXISTS (SELECT 1 FROM gaps g WHERE g.partition_id = o.partition_id AND g.reason = '` + string(collection.Gone) + `' AND g.state IN ('open', 'leased', 'dead'))`

	// sound leaves a record that a disk changed as it is, to be found out.
	sound = `sum = record_sum(stream_id, partition_id, slice_id, key, data, mark_scale, mark, deleted)`

	handOver = `UPDATE records SET partition_id = ` + other + `,
			sum = record_sum(stream_id, ` + other + `, slice_id, key, data, mark_scale, mark, deleted)
		WHERE id IN (SELECT r.id ` + missing + `) AND ` + other + ` IS NOT NULL AND ` + sound

	mark = `UPDATE records SET deleted = ?3, sum = record_sum(stream_id, partition_id, slice_id, key, data, mark_scale, mark, ?3)
		WHERE id IN (SELECT r.id ` + missing + `) AND ` + sound

	forget = `DELETE FROM sightings WHERE partition_id = ?1 AND seen < ?2`
)

// Accepted reports whether a person accepted whatever the sweep marks. It holds for the pass that begun began, if it
// holds for none yet.
func (w Sweep) Accepted(t database.Tx, begun int64) (bool, error) {
	var accepted int64
	err := t.Row(`SELECT accepted FROM sweeps WHERE stream_id = ?`, w.Stream).Scan(&accepted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err == nil && accepted == 1:
		return true, t.Exec(`UPDATE sweeps SET accepted = ? WHERE stream_id = ?`, begun, w.Stream)
	}
	return accepted != 0 && accepted == begun, err
}

// Lost returns how many records would be marked if the sweep did, and of how many, if
// that is more than may be marked unless a person accepts it; else 0. Both have what was
// marked since the commit begun.
func (w Sweep) Lost(t database.Tx, begun int64) (lost, living int64, err error) {
	if err := t.Row(lostQuery, w.Partition, w.Before).Scan(&lost); err != nil || lost == 0 {
		return 0, 0, err
	}
	var marked int64
	err = t.Row(`SELECT records - (SELECT count(*) FROM records WHERE stream_id = ?1 AND deleted <> 0),
			(SELECT count(*) FROM records WHERE stream_id = ?1 AND deleted >= max(CAST(?2 AS BIGINT), 1))
		FROM streams WHERE id = ?1`, w.Stream, begun).Scan(&living, &marked)
	if err != nil || collection.MaySweep(lost, marked, living) {
		return 0, 0, err
	}
	return marked + lost, living + marked, nil
}

// Lacks returns how many records of the partition were last shown before a commit.
func (w Sweep) Lacks(t database.Tx, before int64) (n int64, err error) {
	err = t.Row(`SELECT count(*) `+missing, w.Partition, before).Scan(&n)
	return n, err
}

// Mark marks what is missing as deleted by a commit, and returns how many records
// that were. One that another partition shows goes there instead.
func (w Sweep) Mark(t database.Tx, commit int64) (int, error) {
	if err := t.Exec(handOver, w.Partition, w.Before); err != nil {
		return 0, err
	}
	n, err := t.Change(mark, w.Partition, w.Before, commit)
	if err != nil {
		return 0, err
	}
	return int(n), t.Exec(forget, w.Partition, w.Before)
}
