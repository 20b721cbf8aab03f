package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A statusColumn is a column that only the wide table has.
type statusColumn struct {
	head string
	cell func(report.Status, time.Time) string
}

// statusWide is the table with all that is known of the pace and of the runs.
func statusWide(all []report.Status, now time.Time, columns int, c term.Caps) string {
	account := func(words func(a *report.Account, now time.Time) string) func(report.Status, time.Time) string {
		return func(s report.Status, now time.Time) string {
			if s.Account == nil {
				return ""
			}
			return words(s.Account, now)
		}
	}
	return statusTable(all, now, columns, c,
		statusColumn{"PACE", report.Status.PaceWords},
		statusColumn{"BREAKER", account(func(a *report.Account, _ time.Time) string { return a.BreakerWords() })},
		statusColumn{"COLLECTED BY", report.Status.HolderWords},
		statusColumn{"LIMITED BY", report.Status.LimitWords},
	)
}

// statusTable returns all connectors as a table, what needs a person first,
// and one closing sentence if something does. more stand behind its own columns.
func statusTable(all []report.Status, now time.Time, columns int, c term.Caps, more ...statusColumn) string {
	if len(all) == 0 {
		return c.Text("nothing was collected yet. To begin: collect run <name | file.yaml>\n")
	}
	o := report.OverviewOf(all, now)
	t := term.Table{
		Head:  []string{"CONNECTOR", "STATE", "NEXT", "COMPLETE", "OWED", "SAVED"},
		Right: []int{3, 4, 5}, Give: []int{0, 2}, Drop: []int{3, 5}, Prose: []int{2},
		Paint: func(row, column int) string {
			if column != 1 {
				return ""
			}
			return healthColors[o.All[row].State]
		},
	}
	for _, column := range more {
		t.Head = append(t.Head, column.head)
		t.Give = append(t.Give, len(t.Head)-1)
		t.Drop = append(t.Drop, len(t.Head)-1)
	}
	for _, s := range o.All {
		row := []string{
			words.Clean(s.Name), healthWords(s.State), s.Next, fmt.Sprintf("%d of %d", s.Complete(), len(s.Collected())),
			words.Count(int64(report.OwedCount(s.Owed))), words.Ago(s.SavedAt(), now),
		}
		for _, column := range more {
			row = append(row, cmp.Or(column.cell(s.Status, now), "-"))
		}
		t.Rows = append(t.Rows, row)
	}
	text := t.Render(columns, c)
	if o.Needy > 0 {
		verb := "need"
		if o.Needy == 1 {
			verb = "needs"
		}
		why, first := "gaps", o.All[0]
		stuck := func(g store.OwnedGap) bool { return report.UrgencyOf(g) == report.ByPerson }
		if order, _ := first.Order(now); order != "" && !slices.ContainsFunc(first.Owed, stuck) {
			why = "explain"
		} else if report.BrokeWords(first.Newest()) != "" && first.State == report.Stuck && !slices.ContainsFunc(first.Owed, stuck) {
			why = "run-view"
		}
		text += fmt.Sprintf("\n%d of %d %s you. See why: %s\n", o.Needy, len(all), verb, first.Command(why))
	}
	left := func(s report.Stood) bool { return len(report.LeftToYou(s.Owed)) > 0 }
	if i := slices.IndexFunc(o.All, left); i >= 0 {
		text += strings.Join(term.Wrap("", "When"+settled[len("when"):], columns), "\n") + "\n  " + problem.RetryCommand(o.All[i].Name, o.All[i].Flags) + "\n"
	}
	return text
}
