package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collect/store/internal/database"
	"collect/store/sqlite/internal/disk"
)

// Turns are how the writer of a file takes turns with those of other processes.
type Turns struct {
	File *disk.File
	Most time.Duration // how long a write may wait for others

	w      *database.Writer
	waits  time.Duration // how long the connection does
	inVain bool          // one did in vain, and none had the lock since
	begun  int           // transactions
}

// writer opens the connection that writes.
func (k *Turns) writer() (w *database.Writer, err error) {
	ctx := context.Background()
	if k.w, err = database.NewWriter(ctx, Single(k.File.Path), k, &dialect); err != nil {
		return nil, err
	}
	var tables int // a look makes SQLite open the log and the shared memory
	if err := k.w.Conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return nil, errors.Join(err, k.w.Close(func() error { return nil }))
	}
	return k.w, nil
}

// close merges the WAL into the database and closes the connection. If a
// reader of another process keeps the WAL in use, it is left to the last one
// that closes. If the files are not in their places any more, others may not
// see the locks of the writer, and it is left to SQLite, which merges it only if
// there are no others.
func (k *Turns) close(w *database.Writer) error {
	return w.Close(func() error {
		err := k.wait(disk.Patience)
		var busy, frames, merged int
		if k.File.InPlace() == nil {
			err = errors.Join(err, w.Conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &merged))
		}
		return err
	})
}

// Begin takes the write lock.
//
// After a write that waited in vain none waits as long, until one has the lock.
// If the kernel did not take back a lock of ours, which SQLite is not told of,
// this process waits for itself, and the writes that end a run would do so in
// turn.
func (k *Turns) Begin(t database.Tx, _ bool, patience time.Duration) error {
	wait := min(patience, k.Most)
	if k.inVain {
		wait = min(patience, disk.Patience)
	}
	if err := k.wait(wait); err != nil {
		return err
	}
	if err := k.mergeLate(); err != nil {
		return err
	}
	err := t.Exec("BEGIN IMMEDIATE")
	switch {
	case err == nil:
		k.inVain = false
		k.begun++
	case isBusy(err) && patience == database.Patience:
		k.inVain = true
	}
	return err
}

// wait sets how long the connection waits for others.
func (k *Turns) wait(patience time.Duration) error {
	if k.waits == patience {
		return nil
	}
	_, err := k.w.Conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout = %d", patience.Milliseconds()))
	if err == nil {
		k.waits = patience
	}
	return err
}

// mergeLate lets the log grow longer before it is merged, after [mergesEarly]
// transactions.
func (k *Turns) mergeLate() error {
	if k.begun != mergesEarly {
		return nil
	}
	k.begun++ // once
	_, err := k.w.Conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", lateMerge))
	return err
}

// Ready returns store.ErrMissing if the file is no longer where it was opened.
func (k *Turns) Ready() error { return k.File.InPlace() }

// Ask asks done: what was on has ended, since the connection is its own.
func (k *Turns) Ask(t database.Tx, done func(database.Tx) (bool, error)) (bool, error) {
	return done(t)
}

// Lost reports that the connection to a file is never lost.
func (k *Turns) Lost(error) bool { return false }

// Classify is [Classify] for the file.
func (k *Turns) Classify(err error) error { return Classify(k.File, err) }

// Own reports whether SQLite made an error.
func (k *Turns) Own(err error) bool { return own{k.File}.Own(err) }
