package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/engine"
	"collect/fleet"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) enqueueCommand() *cobra.Command {
	var all bool
	var reason string
	c := &cobra.Command{
		Use:   "enqueue <name | file.yaml>...",
		Short: "Let the workers collect connectors until they are up to date",
		Long: `Enqueue makes a turn of each connector due now, behind those that wait already.
Workers go on in turns until the connector is up to date, or somebody must act. Where
a provider cannot be asked for changes alone, that is as of when the walk began: what
changed while it took several turns is left to the next order, as collect status says. A
connector that is enqueued already stays so once; one that was to wait until later
is tried now, and waits again if the provider still asks for it. Who did it, when
and why is kept.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && !all {
				return exactArgs("<name | file.yaml>")(c, args)
			}
			if len(args) > 0 && all {
				return problem.Usage("--all is all connectors that collect.yaml names; leave out %s", words.Quoted(args[0]))
			}
			return a.enqueue(c.Context(), args, all, reason)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all connectors that collect.yaml names")
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the record")
	return c
}

func (a *app) enqueue(ctx context.Context, given []string, all bool, reason string) error {
	return a.inFleet(ctx, "collect enqueue", given, all, func(db store.Reader, f *fleet.Fleet, _ config.Settings, names []string) error {
		audit := engine.AuditOf(reason)
		if err := f.Enqueue(ctx, names, audit); err != nil {
			return err
		}
		said := fmt.Sprintf("enqueued %s; how the workers stand: collect fleet%s", words.Clean(strings.Join(names, ", ")), a.repeat())
		if err := a.ordered("enqueue", names, true, audit, said); err != nil {
			return err
		}
		for _, name := range names {
			pause, err := db.Paused(ctx, name)
			if err != nil {
				return err
			}
			if !pause.At.IsZero() {
				a.inform("", fmt.Sprintf("%s is paused, so its turn waits until it is let go on: collect unpause %[1]s%s --reason WHY", words.Clean(name), a.repeat()))
			}
		}
		return nil
	})
}

// inFleet opens the fleet, and calls do with the configuration and the names of connectors, which must be such that
// a worker can find them: those of collect.yaml, or built-in ones.
func (a *app) inFleet(ctx context.Context, command string, given []string, all bool, do func(db store.Reader, f *fleet.Fleet, s config.Settings, names []string) error) error {
	settings, err := a.fleetSettings(command)
	if err != nil {
		return err
	}
	if all {
		if given, err = settings.Configured(); err != nil {
			return err
		}
	}
	for _, name := range given {
		if _, _, err := settings.Find(ctx, name); err != nil {
			return a.exit(err, problem.Scene{Connector: name, State: settings.State})
		}
	}
	sc := problem.Scene{Command: command, State: settings.State, ByHand: true}
	db, f, err := openFleet(ctx, settings, false)
	if err != nil {
		return a.exit(err, sc)
	}
	defer db.Close()
	defer f.Close()
	if err := do(db, f, settings, given); err != nil {
		return a.exit(err, sc)
	}
	return nil
}
