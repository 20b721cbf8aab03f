package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
	"collect/store/internal/records"
	"collect/store/internal/streams"
)

// lastWrite is how many bytes of the disk are kept for the verdict on a run, so that
// one that a full disk ends can say so; see docs/decisions/0049.
const lastWrite = 256 << 10

// beatPatience is how long a beat waits for a write of another process.
const beatPatience = time.Second

// Begin takes the lease and starts run; see store.Store.
func (s *Store) Begin(ctx context.Context, run collection.Run, declared []collection.Stream) (store.Ledger, error) {
	lock, err := s.take(ctx, run.Connector)
	if err != nil {
		return nil, err
	}
	if err := lock.Room(lastWrite); err != nil {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", run.Connector, s.readers.Classify(err)), lock.Release())
	}
	l := &ledger{store: s, lock: lock, lease: lease{Author: events.Author{Connector: run.Connector, Run: run.ID}}}
	err = s.writer.UpdateBeside(ctx, database.Patience, func(t database.Tx) error {
		if err := l.take(t, run.Holder); err != nil {
			return err
		}
		if err := records.Scrub(t, run.Connector); err != nil {
			return err
		}
		if err := l.takeOver(t, s.unsaidOf(run.Connector)); err != nil {
			return err
		}
		if err := l.book().MoveBack(t); err != nil {
			return err
		}
		if err := l.start(t, run); err != nil {
			return err
		}
		if l.trafficBefore, err = trafficOf(t, run.Connector); err != nil {
			return err
		}
		if l.streams, err = streams.Declare(t, run.Connector, declared); err != nil {
			return err
		}
		return trim(t, run.Connector)
	}, l.tookEffect)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", run.Connector, err), lock.Release())
	}
	return l, nil
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
	accounts, err := json.Marshal(append([]collection.RunAccount{}, run.Accounts...))
	if err != nil {
		return err
	}
	started := run.StartedAt
	if started.IsZero() {
		started = t.Now
	}
	err = t.Exec(`INSERT INTO runs (id, connector, mode, lane, params, domain, accounts, source, outcome, reason, host, pid, epoch,
			started_at, beat_at, exit_code,
			requests, retries, throttled, slices, records, changed, rejected, gaps_open, gaps_shut, waited)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}')`,
		run.ID, run.Connector, run.Mode, run.Lane, string(params), run.Domain, string(accounts), run.Source, collection.Running,
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
	began := time.Now()
	var live int64
	err := l.write(ctx, beatPatience, l.ours(func(t database.Tx) (err error) {
		live, err = l.beat(t, now, tally, metrics)
		return err
	}))
	if err == nil && live > 0 {
		l.live.Store(live)
	}
	return l.lock.Beat(began, err)
}

// beat returns the number of the event with the metrics; 0 if there are none.
func (l *ledger) beat(t database.Tx, now time.Time, tally collection.Tally, metrics collection.Metrics) (live int64, err error) {
	if err := l.book().MoveBackIfAhead(t, now); err != nil {
		return 0, err
	}
	if err := t.Exec(`UPDATE leases SET beat_at = ? WHERE connector = ?`, format.Time(now), l.Connector); err != nil {
		return 0, err
	}
	args := append([]any{format.Time(now)}, format.TallyArgs(tally)...)
	// What commits counted may be newer than the tally.
	err = t.Exec(`UPDATE runs SET beat_at = ?, requests = max(requests, ?), retries = max(retries, ?), throttled = max(throttled, ?),
		slices = max(slices, ?), records = max(records, ?), changed = max(changed, ?), rejected = max(rejected, ?), older = max(older, ?),
		deleted = max(deleted, ?), gaps_open = ?, gaps_shut = ? WHERE id = ?`, append(args, l.Run)...)
	if err != nil || metrics == (collection.Metrics{}) {
		return 0, err
	}
	if err := l.addTraffic(t, metrics.Traffic); err != nil {
		return 0, err
	}
	if err := l.waits(t, metrics.Traffic); err != nil {
		return 0, err
	}
	if err := l.forgetLive(t); err != nil {
		return 0, err
	}
	return l.Record(t, collection.Event{Time: now, Kind: collection.Progress, Metrics: &metrics})
}

// waits writes what the run has waited for so far.
func (l *ledger) waits(t database.Tx, now *collection.Traffic) error {
	if now == nil {
		return nil
	}
	waited := map[collection.WaitCause]time.Duration{}
	for cause, seconds := range now.Waited {
		waited[cause] = time.Duration(seconds * float64(time.Second))
	}
	said, err := json.Marshal(waited)
	if err != nil {
		return err
	}
	return t.Exec(`UPDATE runs SET waited = ? WHERE id = ?`, string(said), l.Run)
}

