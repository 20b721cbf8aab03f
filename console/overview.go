package console

import (
	"context"

	"collect/report"
)

// An overviewPage is the first page: where each connector stands, who acts, what was
// used of the budgets, how often providers refused, and how the store is kept.
type overviewPage struct {
	report.Overview
	Providers []report.Provider
	Budgeted  []report.Provider // of these, those that have budgets
	More      int               // providers that are not among them
	Owing     *drawing          // of the last two weeks; nil: nothing was owed
	Store     report.Care
}

func overview(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	if err != nil {
		return nil, err
	}
	page := overviewPage{Overview: report.OverviewOf(all, l.now)}
	known := report.ProvidersOf(all)
	for _, p := range known {
		if len(p.Account.Budgets()) > 0 {
			page.Budgeted = append(page.Budgeted, p)
		}
	}
	page.Budgeted = first(page.Budgeted, providersShown)
	page.Providers = first(known, providersShown)
	page.More = len(known) - len(page.Providers)
	if page.Owing, err = l.owing(ctx, all); err != nil {
		return nil, err
	}
	page.Store, err = l.care(ctx)
	return page, err
}

// providersShown is how many providers a card of the first page has.
const providersShown = 8
