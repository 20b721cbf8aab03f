package console

import (
	"context"

	"collect/report"
)

// overview is the first page: where each connector stands, and who acts.
func overview(ctx context.Context, l lookup) (any, error) {
	all, err := l.statuses(ctx)
	if err != nil {
		return nil, err
	}
	return report.OverviewOf(all, l.now), nil
}
