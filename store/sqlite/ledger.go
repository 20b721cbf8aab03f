package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// A ledger is the write side of a store for one run.
type ledger struct {
	store     *Store
	lock      *filelock.Lock
	connector string
	run       string
	epoch     int64
	finished  atomic.Bool
	streams   map[string]*stream // by name; all that were declared

	live   atomic.Int64 // the event with the metrics so far; 0: none
	writes int64        // the number of the newest write; for whoever has the writer's turn

	committing sync.Mutex // guards the fields of streams
}

var _ store.Ledger = (*ledger)(nil)

// A stream is what a ledger knows of a stream.
type stream struct {
	collection.Stream
	id     int64
	view   string
	fields map[string]bool // the top-level fields that are recorded; true: some records spell the name with an escape

	learned learned
	sample  collection.Sample // of the slice that is being committed
}

// Epoch is the number of the lease.
func (l *ledger) Epoch() int64 { return l.epoch }

// stream returns a stream that was declared.
func (l *ledger) stream(name string) (*stream, error) {
	if s := l.streams[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("connector %s declared no stream %q", l.connector, name)
}

// update runs do in a transaction that counts only while the lease is ours. It
// returns collection.ErrFenced, and writes nothing, if it is not.
func (l *ledger) update(ctx context.Context, do func(database.Tx) error) error {
	return l.store.db.Writer.Update(ctx, l.ours(do), l.tookEffect)
}

// ours returns what does do, if the lease is ours.
func (l *ledger) ours(do func(database.Tx) error) func(database.Tx) error {
	return func(t database.Tx) error {
		l.writes++
		n, err := t.Change(signQuery, l.signature()...)
		if err != nil {
			return err
		}
		if n == 0 {
			return collection.ErrFenced
		}
		return do(t)
	}
}

// signQuery numbers a write. It finds no row if the lease is not ours.
const signQuery = `UPDATE leases SET writes = ? WHERE connector = ? AND epoch = ? AND run = ?`

func (l *ledger) signature() []any { return []any{l.writes, l.connector, l.epoch, l.run} }

// tookEffect reports whether the newest write is in the database. Each write
// has a number that no other write under this lease ever had, and leaves it in
// the lease.
func (l *ledger) tookEffect(t database.Tx) (bool, error) {
	var one int
	err := t.Row(`SELECT 1 FROM leases WHERE connector = ? AND epoch = ? AND writes = ?`,
		l.connector, l.epoch, l.writes).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Checkpoint returns the checkpoint of a place; see store.Ledger.
func (l *ledger) Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error) {
	states, err := l.Places(ctx, []collection.Place{at})
	if err != nil {
		return collection.Checkpoint{}, err
	}
	return states[0].Checkpoint, nil
}

// placeQuery finds the checkpoint of a place and the reason of the gap that is
// owed there, if there is one. ?4 is the digest of the zero cursor, where a
// place stands that was never committed.
const placeQuery = `
	SELECT ` + placeColumns + `
	FROM partitions p ` + placeTables + `
	WHERE p.stream_id = ?1 AND p.partition = ?2`

// placesQuery does so for the partitions in a JSON array.
const placesQuery = `
	SELECT json_each.key, ` + placeColumns + `
	FROM json_each(?2) CROSS JOIN partitions p ON p.stream_id = ?1 AND p.partition = json_each.value ` + placeTables

const (
	placeColumns = `c.token, c.since, c.high, c.version, coalesce(c.done, 0), c.meaning,
		coalesce(c.digest, ?4), coalesce(c.slice_id, 0), coalesce(c.epoch, 0), c.saved_at,
		coalesce(c.evidence, ''), coalesce(g.reason, '')`

	placeTables = `
	LEFT JOIN checkpoints c ON c.partition_id = p.id AND c.lane = ?3
	LEFT JOIN gaps g ON g.partition_id = p.id AND g.lane = ?3 AND g.digest = coalesce(c.digest, ?4)
		AND g.state IN ('open', 'leased', 'dead')`
)

// Places returns the state of the given places; see store.Ledger.
func (l *ledger) Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	// The driver starts a goroutine per query for a context that can end.
	whole := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(at) > 1 && alike(at) {
		return l.partitions(whole, at)
	}
	query, err := l.store.db.Prepared(whole, placeQuery)
	if err != nil {
		return nil, l.store.db.Classify(err)
	}
	if len(at) > 1 {
		read, err := l.store.db.DB.BeginTx(ctx, nil) // one state of the database for all
		if err != nil {
			return nil, l.store.db.Classify(err)
		}
		defer read.Rollback()                  // nothing was written
		query = read.StmtContext(whole, query) // ends with the transaction
	}

	start := collection.Cursor{}.Digest()
	states := make([]collection.PlaceState, len(at))
	for i, place := range at {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		stream, err := l.stream(place.Stream)
		if err != nil {
			return nil, err
		}
		states[i].Checkpoint.Place = place
		err = scanPlace(query.QueryRowContext(whole, stream.id, string(place.Partition), string(place.Lane), start), &states[i])
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, l.store.db.Unreadable(err)
		}
	}
	return states, nil
}

// scanPlace scans placeColumns, after the columns that are scanned to before.
func scanPlace(row database.Scanner, state *collection.PlaceState, before ...any) error {
	cp, reason := &state.Checkpoint, collection.Reason("")
	var sum []byte
	dest := append(before, format.CursorColumns(&cp.Cursor)...)
	dest = append(dest, &sum, &cp.Commit, &cp.Epoch, format.TimeTo(&cp.SavedAt), format.EvidenceTo(&cp.Evidence), &reason)
	if err := row.Scan(dest...); err != nil {
		return err
	}
	if state.Owed = reason != "" && !reason.EndsRun(); !state.Owed {
		state.Left = reason
	}
	return format.CheckCursor(cp.Cursor, sum)
}

