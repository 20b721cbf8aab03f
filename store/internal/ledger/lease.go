package ledger

import (
	"database/sql"
	"errors"
	"sync/atomic"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
	"collect/store/internal/gaps"
)

// A lease is the right of one run, or of one order of an operator, to write for a
// connector.
type lease struct {
	events.Author
	epoch  int64
	writes int64        // the number of the newest write; for the holder of the writer's turn
	kept   atomic.Int64 // that of the newest write which was acknowledged
}

// take signs the lease with a new epoch. The caller has the lock.
func (l *lease) take(t database.Tx, holder collection.Holder) error {
	err := t.Row(`INSERT INTO leases (connector, epoch, run, host, pid, since, beat_at, writes)
		VALUES (?1, 1, ?2, ?3, ?4, ?5, ?5, 1)
		ON CONFLICT (connector) DO UPDATE SET epoch = leases.epoch + 1, run = ?2, host = ?3, pid = ?4,
			since = ?5, beat_at = ?5, writes = 1`+t.Dialect().Renewal+`
		RETURNING epoch`, l.Connector, l.Run, holder.Host, holder.PID, format.Time(t.Now)).Scan(&l.epoch)
	if err != nil {
		return err
	}
	l.writes = 1
	return l.record(t, collection.Event{Kind: collection.LeaseTaken})
}

// takeOver ends the runs whose process died, and frees the gaps they leased.
// They died after they last said that they were alive; when is not known. The one of this process
// that could not write its end, unsaid, has died of nothing, and gets the verdict that it had.
func (l *lease) takeOver(t database.Tx, unsaid collection.Run) error {
	var dead []string
	err := t.Each(database.Texts(&dead), `UPDATE runs SET outcome = ?, ended_at = beat_at WHERE connector = ? AND outcome = ? RETURNING id`,
		collection.Abandoned, l.Connector, collection.Running)
	if err != nil {
		return err
	}
	for _, id := range dead {
		e := collection.Event{Kind: collection.RunFinished, Run: id, Message: "abandoned: its process died"}
		if id == unsaid.ID {
			if err := setVerdict(t, unsaid); err != nil {
				return err
			}
			e = finished(unsaid)
		}
		if err := l.record(t, e); err != nil {
			return err
		}
	}
	return l.book().Free(t)
}

// ours returns what does do, if the lease is ours.
func (l *lease) ours(do func(database.Tx) error) func(database.Tx) error {
	return func(t database.Tx) error {
		l.writes++
		n, err := t.Change(signQuery(t), l.signature()...)
		if err != nil {
			return err
		}
		if n == 0 {
			return collection.ErrFenced
		}
		return do(t)
	}
}

// signQuery numbers a write. It finds no row if the lease is not ours, or if the database lost
// a write of ours that it acknowledged, as a standby may that took the place of its server: what the
// run knows is then not what is stored.
func signQuery(t database.Tx) string {
	return `UPDATE leases SET writes = ?` + t.Dialect().Renewal + ` WHERE connector = ? AND epoch = ? AND run = ? AND writes >= ?`
}

func (l *lease) signature() []any {
	return []any{l.writes, l.Connector, l.epoch, l.Run, l.kept.Load()}
}

// tookEffect reports whether the newest write is in the database. Each write
// has a number that no other write under this lease ever had, and leaves it in
// the lease.
func (l *lease) tookEffect(t database.Tx) (bool, error) {
	var one int
	err := t.Row(`SELECT 1 FROM leases WHERE connector = ? AND epoch = ? AND writes = ?`,
		l.Connector, l.epoch, l.writes).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// end signs off.
func (l *lease) end(t database.Tx) error {
	return t.Exec(`UPDATE leases SET run = NULL WHERE connector = ?`, l.Connector)
}

// book returns what the connector owes, as this lease may change it.
func (l *lease) book() gaps.Book { return gaps.Book{Author: l.Author, Epoch: l.epoch} }

// record records an event.
func (l *lease) record(t database.Tx, e collection.Event) error {
	_, err := l.Record(t, e)
	return err
}

// saveProvider stores what was learned of a pacing domain.
func (l *lease) saveProvider(t database.Tx, domain string, state []byte, events []collection.Event) error {
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
