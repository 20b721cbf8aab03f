package console

import (
	"context"

	"collect/report"
)

// An overviewPage is the first page: where each connector stands, who acts, what was
// used of the budgets, and how the store is kept.
type overviewPage struct {
	report.Overview
	Providers []report.Provider // that have budgets
	Store     storeCard
}

func overview(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	if err != nil {
		return nil, err
	}
	page := overviewPage{Overview: report.OverviewOf(all, l.now)}
	for _, p := range report.ProvidersOf(all) {
		if len(p.Account.Budgets()) > 0 && len(page.Providers) < budgetsShown {
			page.Providers = append(page.Providers, p)
		}
	}
	page.Store, err = l.storeCard(ctx)
	return page, err
}

// budgetsShown is how many providers the first page has the budgets of.
const budgetsShown = 8
