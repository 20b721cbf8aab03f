package engine

import (
	"context"

	"collect/store"
)

// Prune removes from the past of connectors what an order says, in as many
// transactions as it takes, and calls told with what went of each. After an error or
// the end of ctx, what went is gone; the rest is there, and can be ordered again.
func Prune(ctx context.Context, db store.Store, names []string, what store.Prune, why string, told func(name string, gone store.Pruned)) error {
	audit := AuditOf(why)
	for _, name := range names {
		var gone store.Pruned
		for {
			some, err := db.Prune(ctx, name, what, audit)
			gone = gone.Add(some)
			if err != nil || some.Rows() == 0 {
				told(name, gone)
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// Prunable counts what an order would remove from the past of connectors, in their
// order.
func Prunable(ctx context.Context, db store.Reader, names []string, what store.Prune) ([]store.Pruned, error) {
	found := make([]store.Pruned, len(names))
	for i, name := range names {
		var err error
		if found[i], err = db.Prunable(ctx, name, what); err != nil {
			return nil, err
		}
	}
	return found, nil
}
