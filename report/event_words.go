package report

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
)

// EventWords says what happened, without when and where: rate 4/s -> 2/s: a refusal.
func EventWords(e collection.Event) string {
	what := happened(e)
	if e.Message != "" && e.Message != what {
		what += " (" + words.Clean(e.Message) + ")"
	}
	return what
}

func happened(e collection.Event) string {
	switch {
	case e.Rate != nil:
		what := words.RateChange(e.Rate.Previous, e.Rate.Learned) + ": " + limit.Cause(e.Rate.Reason)
		if e.Rate.Route != "" {
			what = "route " + words.Clean(e.Rate.Route) + ": " + what
		}
		return what
	case e.Breaker != nil:
		return words.WithReason(fmt.Sprintf("breaker %s -> %s: %s", e.Breaker.Previous, e.Breaker.State, spaced(e.Breaker.Reason)), words.Clean(e.Breaker.Detail))
	case e.Clamp != nil:
		return "ceiling " + words.Clamp(e.Clamp)
	case e.Route != nil:
		return words.Route(e.Route)
	case e.Freeze != nil && e.Freeze.Frozen:
		return "frozen: " + spaced(e.Freeze.Reason)
	case e.Freeze != nil && e.Freeze.Reason == gate.ReleasedByOperator:
		return "released by an operator: the next request is a test, and what it brings decides"
	case e.Freeze != nil:
		return "no longer frozen: " + spaced(e.Freeze.Reason)
	case e.Throttle != nil:
		return throttleWords(e.Throttle)
	case e.Gap != nil:
		return gapEventWords(e)
	case e.Slice != nil:
		return "saved a slice: " + words.Counted(int64(e.Slice.Records), "record", "records") + ", " + words.Count(int64(e.Slice.Changed)) + " new or changed"
	case e.Wait != nil:
		return fmt.Sprintf("waits %s: %s", words.Span(time.Duration(e.Wait.Seconds*float64(time.Second))), spaced(string(e.Wait.Cause)))
	case e.Budget != nil:
		return "a budget ended the run: " + problem.Brief(e.Budget.Axis)
	case e.Ceiling != nil:
		return CeilingWords(e.Ceiling)
	case e.Limit != nil:
		return "the provider announces " + words.Limit(e.Limit)
	case e.Pruned != nil:
		n := e.Pruned
		return "removed of the past: " + PrunedWords(store.Pruned{Events: n.Events, Runs: n.Runs, Slices: n.Slices, Quarantined: n.Quarantined, Bytes: n.Bytes})
	}
	if said, ok := eventNames[e.Kind]; ok {
		return said
	}
	return strings.ReplaceAll(string(e.Kind), ".", " ")
}

// eventNames are the events that need no more words.
var eventNames = map[collection.EventKind]string{
	collection.RunStarted:        "the run began",
	collection.RunFinished:       "the run ended",
	collection.LeaseTaken:        "the run took the lease of its connector",
	collection.SchemaAccepted:    "accepted what the provider changed",
	collection.CheckpointReset:   "moved a checkpoint by hand",
	collection.ConnectorPaused:   "paused: no run begins",
	collection.ConnectorUnpaused: "no longer paused: runs begin again",
	collection.StoreRestored:     "restored the store from a backup",
}

func throttleWords(t *collection.ThrottleInfo) string {
	text := "refused: " + spaced(t.Signal)
	if t.RetryAfter != nil {
		text += fmt.Sprintf(", asked to wait %s", words.Span(time.Duration(*t.RetryAfter*float64(time.Second))))
	}
	return text
}

// gapVerbs say what became of a gap.
var gapVerbs = map[collection.EventKind]string{
	collection.GapOpened: "is owed", collection.GapClosed: "is settled", collection.GapRevived: "is tried again",
	collection.GapWaived: "was waived", collection.LeaseTaken: "is being tried",
}

func gapEventWords(e collection.Event) string {
	verb := gapVerbs[e.Kind]
	if e.Kind == collection.GapOpened && e.Gap.Reason.Settled() {
		verb = "is not owed"
	}
	return fmt.Sprintf("%s %s: %s", words.GapName(e.Gap.ID), verb, problem.Brief(e.Gap.Reason))
}
