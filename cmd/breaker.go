package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/engine"
)

func (a *app) breakerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "breaker",
		Short: "Stop all calls to a provider, or let them go on, by hand",
		Long: `Breaker holds the circuit breaker of the provider of a connector open or
closed, whatever the provider answers, until it is released or for a time. It
holds for every connector that uses the same account, and across restarts. Who did it, when and
why is kept.

A run that uses the account hears of it before its next request leaves. Where
that cannot be, because the run does not share its pace or its credential is not
known here, nothing is changed and the way out is said.`,
		Args: oneOfCommands("open", "close", "release"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		a.lastingCommand("open", "Let no request out until you release it, or for a time", engine.BreakerOpen),
		a.lastingCommand("close", "Let requests out even if they fail, until released or for a time", engine.BreakerClose),
		a.orderCommand("release", "Let the breaker decide for itself again", engine.BreakerRelease),
	)
	return c
}

// lastingCommand returns the command that gives an order which holds until a person
// ends it, or for a time.
func (a *app) lastingCommand(name, short string, what func(lasts time.Duration) engine.AccountOrder) *cobra.Command {
	var lasts time.Duration
	c := a.givingCommand(name, short, func() engine.AccountOrder { return what(lasts) })
	addFor(c, &lasts)
	return c
}

// addFor adds the flag that says for how long an order holds.
func addFor(c *cobra.Command, lasts *time.Duration) {
	c.Flags().Var((*config.DurationFlag)(lasts), "for", "for this `duration` (30m, 2h, 7d) (default: until it is released)")
}

// orderCommand returns the command that gives an order.
func (a *app) orderCommand(name, short string, what engine.AccountOrder) *cobra.Command {
	return a.givingCommand(name, short, func() engine.AccountOrder { return what })
}

// givingCommand returns the command that gives the order that its flags make.
func (a *app) givingCommand(name, short string, what func() engine.AccountOrder) *cobra.Command {
	var o operatorOptions
	c := &cobra.Command{
		Use:   name + " <name | file.yaml>",
		Short: short,
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.give(c.Context(), o, what())
		},
	}
	o.addFlags(c)
	return c
}
