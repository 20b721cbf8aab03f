package records

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"time"

	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// Most records are never read again by a run, so that what a disk changes in
// them is found when it is too late for the last good backup. So each run,
// before it begins, compares some with their sums, and goes on from there the
// next time: all of a small database, and a large one in many runs.
const (
	scrubRecords = 500                   // at once
	scrubTime    = 20 * time.Millisecond // after which no more are begun
)

// scrubQuery compares the records after a number with their sums, and looks
// for what an export needs beside them.
const scrubQuery = `SELECT count(*), coalesce(max(id), 0), coalesce(min(CASE WHEN NOT sound THEN id END), 0) FROM (
	SELECT r.id AS id, r.sum IS record_sum(r.stream_id, r.partition_id, r.slice_id, r.key, r.data, r.mark_scale, r.mark, r.deleted)
		AND p.id IS NOT NULL AND c.run IS NOT NULL AND c.committed_at IS NOT NULL
		AND r.id IS (SELECT i.id FROM records i WHERE i.stream_id = r.stream_id AND i.key = r.key) AS sound
	FROM records r NOT INDEXED LEFT JOIN partitions p ON p.id = r.partition_id LEFT JOIN slices c ON c.id = r.slice_id
	WHERE r.id > ?1 ORDER BY r.id LIMIT ?2)`

// Scrub compares the next records with their sums, and notes how far it came. It
// is part of the transaction that begins a run, which has a connection for sure.
func Scrub(t database.Tx) error {
	var at []byte
	err := t.Row(`SELECT value FROM meta WHERE name = 'scrubbed'`).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var last int64
	if len(at) == 8 {
		last = int64(binary.BigEndian.Uint64(at)) // #nosec G115 -- the number of a row
	}
	for begun := time.Now(); time.Since(begun) < scrubTime; {
		var n, newest, wrong int64
		if err := t.Row(scrubQuery, last, scrubRecords).Scan(&n, &newest, &wrong); err != nil {
			return err
		}
		if wrong > 0 {
			return format.ChangedRecord(wrong)
		}
		if last = newest; n < scrubRecords {
			last = 0 // that were the last
			break
		}
	}
	return t.Exec(`INSERT INTO meta (name, value) VALUES ('scrubbed', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1`,
		binary.BigEndian.AppendUint64(nil, uint64(last))) // #nosec G115 -- the number of a row
}
