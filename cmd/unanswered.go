package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// unanswered reports whether a run asked, and not one of its requests got an
// answer that it can use.
func unanswered(r collection.Run) bool {
	return r.Metrics.FailedRequests > 0 && r.Metrics.CompletedRequests == 0 && r.Tally.Requests > 0
}

// noneOf says it of a run that sent n requests.
func noneOf(n int64) string {
	return "none of " + words.Counted(n, "request", "requests") + " got a usable answer"
}

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
	case unanswered(run):
		return fmt.Sprintf("%s: %s: %s. The next run tries again; see: %s",
			run.Connector, noneOf(run.Tally.Requests), trouble, problem.Command("explain", run.Connector, s.scene().Flags))
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

// lastTrouble says what stood in the way of a run that got no answer: it filled
// no gap, so that what is owed and not stuck is owed for that.
func lastTrouble(owed []store.OwnedGap) string {
	for _, gap := range slices.Backward(owed) {
		if gap.Detail != "" && gap.Reason.Kind() != collection.Stuck {
			return words.Clean(gap.Detail)
		}
	}
	return ""
}

// failureWords says what opened the breaker.
func failureWords(f gate.Failure, now time.Time) string {
	return cmp.Or(words.Clean(f.Words(words.At(f.At, now))), "too many of the latest requests failed")
}
