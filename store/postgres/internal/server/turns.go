package server

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"collect/store/internal/database"
)

// Turns are how the writer of a store takes turns with those of others, by an advisory
// lock that ends with the transaction. A transaction that is alone has it for itself. Those that
// write for one lease share it, and lock the row of their lease before they
// write to any other that they may have in common with others; of those they write to
// one at most, so that none has to be begun again.
type Turns struct {
	told
	address Address
	w       *database.Writer

	mu    sync.Mutex
	holds map[string]bool // the connectors whose locks the session has, or should have
}

// Begin begins a transaction and waits for its turn. A connection that was ended
// meanwhile is made anew, as nothing was done yet.
func (k *Turns) Begin(t database.Tx, alone bool, patience time.Duration) error {
	if t.Connected() {
		err := k.begin(t, alone, patience)
		if !lost(err) {
			return err
		}
	}
	if err := t.Connect(); err != nil {
		return err
	}
	if err := k.holdAgain(t); err != nil {
		return err
	}
	return k.begin(t, alone, patience)
}

// begin tells what shares its turn with the write of its lease, which fails if this does.
func (k *Turns) begin(t database.Tx, alone bool, patience time.Duration) error {
	if err := t.Exec("BEGIN"); err != nil {
		return err
	}
	args := []any{fmt.Sprint(patience.Milliseconds()), k.address.Number("writer")}
	if !alone {
		return t.Exec("SELECT set_config('lock_timeout', ?, true), pg_advisory_xact_lock_shared(?)::text", args...)
	}
	var set string
	var got any
	err := t.Row("SELECT set_config('lock_timeout', ?, true), pg_advisory_xact_lock(?)::text", args...).Scan(&set, &got)
	if err != nil && !lost(err) {
		t.Rollback()
	}
	return err
}

// Ready reports that what is written is found again: a server has no other place.
func (k *Turns) Ready() error { return nil }

// Ask asks done in a transaction of its own, which is alone. The one whose answer was lost has ended
// when this one has its turn, also where the server was still at it when the connection
// broke.
func (k *Turns) Ask(t database.Tx, done func(database.Tx) (bool, error)) (bool, error) {
	if err := k.Begin(t, true, database.Patience); err != nil {
		return false, err
	}
	defer t.Rollback() // nothing was written
	return done(t)
}

// Lost reports whether a connection was lost.
func (k *Turns) Lost(err error) bool { return lost(err) }

// Hold takes the lock of a connector for the session of the writer, which has it until
// it gives it back or ends, and reports whether nobody else has it.
func (k *Turns) Hold(ctx context.Context, connector string) (free bool, err error) {
	err = k.w.Alone(ctx, func(t database.Tx) error {
		if !t.Connected() {
			if err := t.Connect(); err != nil {
				return err
			}
			if err := k.holdAgain(t); err != nil {
				return err
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.holds[connector] {
			return nil // a session may take its own lock twice
		}
		if err := t.Row("SELECT pg_try_advisory_lock(?)", k.address.Number("connector "+connector)).Scan(&free); err != nil {
			return err
		}
		if free {
			if k.holds == nil {
				k.holds = map[string]bool{}
			}
			k.holds[connector] = true
		}
		return nil
	})
	return free, err
}

// Drop gives the lock of a connector back. If that fails, the session is ended, and
// the lock with it.
func (k *Turns) Drop(connector string) error {
	return k.w.Alone(context.Background(), func(t database.Tx) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.holds[connector] {
			return nil
		}
		delete(k.holds, connector)
		if !t.Connected() {
			return nil
		}
		return t.Exec("SELECT pg_advisory_unlock(?)", k.address.Number("connector "+connector))
	})
}

// holdAgain takes the locks again that ended with a session. Where somebody else was
// quicker, the epoch of the lease tells, with the next write.
func (k *Turns) holdAgain(t database.Tx) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for connector := range k.holds {
		var free bool
		if err := t.Row("SELECT pg_try_advisory_lock(?)", k.address.Number("connector "+connector)).Scan(&free); err != nil {
			return err
		}
	}
	return nil
}

// Pool returns other connections to the store, for tests.
func (k *Turns) Pool() *sql.DB { return k.address.open() }
