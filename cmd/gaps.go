package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// gapsShown is how many gaps a person is shown; --json and --all have no bound.
const gapsShown = 40

func (a *app) gapsCommand() *cobra.Command {
	var all, calendar bool
	c := &cobra.Command{
		Use:        "gaps [name | file.yaml]",
		Short:      "What is owed, and why",
		Args:       gapsOrShow,
		SuggestFor: []string{"retry", "revive", "waive"},
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				if calendar {
					timelines, err := a.timelines(c.Context(), v)
					if err != nil {
						return err
					}
					return a.result(report.TimelineLines(timelines), a.nothingOr(v, calendarText(timelines, a.width(), a.caps())))
				}
				gaps, err := v.gaps(c.Context())
				if err != nil {
					return err
				}
				if report.OwedCount(gaps) > 0 && !a.flags.json {
					if v.held, err = a.held(c.Context(), v); err != nil {
						return err
					}
				}
				most := gapsShown
				if all {
					most = 0
				}
				return a.result(report.GapLines(gaps), a.nothingOr(v, gapsTable(v, gaps, most, a.width(), a.caps())))
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show every gap, and those that were waived")
	c.Flags().BoolVar(&calendar, "calendar", false, "show which days are complete, of streams that are walked in windows of time")
	c.AddCommand(a.gapsRetryCommand(), a.gapsWaiveCommand())
	return c
}

func (v looked) gaps(ctx context.Context) ([]store.OwnedGap, error) {
	if v.db == nil {
		return nil, nil
	}
	return v.db.Gaps(ctx, v.name)
}

// held says of each connector that sends nothing until a person acts why that is, and
// what ends it.
func (a *app) held(ctx context.Context, v looked) (map[string]string, error) {
	held := map[string]string{}
	if v.db == nil {
		return held, nil
	}
	all, err := a.meeting(&v.settings).Statuses(ctx, v.db, v.name, v.now)
	for _, s := range all {
		s.Flags = v.flags
		if why, end := s.Order(v.now); why != "" {
			held[s.Name] = why + ". To end that: " + end
		}
	}
	return held, err
}

// gapsTable returns what is owed as a table of at most most rows (0: all),
// what needs a person first and what is gone for good last, as v looks at them.
// Those that were waived stand apart, behind it.
func gapsTable(v looked, all []store.OwnedGap, most, columns int, c term.Caps) string {
	gaps := slices.DeleteFunc(slices.Clone(all), func(g store.OwnedGap) bool { return g.Waived() })
	apart := waivedLines(v, report.Waived(all), most > 0, columns, c)
	if len(gaps) == 0 {
		if v.name != "" {
			return fmt.Sprintf("nothing is owed for %s\n", words.Clean(v.name)) + apart
		}
		return "nothing is owed\n" + apart
	}
	slices.SortStableFunc(gaps, func(a, b store.OwnedGap) int { return int(report.UrgencyOf(a) - report.UrgencyOf(b)) })
	shown := gaps
	if most > 0 && len(gaps) > most {
		shown = gaps[:most]
	}
	t := term.Table{
		Head:  []string{"GAP", "WHERE", "KIND", "WHY", "TRIES", "NEXT"},
		Right: []int{4}, Give: []int{1}, Drop: []int{4, 2, 5},
		Paint: func(row, column int) string {
			if column == 2 && report.UrgencyOf(shown[row]) == report.ByPerson {
				return term.Red
			}
			return ""
		},
	}
	for _, gap := range shown {
		t.Rows = append(t.Rows, []string{
			words.GapName(gap.ID), report.WhereOwed(v.name, gap), kindWords(gap), problem.Brief(gap.Reason),
			fmt.Sprint(gap.Attempts), report.NextTry(gap, v.now),
		})
	}
	var b strings.Builder
	b.WriteString(t.Render(columns, c))
	if more := len(gaps) - len(shown); more > 0 {
		fmt.Fprintf(&b, "and %s more; to see all: --all\n", words.Count(int64(more)))
	}
	say := func(text string) { b.WriteString(c.Text(strings.Join(term.Wrap("", text, columns), "\n")) + "\n") }
	b.WriteString("\n")
	for _, line := range report.StuckDetails(shown) {
		say(line)
	}
	say(report.OwedWords(gaps) + report.ShapeWords(gaps) + ".")
	if report.OwedCount(gaps) == 0 {
		return b.String() + apart
	}
	left, that := report.LeftToYou(gaps), "that"
	tried := func(g store.OwnedGap) bool {
		return g.State != collection.GapDead && (!g.Settled() || g.Revived())
	}
	yours := func(g store.OwnedGap) bool { return tried(g) && report.UrgencyOf(g) == report.ByPerson }
	due := func(g store.OwnedGap) bool { return tried(g) && !yours(g) && !g.NotBefore.After(v.now) }
	if slices.ContainsFunc(gaps, tried) {
		that = words.Count(int64(len(left))) + " of them"
	}
	// Of a frozen account nothing else is to be said: one release, or one answer, settles all.
	frozen := func(g store.OwnedGap) bool { return tried(g) && g.Reason == collection.Frozen }
	told := map[string]bool{}
	for _, g := range gaps {
		if !frozen(g) || told[g.Connector] {
			continue
		}
		told[g.Connector] = true
		until := ""
		if g.NotBefore.After(v.now) {
			until = ", or wait for a test request after " + words.At(g.NotBefore, v.now)
		}
		say("The account of " + words.Clean(g.Connector) + " is frozen. Release it" + until + ": collect freeze release " + words.Clean(g.Connector) + v.flags + " --reason WHY")
	}
	gaps = slices.DeleteFunc(slices.Clone(gaps), frozen)
	if i := slices.IndexFunc(gaps, due); i >= 0 && v.held[gaps[i].Connector] != "" {
		say("What is due now is not tried: " + v.held[gaps[i].Connector])
	} else if i >= 0 {
		say("To try what is due now: " + problem.ResumeCommand(gaps[i].Connector, v.flags, gaps[i].Lane))
	} else if first := report.FirstWait(gaps, v.now); !first.IsZero() {
		say("Nothing is due before " + words.At(first, v.now) + "; a run after that continues by itself.")
	}
	if i := slices.IndexFunc(gaps, yours); i >= 0 {
		name := words.GapName(gaps[i].ID)
		say(fmt.Sprintf("Each run tries %s again, which helps once its cause is settled. What to do: %s", name, v.command("explain", name)))
	}
	if len(left) == 1 {
		that = words.GapName(left[0].ID)
	}
	if len(left) > 0 {
		say(fmt.Sprintf("No run tries %s again. What to do: %s", that, v.command("explain", words.GapName(left[0].ID))))
		say("When that is done: " + problem.RetryCommand(left[0].Connector, v.flags))
	}
	return b.String() + apart
}

// waivedLines says how many gaps were waived; unless brief, each with who did it,
// when and why.
func waivedLines(v looked, waived []store.OwnedGap, brief bool, columns int, c term.Caps) string {
	if len(waived) == 0 {
		return ""
	}
	var b strings.Builder
	say := func(indent, text string) {
		b.WriteString(c.Text(strings.Join(term.Wrap(indent, text, columns), "\n")) + "\n")
	}
	total := words.Counted(int64(len(waived)), "gap was waived: not owed, and not tried", "gaps were waived: not owed, and not tried")
	if brief {
		say("", total+"; to see who did it, and why: --all")
		return b.String()
	}
	say("", total+".")
	for _, gap := range waived {
		say("  ", fmt.Sprintf("%s %s (%s), %s", words.GapName(gap.ID), report.WhereOwed(v.name, gap), problem.Brief(gap.Reason), report.WaiverWords(gap, v.now)))
	}
	say("", "To take it back: "+problem.RetryCommand(waived[0].Connector, v.flags, waived[0].ID))
	return b.String()
}

func kindWords(gap store.OwnedGap) string {
	switch report.UrgencyOf(gap) {
	case report.ByPerson:
		return "× stuck"
	case report.ByNoOne:
		return "gone"
	}
	return string(gap.Kind())
}

// settled stands before the order where something is left to a person.
const settled = "when the cause is settled, to retry what no run retries by itself:"

// toRetry says with which command gaps are retried that are left to a person, if
// there are any.
func toRetry(page *term.Page, gaps []store.OwnedGap, command string) {
	if len(report.LeftToYou(gaps)) > 0 {
		page.Fact("then", settled)
		page.Fact("", command)
	}
}
