// Package gaps keeps the ledger of gaps: it opens, leases, renews and closes
// them, in the transaction that is the reason. When a gap may be tried, and when
// it is dead, [collection.Gap] decides.
package gaps

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
)

// A Book is the ledger of gaps as one lease may change it.
type Book struct {
	events.Author
	Epoch int64
}

// A Place is a collection.Place with the rows it is stored under.
type Place struct {
	collection.Place
	StreamID, PartitionID int64
}

// Defer opens a gap or renews the one that is owed at its cursor. A gap
// that the walk went on behind stays one.
func (b Book) Defer(t database.Tx, p Place, gap collection.Gap, worked, behind bool) (collection.Gap, error) {
	if err := b.MoveBackIfAhead(t, t.Now); err != nil {
		return gap, err
	}
	was, err := owedAt(t, p, gap.Cursor)
	switch {
	case err == nil:
		gap = gap.Owed(&was, worked, t.Now)
	case errors.Is(err, sql.ErrNoRows):
		gap = gap.Owed(nil, worked, t.Now)
		gap.Run = b.Run
	default:
		return gap, err
	}
	gap.NotBefore, gap.Behind = format.NotBefore(gap.NotBefore), gap.Behind || behind

	if gap.ID != 0 {
		err = t.Exec(`UPDATE gaps SET covers = ?, shape = ?, reason = ?, kind = ?, detail = ?, state = ?, behind = ?,
				attempts = ?, not_before = ?, tried_at = ?, deferred_epoch = ? WHERE id = ?`,
			[]byte(gap.Version), string(gap.Shape), string(gap.Reason), string(gap.Reason.Kind()), gap.Detail, string(gap.State), gap.Behind,
			gap.Attempts, format.NullTime(gap.NotBefore), format.NullTime(gap.TriedAt), b.Epoch, gap.ID)
	} else {
		args := append([]any{p.StreamID, p.PartitionID, string(p.Lane)}, format.CursorArgs(gap.Cursor)...)
		args = append(args, gap.Cursor.Digest(), []byte(gap.Version), string(gap.Shape), string(gap.Reason), string(gap.Reason.Kind()),
			gap.Detail, string(gap.State), gap.Behind, gap.Attempts, format.NullTime(gap.NotBefore), format.Time(gap.OpenedAt),
			format.NullTime(gap.TriedAt), gap.Run, b.Epoch)
		gap.ID, err = t.Insert(`INSERT INTO gaps (stream_id, partition_id, lane, token, since, high, version, done, meaning,
				digest, covers, shape, reason, kind, detail, state, behind, attempts, not_before, opened_at,
				tried_at, run, deferred_epoch, leased_epoch)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`, args...)
	}
	if err != nil {
		return gap, err
	}
	return gap, b.record(t, collection.GapOpened, gap)
}

// DeferNew opens a gap, if none is owed at its cursor, and returns it then. It reports whether a
// run may try the gap, which it may not if one is dead there.
func (b Book) DeferNew(t database.Tx, p Place, gap collection.Gap) (opened collection.Gap, due bool, err error) {
	was, err := owedAt(t, p, gap.Cursor)
	if !errors.Is(err, sql.ErrNoRows) {
		return opened, was.State != collection.GapDead, err
	}
	opened, err = b.Defer(t, p, gap, false, true)
	return opened, true, err
}

// Free opens the gaps of the connector that are leased: by a run that
// ends, or by one that died.
func (b Book) Free(t database.Tx) error {
	leased, err := gapsWhere(t, LeasedHere, b.Connector)
	if err != nil {
		return err
	}
	for _, gap := range leased {
		if err := t.Exec(`UPDATE gaps SET state = 'open' WHERE id = ?`, gap.ID); err != nil {
			return err
		}
		if err := b.record(t, collection.GapOpened, gap); err != nil {
			return err
		}
	}
	return nil
}

