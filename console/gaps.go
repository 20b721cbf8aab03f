package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A gapsPage is a part of what is owed.
type gapsPage struct {
	All       []store.OwnedGap // that the filter lets through
	Shown     []store.OwnedGap
	Total     int // of all gaps
	From      int
	More      int // where the next part begins; 0: there is none
	Connector string
	Who       string // who acts: person, time, run, no one; "" for all
	Query     string
	Names     []string // of the connectors that owe something
}

// urgencies are the values of the filter by who acts.
var urgencies = []string{"person", "time", "run", "no one"}

func gaps(ctx context.Context, l lookup) (any, error) {
	page := gapsPage{Connector: l.FormValue("connector"), Who: l.FormValue("who"), Query: l.FormValue("q"), From: offset(l)}
	if l.db == nil {
		return page, nil
	}
	owed, err := l.db.Gaps(ctx, "")
	if err != nil {
		return nil, err
	}
	page.Total = len(owed)
	for _, g := range owed {
		if !slices.Contains(page.Names, g.Connector) {
			page.Names = append(page.Names, g.Connector)
		}
	}
	slices.Sort(page.Names)
	page.All = slices.DeleteFunc(byUrgency(owed), func(g store.OwnedGap) bool { return !page.wants(g) })
	page.Shown = first(page.All[min(page.From, len(page.All)):], gapsOnPage)
	if next := page.From + gapsOnPage; next < len(page.All) {
		page.More = next
	}
	return page, nil
}

// wants reports whether the filter lets a gap through.
func (p gapsPage) wants(g store.OwnedGap) bool {
	return (p.Connector == "" || p.Connector == g.Connector) &&
		(p.Who == "" || slices.Index(urgencies, p.Who) == int(report.UrgencyOf(g))) &&
		(p.Query == "" || contains(words.GapName(g.ID)+" "+report.WhereOwed("", g)+" "+string(g.Reason)+" "+problem.Brief(g.Reason), p.Query))
}

// Urgencies returns the values of the filter.
func (gapsPage) Urgencies() []string { return urgencies }

// OwedWords counts the gaps by kind.
func (p gapsPage) OwedWords() string { return report.OwedWords(p.All) }

// A gapPage is all there is to say of one gap.
type gapPage struct{ report.GapExplanation }

func (p gapPage) Title() string { return "Gap " + words.GapName(p.ID) }

// Do returns what comes next, and the commands for it.
func (p gapPage) Do() (do struct {
	Say      string
	Commands []string
}) {
	do.Say, do.Commands = p.Next()
	return do
}

func gap(ctx context.Context, l lookup) (any, error) {
	name := l.PathValue("id")
	var owed []store.OwnedGap
	if l.db != nil {
		var err error
		if owed, err = l.db.Gaps(ctx, ""); err != nil {
			return nil, err
		}
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(name, "g_"), 10, 64)
	i := slices.IndexFunc(owed, func(g store.OwnedGap) bool { return g.ID == id })
	if i < 0 {
		return nil, &unknownError{
			What: fmt.Sprintf("No gap %q is owed", words.Clean(name)),
			Why:  "It was filled, or there was none of that name.",
			Do:   []step{{Say: "see all gaps", Href: l.server.path("gaps")}},
		}
	}
	return gapPage{report.GapExplanation{OwnedGap: owed[i], Now: l.now, Flags: l.server.Flags}}, nil
}

// A gapRow is a gap in a list.
type gapRow struct {
	store.OwnedGap
	Where, Kind, Why, Next string
	Person                 bool // a person must act
}

// gapRows returns gaps as rows. name is the connector that all of them are of, "" if
// that is to be said.
func (f frame) gapRows(name string, gaps []store.OwnedGap) (rows []gapRow) {
	for _, g := range gaps {
		row := gapRow{
			OwnedGap: g, Where: report.WhereOwed(name, g), Kind: string(g.Kind()), Why: problem.Brief(g.Reason),
			Next: report.NextTry(g, f.Now), Person: report.UrgencyOf(g) == report.ByPerson,
		}
		switch {
		case g.Waived():
			row.Kind = "waived"
		case g.Settled():
			row.Kind = "gone"
		}
		rows = append(rows, row)
	}
	return rows
}
