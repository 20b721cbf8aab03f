package wire

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Pool is connections of pgx, and a Tx a transaction on one of them: for a library that
// speaks to the server in its own words.
type (
	Pool = pgxpool.Pool
	Tx   = pgx.Tx
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

// Told marks an error of pgx, as all errors here are.
func Told(err error) error { return told(err) }
