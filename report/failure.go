package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/store"
)

// Unanswered reports whether a run asked, and not one of its requests got an
// answer that it can use.
func Unanswered(r collection.Run) bool {
	return r.Metrics.FailedRequests > 0 && r.Metrics.CompletedRequests == 0 && r.Tally.Requests > 0
}

// NoneOf says it of a run that sent n requests.
func NoneOf(n int64) string {
	return "none of " + words.Counted(n, "request", "requests") + " got a usable answer"
}

// LastTrouble says what stood in the way of a run that got no answer: it filled
// no gap, so that what is owed and not stuck is owed for that.
func LastTrouble(owed []store.OwnedGap) string {
	for _, gap := range slices.Backward(owed) {
		if gap.Detail != "" && gap.Reason.Kind() != collection.Stuck {
			return words.Clean(gap.Detail)
		}
	}
	return ""
}

// BrokeWords says which error, that is no gap, ended a run that failed: its code and its sentence, as far
// as they were kept, or what its exit code stands for. "" for another run.
func BrokeWords(r collection.Run) string {
	m := r.Metrics
	switch {
	case r.Outcome != collection.Failed:
		return ""
	case m.Broke == "":
		return fmt.Sprintf("%s (exit code %d)", TroubleWords(r), r.ExitCode)
	case m.BrokeBy == "":
		return m.Broke + ", " + TroubleWords(r)
	}
	return m.Broke + ", " + words.Clean(m.BrokeBy)
}

// An ErrorLine is the error that ended a run in JSON. What was not kept is null.
type ErrorLine struct {
	Code    *string `json:"code"`
	Message *string `json:"message"`
}

// errorLine returns the error that ended a run, nil if none did.
func errorLine(r collection.Run) *ErrorLine {
	if r.Outcome != collection.Failed {
		return nil
	}
	return &ErrorLine{jsonout.Text(r.Metrics.Broke), jsonout.Text(r.Metrics.BrokeBy)}
}

// FailureWords says what opened the breaker. Without a failure it was an operator, whose
// order is over.
func FailureWords(f gate.Failure, now time.Time) string {
	return cmp.Or(words.Clean(f.Words(words.At(f.At, now))), "an operator had stopped all calls, and that is over")
}
