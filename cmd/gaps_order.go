package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"collect/engine"
	"collect/internal/similar"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// gapOptions say which gaps an order is for: those that are named, or else all
// that no run tries by itself.
type gapOptions struct {
	operatorOptions
	order engine.GapOrder
}

func (a *app) gapsRetryCommand() *cobra.Command {
	var o gapOptions
	c := a.gapOrderCommand(&o)
	c.Use = "retry <name | file.yaml> [gap]..."
	c.Short = "Let the next run retry gaps that no run retries by itself"
	c.Long = `Retry lets the next run try gaps again that no run tries by itself any more:
what failed 8 times, and what the provider refused (403, 404) or sent too large.
It is for when you settled the cause: access was granted, the provider mended
it, the connector file is corrected. What a run would try by itself, but only
after a pause, is tried without the pause; where the provider said how long to
wait, or its account is frozen, nothing is sent before that ends. Without the
name of a gap it is for all of the connector, or of a --stream. What is gone for
good is left alone, unless it is named or --gone is given, and so is what was
waived, with --waived.

Nothing is fetched now, and nothing that is stored is fetched again: "collect
reset" does that. The tries are counted anew, so that a gap that fails as before
is left to you again. Who did it, when and why is kept. While a run of the
connector is under way, nothing is changed.`
	c.Flags().BoolVar(&o.order.Gone, "gone", false, "retry pieces that are gone for good, too")
	c.Flags().BoolVar(&o.order.Waived, "waived", false, "retry pieces that were waived, too: they are owed again")
	return c
}

func (a *app) gapsWaiveCommand() *cobra.Command {
	o := gapOptions{order: engine.GapOrder{Waive: true}}
	c := a.gapOrderCommand(&o)
	c.Use = "waive <name | file.yaml> [gap]..."
	c.Short = "Give gaps up: they are not owed any more, and stay visible"
	c.Long = `Waive gives up gaps: no run tries them again, and no run fails because of them.
They are not forgotten: "collect gaps --all" shows them with who waived them,
when and why, and status counts them. Name gaps, or give a --stream for all of
it that no run tries by itself. "collect gaps retry" takes it back.

A gap at which the walk of a whole list stands cannot be waived: all that comes
behind it would never be collected. A waiver ends with "collect reset" of the
stream. While a run of the connector is under way, nothing is changed.`
	return c
}

// gapOrderCommand returns what the commands that give orders on gaps have in common.
func (a *app) gapOrderCommand(o *gapOptions) *cobra.Command {
	c := &cobra.Command{
		Args: someGaps,
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			for _, arg := range args[1:] {
				id, _ := gapNumber(arg)
				o.order.Gaps = append(o.order.Gaps, id)
			}
			return a.orderGaps(c.Context(), c.CommandPath(), *o)
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&o.order.Stream, "stream", "", "only gaps of this `stream`")
	return c
}

// someGaps takes a connector and the names of gaps.
func someGaps(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return problem.Usage("%s: missing <name | file.yaml>", c.CommandPath())
	}
	if _, ok := gapNumber(args[0]); ok {
		return problem.Usage("%s: %s is a gap; the name of its connector stands before it, as `collect explain %[2]s` has it", c.CommandPath(), args[0])
	}
	for _, arg := range args[1:] {
		if _, ok := gapNumber(arg); !ok {
			return problem.Usage("%s: %q is no gap; they are named as `collect gaps` does: g_31", c.CommandPath(), arg)
		}
	}
	return nil
}

// gapsOrShow takes an optional connector, as what shows gaps does, and knows
// who meant the order.
func gapsOrShow(c *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	orders := []string{"retry", "waive"}
	for _, verb := range orders {
		if slices.Contains(args[1:], verb) {
			return problem.Usage("%s: the name stands last: collect gaps %s %s", c.CommandPath(), verb, words.Clean(words.Quoted(args[0])))
		}
	}
	if verb := similar.To(args[0], orders); verb != "" {
		return problem.Usage("%s: there is no %q; there is %q", c.CommandPath(), args[0], verb)
	}
	return atMostOneArg(c, args)
}

// orderGaps gives an order on gaps.
func (a *app) orderGaps(ctx context.Context, command string, o gapOptions) error {
	if err := needReason(command, o.reason); err != nil {
		return err
	}
	order := o.order
	switch {
	case len(order.Gaps) > 0 && (order.Stream != "" || order.Gone || order.Waived):
		return problem.Usage("%s: name gaps, or give flags that choose them, not both", command)
	case order.Waive && len(order.Gaps) == 0 && order.Stream == "":
		return problem.Usage("%s: name the gaps to give up, or give --stream", command)
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		owed, err := db.Gaps(ctx, "")
		if err != nil {
			return err
		}
		if order.Stream != "" {
			if _, err := findStream(ctx, db, name, order.Stream); err != nil {
				return err
			}
		}
		order.Connector, order.Flags, order.Now = name, a.repeat(), time.Now()
		chosen, idle, err := order.Choose(owed)
		if err != nil {
			return err
		}
		var changed []store.OwnedGap
		if len(chosen) > 0 {
			if err := a.agree(ctx, o.operatorOptions, order.Means(chosen)); err != nil {
				return err
			}
			if changed, err = order.CarryOut(ctx, db, engine.AuditOf(o.reason), chosen); err != nil {
				return err
			}
			idle = "a run, or another order, came before this one"
		}
		if len(changed) > 0 {
			fmt.Fprintln(a.err, order.Done(changed))
		} else {
			fmt.Fprintln(a.err, idle+"; nothing was changed")
		}
		if a.flags.json {
			return a.print(report.GapLines(changed))
		}
		return nil
	})
}