// forgetLive removes how the requests of the run fared a moment ago.
func (l *ledger) forgetLive(t database.Tx) error {
	return t.Exec(`DELETE FROM events WHERE id = ?`, l.live.Load())
}

// Abandon lets go of the lease like a process that dies: the run is not ended,
// and the next one finds what this one left. Nothing may be written after it.
// It is for simulations of crashes, in which the store outlives the process.
func (l *ledger) Abandon() error { return l.lock.Abandon() }

// Finish ends the run and releases the lease; see store.Ledger. A run that was
// fenced has no lease to release, and changes nothing.
//
// On a full disk the verdict takes the room that was kept for it, and where that is not enough
// it leaves out what nobody misses: see docs/decisions/0083.
func (l *ledger) Finish(ctx context.Context, run collection.Run) error {
	if l.finished.Load() {
		return nil
	}
	run.ID = l.Run
	err := l.update(ctx, l.verdict(run))
	if errors.Is(err, collection.ErrFull) && l.lock.Room(0) == nil {
		err = l.update(ctx, l.verdict(run))
	}
	if errors.Is(err, collection.ErrFull) { // what all runs asked for is counted up to the last beat
		run.Metrics.Traffic = nil
		err = l.update(ctx, l.verdict(run))
	}
	if errors.Is(err, collection.ErrFull) {
		err = l.update(ctx, l.bareVerdict(run))
	}
	if err != nil && !errors.Is(err, collection.ErrFenced) {
		l.store.unsaid.Store(l.Connector, run)
		return fmt.Errorf("finish: %w", err)
	}
	l.store.unsaid.Delete(l.Connector)
	l.finished.Store(true)
	return errors.Join(err, l.store.readers.Classify(l.lock.Release()))
}

// verdict returns what ends the run, in a transaction of its lease.
func (l *ledger) verdict(run collection.Run) func(database.Tx) error {
	return func(t database.Tx) error {
		if err := l.bareVerdict(run)(t); err != nil {
			return err
		}
		if err := l.addTraffic(t, run.Metrics.Traffic); err != nil {
			return err
		}
		if err := l.forgetLive(t); err != nil {
			return err
		}
		return l.record(t, finished(run))
	}
}

// bareVerdict is what of a verdict changes rows that are there, as each beat does, and adds none: of
// an error it has the exit code.
func (l *ledger) bareVerdict(run collection.Run) func(database.Tx) error {
	return func(t database.Tx) error {
		if err := setVerdict(t, run); err != nil {
			return err
		}
		if err := l.book().Free(t); err != nil {
			return err
		}
		return l.end(t)
	}
}

// setVerdict writes how a run ended in its row.
func setVerdict(t database.Tx, run collection.Run) error {
	waited, err := json.Marshal(run.Waited)
	if err != nil {
		return err
	}
	ended := run.EndedAt
	if ended.IsZero() {
		ended = t.Now
	}
	args := append([]any{run.Outcome, run.Reason, format.Time(ended), run.ExitCode, string(waited)}, format.TallyArgs(run.Tally)...)
	return t.Exec(`UPDATE runs SET outcome = ?, reason = ?, ended_at = ?, exit_code = ?, waited = ?,
		requests = ?, retries = ?, throttled = ?, slices = ?, records = ?,
		changed = ?, rejected = ?, older = ?, deleted = ?, gaps_open = ?, gaps_shut = ? WHERE id = ?`, append(args, run.ID)...)
}

// finished is the event of the end of a run.
func finished(run collection.Run) collection.Event {
	e := collection.Event{Kind: collection.RunFinished, Run: run.ID, Lane: run.Lane}
	if run.Metrics != (collection.Metrics{}) {
		e.Metrics = &run.Metrics
	}
	return e
}

// keptEvents and keptGaps bound the past of a connector: about a year of hourly
// runs, in a few megabytes.
const (
	keptEvents = 20_000
	keptGaps   = 20_000
)

// trim forgets the oldest events and closed gaps of a connector. What a person ordered
// stays, however long ago: there is little of it, and it is the audit.
func trim(t database.Tx, connector string) error {
	err := t.Exec(`DELETE FROM events WHERE connector = ?1 AND NOT (`+events.ByHand+`) AND id <= (
		SELECT id FROM events WHERE connector = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, connector, keptEvents)
	if err != nil {
		return err
	}
	return t.Exec(`DELETE FROM gaps WHERE closed_at IS NOT NULL AND id <= (
		SELECT g.id FROM gaps g JOIN streams s ON s.id = g.stream_id
		WHERE s.connector = ?1 AND g.closed_at IS NOT NULL ORDER BY g.id DESC LIMIT 1 OFFSET ?2)
		AND stream_id IN (SELECT id FROM streams WHERE connector = ?1)`, connector, keptGaps)
}
