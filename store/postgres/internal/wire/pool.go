package wire

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Pool is connections of pgx, a Tx a transaction on one of them, and Rows what a query
// finds: for a library that speaks to the server in its own words.
type (
	Pool = pgxpool.Pool
	Tx   = pgx.Tx
	Rows = pgx.Rows
)

// Pool returns a pool of at most that many connections, which connects when it is asked to.
func (c Config) Pool(ctx context.Context, most int32) (*Pool, error) {
	pool, err := pgxpool.ParseConfig("") // the only way to make one; where the server is comes next
	if err != nil {
		return nil, err
	}
	pool.ConnConfig, pool.MaxConns, pool.MinConns = c.of.Copy(), most, 0
	return pgxpool.NewWithConfig(ctx, pool)
}
