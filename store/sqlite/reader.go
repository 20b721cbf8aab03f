package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
	"collect/store/sqlite/internal/lanes"
)

// Salt returns random bytes made with the store; see store.Reader.
func (s *Store) Salt(ctx context.Context) (salt []byte, err error) {
	found, err := s.db.One(ctx, []any{&salt}, `SELECT value FROM meta WHERE name = 'salt'`)
	if err == nil && !found {
		err = store.ErrDamaged
	}
	return salt, err
}

// Provider returns what was learned of a pacing domain; see store.Reader.
func (s *Store) Provider(ctx context.Context, domain string) (state []byte, err error) {
	_, err = s.db.One(ctx, []any{&state}, `SELECT state FROM provider_state WHERE domain = ?`, domain)
	return state, err
}

// Connectors returns the names of all connectors that ever ran; see
// store.Reader.
func (s *Store) Connectors(ctx context.Context) (names []string, err error) {
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var name string
		defer func() { names = append(names, name) }()
		return row.Scan(&name)
	}, `SELECT connector FROM leases ORDER BY connector`)
	return names, err
}

// Streams describes the streams of a connector; see store.Reader.
func (s *Store) Streams(ctx context.Context, connector string) (states []store.StreamState, err error) {
	var ids []int64
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var id int64
		var st store.StreamState
		err := row.Scan(&id, &st.Name, &st.Role, &st.Parent, &st.Refresh, &st.Ordered, &st.View, &st.Records, &st.Quarantined)
		ids, states = append(ids, id), append(states, st)
		return err
	}, `SELECT id, name, role, parent, refresh, ordered, view, records,
			(SELECT count(*) FROM quarantine WHERE stream_id = s.id)
		FROM streams s NOT INDEXED WHERE connector = ? ORDER BY position, id`, connector)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if states[i].Lanes, err = lanes.Read(ctx, s.db.Readers, id); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// Fields returns the top-level fields of the records of a stream, in the order
// first seen. Of a stream with more than 2000 it returns the first 2000.
func (s *Store) Fields(ctx context.Context, connector, stream string) (names []string, err error) {
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var name string
		defer func() { names = append(names, name) }()
		return row.Scan(&name)
	}, `SELECT f.name FROM fields f JOIN streams s ON s.id = f.stream_id
		WHERE s.connector = ? AND s.name = ? ORDER BY f.position`, connector, stream)
	return names, err
}

// Gaps returns the gaps that are owed; see store.Reader.
func (s *Store) Gaps(ctx context.Context, connector string) (gaps []store.OwnedGap, err error) {
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var g store.OwnedGap
		g.Gap, err = scanGap(row, &g.Connector)
		gaps = append(gaps, g)
		return err
	}, `SELECT s.connector, `+gapColumns+gapTables+`WHERE g.state IN ('open', 'leased', 'dead')
		AND (?1 = '' OR s.connector = ?1) ORDER BY g.opened_at, g.id`, connector)
	return gaps, err
}

const runColumns = `id, connector, mode, lane, params, domain, source, outcome, reason, host, pid, epoch, started_at, beat_at, ended_at,
	exit_code, waited, requests, retries, throttled, slices, records, changed, rejected, older, gaps_open, gaps_shut`

// Runs returns the newest runs; see store.Reader.
func (s *Store) Runs(ctx context.Context, connector string, n int) (runs []collection.Run, err error) {
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var r collection.Run
		var params, waited []byte
		dest := []any{&r.ID, &r.Connector, &r.Mode, &r.Lane, &params, &r.Domain, &r.Source, &r.Outcome, &r.Reason, &r.Holder.Host, &r.Holder.PID,
			&r.Epoch, format.TimeTo(&r.StartedAt), format.TimeTo(&r.BeatAt), format.TimeTo(&r.EndedAt), &r.ExitCode, &waited}
		if err := row.Scan(append(dest, tallyColumns(&r.Tally)...)...); err != nil {
			return err
		}
		runs = append(runs, r)
		last := &runs[len(runs)-1]
		return errors.Join(json.Unmarshal(params, &last.Params), json.Unmarshal(waited, &last.Waited))
	}, `SELECT `+runColumns+` FROM runs WHERE ?1 = '' OR connector = ?1 ORDER BY number DESC LIMIT ?2`, connector, n)
	return runs, err
}

