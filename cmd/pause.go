package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"collect/engine"
	"collect/internal/words"
	"collect/store"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.pauseOrder(true, "pause", "Stop the runs of a connector, until you unpause it", `Pause lets no run of a connector begin until "collect unpause". A run that is
started says so and exits 0, so that a schedule may stay as it is. A run that is
on stops within 5 s, once what is in flight is stored, and exits 0. Other connectors of the same provider go on: to stop all
calls to it, "collect breaker open" or "collect freeze on". Who did it, when and
why is kept.`)
}

func (a *app) unpauseCommand() *cobra.Command {
	return a.pauseOrder(false, "unpause", "Let the runs of a connector begin again", `Unpause lets the runs of a connector begin again. Who did it, when and why is kept.`)
}

func (a *app) pauseOrder(on bool, name, short, long string) *cobra.Command {
	var typed, reason string
	c := &cobra.Command{
		Use:   name + " <name | file.yaml>",
		Short: short,
		Long:  long,
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			typed = args[0]
			if err := needReason("collect "+name, reason); err != nil {
				return err
			}
			return a.pause(c.Context(), name, typed, on, reason)
		},
	}
	reasonFlag(c.Flags(), &reason)
	return c
}

func (a *app) pause(ctx context.Context, order, typed string, on bool, reason string) error {
	return a.change(ctx, typed, func(db store.Store, name string) error {
		audit := engine.AuditOf(reason)
		changed, err := db.Pause(ctx, name, on, audit)
		if err != nil {
			return err
		}
		return a.ordered(order, []string{name}, changed, audit, engine.PauseWords(words.Clean(name), a.repeat(), on, changed))
	})
}