// Move moves a gap of a place to where the rest of its piece begins, a part of which
// was stored. The slice that fills it is what tells of it.
func (b Book) Move(t database.Tx, p Place, id int64, to collection.Cursor) error {
	switch other, err := owedAt(t, p, to); {
	case err == nil && other.ID != id: // both owe the same now
		if err := b.close(t, collection.GapSuperseded, []collection.Gap{other}); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	}
	args := append(format.CursorArgs(to), to.Digest(), id, p.PartitionID, string(p.Lane))
	return t.Exec(`UPDATE gaps SET token = ?, since = ?, high = ?, version = ?, done = ?, meaning = ?, digest = ?
		WHERE id = ? AND partition_id = ? AND lane = ? AND state IN ('open', 'leased', 'dead')`, args...)
}

// MoveFrom moves the gap that is owed at a cursor of a place, if one is, to where the
// walk begins anew.
func (b Book) MoveFrom(t database.Tx, p Place, from, to collection.Cursor) error {
	gap, err := owedAt(t, p, from)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.Move(t, p, gap.ID, to)
}

// Pass closes the gaps that a slice passes, and returns them. A slice that
// leaves a gap at its start renews the one that is there instead. The end of a
// walk closes what planned stops left on its way; a gap that the walk went on
// behind is not on its way, whatever its reason has become.
func (b Book) Pass(t database.Tx, p Place, sl *collection.Slice, moves bool) ([]collection.Gap, error) {
	var passed []collection.Gap
	add := func(gap collection.Gap, err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		passed = append(passed, gap)
		return err
	}
	if err := add(owedAt(t, p, sl.From)); err != nil {
		return nil, err
	}
	if sl.Fills != 0 && (len(passed) == 0 || passed[0].ID != sl.Fills) {
		err := add(scanGap(t.Row(Query+`WHERE g.id = ? AND g.partition_id = ? AND g.lane = ?
			AND g.state IN ('open', 'leased', 'dead')`, sl.Fills, p.PartitionID, string(p.Lane))))
		if err != nil {
			return nil, err
		}
	}
	if sl.Leaves != nil && len(passed) > 0 && passed[0].Cursor == sl.From {
		passed = passed[1:]
	}
	if sl.Next.Done && moves {
		planned, err := gapsWhere(t, PlannedHere, p.PartitionID, string(p.Lane), sl.From.Digest(), sl.Fills)
		if err != nil {
			return nil, err
		}
		passed = append(passed, planned...)
	}
	return passed, b.close(t, collection.GapRecovered, passed)
}

// close ends the life of gaps.
func (b Book) close(t database.Tx, end collection.GapState, gaps []collection.Gap) error {
	for i := range gaps {
		gaps[i].State = end
		err := t.Exec(`UPDATE gaps SET state = ?, closed_at = ? WHERE id = ?`, string(end), format.Time(t.Now), gaps[i].ID)
		if err != nil {
			return err
		}
		if err := b.record(t, collection.GapClosed, gaps[i]); err != nil {
			return err
		}
	}
	return nil
}

// record records an event of a gap.
func (b Book) record(t database.Tx, kind collection.EventKind, gap collection.Gap) error {
	_, err := b.Record(t, gap.Event(kind))
	return err
}

// Lease marks up to n gaps leased that may be tried, of the streams with the
// given numbers; see store.Ledger. Which those are is what collection.Gap.Due
// says, and the rank is that of collection.Gap.Rank: each of the eight
// comparisons with a time counts 15 minutes of age.
func (b Book) Lease(t database.Tx, lane collection.Lane, streams []int64, now time.Time, n int) ([]collection.Gap, error) {
	list, err := json.Marshal(streams)
	if err != nil {
		return nil, err
	}
	args := []any{string(list), string(lane), b.Epoch, format.Time(now), n}
	for quarter := 1; quarter <= 8; quarter++ {
		args = append(args, format.Time(now.Add(-time.Duration(quarter)*15*time.Minute)))
	}
	gaps, err := gapsWhere(t, Eligible, args...)
	if err != nil {
		return nil, err
	}
	for i := range gaps {
		gaps[i].State = collection.GapLeased
		if err := t.Exec(`UPDATE gaps SET state = 'leased', leased_epoch = ? WHERE id = ?`, b.Epoch, gaps[i].ID); err != nil {
			return nil, err
		}
		if err := b.record(t, collection.LeaseTaken, gaps[i]); err != nil {
			return nil, err
		}
	}
	return gaps, nil
}