// alike reports whether places are partitions of one stream in one lane, as a
// pass asks for them.
func alike(at []collection.Place) bool {
	return !slices.ContainsFunc(at, func(p collection.Place) bool { return p.Stream != at[0].Stream || p.Lane != at[0].Lane })
}

// partitions returns the state of partitions of one stream. One query for all
// of them costs a third of one for each, which a pass notices that goes on
// behind a hundred thousand.
func (l *ledger) partitions(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	stream, err := l.stream(at[0].Stream)
	if err != nil {
		return nil, err
	}
	states := make([]collection.PlaceState, len(at))
	names := make([]collection.Partition, len(at))
	for i, place := range at {
		states[i].Checkpoint.Place, names[i] = place, place.Partition
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	scanned := collection.PlaceState{}
	err = l.store.db.Query(ctx, func(row database.Scanner) error {
		var i int
		scanned = collection.PlaceState{}
		if err := scanPlace(row, &scanned, &i); err != nil {
			return err
		}
		scanned.Checkpoint.Place = at[i]
		states[i] = scanned
		return nil
	}, placesQuery, stream.id, string(list), string(at[0].Lane), collection.Cursor{}.Digest())
	return states, err
}

const parentsQuery = `SELECT r.id, r.partition_id, r.slice_id, r.sum, r.mark_scale, r.mark, p.partition, r.key, r.data FROM records r CROSS JOIN partitions p ON p.id = r.partition_id
	WHERE r.stream_id = ? AND r.key > ? ORDER BY r.key LIMIT ?`

// Parents returns up to n records of parent by key; see store.Ledger.
func (l *ledger) Parents(ctx context.Context, parent string, after string, n int) ([]collection.Parent, error) {
	stream, err := l.stream(parent)
	if err != nil {
		return nil, err
	}
	var parents []collection.Parent
	err = l.store.db.Query(ctx, func(row database.Scanner) error {
		var p collection.Parent
		var id, partition, sum int64
		if err := row.Scan(&id, &partition, &p.Commit, &sum, &p.Mark.Scale, &p.Mark.Value, &p.Partition, &p.Key, &p.Data); err != nil {
			return err
		}
		if sum != format.RecordSum(stream.id, partition, p.Commit, p.Key, format.Shared(p.Data), p.Mark) {
			return format.ChangedRecord(id)
		}
		parents = append(parents, p)
		return nil
	}, parentsQuery, stream.id, after, n)
	return parents, err
}

// SaveProvider stores what was learned of a pacing domain; see store.Ledger.
func (l *ledger) SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error {
	return l.update(ctx, func(t database.Tx) error { return l.saveProvider(t, domain, state, events) })
}

func (l *ledger) saveProvider(t database.Tx, domain string, state []byte, events []collection.Event) error {
	err := t.Exec(`INSERT INTO provider_state (domain, state, saved_at) VALUES (?1, ?2, ?3)
		ON CONFLICT (domain) DO UPDATE SET state = ?2, saved_at = ?3`, domain, string(state), format.Time(t.Now))
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := l.record(t, e); err != nil {
			return err
		}
	}
	return nil
}

// partition returns the number of a partition, making it if need be.
func (l *ledger) partition(t database.Tx, s *stream, p collection.Partition) (int64, error) {
	var id int64
	err := t.Row(`SELECT id FROM partitions WHERE stream_id = ? AND partition = ?`, s.id, string(p)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	return t.Insert(makePartition, s.id, string(p))
}

const makePartition = `INSERT INTO partitions (stream_id, partition) VALUES (?, ?)`

// saveCheckpoint moves the checkpoint of a place.
func saveCheckpoint(t database.Tx, partition int64, at collection.Place, cp collection.Checkpoint) error {
	args := append([]any{partition, string(at.Lane)}, format.CursorArgs(cp.Cursor)...)
	args = append(args, cp.Cursor.Digest(), cp.Commit, cp.Epoch, format.Time(t.Now), format.EvidenceText(at, cp))
	return t.Exec(`INSERT INTO checkpoints
			(partition_id, lane, token, since, high, version, done, meaning, digest, slice_id, epoch, saved_at, evidence)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (partition_id, lane) DO UPDATE SET token = ?3, since = ?4, high = ?5, version = ?6, done = ?7,
			meaning = ?8, digest = ?9, slice_id = ?10, epoch = ?11, saved_at = ?12, evidence = ?13`, args...)
}

// keptEvents and keptGaps bound what is kept of the past of a connector: about
// a year of hourly runs, in a few megabytes.
const (
	keptEvents = 20_000
	keptGaps   = 20_000
)

// trim forgets the oldest events and closed gaps of a connector.
func trim(t database.Tx, connector string) error {
	err := t.Exec(`DELETE FROM events WHERE connector = ?1 AND id <= (
		SELECT id FROM events WHERE connector = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, connector, keptEvents)
	if err != nil {
		return err
	}
	return t.Exec(`DELETE FROM gaps WHERE closed_at IS NOT NULL AND id <= (
		SELECT g.id FROM gaps g JOIN streams s ON s.id = g.stream_id
		WHERE s.connector = ?1 AND g.closed_at IS NOT NULL ORDER BY g.id DESC LIMIT 1 OFFSET ?2)
		AND stream_id IN (SELECT id FROM streams WHERE connector = ?1)`, connector, keptGaps)
}