// Totals adds up all runs of a connector; see store.Reader.
func (s *Store) Totals(ctx context.Context, connector string) (runs int, t collection.Tally, err error) {
	_, err = s.db.One(ctx, append([]any{&runs}, tallyColumns(&t)...), `SELECT count(*),
		coalesce(sum(requests), 0), coalesce(sum(retries), 0), coalesce(sum(throttled), 0), coalesce(sum(slices), 0),
		coalesce(sum(records), 0), coalesce(sum(changed), 0), coalesce(sum(rejected), 0), coalesce(sum(older), 0),
		coalesce(sum(gaps_open), 0), coalesce(sum(gaps_shut), 0) FROM runs WHERE connector = ?`, connector)
	return runs, t, err
}

// A page of records ends with whichever comes first. It is read whole and
// then handed out, so that a slow consumer never holds the WAL.
const (
	pageRecords = 500
	pageBytes   = 1 << 20
)

// Records yields the records of a stream in the bytewise order of their keys.
// It reads page by page: a record that changes meanwhile is yielded once, in
// the version that its page found.
//
// Each record is compared with its sum, and their number with the one that the
// stream knows, so that an index which lost a row is not believed.
func (s *Store) Records(ctx context.Context, connector, stream string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		var id, stored int64 // stored: when the walk began; records are never deleted
		found, err := s.db.One(ctx, []any{&id, &stored}, streamQuery, connector, stream)
		if err != nil {
			yield(store.Stored{}, err)
			return
		}
		if !found {
			return
		}
		var n int64
		beyond := ">=" // the empty key comes first
		for after := ""; ; beyond = ">" {
			page, err := s.page(ctx, id, beyond, after)
			if err == nil && len(page) == 0 && n < stored {
				err = fmt.Errorf("store %s: %w: %d of %d records of %s were found", s.db.File.Path, store.ErrDamaged, n, stored, stream)
			}
			if err != nil {
				yield(store.Stored{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
			}
			n += int64(len(page))
			after = page[len(page)-1].Key
		}
	}
}

// streamQuery finds a stream as Streams does, without an index that may have
// lost it.
const streamQuery = `SELECT id, records FROM streams NOT INDEXED WHERE connector = ? AND name = ?`

const pageQuery = `SELECT r.id, r.key, r.data, r.partition_id, r.slice_id, r.sum, r.mark_scale, r.mark, p.partition, c.run, c.committed_at
	FROM records r CROSS JOIN partitions p ON p.id = r.partition_id CROSS JOIN slices c ON c.id = r.slice_id
	WHERE r.stream_id = ? AND r.key %s ? ORDER BY r.key LIMIT ?`

func (s *Store) page(ctx context.Context, stream int64, beyond, after string) (page []store.Stored, err error) {
	size := 0
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var r store.Stored
		var id, partition, slice, sum int64
		err := row.Scan(&id, &r.Key, &r.Data, &partition, &slice, &sum, &r.Mark.Scale, &r.Mark.Value, format.TextTo((*string)(&r.Partition)), &r.Run, format.TimeTo(&r.CommittedAt))
		if err != nil {
			return err
		}
		ordered := beyond == ">=" || r.Key > after
		if !ordered || sum != format.RecordSum(stream, partition, slice, r.Key, format.Shared(r.Data), r.Mark) {
			return format.ChangedRecord(id)
		}
		page, beyond, after = append(page, r), ">", r.Key
		if size += len(r.Data); size >= pageBytes {
			return database.ErrEnough
		}
		return nil
	}, fmt.Sprintf(pageQuery, beyond), stream, after, pageRecords)
	return page, err
}

// Schema returns the statements that made the tables and indexes, without the
// views: those name fields of records.
func (s *Store) Schema(ctx context.Context) (schema string, err error) {
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var statement string
		err := row.Scan(&statement)
		schema += statement + ";\n"
		return err
	}, `SELECT sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL ORDER BY name`)
	return schema, err
}
