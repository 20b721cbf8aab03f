package records

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// Most records are never read again by a run, so that what a disk changes in
// them is found when it is too late for the last good backup. So each run,
// before it begins, compares some with their sums, and goes on from there the
// next time: all of a small database, and a large one in many runs.
//
// A record that is not what was stored stops the runs of its connector alone. A
// run of another one that finds it notes where it is, and goes on; the next run
// of its connector begins to compare there.
const (
	scrubRecords = 500                   // at once
	scrubTime    = 20 * time.Millisecond // after which no more are begun
)

// Where the comparing goes on is in the table meta: the number of the record
// before it, in 8 bytes.
const (
	scrubbed   = "scrubbed"  // for every run
	scrubbedOf = "scrubbed/" // and a connector: for its next run, since a record behind it is damaged
)

// scrubQuery counts the records after a number, and those that differ from
// their sums or lack what an export needs beside them.
const scrubQuery = `SELECT count(*), coalesce(max(id), 0), count(*) FILTER (WHERE NOT sound) FROM (` + soundQuery + `) AS r`

// unsoundQuery returns the numbers of those that scrubQuery counts.
const unsoundQuery = `SELECT id FROM (` + soundQuery + `) AS r WHERE NOT sound`

const soundQuery = `
	SELECT r.id AS id, r.sum IS NOT DISTINCT FROM record_sum(r.stream_id, r.partition_id, r.slice_id, r.key, r.data, r.mark_scale, r.mark, r.deleted)
		AND p.id IS NOT NULL AND c.run IS NOT NULL AND c.committed_at IS NOT NULL
		AND r.id IS NOT DISTINCT FROM (SELECT i.id FROM records i WHERE i.stream_id = r.stream_id AND i.key = r.key) AS sound
	FROM records r NOT INDEXED LEFT JOIN partitions p ON p.id = r.partition_id LEFT JOIN slices c ON c.id = r.slice_id
	WHERE r.id > ?1 ORDER BY r.id LIMIT ?2`

// ownersQuery returns the connectors that a record may be of: the one of its
// stream, and the one for whose stream its sum is right, since the number of the
// stream may be what has changed.
const ownersQuery = `SELECT DISTINCT s.connector FROM records r NOT INDEXED CROSS JOIN streams s NOT INDEXED ON 1 = 1
	WHERE r.id = ? AND (s.id = r.stream_id
		OR r.sum IS NOT DISTINCT FROM record_sum(s.id, r.partition_id, r.slice_id, r.key, r.data, r.mark_scale, r.mark, r.deleted))`

// Scrub compares the next records with their sums for a run of a connector, and
// notes how far it came. It is part of the transaction that begins the run, which
// has a connection for sure.
func Scrub(t database.Tx, connector string) error {
	last, noted, err := scrubbedTo(t, scrubbedOf+connector)
	if err == nil && !noted {
		last, _, err = scrubbedTo(t, scrubbed)
	}
	if err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < scrubTime; {
		var n, newest, unsound int64
		if err := t.Row(scrubQuery, last, scrubRecords).Scan(&n, &newest, &unsound); err != nil {
			return err
		}
		if unsound > 0 {
			if err := blame(t, connector, last); err != nil {
				return err
			}
		}
		if last = newest; n < scrubRecords {
			last = 0 // that were the last
			break
		}
	}
	if noted { // what was behind it was mended
		if err := t.Exec(`DELETE FROM meta WHERE name = ?`, scrubbedOf+connector); err != nil {
			return err
		}
	}
	return noteScrubbed(t, scrubbed, last)
}

// blame returns an error if one of the next records after a number is damaged and
// is of that connector, or of one that cannot be told. The owners of the others are
// noted.
func blame(t database.Tx, connector string, after int64) error {
	var unsound []int64
	err := t.Each(func(row database.Scanner) error {
		var id int64
		err := row.Scan(&id)
		unsound = append(unsound, id)
		return err
	}, unsoundQuery, after, scrubRecords)
	if err != nil {
		return err
	}
	for _, id := range unsound {
		var owners []string
		if err := t.Each(database.Texts(&owners), ownersQuery, id); err != nil {
			return err
		}
		switch {
		case slices.Contains(owners, connector):
			return format.ChangedRecord(id)
		case len(owners) == 0:
			return fmt.Errorf("%w: record number %d is not what was stored, and it cannot be told of which connector it is", store.ErrDamaged, id)
		}
		for _, owner := range owners {
			before, noted, err := scrubbedTo(t, scrubbedOf+owner)
			if err != nil {
				return err
			}
			if noted && before < id {
				continue
			}
			if err := noteScrubbed(t, scrubbedOf+owner, id-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubbedTo returns the number that is kept under a name in meta, and whether one is.
func scrubbedTo(t database.Tx, name string) (last int64, noted bool, err error) {
	var at []byte
	err = t.Row(`SELECT value FROM meta WHERE name = ?`, name).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if len(at) == 8 {
		last = int64(binary.BigEndian.Uint64(at)) // #nosec G115 -- the number of a row
	}
	return last, err == nil, err
}

func noteScrubbed(t database.Tx, name string, last int64) error {
	return t.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2`,
		name, binary.BigEndian.AppendUint64(nil, uint64(last))) // #nosec G115 -- the number of a row
}
