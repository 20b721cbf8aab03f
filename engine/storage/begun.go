package storage

import (
	"context"
	"errors"

	"collect/internal/words"
	"collect/store"
	"collect/store/postgres"
	"collect/store/sqlite"
)

// begun returns a *[store.BegunError] in place of an error that says that there is no store, if a
// copy to its name was begun: what is collected there keeps the copy from being finished.
func begun(ctx context.Context, name string, err error) error {
	if !errors.Is(err, store.ErrMissing) || errors.Is(err, store.ErrLogGone) {
		return err
	}
	if IsFile(name) {
		if part, there := sqlite.Partial(name); there {
			q := words.Quoted(part)
			return &store.BegunError{Part: "the file " + part, Remove: "rm -f " + q + " " + words.Quoted(part+"-wal") + " " + words.Quoted(part+"-shm"), Err: err}
		}
		return err
	}
	if schema, there, asked := postgres.Partial(ctx, name); asked == nil && there {
		address, _ := parts(name)
		drop := words.Quoted(`DROP SCHEMA "` + schema + `" CASCADE`)
		return &store.BegunError{Part: "the schema " + schema + " of that database", Remove: "psql --command=" + drop + " --dbname=" + address, Err: err}
	}
	return err
}
