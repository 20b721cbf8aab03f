package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/pacing/gate"
)

func (a *app) freezeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Freeze a provider, or release one that was frozen after a 403",
		Long: `Freeze stops all calls to the provider of a connector, as a 403 does that nobody
can explain: for every connector that uses the same account, and across
restarts. Who did it, when and why is kept.

A run that uses the account hears of it before its next request leaves. Where
that cannot be, because the run does not share its pace or its credential is not
known here, nothing is changed and the way out is said.`,
		Args: oneOfCommands("on", "release"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	release := a.orderCommand("release", "Let requests go out again, after you settled it with the provider", order{
		command: "collect freeze release",
		means:   "This lets requests to %s out again. The first one that is answered 403 freezes it again.",
		done:    "released: the next run of %[2]s asks %[1]s again, at a careful pace",
		idle:    "%s is not frozen, and no 403 bounds its pace",
		Order: engine.Order{Apply: func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
			if state == nil {
				return nil, nil, nil
			}
			return gate.Release(state, now)
		}},
	})
	c.AddCommand(a.freezeOnCommand(), release)
	return c
}

// freezeOnCommand freezes until a person releases it, or for a time.
func (a *app) freezeOnCommand() *cobra.Command {
	var (
		o   operatorOptions
		how time.Duration
	)
	c := &cobra.Command{
		Use:   "on <name | file.yaml>",
		Short: "Stop all calls until you release it, or for a time",
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			what := order{
				command: "collect freeze on",
				means:   "This stops all calls to %s by this account until you release it.",
				done:    "frozen: no request to %[1]s leaves. To end it: collect freeze release %[2]s%[3]s --reason WHY",
				idle:    "%s is frozen already, for as long or longer",
				Order:   engine.Order{Apply: gate.ForceFreeze},
			}
			if how > 0 {
				what.means = "This stops all calls to %s by this account for " + words.Span(how) + "; then one test request may go out."
				what.Apply = func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
					return gate.ForceHold(state, now, now.Add(how), note)
				}
			}
			return a.give(c.Context(), o, what)
		},
	}
	o.addFlags(c)
	c.Flags().Var((*config.DurationFlag)(&how), "for", "freeze for this `duration` (30m, 2h, 7d) (default: until it is released)")
	return c
}
