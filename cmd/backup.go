package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

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
examines the copy before it gets its name. It changes nothing, and may run
while a run collects. Killed at any moment, it leaves what was there before or
the whole backup. "collect restore" brings it back.`,
		Args: exactArgs("<file>"),
		RunE: func(c *cobra.Command, args []string) error { return a.backup(c.Context(), args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "replace the file if it is there")
	return c
}

func (a *app) backup(ctx context.Context, file string, force bool) (err error) {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	sc := problem.Scene{State: settings.State, Usual: !settings.StateNamed}
	db, err := openThere(ctx, settings)
	if err != nil {
		return a.exit(err, sc)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
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
	what := words.Home(file, a.env)
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		what += ", " + words.Size(info.Size())
	}
	fmt.Fprintf(a.err, "backed up: %s, examined\n", what)
	return nil
}
