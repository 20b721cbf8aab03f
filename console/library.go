package console

import (
	"context"
	"sync"

	"collect/engine/storage"
	"collect/store"
)

// A Library lends the store. It is open only while somebody has it: so it can be
// backed up, restored or replaced while the console runs, and what stands at its path
// is what is shown.
//
// Who looks at the same time shares one open store. Who changes something has it
// alone in this process: a file must not be opened twice, because closing it once
// would free the locks of the other (see [storage.Look]).
type Library struct {
	name string

	turn sync.RWMutex // who looks shares it

	mu    sync.Mutex
	users int
	db    store.Store // open while users > 0
}

// NewLibrary returns the library of the store that is named so.
func NewLibrary(name string) *Library { return &Library{name: name} }

// Look calls do with the store, which do must not keep, and not write to.
func (l *Library) Look(ctx context.Context, do func(store.Reader) error) error {
	l.turn.RLock()
	defer l.turn.RUnlock()
	db, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer l.leave()
	return do(db)
}

// Change calls do with the store open for an order.
func (l *Library) Change(ctx context.Context, do func(store.Store) error) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	db, err := storage.Open(ctx, l.name)
	if err != nil {
		return err
	}
	err = do(db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	return err
}

func (l *Library) enter(ctx context.Context) (store.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		var err error
		// Others may come to share it that outlive the one who opened it.
		if l.db, err = storage.Look(context.WithoutCancel(ctx), l.name); err != nil {
			return nil, err
		}
	}
	l.users++
	return l.db, nil
}

func (l *Library) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		_ = l.db.Close() // it was only read
	}
}

// Stamp returns a text that is another one after each change of the store. It does
// not open it.
func (l *Library) Stamp() string { return storage.Stamp(l.name) }
