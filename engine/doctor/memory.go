package doctor

import (
	"context"
	"errors"

	"collect/collection"
	"collect/engine"
	"collect/engine/storage"
	"collect/pacing/gate"
	"collect/store"
)

// A memory keeps what a request of --online taught of an account, where runs
// keep it. A connector that never ran has no place in the database yet: what
// is known of its account is with those who share it, where its first run finds
// it.
type memory struct {
	db     store.Store // nil: it never ran
	of     probed
	author store.Audit
}

// openMemory opens the database to write to what is remembered of an account.
func (d *Diagnosis) openMemory(ctx context.Context, of probed) (*memory, error) {
	m := &memory{of: of, author: engine.AuditOf("collect doctor --online")}
	if _, ran := d.runs[of.connector]; !ran {
		return m, nil
	}
	var err error
	m.db, _, err = storage.OpenForRun(ctx, d.State, storage.MustExist)
	return m, err
}

// save keeps the state of an account; see [pacing.Config]. What stands there
// was saved by somebody who shares the account, so the newer state has both. A
// run that has begun meanwhile shares it, too, and saves it when it ends.
func (m *memory) save(ctx context.Context, state []byte, events ...collection.Event) error {
	if m.db == nil {
		return nil
	}
	edit := func(stands []byte) ([]byte, error) { return gate.Newest(stands, state), nil }
	err := m.db.Override(ctx, m.of.connector, m.of.domain, edit, m.author, events...)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return nil
	}
	return err
}

func (m *memory) close() {
	if m.db != nil {
		_ = m.db.Close() // what was saved is in it
	}
}
