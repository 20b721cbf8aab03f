package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain <name | file.yaml | run id | gap id | reason | code>",
		Short: "Why this pace, what stops a run first, what would make it faster",
		Long: `Explain says why requests leave as they do: what limits them, where each limit
comes from, which one binds now, what was learned and when, and what would make
it faster. It tells one run or one gap ("g_31") if it is given its id, and the
long words for a reason ("retry_after"), the code of a message ("E0301"), an
exit code ("75") or the shape of a gap ("DETAIL_GAP").

All of it comes from the database, the files of the configuration, and what runs
that share the account left for each other on this host. Nothing is sent, and
nothing is changed.`,
		Args: exactArgs("<name | file.yaml | run id | gap id | reason | code>"),
		RunE: func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0]) },
	}
}

func (a *app) explain(ctx context.Context, arg string) error {
	words, isWord := problem.MeaningOf(arg)
	gap, isGap := gapNumber(arg)
	if isRun := engine.IsRunID(arg); (isWord || isGap || isRun) && !a.collected(ctx, arg) {
		switch {
		case isWord:
			return a.result(words, renderMeaning(words, a.width(), a.caps()))
		case isGap:
			return a.look(ctx, nil, func(v looked) error { return a.explainGap(ctx, v, gap) })
		}
		return a.look(ctx, nil, func(v looked) error { return a.viewRun(ctx, v, "explain", arg) })
	}
	show := func(e report.Explanation) error {
		text := renderExplanation(e, a.width(), a.caps())
		if isWord { // and was perhaps meant
			text += "\n" + renderMeaning(words, a.width(), a.caps())
		}
		return a.result(e.Line(), text)
	}
	err := a.look(ctx, []string{arg}, func(v looked) error {
		e, err := a.gather(ctx, v)
		if err != nil {
			return err
		}
		return show(e)
	})
	if _, unknown := errors.AsType[*problem.UnknownConnectorError](err); unknown {
		if e, there := a.unrun(ctx, arg); there {
			return show(e)
		}
	}
	return err
}

// unrun returns what the files say of a connector that no run has collected; there is false if
// arg is none.
func (a *app) unrun(ctx context.Context, arg string) (e report.Explanation, there bool) {
	settings, err := a.settings()
	if err != nil {
		return e, false
	}
	e, err = a.meeting(&settings).Unrun(ctx, arg, time.Now().In(settings.Zone))
	e.Flags, e.Caps = a.repeat(), capsOf(&settings)
	return e, err == nil
}

// collected reports whether arg names a connector of the database, which then
// is what is meant. Words are explained also where there is none, or none that
// can be read.
func (a *app) collected(ctx context.Context, arg string) bool {
	settings, err := a.settings()
	if err != nil {
		return false
	}
	db, err := openForReading(ctx, settings)
	if err != nil || db == nil {
		return false
	}
	defer db.Close()
	return known(ctx, db, arg) == nil
}

// gather reads what is known of a connector.
func (a *app) gather(ctx context.Context, v looked) (e report.Explanation, err error) {
	if v.db == nil {
		return e, &problem.UnknownConnectorError{Name: v.name}
	}
	e, err = a.meeting(&v.settings).Explain(ctx, v.db, v.name, v.now)
	e.Flags, e.Caps = v.flags, capsOf(&v.settings)
	return e, err
}

// capsOf returns what ends each run, by the files.
func capsOf(s *config.Settings) (caps []report.Allowance) {
	if s.MaxRequests > 0 {
		caps = append(caps, report.Allowance{Ceiling: collection.Ceiling{Count: int(s.MaxRequests)}, What: words.Count(s.MaxRequests) + " requests a run", Origin: s.Origin["defaults.max_requests"]})
	}
	if s.MaxTime > 0 {
		caps = append(caps, report.Allowance{Ceiling: collection.Ceiling{Per: s.MaxTime}, What: words.Span(s.MaxTime) + " a run", Origin: s.Origin["defaults.max_time"]})
	}
	return caps
}

func renderMeaning(e problem.Meaning, columns int, c term.Caps) string {
	page := term.Page{Columns: columns, Label: 6}
	page.Say(e.Word + ": " + e.Meaning + ".")
	page.Fact("acts", e.Who)
	page.Fact("next", e.Next)
	return page.Render(c)
}
