package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/report/problem"
	"collect/store"
)

// openForRun opens the database of a run, and makes it at the default place or
// where create allows it. The folders of the default place are made, too. One that
// was named must be there, like that of a backup: a mistyped one, or a disk that is
// not mounted, must not come to be.
func openForRun(ctx context.Context, s config.Settings, create bool) (db store.Store, created bool, err error) {
	missing := storage.MustExist
	switch {
	case !s.StateNamed:
		missing = storage.CreateAll
	case create:
		missing = storage.CreateInFolder
	}
	return storage.OpenForRun(ctx, s.State, missing)
}

// openForReading opens the database to look at it. At the default place there
// may be none yet: then it returns nil.
func openForReading(ctx context.Context, s config.Settings) (store.Store, error) {
	db, err := storage.Look(ctx, s.State)
	if errors.Is(err, store.ErrMissing) && !s.StateNamed {
		return nil, nil
	}
	return db, err
}

// openThere is openForReading for what needs a database: that there is none is an error.
func openThere(ctx context.Context, s config.Settings) (store.Store, error) {
	db, err := openForReading(ctx, s)
	if err == nil && db == nil {
		err = fmt.Errorf("store %s %w", s.State, store.ErrMissing)
	}
	return db, err
}

// known checks that a connector was collected, for commands that read.
func known(ctx context.Context, db store.Reader, name string) error {
	names, err := db.Connectors(ctx)
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return &problem.UnknownConnectorError{Name: name, Known: names}
}

// A looked is a database opened for reading, for one connector or all of them.
type looked struct {
	db   store.Reader // nil: there is none yet
	name string       // "": all
	now  time.Time

	flags    string // what commands to copy must repeat
	settings config.Settings
	held     map[string]string // why a connector sends nothing until a person acts; see [app.held]
}

// nothingOr returns text, which shows what is stored as v looked at it; or, where there is no database,
// where it would be, and what begins one.
func (a *app) nothingOr(v looked, text string) string {
	if v.db != nil {
		return text
	}
	said := fmt.Sprintf("nothing was collected yet: there is no database at %s. To begin: collect run <name | file.yaml>", v.settings.State)
	return strings.Join(term.Wrap("", said, a.width()), "\n") + "\n"
}

// command returns a command of ours on what, to be copied.
func (v looked) command(verb, what string) string {
	return problem.Command(verb, what, v.flags)
}

// A lookError is an error of a database that was opened for reading, and the scene it is told in.
type lookError struct {
	error
	scene problem.Scene
}

func (e *lookError) Unwrap() error { return e.error }

// look opens the database for reading and calls show. No database at the
// default place is an empty one.
func (a *app) look(ctx context.Context, args []string, show func(looked) error) error {
	err := a.lookQuietly(ctx, args, show)
	if e, ok := errors.AsType[*lookError](err); ok {
		return a.exit(e.error, e.scene)
	}
	return err
}

// lookQuietly is look that tells nobody of an error of the database: it is a *lookError.
func (a *app) lookQuietly(ctx context.Context, args []string, show func(looked) error) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	v := looked{now: time.Now().In(settings.Zone), flags: a.repeat(), settings: settings}
	if len(args) == 1 {
		if v.name, err = registry.NameOf(args[0]); err != nil {
			return err
		}
	}
	scene := problem.Scene{Connector: v.name, State: settings.State}
	db, err := openForReading(ctx, settings)
	if err != nil {
		return &lookError{err, scene}
	}
	if db == nil {
		if v.name != "" {
			return &problem.UnknownConnectorError{Name: v.name, Known: settings.Names()}
		}
		return show(v)
	}
	defer db.Close()
	v.db = db
	if v.name != "" {
		if err := known(ctx, db, v.name); err != nil {
			return err
		}
	}
	err = show(v)
	if problem.Damaged(err) {
		return &lookError{err, scene}
	}
	return err
}

// change opens the database for an operator's change and calls do with the
// name that arg stands for. A connector that was never collected is an error.
func (a *app) change(ctx context.Context, arg string, do func(db store.Store, name string) error) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	name, err := registry.NameOf(arg)
	if err != nil {
		return err
	}
	sc := problem.Scene{Connector: name, State: settings.State, Usual: !settings.StateNamed, ByHand: true}
	db, err := storage.Open(ctx, settings.State)
	if err != nil {
		return a.exit(err, sc)
	}
	defer db.Close()
	if err := known(ctx, db, name); err != nil {
		return err
	}
	if err := do(db, name); err != nil {
		return a.exit(err, sc)
	}
	return nil
}
