package salvage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/lanes"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
)

// A Report says how a database is.
type Report struct {
	Size    int64  // of its file, in bytes
	Log     int64  // of the commits that are not merged yet, in bytes
	Schema  int64  // version; 0: not known
	Library string // version of SQLite
	Records int64

	// Problems describes the damage, for people; none: the database is whole.
	// They name no keys and hold no bytes of records.
	Problems []string
}

// Examine reads all of the database at path and changes nothing. Damage is
// part of the report; an error says that there is no database to examine, and
// then of the report only Library is set.
//
// Like [CheckLog], which it begins with, it must be called while no store of
// this process is open there.
func Examine(ctx context.Context, path string) (Report, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return Report{}, err
	}
	x := &examination{path: path}
	if x.Library, err = connect.LibraryVersion(ctx); err != nil {
		return Report{}, err
	}
	file, err := disk.Find(path)
	if err != nil {
		return x.Report, err
	}
	x.Size, x.Log = file.Size(), max(0, disk.LogSize(path))
	if err := CheckLog(path); err != nil {
		return x.Report, x.found(err) // opening it would lose what the shared memory knows of the log
	}
	d, err := connect.Look(ctx, path)
	if err != nil {
		return x.Report, x.found(err)
	}
	err = x.all(ctx, d.Readers)
	return x.Report, errors.Join(err, d.Close())
}

// An examination is one in progress.
type examination struct {
	Report
	path string
	tx   *sql.Tx // one state of the database for all questions

	stranger bool // it holds what collect did not make
}

// found takes damage into the report, and returns any other error.
func (x *examination) found(err error) error {
	if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrDoubtful) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "store "+x.path+": ")
	x.Problems = append(x.Problems, strings.TrimPrefix(text, store.ErrDamaged.Error()+": "))
	return nil
}

