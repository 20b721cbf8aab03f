package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"collect/pacing/gate"
	"collect/store"
)

func (a *app) freezeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Release a provider that was frozen after a 403",
		Args:  exactArgs(),
	}
	var reason string
	release := &cobra.Command{
		Use:   "release <name | file.yaml>",
		Short: "Let requests go out again, after you settled it with the provider",
		Long: `Release ends the freeze of the provider of a connector. The next run asks
again at a careful pace; another 403 freezes it again. Who released it, when
and why is kept.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error { return a.release(c.Context(), args[0], reason) },
	}
	release.Flags().StringVar(&reason, "reason", "", "why it may go on, for the record; required")
	c.AddCommand(release)
	return c
}

func (a *app) release(ctx context.Context, arg, reason string) error {
	if reason == "" {
		return &usageError{"collect freeze release: missing --reason"}
	}
	return a.change(ctx, arg, func(db store.Store, name string) error {
		released, err := releaseFreeze(ctx, db, name, store.Audit{Who: whoami(), Why: reason, Holder: thisProcess()})
		if err != nil {
			return err
		}
		if !released {
			fmt.Fprintf(a.err, "%s is not frozen; nothing was changed\n", name)
			return nil
		}
		fmt.Fprintf(a.err, "released: the next run of %s asks its provider again\n", name)
		return nil
	})
}

// releaseFreeze ends the freeze of the account that the newest run of a
// connector used. It reports whether there was one.
func releaseFreeze(ctx context.Context, db store.Store, name string, audit store.Audit) (bool, error) {
	runs, err := db.Runs(ctx, name, 1)
	if err != nil || len(runs) == 0 {
		return false, err
	}
	state, err := db.Provider(ctx, runs[0].Domain)
	if err != nil || state == nil {
		return false, err
	}
	state, events, err := gate.Release(state, time.Now())
	if err != nil || len(events) == 0 {
		return false, err
	}
	return true, db.Override(ctx, name, runs[0].Domain, state, audit, events...)
}
