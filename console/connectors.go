package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/internal/similar"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A connectorsPage lists all connectors, those that never ran, too.
type connectorsPage struct {
	report.Overview
	Query string
	Found []report.Stood
	Never []string // named in collect.yaml, and never collected
}

func connectors(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	if err != nil {
		return nil, err
	}
	page := connectorsPage{Overview: report.OverviewOf(all, l.now), Query: l.FormValue("q")}
	page.Found = slices.DeleteFunc(slices.Clone(page.All), func(s report.Stood) bool {
		return !contains(s.Name+" "+s.State.Words(), page.Query)
	})
	for _, name := range slices.Sorted(maps.Keys(l.server.Meeting.Registry.Entries)) {
		ran := slices.ContainsFunc(all, func(s report.Status) bool { return s.Name == name })
		if !ran && contains(name, page.Query) {
			page.Never = append(page.Never, name)
		}
	}
	return page, nil
}

// contains reports whether each word of a query is in text.
func contains(text, query string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// gapsOnPage is how many gaps are shown at once.
const gapsOnPage = 100

// runsOfConnector is how many of its runs the page of a connector shows.
const runsOfConnector = 10

// A connectorPage is all there is to say of one connector.
type connectorPage struct {
	report.Explanation
	Standing report.Standing
	Gaps     []store.OwnedGap // the first of them, what needs a person first
	Count    int              // of all
	Recent   []runRow
	Days     []days
	Owing    *drawing // of the last two weeks; nil: nothing was owed
}

// A days is the calendar of a stream that is walked in windows of time.
type days struct {
	Stream string
	*drawing
}

func (p connectorPage) Title() string { return words.Clean(p.Name) }

// OwedWords counts what it owes, by kind.
func (p connectorPage) OwedWords() string { return report.OwedWords(p.Owed) }

func connector(ctx context.Context, l lookup) (any, error) {
	name := l.PathValue("name")
	if err := l.known(ctx, name); err != nil {
		return nil, err
	}
	e, err := l.server.Meeting.Explain(ctx, l.db, name, l.now)
	if err != nil {
		return nil, err
	}
	e.Flags = l.server.Flags
	page := connectorPage{Explanation: e, Standing: e.Stands(l.now), Count: len(e.Owed)}
	page.Gaps = first(byUrgency(e.Owed), gapsOnPage)
	// Without the connector file it is not known which streams have days.
	timelines, _ := l.server.Meeting.Timelines(ctx, l.db, name, l.now)
	for _, t := range timelines {
		if t.Dated {
			page.Days = append(page.Days, days{words.Clean(t.Stream.Name), draw(t.Calendar())})
		}
	}
	if page.Owing, err = l.owing(ctx, []report.Status{e.Status}, name); err != nil {
		return nil, err
	}
	found, err := report.Runs(ctx, l.db, name, runsOfConnector)
	for _, r := range found {
		page.Recent = append(page.Recent, runRow{r, l.now})
	}
	return page, err
}

// known checks that a connector was collected.
func (l lookup) known(ctx context.Context, name string) error {
	var names []string
	if l.db != nil {
		var err error
		if names, err = l.db.Connectors(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	unknown := &unknownError{What: fmt.Sprintf("No connector named %q was collected", words.Clean(name))}
	if _, ok := l.server.Meeting.Registry.Entries[name]; ok {
		unknown.Why = "It is named in collect.yaml, and never ran."
		unknown.Do = append(unknown.Do, step{Say: "collect it:", Command: problem.Command("run", name, l.server.Flags)})
	}
	if like := similar.To(name, names); like != "" {
		unknown.Do = append(unknown.Do, step{Say: "there is " + words.Clean(like), Href: l.server.path("connectors/" + like)})
	}
	unknown.Do = append(unknown.Do, step{Say: "see all connectors", Href: l.server.path("connectors")})
	return unknown
}

func first[T any](all []T, most int) []T { return all[:min(len(all), most)] }

// byUrgency returns gaps in the order of who acts on them.
func byUrgency(all []store.OwnedGap) []store.OwnedGap {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b store.OwnedGap) int { return int(report.UrgencyOf(a) - report.UrgencyOf(b)) })
	return all
}
