package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
	"collect/store/internal/gaps"
	"collect/store/internal/records"
)

// A reader looks and changes no byte of the store.
type reader struct{ readers *database.Readers }

// Salt returns random bytes made with the store; see store.Reader.
func (r reader) Salt(ctx context.Context) (salt []byte, err error) {
	found, err := r.readers.One(ctx, []any{&salt}, `SELECT value FROM meta WHERE name = 'salt'`)
	if err == nil && !found {
		err = store.ErrDamaged
	}
	return salt, err
}

// Provider returns what was learned of a pacing domain; see store.Reader.
func (r reader) Provider(ctx context.Context, domain string) (state []byte, err error) {
	_, err = r.readers.One(ctx, []any{&state}, `SELECT state FROM provider_state WHERE domain = ?`, domain)
	return state, err
}

// Connectors returns the names of all connectors that ever ran; see
// store.Reader.
func (r reader) Connectors(ctx context.Context) (names []string, err error) {
	err = r.readers.Query(ctx, database.Texts(&names), `SELECT connector FROM leases ORDER BY connector`)
	return names, err
}

// Streams describes the streams of a connector; see store.Reader.
func (r reader) Streams(ctx context.Context, connector string) ([]store.StreamState, error) {
	if connector == "" {
		return nil, nil
	}
	states, err := r.streams(ctx, connector)
	return states[connector], err
}

// Fields returns the top-level fields of the records of a stream, in the order
// first seen. Of a stream with more than 2000 it returns the first 2000.
func (r reader) Fields(ctx context.Context, connector, stream string) (names []string, err error) {
	err = r.readers.Query(ctx, database.Texts(&names), `SELECT f.name FROM fields f JOIN streams s ON s.id = f.stream_id
		WHERE s.connector = ? AND s.name = ? ORDER BY f.position`, connector, stream)
	return names, err
}

// Spans returns the windows of time that commits finished; see store.Reader.
func (r reader) Spans(ctx context.Context, connector, stream string) (spans []collection.Span, err error) {
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return err
		}
		var span collection.Span
		if err := json.Unmarshal(text, &span); err != nil {
			return fmt.Errorf("%w: the span of a commit: %w", store.ErrDamaged, err)
		}
		spans = append(spans, span)
		return nil
	}, `SELECT c.span FROM slices c JOIN partitions p ON p.id = c.partition_id JOIN streams s ON s.id = p.stream_id
		WHERE s.connector = ? AND s.name = ? AND c.span <> '' ORDER BY c.id`, connector, stream)
	return spans, err
}

// Gaps returns the gaps that are owed; see store.Reader.
func (r reader) Gaps(ctx context.Context, connector string) ([]store.OwnedGap, error) {
	return gaps.Owed(ctx, r.readers, connector)
}

// Events returns the newest n events of a connector; see store.Reader.
func (r reader) Events(ctx context.Context, connector string, n int) ([]collection.Event, error) {
	return events.Read(ctx, r.readers, connector, n)
}

// Happened returns the newest n events that are no commits; see store.Reader.
func (r reader) Happened(ctx context.Context, connector string, n int) ([]collection.Event, error) {
	return events.Happened(ctx, r.readers, connector, n)
}

const runColumns = `id, connector, mode, lane, params, domain, accounts, source, outcome, reason, host, pid, epoch, started_at, beat_at, ended_at,
	exit_code, waited, requests, retries, throttled, slices, records, changed, rejected, older, deleted, gaps_open, gaps_shut`

// Runs returns the newest runs; see store.Reader.
func (r reader) Runs(ctx context.Context, connector string, n int) (runs []collection.Run, err error) {
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		var info []byte
		run, err := scanRun(row, &info)
		if err != nil {
			return err
		}
		var end collection.Event
		if err := store.AddEventInfo(&end, info); err != nil {
			return err
		}
		if end.Metrics != nil {
			run.Metrics.Broke, run.Metrics.BrokeBy = end.Metrics.Broke, end.Metrics.BrokeBy
		}
		runs = append(runs, run)
		return nil
	}, `SELECT `+runColumns+`, CASE WHEN outcome <> 'failed' THEN '{}' ELSE coalesce((SELECT info FROM events
			WHERE connector = r.connector AND run = r.id AND kind = 'run.finished' ORDER BY id DESC LIMIT 1), '{}') END
		FROM runs r WHERE ?1 = '' OR connector = ?1 ORDER BY number DESC LIMIT ?2`, connector, n)
	return runs, err
}

// Run returns a run with what happened in it; see store.Reader.
func (r reader) Run(ctx context.Context, id string) (s store.RunState, there bool, err error) {
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		s.Run, err = scanRun(row, &s.Later)
		there = true
		return err
	}, `SELECT `+runColumns+`, coalesce((SELECT id FROM runs WHERE connector = r.connector AND number > r.number ORDER BY number LIMIT 1), '')
		FROM runs r WHERE id = ?`, id)
	if err != nil || !there {
		return s, false, err
	}
	all, err := events.OfRun(ctx, r.readers, s.Connector, id)
	for _, e := range all {
		if e.Metrics != nil {
			s.Metrics = *e.Metrics
		}
		if e.Kind != collection.Progress {
			s.Events = append(s.Events, e)
		}
	}
	return s, true, err
}

// scanRun scans runColumns, and what follows them to after.
func scanRun(row database.Scanner, after ...any) (run collection.Run, err error) {
	var params, accounts, waited []byte
	dest := []any{&run.ID, &run.Connector, &run.Mode, &run.Lane, &params, &run.Domain, &accounts, &run.Source, &run.Outcome, &run.Reason, &run.Holder.Host, &run.Holder.PID,
		&run.Epoch, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt), format.TimeTo(&run.EndedAt), &run.ExitCode, &waited}
	dest = append(dest, format.TallyColumns(&run.Tally)...)
	if err := row.Scan(append(dest, after...)...); err != nil {
		return run, err
	}
	return run, errors.Join(json.Unmarshal(params, &run.Params), accountsOf(accounts, &run), json.Unmarshal(waited, &run.Waited))
}

// accountsOf reads the accounts of a run that had several.
func accountsOf(text []byte, run *collection.Run) error {
	if string(text) == "[]" {
		return nil
	}
	return json.Unmarshal(text, &run.Accounts)
}

// Totals adds up all runs of a connector; see store.Reader.
func (r reader) Totals(ctx context.Context, connector string) (runs int, t collection.Tally, err error) {
	var s store.ConnectorState
	err = r.totals(ctx, connector, map[string]*store.ConnectorState{connector: &s})
	return s.Runs, s.All, err
}

// Records yields the records of a stream in the bytewise order of their keys;
// see store.Reader.
func (r reader) Records(ctx context.Context, connector, stream string) iter.Seq2[store.Stored, error] {
	return records.Read(ctx, r.readers, connector, stream)
}
