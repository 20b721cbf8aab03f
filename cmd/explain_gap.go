package cmd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// gapNumber returns the id in the name of a gap: g_31.
func gapNumber(arg string) (id int64, ok bool) {
	digits, ok := strings.CutPrefix(arg, "g_")
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil && id > 0
}

// explainGap tells one gap: why it is there, who acts, and what is next.
func (a *app) explainGap(ctx context.Context, v looked, id int64) error {
	gaps, err := v.gaps(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(gaps, func(g store.OwnedGap) bool { return g.ID == id })
	if i < 0 {
		return problem.Usage("collect explain: no gap %s is owed here: it was filled, or there was none; see `collect gaps%s`", words.GapName(id), v.flags)
	}
	e := report.GapExplanation{OwnedGap: gaps[i], Now: v.now, Flags: v.flags}
	return a.result(e.Line(), renderGap(e, a.width(), a.caps()))
}

func renderGap(e report.GapExplanation, columns int, c term.Caps) string {
	page := term.Page{Columns: columns, Label: 10}
	page.Say(e.What())
	page.Fact("why", string(e.Reason)+": "+e.Meaning())
	page.Fact("said", e.Said())
	page.Fact("since", words.At(e.OpenedAt, e.Now)+", run "+words.Clean(e.Run))
	page.Fact("tried", e.Tried())
	page.Fact("acts", e.Who())
	next, commands := e.Next()
	page.Fact("next", next)
	for _, command := range commands {
		page.Fact("", command)
	}
	return page.Render(c)
}
