package cmd

import (
	"github.com/spf13/cobra"

	"collect/engine"
)

func (a *app) freezeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Freeze a provider, or release one that was frozen after a 403",
		Long: `Freeze stops all calls to the provider of a connector, as a 403 does that nobody
can explain: for every connector that uses the same account, and across
restarts. Who did it, when and why is kept. A release lets one test request out;
all others wait for what it brings: an answer ends the freeze, and a 403 begins
it anew. Where nothing is frozen, but a provider asked for a pause or a quota is
used up, a release lets one request ask before that is over: for when you know
that it has granted more.

A run that uses the account hears of it before its next request leaves. Where
that cannot be, because the run does not share its pace or its credential is not
known here, nothing is changed and the way out is said.`,
		Args: oneOfCommands("on", "release"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.lastingCommand("on", "Stop all calls until you release it, or for a time", engine.FreezeOn), a.orderCommand("release", "Let one request ask, after you settled it with the provider", engine.FreezeRelease))
	return c
}
