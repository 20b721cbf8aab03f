package cmd

import (
	"fmt"
	"slices"
	"strings"

	"collect/collection"
	"collect/report"
	"collect/report/problem"
	"collect/runner"
)

// gotNothing is what cron hears of a run that got not one answer and goes on by
// itself: one line, with what stood in the way; "" if there is nothing to hear.
// A provider that asks us to wait has answered, and is heard.
func (s *session) gotNothing(run collection.Run, stops []runner.Stopped) string {
	provider := s.target.Connector.Provider()
	trouble := troubleOf(stops)
	if len(provider.Origins) == 1 {
		trouble = strings.TrimPrefix(trouble+", at "+provider.Origins[0], ", ")
	}
	asked := slices.ContainsFunc(stops, func(met runner.Stopped) bool {
		return met.Stop.Reason == collection.RetryAfter || met.Stop.Reason == collection.RateLimited
	})
	switch {
	case asked:
		return ""
	case report.Unanswered(run):
		return fmt.Sprintf("%s: %s: %s. The next run tries again; see: %s",
			run.Connector, report.NoneOf(run.Tally.Requests), trouble, problem.Command("explain", run.Connector, s.scene().Flags))
	case run.Reason == collection.CircuitOpen && run.Tally.Requests == 0:
		return fmt.Sprintf("%s: nothing was sent, the breaker is open: %s. A later run tries again; see: %s",
			run.Connector, trouble, problem.Command("explain", run.Connector, s.scene().Flags))
	}
	return ""
}

// troubleOf says what stood in the way of a run that ended with stops.
func troubleOf(stops []runner.Stopped) string {
	for _, met := range stops {
		if met.Stop.Detail != "" {
			return met.Stop.Detail
		}
	}
	for _, met := range stops {
		if met.Stop.Status != 0 {
			return fmt.Sprintf("answered %d", met.Stop.Status)
		}
	}
	return ""
}
