package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"collect/store"
)

// swapPatience is how long another machine may take to replace a value.
const swapPatience = 2 * time.Minute

// again is how long, and how often, a value that is spent is tried to be kept.
const (
	againAfter = time.Second
	againMost  = 60
)

// Read returns the value that is kept under a name beside the store; nil where there is none, or no
// store yet. It waits for nobody who replaces it.
func (p *Pool) Read(ctx context.Context, name string) (kept []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, swapPatience, store.ErrUnreachable)
	defer cancel()
	var there bool
	err = p.QueryRow(ctx, `SELECT to_regclass('meta') IS NOT NULL`).Scan(&there)
	if err == nil && there {
		err = p.QueryRow(ctx, `SELECT (SELECT value FROM meta WHERE name = $1 AND value <> '')`, name).Scan(&kept)
	}
	return kept, p.Classify(err)
}

// Swap replaces the value that is kept under a name beside the store, by what spend makes of
// it, alone among all machines: by a lock on its row. The value is nil where there is none.
// If spend returns nil or an error, which Swap returns, what is kept stays.
//
// The new value is on the server's disk when Swap returns nil. Where the server is away
// meanwhile, Swap tries to keep it for a minute, as long as nobody else replaced the old one.
func (p *Pool) Swap(ctx context.Context, name string, spend func(kept []byte) (next []byte, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*swapPatience, store.ErrUnreachable)
	defer cancel()
	told := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return p.Classify(err)
	}
	tx, err := p.Begin(ctx)
	if err != nil {
		return told(err)
	}
	after := context.WithoutCancel(ctx)
	defer func() { _ = tx.Rollback(after) }() // nothing, behind a commit
	var kept []byte
	_, err = tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO meta (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING`, name)
	}
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT value FROM meta WHERE name = $1 FOR UPDATE`, name).Scan(&kept)
	}
	if err != nil {
		return told(err)
	}
	old := kept
	if len(kept) == 0 {
		old = nil
	}
	next, err := spend(old)
	if err != nil || next == nil || bytes.Equal(next, old) {
		return err
	}
	if _, err = tx.Exec(after, `UPDATE meta SET value = $2 WHERE name = $1`, name, next); err == nil {
		err = tx.Commit(after)
	}
	for range againMost {
		if err == nil {
			return nil
		}
		time.Sleep(againAfter)
		err = p.keep(after, name, kept, next)
		if errors.Is(err, errReplaced) {
			break
		}
	}
	return p.Classify(err)
}

// errReplaced: another machine replaced the value meanwhile.
var errReplaced = errors.New("another machine replaced it meanwhile")

// keep writes next in the place of kept, if that is what is there.
func (p *Pool) keep(ctx context.Context, name string, kept, next []byte) error {
	done, err := p.Exec(ctx, `INSERT INTO meta (name, value) VALUES ($1, $3)
		ON CONFLICT (name) DO UPDATE SET value = $3 WHERE meta.value = $2 OR meta.value = $3`, name, kept, next)
	if err == nil && done.RowsAffected() == 0 {
		return errReplaced
	}
	return err
}