// all asks all questions. One that cannot be answered because of damage does
// not keep the others from being asked.
func (x *examination) all(ctx context.Context, r *database.Readers) (err error) {
	if x.tx, err = r.DB.BeginTx(ctx, nil); err != nil {
		return x.found(r.Classify(err))
	}
	defer x.tx.Rollback() // nothing was written
	for _, ask := range []func(context.Context) error{
		x.version, x.foreign, x.pages, x.references, x.counts, x.lanes, x.views, x.records, x.quarantine, x.cursors, x.words,
	} {
		err := ask(ctx)
		if x.stranger {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if connect.IsSQL(err) { // our questions are right, so the schema is not
			err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if err == nil {
			continue
		}
		if err := x.found(r.Unreadable(err)); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) version(ctx context.Context) error {
	return x.tx.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&x.Schema)
}

// pages lets SQLite compare its pages and indexes with each other.
func (x *examination) pages(ctx context.Context) error {
	const most = 10
	found, err := x.column(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", most))
	for _, line := range found {
		if line != "ok" {
			x.Problems = append(x.Problems, strings.ReplaceAll(strings.TrimPrefix(line, "*** in database main ***\n"), "\n", "; "))
		}
	}
	return err
}

// references looks for rows that name rows which are not there.
func (x *examination) references(ctx context.Context) error {
	return x.each(ctx, `SELECT "table", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2`, func(row database.Scanner) error {
		var child, parent string
		var n int64
		err := row.Scan(&child, &parent, &n)
		x.Problems = append(x.Problems, fmt.Sprintf("%d rows of %s name rows of %s that are not there", n, child, parent))
		return err
	})
}

// counts compares what streams know of their records with what there is.
func (x *examination) counts(ctx context.Context) error {
	return x.each(ctx, `SELECT s.name, s.records, (SELECT count(*) FROM records r WHERE r.stream_id = s.id),
		EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = s.view) FROM streams s NOT INDEXED`,
		func(row database.Scanner) error {
			var name string
			var known, there int64
			var view bool
			if err := row.Scan(&name, &known, &there, &view); err != nil {
				return err
			}
			x.Records += there
			if known != there {
				x.Problems = append(x.Problems, fmt.Sprintf("%d of %d records of %s were found", there, known, name))
			}
			if !view {
				x.Problems = append(x.Problems, fmt.Sprintf("the view of %s is not there", name))
			}
			return nil
		})
}

// lanes compares the counts of partitions with the checkpoints.
func (x *examination) lanes(ctx context.Context) error {
	const counts = `SELECT stream_id, lane, partitions, done, sum FROM `
	var wrong int64
	err := x.tx.QueryRowContext(ctx, `WITH c (stream_id, lane, partitions, done, sum, saved_at) AS (`+lanes.Counts+` GROUP BY 1, 2)
		SELECT (SELECT count(*) FROM (`+counts+`c EXCEPT `+counts+`lanes)) + (SELECT count(*) FROM lanes l
			WHERE l.partitions <> 0 AND NOT EXISTS (SELECT 1 FROM c WHERE c.stream_id = l.stream_id AND c.lane = l.lane))`).Scan(&wrong)
	if wrong > 0 {
		x.Problems = append(x.Problems, fmt.Sprintf("the partitions of streams are counted wrong in %d lanes", wrong))
	}
	return err
}

// views asks each view for all that it shows, as a person may.
func (x *examination) views(ctx context.Context) error {
	names, err := x.column(ctx, `SELECT name FROM sqlite_schema WHERE type = 'view'
		AND (name IN ('owed', 'pace') OR name IN (SELECT view FROM streams NOT INDEXED)) ORDER BY name`)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := x.view(ctx, name)
		if connect.IsSQL(err) {
			x.Problems = append(x.Problems, fmt.Sprintf("the view %s cannot be read: %v", name, err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) view(ctx context.Context, name string) error {
	columns, err := x.column(ctx, `SELECT name FROM pragma_table_info(?)`, name)
	if err != nil {
		return err
	}
	for i, c := range columns {
		columns[i] = "count(" + format.Identifier(c) + ")" // computes it for each row
	}
	var n int64
	return x.tx.QueryRowContext(ctx, "SELECT "+strings.Join(columns, " + ")+" FROM "+format.Identifier(name)).Scan(&n)
}

// records compares each record with its sum. The numbers of some that differ, of
// each connector, are in the report; their keys may be secrets.
func (x *examination) records(ctx context.Context) error {
	const most = 5
	differ, numbers := map[string]int{}, map[string][]string{}
	err := x.each(ctx, `SELECT r.id, coalesce(s.connector, '') FROM records r NOT INDEXED LEFT JOIN streams s ON s.id = r.stream_id
		WHERE r.sum IS NOT record_sum(r.stream_id, r.partition_id, r.slice_id, r.key, r.data, r.mark_scale, r.mark, r.deleted)`,
		func(row database.Scanner) error {
			var id, connector string
			err := row.Scan(&id, &connector)
			if differ[connector]++; len(numbers[connector]) < most {
				numbers[connector] = append(numbers[connector], id)
			}
			return err
		})
	for _, connector := range slices.Sorted(maps.Keys(differ)) {
		n, shown := differ[connector], numbers[connector]
		if n > most {
			shown = append(shown, "…")
		}
		x.Problems = append(x.Problems, fmt.Sprintf("records of %s that differ from what was stored: %d (number %s)",
			cmp.Or(connector, "a connector that cannot be told"), n, strings.Join(shown, ", ")))
	}
	return err
}

// quarantine compares each rejected record with its digest.
func (x *examination) quarantine(ctx context.Context) error {
	changed := 0
	err := x.each(ctx, `SELECT data, digest FROM quarantine`, func(row database.Scanner) error {
		var data, sum []byte
		err := row.Scan(&data, &sum)
		if got := sha256.Sum256(data); !slices.Equal(sum, got[:]) {
			changed++
		}
		return err
	})
	if changed > 0 {
		x.Problems = append(x.Problems, fmt.Sprintf("%d records in quarantine are not what was stored", changed))
	}
	return err
}

// cursors compares the cursor of each checkpoint and gap with its digest.
func (x *examination) cursors(ctx context.Context) error {
	for _, table := range []string{"checkpoints", "gaps"} {
		changed := 0
		err := x.each(ctx, `SELECT token, since, high, version, done, meaning, digest FROM `+table, func(row database.Scanner) error {
			var c collection.Cursor
			var sum []byte
			err := row.Scan(append(format.CursorColumns(&c), &sum)...)
			if err == nil && format.CheckCursor(c, sum) != nil {
				changed++
			}
			return err
		})
		if changed > 0 {
			x.Problems = append(x.Problems, fmt.Sprintf("%d cursors of %s are not what was stored", changed, table))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// words looks for values that no version ever stored.
func (x *examination) words(ctx context.Context) error {
	for _, of := range []struct{ table, where string }{
		{"meta", `name = 'salt' AND length(value) <> 32 OR name GLOB 'scrubbed*' AND length(value) <> 8
			OR name IN ('backed_up', 'drilled') AND julianday(CAST(value AS TEXT)) IS NULL`},
		{"streams", `role NOT IN ('', 'list', 'detail') OR ordered NOT IN (0, 1)`},
		{"partitions", `partition <> '' AND NOT json_valid(partition)`},
		{"checkpoints", `lane NOT IN ('incremental', 'backfill') OR done NOT IN (0, 1) OR julianday(saved_at) IS NULL
			OR slice_id > (SELECT coalesce(max(id), 0) FROM slices)`},
		{"slices", `lane NOT IN ('incremental', 'backfill') OR previous >= id OR julianday(committed_at) IS NULL`},
		{"gaps", `state NOT IN ('open', 'leased', 'recovered', 'superseded', 'dead') OR kind NOT IN ('planned', 'provider', 'stuck')
			OR shape NOT IN ('SLICE_GAP', 'DETAIL_GAP') OR lane NOT IN ('incremental', 'backfill')
			OR julianday(opened_at) IS NULL OR (not_before IS NOT NULL AND julianday(not_before) IS NULL)
			OR (closed_at IS NULL) <> (state IN ('open', 'leased', 'dead'))`},
		{"provider_state", `NOT json_valid(state)`},
		{"events", `NOT json_valid(info) OR julianday(at) IS NULL`},
		{"runs", `NOT json_valid(params) OR NOT json_valid(waited) OR julianday(started_at) IS NULL`},
	} {
		var n int64
		if err := x.tx.QueryRowContext(ctx, `SELECT count(*) FROM `+of.table+` WHERE `+of.where).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			x.Problems = append(x.Problems, fmt.Sprintf("%d rows of %s hold values that no version of collect writes", n, of.table))
		}
	}
	return nil
}

// each calls scan with the rows of a query.
func (x *examination) each(ctx context.Context, query string, scan func(database.Scanner) error) error {
	rows, err := x.tx.QueryContext(ctx, query)
	return database.Each(rows, err, scan)
}

// column returns the one column of a query.
func (x *examination) column(ctx context.Context, query string, args ...any) (all []string, err error) {
	rows, err := x.tx.QueryContext(ctx, query, args...)
	err = database.Each(rows, err, database.Texts(&all))
	return all, err
}

// ExamineCopy returns store.ErrDamaged if a copy that only the caller knows is
// not whole.
func ExamineCopy(ctx context.Context, path string) error {
	s := connect.OpenReaders(&disk.File{Path: path}, "immutable")
	x := &examination{path: path}
	err := errors.Join(x.all(ctx, s), s.DB.Close())
	if err == nil && len(x.Problems) > 0 {
		err = fmt.Errorf("%w: %s", store.ErrDamaged, x.Problems[0])
	}
	return err
}
