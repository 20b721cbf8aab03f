package server

import (
	"context"

	"collect/store/postgres/internal/wire"
)

// Pool returns a pool of connections of pgx to the server, in the schema of the store. A server
// that has not counted the rows of a new table takes its few for many, and would compile
// a statement for seconds that then takes a millisecond.
func (a Address) Pool(ctx context.Context, most int32) (*Pool, error) {
	c := a.config.Copy("synchronous_commit", "on", "default_transaction_read_only", "off", "default_transaction_isolation", "read committed", "jit", "off")
	return c.Pool(ctx, most)
}

// ClassifyPool is [Classify] for an error of such a pool.
func (a Address) ClassifyPool(err error) error { return Classify(a.Name, wire.Told(err)) }

// A Tx is a transaction of such a pool.
type Tx = wire.Tx

// Rows are what a query of such a pool finds.
type Rows = wire.Rows

// A Pool is such a pool.
type Pool = wire.Pool
