package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/internal/format"
)

// holderPatience is how long Begin waits for a lock whose holder has not
// signed the lease yet, or has signed off already: both take one commit.
const (
	holderPatience = time.Second
	holderPoll     = 5 * time.Millisecond // and how often it is looked at meanwhile
)

// beatPatience is how long a beat waits for a write of another process.
const beatPatience = time.Second

// Begin takes the lease and starts run; see store.Store.
func (s *Store) Begin(ctx context.Context, run collection.Run, streams []collection.Stream) (store.Ledger, error) {
	if s.db.Writer == nil {
		return nil, database.ErrReadOnly
	}
	lock, err := s.hold(ctx, run.Connector)
	if err != nil {
		return nil, err
	}
	l := &ledger{store: s, lock: lock, connector: run.Connector, run: run.ID}
	err = s.db.Writer.Update(ctx, func(t database.Tx) error {
		if err := scrub(t); err != nil {
			return err
		}
		if err := l.takeLease(t, run.Holder); err != nil {
			return err
		}
		if err := l.takeOver(t); err != nil {
			return err
		}
		if err := l.moveBack(t); err != nil {
			return err
		}
		if err := l.start(t, run); err != nil {
			return err
		}
		if err := l.declare(t, streams); err != nil {
			return err
		}
		return trim(t, run.Connector)
	}, l.tookEffect)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", run.Connector, err), s.drop(lock))
	}
	return l, nil
}

// hold locks a connector. It returns a *store.HeldError if a run has it.
func (s *Store) hold(ctx context.Context, connector string) (*filelock.Lock, error) {
	path := disk.LockPath(s.db.File.Path, connector)
	for deadline := time.Now().Add(holderPatience); ; {
		l, err := filelock.Acquire(path)
		if err == nil {
			s.mu.Lock()
			s.leases[l] = true
			s.mu.Unlock()
			return l, nil
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return nil, s.db.Classify(err)
		}
		run, signed, err := s.holder(ctx, connector)
		if err != nil {
			return nil, err
		}
		if signed || time.Now().After(deadline) {
			return nil, &store.HeldError{Run: run}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(holderPoll):
		}
	}
}

// drop releases a lock that no lease came of.
func (s *Store) drop(l *filelock.Lock) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, l)
	return l.Release()
}

// holder returns what the lease says of its holder, and whether it is signed.
func (s *Store) holder(ctx context.Context, connector string) (run collection.Run, signed bool, err error) {
	var id sql.NullString
	run.Connector = connector
	_, err = s.db.One(ctx, []any{&id, &run.Holder.Host, &run.Holder.PID, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt)},
		`SELECT run, host, pid, since, beat_at FROM leases WHERE connector = ?`, connector)
	run.ID = id.String
	return run, id.Valid, err
}

// takeLease signs the lease with a new epoch. The caller has the lock.
func (l *ledger) takeLease(t database.Tx, holder collection.Holder) error {
	err := t.Row(`INSERT INTO leases (connector, epoch, run, host, pid, since, beat_at, writes)
		VALUES (?1, 1, ?2, ?3, ?4, ?5, ?5, 1)
		ON CONFLICT (connector) DO UPDATE SET epoch = epoch + 1, run = ?2, host = ?3, pid = ?4,
			since = ?5, beat_at = ?5, writes = 1
		RETURNING epoch`, l.connector, l.run, holder.Host, holder.PID, format.Time(t.Now)).Scan(&l.epoch)
	if err != nil {
		return err
	}
	l.writes = 1
	return l.record(t, collection.Event{Kind: collection.LeaseTaken})
}

// takeOver ends the runs whose process died, and frees the gaps they leased.
// They died after they last said that they were alive; when is not known.
func (l *ledger) takeOver(t database.Tx) error {
	var dead []string
	err := t.Each(func(row database.Scanner) error {
		var id string
		err := row.Scan(&id)
		dead = append(dead, id)
		return err
	}, `UPDATE runs SET outcome = ?, ended_at = beat_at WHERE connector = ? AND outcome = ? RETURNING id`,
		collection.Abandoned, l.connector, collection.Running)
	if err != nil {
		return err
	}
	for _, id := range dead {
		e := collection.Event{Kind: collection.RunFinished, Run: id, Message: "abandoned: its process died"}
		if err := l.record(t, e); err != nil {
			return err
		}
	}
	return l.freeGaps(t)
}

// unended is the exit code of a run that has none yet, and never will if its
// process dies. No process can end with it, least of all well.
const unended = -1

// start records the run.
func (l *ledger) start(t database.Tx, run collection.Run) error {
	params, err := json.Marshal(run.Params)
	if err != nil {
		return err
	}
	started := run.StartedAt
	if started.IsZero() {
		started = t.Now
	}
	err = t.Exec(`INSERT INTO runs (id, connector, mode, lane, params, domain, source, outcome, reason, host, pid, epoch,
			started_at, beat_at, exit_code,
			requests, retries, throttled, slices, records, changed, rejected, gaps_open, gaps_shut, waited)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}')`,
		run.ID, run.Connector, run.Mode, run.Lane, string(params), run.Domain, run.Source, collection.Running,
		run.Holder.Host, run.Holder.PID, l.epoch, format.Time(started), format.Time(t.Now), unended)
	if err != nil {
		return err
	}
	return l.record(t, collection.Event{Kind: collection.RunStarted, Lane: run.Lane})
}

