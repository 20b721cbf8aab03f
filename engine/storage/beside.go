package storage

import (
	"context"

	"collect/store/postgres"
)

// Beside is what the machines that use a store of a database server keep beside it, by the
// store's name: tokens that their providers replace. Each use connects for itself, as they are
// rare, and may be before the store is made.
type Beside string

// Read returns what is kept under a name; see [postgres.Pool.Read].
func (b Beside) Read(ctx context.Context, name string) (kept []byte, err error) {
	err = b.on(ctx, func(p *postgres.Pool) (err error) {
		kept, err = p.Read(ctx, name)
		return err
	})
	return kept, err
}

// Swap replaces what is kept under a name; see [postgres.Pool.Swap].
func (b Beside) Swap(ctx context.Context, name string, spend func(kept []byte) (next []byte, err error)) error {
	return b.on(ctx, func(p *postgres.Pool) error { return p.Swap(ctx, name, spend) })
}

func (b Beside) on(ctx context.Context, do func(*postgres.Pool) error) error {
	if err := postgres.Check(string(b)); err != nil {
		return err
	}
	pool, err := postgres.NewPool(ctx, string(b), 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(pool)
}
