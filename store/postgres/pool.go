package postgres

import (
	"context"

	"collect/store/postgres/internal/server"
)

// A Tx is a transaction on a connection of a [Pool].
type Tx = server.Tx

// Rows are what a query of a [Pool] finds.
type Rows = server.Rows

// A Pool is connections to the server of a store, in its schema, for what a fleet keeps
// beside the store: it knows nothing of the store's tables.
type Pool struct {
	*server.Pool
	at server.Address
}

// NewPool returns a pool of at most that many connections to the server at an address, as
// [Open] takes it. It has not connected yet.
func NewPool(ctx context.Context, address string, most int32) (*Pool, error) {
	at, err := server.Parse(address)
	if err != nil {
		return nil, err
	}
	pool, err := at.Pool(ctx, most)
	if err != nil {
		return nil, at.ClassifyPool(err)
	}
	return &Pool{pool, at}, nil
}

// Name returns the address for people, without what is secret in it.
func (p *Pool) Name() string { return p.at.Name }

// Number returns the number of an advisory lock of this store; what says what it is for.
func (p *Pool) Number(what string) int64 { return p.at.Number(what) }

// Classify puts an error of the server, or of the connection to it, into the words of
// package store.
func (p *Pool) Classify(err error) error { return p.at.ClassifyPool(err) }
