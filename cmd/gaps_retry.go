package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/engine"
	"collect/internal/jsonout"
	"collect/internal/similar"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// retryOptions say which gaps are to be tried again: those that are named, or
// else all that no run tries by itself.
type retryOptions struct {
	operatorOptions
	gaps   []int64
	stream string // "": all
	gone   bool   // also what is gone for good
}

func (a *app) gapsRetryCommand() *cobra.Command {
	var o retryOptions
	c := &cobra.Command{
		Use:   "retry <name | file.yaml> [gap]...",
		Short: "Let the next run retry gaps that no run retries by itself",
		Long: `Retry lets the next run try gaps again that no run tries by itself any more:
what failed 8 times, and what the provider refused (403, 404) or sent too large.
It is for when you settled the cause: access was granted, the provider mended
it, the connector file is corrected. Without the name of a gap it is for all of
the connector, or of a --stream. What is gone for good is left alone, unless it
is named or --gone is given.

Nothing is fetched now, and nothing that is stored is fetched again: "collect
reset" does that. The tries are counted anew, so that a gap that fails as before
is left to you again. Who did it, when and why is kept. While a run of the
connector is under way, nothing is changed.`,
		Args: someGaps,
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			for _, arg := range args[1:] {
				id, _ := gapNumber(arg)
				o.gaps = append(o.gaps, id)
			}
			return a.retryGaps(c.Context(), o)
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&o.stream, "stream", "", "only gaps of this `stream`")
	c.Flags().BoolVar(&o.gone, "gone", false, "retry pieces that are gone for good, too")
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
	if slices.Contains(args[1:], "retry") {
		return problem.Usage("%s: the name stands last: collect gaps retry %s", c.CommandPath(), words.Clean(words.Quoted(args[0])))
	}
	if similar.To(args[0], []string{"retry"}) != "" {
		return problem.Usage("%s: there is no %q; there is \"retry\"", c.CommandPath(), args[0])
	}
	return atMostOneArg(c, args)
}

// retryGaps has gaps tried again by the next run.
func (a *app) retryGaps(ctx context.Context, o retryOptions) error {
	if err := needReason("collect gaps retry", o.reason); err != nil {
		return err
	}
	if len(o.gaps) > 0 && (o.stream != "" || o.gone) {
		return problem.Usage("collect gaps retry: name gaps, or give --stream or --gone, not both")
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		owed, err := db.Gaps(ctx, "")
		if err != nil {
			return err
		}
		if o.stream != "" {
			if _, err := findStream(ctx, db, name, o.stream); err != nil {
				return err
			}
		}
		order := engine.Retry{Connector: name, Gaps: o.gaps, Stream: o.stream, Gone: o.gone, Flags: a.repeat()}
		dead, idle, err := order.Choose(owed)
		if err != nil {
			return err
		}
		var revived []store.OwnedGap
		if len(dead) > 0 {
			if err := a.agree(o.operatorOptions, retryMeans(name, dead)); err != nil {
				return err
			}
			if revived, err = engine.Revive(ctx, db, name, o.reason, dead); err != nil {
				return err
			}
			idle = "a run, or another order, came before this one"
		}
		if len(revived) > 0 {
			fmt.Fprintln(a.err, retryDone(name, revived, a.repeat()))
		} else {
			fmt.Fprintln(a.err, idle+"; nothing was changed")
		}
		if a.flags.json {
			return jsonout.Print(a.out, report.GapLines(revived))
		}
		return nil
	})
}

// retryMeans says what the order will do.
func retryMeans(name string, dead []store.OwnedGap) string {
	return fmt.Sprintf("This lets the next run of %s ask again for %s: %s.", words.Clean(name), words.Counted(int64(len(dead)), "gap", "gaps"), reasonsOf(dead))
}

// reasonsOf counts gaps by their reasons, in the order met.
func reasonsOf(gaps []store.OwnedGap) string {
	n := map[collection.Reason]int64{}
	var met []collection.Reason
	for _, gap := range gaps {
		if n[gap.Reason]++; n[gap.Reason] == 1 {
			met = append(met, gap.Reason)
		}
	}
	var parts []string
	for _, reason := range met {
		parts = append(parts, fmt.Sprintf("%s (%s)", problem.Brief(reason), words.Count(n[reason])))
	}
	return strings.Join(parts, ", ")
}

// retryDone says what the order did, and how what comes next begins: each lane
// has runs of its own.
func retryDone(name string, revived []store.OwnedGap, flags string) string {
	what, them := words.Counted(int64(len(revived)), "gap", "gaps"), "them"
	if len(revived) == 1 {
		what, them = words.GapName(revived[0].ID), "it"
	}
	var begin []string
	for _, lane := range []collection.Lane{collection.Incremental, collection.Backfill} {
		if slices.ContainsFunc(revived, func(g store.OwnedGap) bool { return g.Lane == lane }) {
			begin = append(begin, problem.ResumeCommand(name, flags, lane))
		}
	}
	return fmt.Sprintf("revived: %s of %s. The next run tries %s again; to begin it now: %s", what, words.Clean(name), them, strings.Join(begin, "; and: "))
}
