package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) backupCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "backup <file>",
		Short: "Copy the database to a file, also while a run writes to it",
		Long: `Backup copies the database, as it is at one moment, to a file of its own, and
examines the copy before it gets its name. It may run while a run collects. Of
the database it changes one thing: when it was backed up is kept, for status,
doctor and the console. Killed at any moment, it leaves what was there before or
the whole backup. "collect restore" brings it back.`,
		Args: exactArgs("<file>"),
		RunE: func(c *cobra.Command, args []string) error { return a.backup(c.Context(), args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "replace the file if it is there")
	return c
}

func (a *app) backup(ctx context.Context, file string, force bool) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if err := a.copyTo(ctx, settings, file, force); err != nil {
		return err
	}
	what := words.Home(file, a.env)
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		what += ", " + words.Size(info.Size())
	}
	fmt.Fprintf(a.err, "backed up: %s, examined\n", what)
	a.noteCopies(ctx, storage.File(settings.State), store.Copies{BackedUp: time.Now()})
	return nil
}

// copyTo writes the backup.
func (a *app) copyTo(ctx context.Context, settings config.Settings, file string, force bool) (err error) {
	sc := problem.Scene{State: settings.State, Usual: !settings.StateNamed}
	db, err := openThere(ctx, settings)
	if err != nil {
		return a.exit(err, sc)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if sameFile(settings.State, file) {
		return a.exit(problem.Usage("%s is the database itself; name another file for the backup", words.Quoted(file)), sc)
	}
	copier, ok := db.(storage.Copier)
	if !ok {
		return a.exit(&problem.ServedError{Command: "collect backup", Tool: storage.Dump(settings.State)}, sc)
	}
	switch err := copier.Backup(ctx, file, force); {
	case errors.Is(err, fs.ErrExist):
		return a.exit(&problem.TakenError{Path: file}, sc)
	case errors.Is(err, collection.ErrFull), errors.Is(err, store.ErrNoAccess):
		return a.exit(&problem.OutputError{Err: err}, sc)
	case err != nil:
		return a.exit(err, sc)
	}
	return nil
}

// sameFile reports whether two paths lead to one file that is there.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// noteCopies keeps when the store was copied. That it could not be kept costs no backup.
func (a *app) noteCopies(ctx context.Context, file storage.File, c store.Copies) {
	if err := file.Note(ctx, c); err != nil {
		fmt.Fprintf(a.err, "  note   status, doctor and the console will not know of it: %s\n", words.Cause(err))
	}
}
