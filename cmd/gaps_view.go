package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// gapsTable returns what is owed as a table of at most most rows (0: all),
// what needs a person first and what is gone for good last, as v looks at them.
func gapsTable(v looked, gaps []store.OwnedGap, most, columns int, c term.Caps) string {
	if len(gaps) == 0 {
		if v.name != "" {
			return fmt.Sprintf("nothing is owed for %s\n", words.Clean(v.name))
		}
		return "nothing is owed\n"
	}
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b store.OwnedGap) int { return urgency(a) - urgency(b) })
	shown := gaps
	if most > 0 && len(gaps) > most {
		shown = gaps[:most]
	}
	t := term.Table{
		Head:  []string{"GAP", "WHERE", "KIND", "WHY", "TRIES", "NEXT"},
		Right: []int{4}, Give: []int{1}, Drop: []int{4, 2, 5},
		Paint: func(row, column int) string {
			if column == 2 && urgency(shown[row]) == 0 {
				return term.Red
			}
			return ""
		},
	}
	for _, gap := range shown {
		t.Rows = append(t.Rows, []string{
			words.GapName(gap.ID), whereOwed(v.name, gap), kindWords(gap), problem.Brief(gap.Reason),
			fmt.Sprint(gap.Attempts), nextTry(gap, v.now),
		})
	}
	var b strings.Builder
	b.WriteString(t.Render(columns, c))
	if more := len(gaps) - len(shown); more > 0 {
		fmt.Fprintf(&b, "and %s more; to see all: --all\n", words.Count(int64(more)))
	}
	say := func(text string) { b.WriteString(c.Text(strings.Join(term.Wrap("", text, columns), "\n")) + "\n") }
	b.WriteString("\n")
	for _, line := range stuckDetails(shown) {
		say(line)
	}
	say(summary{Owed: gaps}.gapWords() + shapeWords(gaps) + ".")
	if report.OwedCount(gaps) == 0 {
		return b.String()
	}
	left, that := leftToYou(gaps), "that"
	tried := func(g store.OwnedGap) bool {
		return g.State != collection.GapDead && (g.Reason != collection.Gone || g.Revived())
	}
	due := func(g store.OwnedGap) bool { return tried(g) && !g.NotBefore.After(v.now) }
	if slices.ContainsFunc(gaps, tried) {
		that = words.Count(int64(len(left))) + " of them"
	}
	if i := slices.IndexFunc(gaps, due); i >= 0 {
		say("To try what is due now: " + problem.ResumeCommand(gaps[i].Connector, v.flags, gaps[i].Lane))
	} else if first := report.FirstWait(gaps, v.now); !first.IsZero() {
		say("Nothing is due before " + words.At(first, v.now) + "; a run after that continues by itself.")
	}
	if len(left) == 1 {
		that = words.GapName(left[0].ID)
	}
	if len(left) > 0 {
		say(fmt.Sprintf("No run tries %s again. What to do: %s", that, v.command("explain", words.GapName(left[0].ID))))
		say("When that is done: " + problem.RetryCommand(left[0].Connector, v.flags))
	}
	return b.String()
}

// mostDetails bounds the details that stand below a table of gaps.
const mostDetails = 3

// stuckDetails returns what is known of gaps that need a person, a line for the
// gaps that have it in common.
func stuckDetails(gaps []store.OwnedGap) (lines []string) {
	n := map[string]int{}
	for _, gap := range gaps {
		n[gap.Detail]++
	}
	for _, gap := range gaps {
		if gap.Detail == "" || n[gap.Detail] == 0 || urgency(gap) != 0 || len(lines) == mostDetails {
			continue
		}
		who := words.GapName(gap.ID)
		if more := n[gap.Detail] - 1; more > 0 {
			who += fmt.Sprintf(" and %s more", words.Count(int64(more)))
		}
		n[gap.Detail] = 0
		lines = append(lines, who+": "+words.Clean(gap.Detail))
	}
	return lines
}

// shapeWords counts what is owed by its shape.
func shapeWords(gaps []store.OwnedGap) string {
	n := map[collection.Shape]int64{}
	for _, gap := range gaps {
		if gap.Reason != collection.Gone {
			n[gap.Shape]++
		}
	}
	var parts []string
	for _, shape := range []collection.Shape{collection.DetailGap, collection.SliceGap} {
		if n[shape] > 0 {
			parts = append(parts, words.Count(n[shape])+" "+string(shape))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// leftToYou returns the gaps that are owed and that no run tries again by
// itself.
func leftToYou(gaps []store.OwnedGap) (left []store.OwnedGap) {
	for _, gap := range gaps {
		if gap.State == collection.GapDead && gap.Reason != collection.Gone {
			left = append(left, gap)
		}
	}
	return left
}

// urgency orders gaps by who acts.
func urgency(gap store.OwnedGap) int {
	switch {
	case gap.Revived():
		return 2
	case gap.Reason == collection.Gone:
		return 3
	case gap.Kind() == collection.Stuck:
		return 0
	case gap.Kind() == collection.Pressure:
		return 1
	}
	return 2
}

func whereOwed(name string, gap store.OwnedGap) string {
	where := words.Clean(gap.Stream)
	if name == "" {
		where = words.Clean(gap.Connector) + "/" + where
	}
	if gap.Partition != "" {
		where += " " + words.Clean(gap.Partition.String())
	}
	if gap.Lane == collection.Backfill {
		where += " (backfill)"
	}
	return where
}

func kindWords(gap store.OwnedGap) string {
	switch urgency(gap) {
	case 0:
		return "× stuck"
	case 3:
		return "gone"
	}
	return string(gap.Kind())
}

// nextTry says who tries the gap again, and when.
func nextTry(gap store.OwnedGap, now time.Time) string {
	switch {
	case gap.State == collection.GapLeased:
		return "being tried"
	case gap.Revived():
		return "next run"
	case gap.Reason == collection.Gone:
		return "nothing"
	case gap.Kind() == collection.Stuck:
		return "you"
	case gap.NotBefore.After(now):
		return words.At(gap.NotBefore, now)
	}
	return "next run"
}