// Supersede closes the gaps of a place, which a reset makes pointless; with all
// set, those of all partitions of its stream in its lane.
func (b Book) Supersede(t database.Tx, p Place, all bool) error {
	gaps, err := gapsWhere(t, `WHERE g.stream_id = ?1 AND (?4 = 1 OR g.partition_id = ?2) AND g.lane = ?3 AND g.state IN ('open', 'leased', 'dead')`,
		p.StreamID, p.PartitionID, string(p.Lane), all)
	if err != nil {
		return err
	}
	return b.close(t, collection.GapSuperseded, gaps)
}

// Revive opens one gap. It returns sql.ErrNoRows if no such gap of the
// connector is dead.
func (b Book) Revive(t database.Tx, id int64, audit store.Audit) (collection.Gap, error) {
	gap, err := b.owed(t, id)
	if err == nil && !gap.Retriable(t.Now) {
		err = sql.ErrNoRows
	}
	if err != nil {
		return gap, err
	}
	return b.order(t, collection.GapRevived, gap.Reopened(), audit)
}

// Waive gives up one gap. It returns sql.ErrNoRows if the connector owes no such
// gap, or it cannot be given up.
func (b Book) Waive(t database.Tx, id int64, audit store.Audit) (collection.Gap, error) {
	gap, err := b.owed(t, id)
	if err == nil && (gap.Waived() || !gap.Waivable()) {
		err = sql.ErrNoRows
	}
	if err != nil {
		return gap, err
	}
	return b.order(t, collection.GapWaived, gap.GivenUp(collection.Waiver{Who: audit.Who, Why: audit.Why, At: t.Now.UTC().Truncate(time.Microsecond)}), audit)
}

// owed returns a gap of the connector that did not end, or sql.ErrNoRows.
func (b Book) owed(t database.Tx, id int64) (collection.Gap, error) {
	return scanGap(t.Row(Query+`WHERE g.id = ? AND s.connector = ? AND g.state IN ('open', 'leased', 'dead')`, id, b.Connector))
}

// order stores a gap as a person ordered it to be, with the event that says so.
func (b Book) order(t database.Tx, kind collection.EventKind, gap collection.Gap, audit store.Audit) (collection.Gap, error) {
	err := t.Exec(`UPDATE gaps SET state = ?, attempts = ?, not_before = ?, waived_at = ?, waived_by = ?, waived_why = ? WHERE id = ?`,
		string(gap.State), gap.Attempts, format.NullTime(gap.NotBefore), format.NullTime(gap.Waiver.At), gap.Waiver.Who, gap.Waiver.Why, gap.ID)
	if err != nil {
		return gap, err
	}
	told := gap.Event(kind)
	told.Message = audit.String()
	_, err = b.Record(t, told)
	return gap, err
}

// ReviveDrifted opens the gaps of a stream that are dead because its schema
// drifted, but for those that were waived.
func (b Book) ReviveDrifted(t database.Tx, stream int64, audit store.Audit) ([]collection.Gap, error) {
	gaps, err := gapsWhere(t, `WHERE g.stream_id = ? AND g.reason = ? AND g.state = 'dead' AND g.waived_at IS NULL`, stream, string(collection.SchemaDrift))
	for i := 0; i < len(gaps) && err == nil; i++ {
		gaps[i], err = b.Revive(t, gaps[i].ID, audit)
	}
	return gaps, err
}
