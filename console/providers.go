package console

import (
	"context"
	"fmt"
	"slices"
	"time"

	"collect/internal/words"
	"collect/report"
)

func providers(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	return report.ProvidersOf(all), err
}

// A providerPage is all there is to say of one account of a provider. What explains
// its pace is that of the connector which heard of it last.
type providerPage struct {
	report.Provider
	report.Explanation
	Budgeted budgeted
	Rate     *drawing // of the last day; nil: nothing was asked
	Breaker  *drawing // the same; nil: nothing is known of the account
}

// budgeted are the budgets that the files of a connector declare.
type budgeted struct {
	Connector string
	Declared  []report.Budget
}

// How much of the past of an account is drawn: of how many of its connectors, and for how
// long.
const (
	pastConnectors = 8
	day            = 24 * time.Hour
)

func (p providerPage) Title() string { return p.Provider.Name }

func provider(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	if err != nil {
		return nil, err
	}
	domain := l.PathValue("domain")
	found := report.ProvidersOf(all)
	i := slices.IndexFunc(found, func(p report.Provider) bool { return p.Domain == domain })
	if i < 0 {
		return nil, &unknownError{
			What: fmt.Sprintf("No account of a provider is named %q here", words.Clean(domain)),
			Why:  "An account is known once a run used it.",
			Do:   []step{{Say: "see all providers", Href: l.server.path("providers")}},
		}
	}
	page := providerPage{Provider: found[i]}
	newest := page.Connectors[0]
	for _, s := range all {
		if run := s.Newest(); slices.Contains(page.Connectors, s.Name) && run.StartedAt.After(page.Explanation.Newest().StartedAt) {
			newest, page.Explanation.Status = s.Name, s
		}
	}
	page.Explanation, err = l.server.Meeting.Explain(ctx, l.db, newest, l.now)
	page.Flags = l.server.Flags
	if err != nil {
		return nil, err
	}
	past, err := report.PastOf(ctx, l.db, l.now.Add(-day), l.now, first(page.Connectors, pastConnectors)...)
	if err != nil {
		return nil, err
	}
	page.Rate, page.Breaker = rate(past, page.Account), breaker(past, page.Account)
	page.Budgeted.Connector = newest
	if page.Budgeted.Declared, err = l.server.Meeting.Budgets(ctx, l.db, newest, l.now); err != nil {
		page.Budgeted.Declared, err = page.Account.Budgets(), nil // the file is gone, or broken: its run says so
	}
	return page, err
}
