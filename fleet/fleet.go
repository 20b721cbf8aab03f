// Package fleet lets workers on several machines collect what one machine would: they
// share the turns of the connectors through a Postgres store.
//
// # Who does what
//
// The turns are rows of a table, which keeps each of them once. The queue decides nothing:
// that a connector is collected by one worker at a time, and that a worker which was thought
// dead writes nothing any more, is the lease's doing, with its epoch in each commit (package
// store/postgres). A turn given out twice costs a refused lease, and no record.
//
// # A turn
//
// A turn is one run of one connector, of bounded time:
//
//	due ──→ at work ──→ over: nothing is left
//	 ↑         │
//	 └─────────┴ work is left: behind all that wait; or at the time the provider asks for
//
// Its row names the connector and the epoch of the lease before it, and is unique by both. The
// run takes the next epoch, so that the turn after it is another row, which is inserted in
// the transaction that ends the turn before it: while work is left there is one row, never none.
//
// # A worker that dies
//
// Each worker beats, with the turns it has in hand, and holds an advisory lock for as long
// as its session lasts. Any worker's beat finds the turns of workers without a lock or a beat,
// and gives them out again.
package fleet

import (
	"context"
	"time"

	"collect/store"
	"collect/store/postgres"
)

// A Fleet is the queue of turns beside a store, to look at it and to give orders.
type Fleet struct {
	pool *postgres.Pool
}

// Open opens the queue beside the store at an address, which must exist, and makes its
// tables or brings them up to date. It returns the errors of [postgres.Open].
func Open(ctx context.Context, address string) (*Fleet, error) {
	pool, err := postgres.NewPool(ctx, address, connections)
	if err != nil {
		return nil, err
	}
	f := &Fleet{pool: pool}
	if err := f.migrate(ctx); err != nil {
		pool.Close()
		return nil, pool.Classify(err)
	}
	return f, nil
}

// connections is how many a fleet has to the server at most, beside those of the store: one for
// the session of the worker, and others to take turns, to end them, and to renew tokens.
const connections = 6

// Close closes the connections.
func (f *Fleet) Close() { f.pool.Close() }

// Enqueue makes a turn of each connector due now, behind those that wait, by order of a
// person. A turn that was to wait until later is due now, too.
func (f *Fleet) Enqueue(ctx context.Context, connectors []string, audit store.Audit) error {
	return f.change(ctx, func(tx postgres.Tx) error {
		for _, connector := range connectors {
			if err := f.enqueue(ctx, tx, connector, time.Time{}); err != nil {
				return err
			}
			if err := record(ctx, tx, "enqueue", connector, "", audit); err != nil {
				return err
			}
		}
		return nil
	})
}

// record keeps what a person ordered, in the transaction of what it does.
func record(ctx context.Context, tx postgres.Tx, kind, connector, what string, by store.Audit) error {
	_, err := tx.Exec(ctx, `INSERT INTO fleet_orders (kind, connector, who, host, pid, why, what) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		kind, connector, by.Who, by.Holder.Host, by.Holder.PID, by.Why, what)
	return err
}

// change does a change in a transaction.
func (f *Fleet) change(ctx context.Context, do func(postgres.Tx) error) error {
	tx, err := f.pool.Begin(ctx)
	if err != nil {
		return f.pool.Classify(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	if err := do(tx); err != nil {
		return f.pool.Classify(err)
	}
	return f.pool.Classify(tx.Commit(ctx))
}
