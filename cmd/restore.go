package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"collect/engine"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) restoreCommand() *cobra.Command {
	var o operatorOptions
	c := &cobra.Command{
		Use:   "restore <file> --reason WHY",
		Short: "Put a backup in the place of the database",
		Long: `Restore examines a backup and puts a copy of it in the place of the database.
What was there is kept beside it. Nothing is replaced while a run collects, or
by a backup that is not whole. The next run goes on from where the backup ends;
a freeze, or a wait that a provider asked for since, is not forgotten. It asks
before; without a terminal, --yes must say so.`,
		Args: exactArgs("<file>"),
		RunE: func(c *cobra.Command, args []string) error { return a.restore(c.Context(), args[0], o) },
	}
	o.addFlags(c)
	return c
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
