package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/engine"
	"collect/pacing/gate"
)

func (a *app) breakerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "breaker",
		Short: "Stop all calls to a provider, or let them go on, by hand",
		Long: `Breaker holds the circuit breaker of the provider of a connector open or
closed, whatever the provider answers, until it is released. It holds for every
connector that uses the same account, and across restarts. Who did it, when and
why is kept.

A run that uses the account hears of it before its next request leaves. Where
that cannot be, because the run does not share its pace or its credential is not
known here, nothing is changed and the way out is said.`,
		Args: oneOfCommands("open", "close", "release"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		a.orderCommand("open", "Let no request out until it is released", order{
			command: "collect breaker open",
			means:   "This stops all calls to %s by this account until you release it. The work that is left becomes gaps.",
			done:    "held open: no request to %[1]s leaves. To end it: collect breaker release %[2]s%[3]s --reason WHY",
			idle:    "the breaker of %s is held open already",
			Order:   engine.Order{Apply: gate.ForceOpen},
		}),
		a.orderCommand("close", "Let requests out even if they fail, until it is released", order{
			command: "collect breaker close",
			means:   "This lets requests to %s out even if they fail. Going on against refusals may bring a ban.",
			done:    "held closed: no failure of %[1]s stops a run. To end it: collect breaker release %[2]s%[3]s --reason WHY",
			idle:    "the breaker of %s is held closed already",
			Order: engine.Order{Apply: gate.ForceClosed, Refuse: func(s gate.Status) string {
				if s.Frozen {
					return "%s is frozen, and a freeze outranks the breaker; first: collect freeze release"
				}
				return ""
			}},
		}),
		a.orderCommand("release", "Let the breaker decide for itself again", order{
			command: "collect breaker release",
			means:   "This lets the breaker of %s decide for itself again.",
			done:    "released: the breaker of %[1]s decides for itself again, from the next run of %[2]s on",
			idle:    "no operator holds the breaker of %s",
			Order: engine.Order{Apply: func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
				return gate.ReleaseBreaker(state, now)
			}},
		}),
	)
	return c
}

// orderCommand returns the command that gives an order.
func (a *app) orderCommand(name, short string, what order) *cobra.Command {
	var o operatorOptions
	c := &cobra.Command{
		Use:   name + " <name | file.yaml>",
		Short: short,
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.give(c.Context(), o, what)
		},
	}
	o.addFlags(c)
	return c
}
