package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

func (a *app) runsCommand() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:   "runs [name | file.yaml]",
		Short: "The newest runs",
		Args:  atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				runs, err := v.runs(c.Context(), limit)
				if err != nil {
					return err
				}
				return a.result(report.RunLines(runs), a.nothingOr(v, runsTable(v.name, runs, v.now, a.width(), a.caps())+brokeLines(runs, v.flags, a.width())))
			})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", limit, "show at most `n` runs")
	return c
}

func (v looked) runs(ctx context.Context, n int) ([]collection.Run, error) {
	if v.db == nil {
		return nil, nil
	}
	return report.Runs(ctx, v.db, v.name, n)
}

// runsTable returns runs as a table, in their order. name is the connector
// that was asked for, "" for all.
func runsTable(name string, runs []collection.Run, now time.Time, columns int, c term.Caps) string {
	if len(runs) == 0 {
		if name != "" {
			return fmt.Sprintf("%s was never run\n", words.Clean(name))
		}
		return "nothing was run yet\n"
	}
	drop := []int{6, 1, 3, 2, 5}
	if !slices.ContainsFunc(runs, func(r collection.Run) bool { return r.Connector != runs[0].Connector }) {
		drop = []int{1, 6, 3, 2, 5} // it says the same in every line
	}
	t := term.Table{
		Head:  []string{"RUN", "CONNECTOR", "STARTED", "TOOK", "OUTCOME", "RECEIVED", "REQUESTS", "EXIT"},
		Right: []int{3, 5, 6, 7}, Give: []int{1}, Drop: drop, // a run's name is for copying
		Paint: func(row, column int) string {
			if column != 4 {
				return ""
			}
			return outcomeColor(runs[row].Outcome)
		},
	}
	for _, run := range runs {
		exit := fmt.Sprint(run.ExitCode)
		if !report.Said(run) {
			exit = "-"
		}
		t.Rows = append(t.Rows, []string{
			words.Clean(run.ID), words.Clean(run.Connector), startedWords(run.StartedAt, now), tookWords(run, now), strings.TrimSpace(report.OutcomeWords(run.Outcome) + " " + run.Metrics.Broke),
			words.Count(run.Tally.Records), words.Count(run.Tally.Requests), exit,
		})
	}
	return t.Render(columns, c)
}

// brokeLines says, for each code of an error in the table of runs, what the newest of them with it
// failed by, and where there is more; "" if none failed.
func brokeLines(runs []collection.Run, flags string, columns int) string {
	var lines []string
	said := map[string]bool{}
	for _, run := range runs {
		if why := report.BrokeWords(run); why != "" && !said[run.Metrics.Broke] {
			said[run.Metrics.Broke] = true
			lines = append(lines, term.Wrap("", why+"; see: "+problem.Command("run-view", run.ID, flags), columns)...)
		}
	}
	if lines == nil {
		return ""
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

func startedWords(t, now time.Time) string { return t.In(now.Location()).Format("01-02 15:04") }

func tookWords(run collection.Run, now time.Time) string {
	switch {
	case !run.EndedAt.IsZero():
		return words.Span(run.EndedAt.Sub(run.StartedAt).Round(time.Second))
	case run.Outcome == collection.Running:
		return words.Span(max(0, now.Sub(run.StartedAt)).Round(time.Second))
	}
	return "?"
}
