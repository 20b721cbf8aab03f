package engine

import (
	"fmt"
	"slices"
	"strings"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// Means says what the order will do to the gaps that were chosen.
func (o GapOrder) Means(chosen []store.OwnedGap) string {
	n, name := words.Counted(int64(len(chosen)), "gap", "gaps"), words.Clean(o.Connector)
	if o.Waive {
		return fmt.Sprintf("This gives up %s of %s: %s. No run asks for them again.", n, name, reasonsOf(chosen))
	}
	return fmt.Sprintf("This lets the next run of %s ask again for %s: %s.", name, n, reasonsOf(chosen))
}

// Done says what the order did, and how it is taken back, or how what comes next
// begins: each lane has runs of its own.
func (o GapOrder) Done(changed []store.OwnedGap) string {
	name := words.Clean(o.Connector)
	what, them, they := words.Counted(int64(len(changed)), "gap", "gaps"), "them", "They are"
	if len(changed) == 1 {
		what, them, they = words.GapName(changed[0].ID), "it", "It is"
	}
	if o.Waive {
		back := problem.GapCommand("retry", o.Connector, " --waived"+o.Flags)
		if len(changed) == 1 {
			back = problem.RetryCommand(o.Connector, o.Flags, changed[0].ID)
		}
		return fmt.Sprintf("waived: %s of %s. %s not owed any more, and no run asks again; to take it back: %s", what, name, they, back)
	}
	var begin []string
	for _, lane := range []collection.Lane{collection.Incremental, collection.Backfill} {
		if slices.ContainsFunc(changed, func(g store.OwnedGap) bool { return g.Lane == lane }) {
			begin = append(begin, problem.ResumeCommand(o.Connector, o.Flags, lane))
		}
	}
	return fmt.Sprintf("revived: %s of %s. The next run tries %s again; to begin it now: %s", what, name, them, strings.Join(begin, "; and: "))
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
