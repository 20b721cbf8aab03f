// Package meeting is the directory of the processes of several machines that share
// the pace of an account: see [share.Directory]. Who leads is in a row of the table
// paces, which a process locks to take or to renew the lead; it is logged, and
// written with synchronous_commit. Messages are notifications of the server: see
// exchange.
package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"collect/collection"
	"collect/internal/process"
	"collect/pacing/share"
	"collect/store"
	"collect/store/postgres/internal/server"
)

// connections is how many there are at most: one that listens, and the others for
// messages and for the lead.
const connections = 4

// A Meeting is the directory in one store. It connects when it is first asked, and
// is safe for concurrent use.
type Meeting struct {
	at server.Address
	by collection.Holder

	mu       sync.Mutex
	pool     *server.Pool
	exchange *exchange
	closed   bool
}

var _ share.Directory = (*Meeting)(nil)

// New returns the directory of the store at an address.
func New(at server.Address) *Meeting { return &Meeting{at: at, by: process.This()} }

// Close ends its connections.
func (m *Meeting) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.exchange != nil {
		m.exchange.end()
	}
	if m.pool != nil {
		m.pool.Close()
	}
}

var errClosed = errors.New("the store was closed")

// connected returns the pool. m.mu is held.
func (m *Meeting) connected(ctx context.Context) (*server.Pool, error) {
	if m.closed {
		return nil, errClosed
	}
	if m.pool == nil {
		var err error
		if m.pool, err = m.at.Pool(context.WithoutCancel(ctx), connections); err != nil {
			return nil, err
		}
	}
	return m.pool, nil
}

func (m *Meeting) server(ctx context.Context) (*server.Pool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pool, err := m.connected(ctx)
	return pool, m.told(err)
}

// told puts an error into the words of package store. A server that does not answer in the time
// that there is for it cannot be reached.
func (m *Meeting) told(err error) error {
	err = m.at.ClassifyPool(err)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnreachable) {
		return fmt.Errorf("store %s %w: %w", m.at.Name, store.ErrUnreachable, err)
	}
	return err
}

const now = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// Now implements [share.Directory].
func (m *Meeting) Now(ctx context.Context) (time.Time, error) {
	pool, err := m.server(ctx)
	if err != nil {
		return time.Time{}, err
	}
	var at int64
	err = pool.QueryRow(ctx, "SELECT "+now).Scan(&at)
	return time.UnixMicro(at), m.told(err)
}

// Take implements [share.Directory].
func (m *Meeting) Take(ctx context.Context, account, id string, lasts time.Duration) (leader string, killed bool, err error) {
	err = m.change(ctx, account, func(l share.Lead, life string, at int64) share.Lead {
		var taken bool
		if l, taken, killed = l.Take(id, life, at, lasts.Microseconds()); taken {
			l.Host, l.PID = m.by.Host, m.by.PID
		}
		if leader = l.ID; !taken && l.Old {
			leader = "" // it may be one that was forgotten
		}
		return l
	})
	return leader, killed, err
}

// Renew implements [share.Directory].
func (m *Meeting) Renew(ctx context.Context, account, id string, lasts time.Duration) (leads bool, err error) {
	err = m.change(ctx, account, func(l share.Lead, life string, at int64) share.Lead {
		l, leads = l.Renew(id, life, at, lasts.Microseconds())
		return l
	})
	return leads, err
}

// Leave implements [share.Directory].
func (m *Meeting) Leave(ctx context.Context, account, id string) error {
	return m.change(ctx, account, func(l share.Lead, _ string, _ int64) share.Lead { return l.Leave(id) })
}

// change writes what do makes of the lead of an account, which nobody else changes
// meanwhile. The clock is asked once the row is locked: a time from before
// would be older than the one of the process that had the lock.
func (m *Meeting) change(ctx context.Context, account string, do func(l share.Lead, life string, at int64) share.Lead) error {
	pool, err := m.server(ctx)
	if err != nil {
		return err
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		return m.told(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // after a commit it does nothing
	if _, err := tx.Exec(ctx, `INSERT INTO paces (account, lead) VALUES ($1, '{}') ON CONFLICT DO NOTHING`, account); err != nil {
		return m.told(err)
	}
	var text string
	if err := tx.QueryRow(ctx, `SELECT lead FROM paces WHERE account = $1 FOR UPDATE`, account).Scan(&text); err != nil {
		return m.told(err)
	}
	// A server that was started again, or was a standby, has another start or timeline.
	var life string
	var at int64
	const clock = `SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' || extract(epoch FROM pg_postmaster_start_time())::text, ` + now
	if err := tx.QueryRow(ctx, clock).Scan(&life, &at); err != nil {
		return m.told(err)
	}
	var was share.Lead
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return err
	}
	next := do(was, life, at)
	if next == was {
		return nil
	}
	written, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE paces SET lead = $2 WHERE account = $1`, account, string(written)); err != nil {
		return m.told(err)
	}
	return m.told(tx.Commit(ctx))
}

// Save implements [share.Directory].
func (m *Meeting) Save(ctx context.Context, account, id string, state []byte) (leads bool, err error) {
	pool, err := m.server(ctx)
	if err != nil {
		return false, err
	}
	done, err := pool.Exec(ctx, `UPDATE paces SET state = $3 WHERE account = $1 AND lead::json ->> 'id' = $2`, account, id, string(state))
	return done.RowsAffected() == 1, m.told(err)
}

// State implements [share.Directory].
func (m *Meeting) State(ctx context.Context, account string) ([]byte, error) {
	pool, err := m.server(ctx)
	if err != nil {
		return nil, err
	}
	var state *string
	err = pool.QueryRow(ctx, `SELECT max(state) FROM paces WHERE account = $1`, account).Scan(&state)
	if err != nil || state == nil {
		return nil, m.told(err)
	}
	return []byte(*state), nil
}

// Listen implements [share.Directory].
func (m *Meeting) Listen(ctx context.Context) (net.Listener, error) {
	x, err := m.joined(ctx)
	if err != nil {
		return nil, err
	}
	return x.listen()
}

// Dial implements [share.Directory].
func (m *Meeting) Dial(ctx context.Context, id string) (net.Conn, error) {
	x, err := m.joined(ctx)
	if err != nil {
		return nil, err
	}
	return x.dial(ctx, id)
}

// joined returns the exchange, and begins a new one if the connection that listened
// was lost.
func (m *Meeting) joined(ctx context.Context) (*exchange, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.exchange != nil && !m.exchange.ended() {
		return m.exchange, nil
	}
	pool, err := m.connected(ctx)
	if err == nil {
		m.exchange, err = join(ctx, pool)
	}
	return m.exchange, m.told(err)
}
