package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

func (a *app) runViewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run-view <run id | name | file.yaml>",
		Short: "One run as a story: how it ended, and where its time went",
		Long: `Run-view tells one run by its id, or the newest run of a connector: the verdict,
where its time went, what it saved, what happened, the gaps that it left and that
are still owed, and the command that goes on. It sends nothing and changes nothing.`,
		Args: exactArgs("<run id | name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, id := c.Context(), args[0]
			if engine.IsRunID(id) && !a.collected(ctx, id) {
				return a.look(ctx, nil, func(v looked) error { return a.viewRun(ctx, v, "run-view", id) })
			}
			return a.look(ctx, args, func(v looked) error {
				runs, err := v.runs(ctx, 1)
				if err != nil || len(runs) == 0 {
					return err
				}
				return a.viewRun(ctx, v, "run-view", runs[0].ID)
			})
		},
	}
}

// viewRun tells one run, for a command.
func (a *app) viewRun(ctx context.Context, v looked, command, id string) error {
	unknown := problem.Usage("collect %s: there is no run %s here; see `collect runs%s`", command, id, v.flags)
	if v.db == nil {
		return unknown
	}
	view, ok, err := a.meeting(&v.settings).RunView(ctx, v.db, id, v.now)
	if err != nil {
		return err
	}
	if !ok {
		return unknown
	}
	view.Flags, view.Status.Flags = v.flags, v.flags
	return a.result(view.Line(), runViewText(view, a.width(), a.caps()))
}

// happeningsShown is how many things that happened a person is shown: the newest.
const happeningsShown = 12

// runViewText tells one run for people.
func runViewText(v report.RunView, columns int, c term.Caps) string {
	page := term.Page{Columns: columns, Label: 12}
	page.Say(v.Verdict())
	page.Add("")
	t := v.Tally
	page.Fact("run", words.Clean(v.ID)+", as "+string(v.Mode)+" in the "+string(v.Lane)+" lane")
	when := words.At(v.StartedAt, v.Now)
	if !v.EndedAt.IsZero() {
		when += " to " + words.At(v.EndedAt, v.Now)
	}
	page.Fact("when", when)
	page.Fact("saved", fmt.Sprintf("%s in %s, %s new or changed", words.Counted(t.Stored(), "record", "records"), words.Counted(t.Slices, "slice", "slices"), words.Count(t.Changed)))
	page.Fact("requests", fmt.Sprintf("%s, of them %s; throttled %s", words.Count(t.Requests), words.Counted(t.Retries, "retry", "retries"), words.Counted(t.Throttled, "time", "times")))
	if t.Rejected > 0 {
		page.Fact("quarantine", words.Counted(t.Rejected, "record", "records")+", none dropped")
	}
	page.Fact("gaps", fmt.Sprintf("%s opened, %s filled", words.Count(t.GapsOpen), words.Count(t.GapsShut)))
	if words, ok := problem.MeaningOf(string(v.Reason)); ok {
		page.Fact("stopped", words.Meaning)
	}
	stack := v.Time()
	if bar := stack.Text(columns-4, c.UTF8); bar != "" {
		page.Add("")
		page.Say(strings.ToUpper(stack.Title[:1]) + stack.Title[1:])
		for line := range strings.SplitSeq(strings.TrimSuffix(bar, "\n"), "\n") {
			page.Drawn("  " + line)
		}
	}
	happened(&page, v)
	if len(v.Owed) > 0 {
		page.Add("")
		page.Say("Still owed of what it left")
		page.Indented(report.OwedWords(v.Owed) + ".")
	}
	if say, commands := v.Next(); say != "" {
		page.Add("")
		page.Fact("next", say)
		for _, command := range commands {
			page.Fact("", command)
		}
	}
	return page.Render(c)
}

// happened says what happened in a run, the newest of it.
func happened(page *term.Page, v report.RunView) {
	all := v.Happenings()
	if len(all) == 0 {
		return
	}
	page.Add("")
	page.Say("What happened")
	if more := len(all) - happeningsShown; more > 0 {
		page.Indented(fmt.Sprintf("%s before these: --json has all that is kept", words.Counted(int64(more), "thing", "things")))
		all = all[more:]
	}
	for _, h := range all {
		page.Fact(words.At(h.Event.Time, v.Now), h.Words())
	}
}