// Beat says that the run is alive; see store.Ledger. The next beat comes soon,
// and what the run has to write may be waiting for this one: so it gives up
// early where others are writing.
func (l *ledger) Beat(ctx context.Context, now time.Time, tally collection.Tally, metrics collection.Metrics) error {
	var live int64
	err := l.store.db.Writer.UpdateWithin(ctx, beatPatience, l.ours(func(t database.Tx) (err error) {
		live, err = l.beat(t, now, tally, metrics)
		return err
	}), l.tookEffect)
	if err == nil && live > 0 {
		l.live.Store(live)
	}
	return err
}

// beat returns the number of the event with the metrics; 0 if there are none.
func (l *ledger) beat(t database.Tx, now time.Time, tally collection.Tally, metrics collection.Metrics) (live int64, err error) {
	if err := l.moveBackIfAhead(t, now); err != nil {
		return 0, err
	}
	if err := t.Exec(`UPDATE leases SET beat_at = ? WHERE connector = ?`, format.Time(now), l.connector); err != nil {
		return 0, err
	}
	args := append([]any{format.Time(now)}, tallyArgs(tally)...)
	// What commits counted may be newer than the tally.
	err = t.Exec(`UPDATE runs SET beat_at = ?, requests = max(requests, ?), retries = max(retries, ?), throttled = max(throttled, ?),
		slices = max(slices, ?), records = max(records, ?), changed = max(changed, ?), rejected = max(rejected, ?), older = max(older, ?),
		gaps_open = ?, gaps_shut = ? WHERE id = ?`, append(args, l.run)...)
	if err != nil || metrics == (collection.Metrics{}) {
		return 0, err
	}
	if err := l.forgetLive(t); err != nil {
		return 0, err
	}
	return recordAs(t, collection.Event{Time: now, Kind: collection.Progress, Run: l.run, Connector: l.connector, Metrics: &metrics})
}

// forgetLive removes how the requests of the run fared a moment ago.
func (l *ledger) forgetLive(t database.Tx) error {
	return t.Exec(`DELETE FROM events WHERE id = ?`, l.live.Load())
}

// tallyArgs returns the columns requests to gaps_shut of runs.
func tallyArgs(n collection.Tally) []any {
	return []any{n.Requests, n.Retries, n.Throttled, n.Slices, n.Records, n.Changed, n.Rejected, n.Older, n.GapsOpen, n.GapsShut}
}

// tallyColumns returns what scans the columns of tallyArgs.
func tallyColumns(n *collection.Tally) []any {
	return []any{&n.Requests, &n.Retries, &n.Throttled, &n.Slices, &n.Records, &n.Changed, &n.Rejected, &n.Older, &n.GapsOpen, &n.GapsShut}
}

// Abandon lets go of the lease like a process that dies: the run is not ended,
// and the next one finds what this one left. Nothing may be written after it.
// It is for simulations of crashes, in which the store outlives the process.
func (l *ledger) Abandon() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if !l.store.leases[l.lock] {
		return nil
	}
	delete(l.store.leases, l.lock)
	return l.lock.Abandon()
}

// Finish ends the run and releases the lease; see store.Ledger. A run that was
// fenced has no lease to release, and changes nothing.
func (l *ledger) Finish(ctx context.Context, run collection.Run) error {
	if l.finished.Load() {
		return nil
	}
	waited, err := json.Marshal(run.Waited)
	if err != nil {
		return err
	}
	err = l.update(ctx, func(t database.Tx) error {
		ended := run.EndedAt
		if ended.IsZero() {
			ended = t.Now
		}
		args := append([]any{run.Outcome, run.Reason, format.Time(ended), run.ExitCode, string(waited)}, tallyArgs(run.Tally)...)
		err := t.Exec(`UPDATE runs SET outcome = ?, reason = ?, ended_at = ?, exit_code = ?, waited = ?,
			requests = ?, retries = ?, throttled = ?, slices = ?, records = ?,
			changed = ?, rejected = ?, older = ?, gaps_open = ?, gaps_shut = ? WHERE id = ?`, append(args, l.run)...)
		if err != nil {
			return err
		}
		if err := l.freeGaps(t); err != nil {
			return err
		}
		if err := t.Exec(`UPDATE leases SET run = NULL WHERE connector = ?`, l.connector); err != nil {
			return err
		}
		finished := collection.Event{Kind: collection.RunFinished, Lane: run.Lane}
		if run.Metrics != (collection.Metrics{}) {
			finished.Metrics = &run.Metrics
		}
		if err := l.forgetLive(t); err != nil {
			return err
		}
		return l.record(t, finished)
	})
	if err != nil && !errors.Is(err, collection.ErrFenced) {
		return fmt.Errorf("finish: %w", err)
	}
	l.finished.Store(true)
	return errors.Join(err, l.store.db.Classify(l.store.drop(l.lock)))
}
