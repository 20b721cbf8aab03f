package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"collect/engine"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) restoreCommand() *cobra.Command {
	var o operatorOptions
	var drill bool
	c := &cobra.Command{
		Use:   "restore <file> --reason WHY",
		Short: "Put a backup in the place of the database",
		Long: `Restore examines a backup and puts a copy of it in the place of the database.
What was there is kept beside it. Nothing is replaced while a run collects, or
by a backup that is not whole. The next run goes on from where the backup ends;
a freeze, or a wait that a provider asked for since, is not forgotten. It asks
before; without a terminal, --yes must say so.

With --drill it does all of that but the last step: it says whether the backup
can be restored, leaves no file, asks for nothing, and may run while a run
collects. When that was is kept, for status, doctor and the console.`,
		Args: exactArgs("<file>"),
		RunE: func(c *cobra.Command, args []string) error {
			if drill {
				return a.restoreDrill(c.Context(), args[0])
			}
			return a.restore(c.Context(), args[0], o)
		},
	}
	o.addFlags(c)
	c.Flags().BoolVar(&drill, "drill", false, "only try it: examine the backup as a restore does, and replace nothing")
	return c
}

// restoreDrill tries a backup, and puts it nowhere.
func (a *app) restoreDrill(ctx context.Context, backup string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	file, ok := storage.FileOf(settings.State)
	if !ok {
		return a.exit(&problem.ServedError{Command: "collect restore --drill", Tool: storage.Undump(settings.State)}, problem.Scene{})
	}
	if err := file.Drill(ctx, backup, engine.AuditOf("a drill")); err != nil {
		return a.exit(&problem.RestoreError{Err: err}, problem.Scene{State: settings.State})
	}
	fmt.Fprintf(a.err, "drilled: %s can be restored; nothing was replaced\n", words.Home(backup, a.env))
	a.noteCopies(ctx, file, store.Copies{Drilled: time.Now()})
	return nil
}

func (a *app) restore(ctx context.Context, file string, o operatorOptions) error {
	if err := needReason("collect restore", o.reason); err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	replaced, ok := storage.FileOf(settings.State)
	if !ok {
		return a.exit(&problem.ServedError{Command: "collect restore", Tool: storage.Undump(settings.State)}, problem.Scene{})
	}
	means := fmt.Sprintf("This puts a copy of %s in the place of %s. What is there now is kept beside it.", file, words.Home(settings.State, a.env))
	if err := a.agree(ctx, o, means); err != nil {
		return err
	}
	kept, err := replaced.Restore(ctx, file, engine.AuditOf(o.reason))
	if err != nil {
		return a.exit(&problem.RestoreError{Err: err}, problem.Scene{State: settings.State})
	}
	fmt.Fprintf(a.err, "restored: %s\n", words.Home(settings.State, a.env))
	if kept != "" {
		fmt.Fprintf(a.err, "  kept   %s is the database as it was before\n", words.Home(kept, a.env))
	}
	fmt.Fprintf(a.err, "  next   the next run goes on from where the backup ends\n")
	return nil
}
