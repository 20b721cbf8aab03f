package problem

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
	"collect/internal/jsonout"
)

// shapeMeanings says what each shape of a gap is.
var shapeMeanings = map[collection.Shape]Meaning{
	collection.DetailGap: {
		Meaning: "one detail of a parent record is owed: it was not collected, and the list it belongs to goes on without it",
		Who:     "by its kind: the next run (planned), a later run (provider) or you (stuck)",
		Next:    "see which, and why: collect gaps; when and by whom it is tried again: collect explain g_31",
	},
	collection.SliceGap: {
		Meaning: "a piece of a list is owed: a page or a partition, and what follows it where the walk stopped there",
		Who:     "by its kind: the next run (planned), a later run (provider) or you (stuck)",
		Next:    "see which, and why: collect gaps; when and by whom it is tried again: collect explain g_31",
	},
}

// ReasonMeanings says, for each reason of the closed set, what it means and
// what comes next.
var ReasonMeanings = map[collection.Reason][2]string{
	collection.RequestCap:       {"the run used all the requests that it was allowed", "nothing to do; a higher --max-requests takes more at once"},
	collection.WallClock:        {"the run used all the time that it was allowed", "nothing to do; a longer --max-time takes more at once"},
	collection.RetryBudget:      {"the run used all the retries that it was allowed: more would only have added to the load of the provider", "nothing to do; if it comes back, look at the provider's status page"},
	collection.Interrupted:      {"a signal ended the run, after the page in flight was saved", "nothing to do"},
	collection.CircuitOpen:      {"most of the latest requests failed, so calls were stopped for a while, and the wait did not fit in the run; or an operator stopped them", "nothing to do, unless an operator holds the breaker: collect breaker release"},
	collection.RateLimited:      {"the provider throttled every attempt", "nothing to do; the pace is lower now"},
	collection.UpstreamPressure: {"the provider failed, timed out or could not be reached, after every attempt", "nothing to do; if it comes back, look at the network and the provider's status page"},
	collection.RetryAfter:       {"the provider asked for a longer silence than the run may wait", "nothing to do; no request leaves before that time, in any run"},
	collection.Auth:             {"the provider does not accept the credential", "put a valid one where the connector looks for it"},
	collection.Frozen:           {"the provider answered 403 for a reason that collect does not know, or an operator froze it: no request leaves, because going on could make a ban permanent", "settle it with the provider; then: collect freeze release. If it is only about what was asked for, declare that in the connector file: " + RecordRule},
	collection.Suspended:        {"the provider says that the account is suspended", "settle it with the provider; then: collect freeze release"},
	collection.Forbidden:        {"the provider refuses this one piece; the others are collected", "give the account access to it, or leave it: no run tries it again by itself. If it is usual here, declare it in the connector file: " + goneRule + ", which is shown and not owed"},
	collection.SchemaDrift:      {"records do not look as the connector says", "look at what the provider changed, and correct the connector file"},
	collection.BadPage:          {"an answer could not be read as a page, so none of it was taken", "look at it once; if it comes back, correct the connector file"},
	collection.CursorExpired:    {"the provider no longer knows the place where the walk stood", "each run begins the walk anew, once; if cursors never last as long as a walk, collect it faster or in smaller parts"},
	collection.TooLarge:         {"an answer was larger than the connector allows", "ask for smaller pages, or raise the limit in the connector file"},
	collection.NotFound:         {"the provider says that this piece is not there, and no rule explains it", "if that is normal, declare it in the connector file: `on: [{status: [404], verdict: gone}]`"},
	collection.Gone:             {"the provider says that this piece is gone for good, and the connector file says that this is normal", "nothing: it is shown, and not owed"},
}

// warningMeanings says, for each code of a warning, what it means and what to do.
var warningMeanings = map[collection.WarningCode][2]string{
	collection.FarFewer:      {"a walk had less than a quarter of the records that the walk before had", "look whether the provider deleted them; if not, look at the account and at `query`"},
	collection.MaybeOnePage:  {"exactly as many records came as a page often holds, and the stream is declared as one page", "if there are more, say with `page` how to read the next one"},
	collection.Overwritten:   {"many records of one walk replaced another record of the same walk", "look whether `key` is unique; if not, correct it and start the stream over"},
	collection.MarkIgnored:   {"the provider sends records that are older than the run asked for, so that each run reads everything again", "look at `since`: its `param`, and how the provider reads the time"},
	collection.RefusedBeside: {"a page with records says that something failed", "look at the answer; if it is normal, say so with the rule that the warning names"},
	collection.MeetsApart:    {"the runs of an account meet in a temporary folder, and a run with another one does not see this one", "put XDG_STATE_HOME on a file system that has sockets"},
}

// A Meaning is the long text for a word of ours.
type Meaning struct {
	Word    string  `json:"word"`
	Meaning string  `json:"meaning"`
	Who     string  `json:"who_acts"` // in words
	Needs   *string `json:"needs"`    // nothing, time or operator; null where that depends
	Next    string  `json:"next"`
}

// MeaningOf explains an exit code, the code of a message or a reason; ok is
// false for other words.
func MeaningOf(arg string) (e Meaning, ok bool) {
	if e, ok := wordsForCode(arg); ok {
		return e, true
	}
	if code, err := strconv.Atoi(arg); err == nil {
		for _, c := range ExitCodes {
			if c.Code == code {
				return Meaning{"exit code " + arg, c.When, c.Who, jsonout.OrNull(c.needs()), "retry: " + c.Retry}, true
			}
		}
		return Meaning{}, false
	}
	if words, ok := shapeMeanings[collection.Shape(strings.ToUpper(arg))]; ok {
		words.Word = "gap " + strings.ToUpper(arg)
		return words, true
	}
	if meaning, ok := warningMeanings[collection.WarningCode(arg)]; ok {
		return Meaning{"warning " + arg, meaning[0], "you, with a look", jsonout.OrNull(NeedsOperator), meaning[1]}, true
	}
	meaning, ok := ReasonMeanings[collection.Reason(arg)]
	if !ok {
		return Meaning{}, false
	}
	reason := collection.Reason(arg)
	needs := NeedsOf(reason.Kind())
	if reason == collection.Gone {
		needs = NeedsNothing
	}
	return Meaning{"reason " + arg, meaning[0], WhoActs(reason), jsonout.OrNull(needs), meaning[1]}, true
}

// wordsForCode explains the code that a message begins with: by the reason that
// it stands for, if that is one, or else by the exit code of a command that
// says it.
func wordsForCode(code string) (e Meaning, ok bool) {
	i := slices.IndexFunc(explanations, func(row explanation) bool { return row.code == code })
	if i < 0 {
		return Meaning{}, false
	}
	word := strconv.Itoa(explanations[i].exit)
	var of []collection.Reason
	for reason := range ReasonMeanings {
		if classify(&collection.Stop{Reason: reason, Status: http.StatusServiceUnavailable}).code == code {
			of = append(of, reason)
		}
	}
	if len(of) == 1 {
		word = string(of[0])
	}
	e, ok = MeaningOf(word)
	e.Word = code + ", " + e.Word
	return e, ok
}

// WhoActs says who ends a gap with reason r.
func WhoActs(r collection.Reason) string {
	switch {
	case r == collection.Gone:
		return "no one"
	case r.Kind() == collection.Planned:
		return "the next run, by itself"
	case r.Kind() == collection.Pressure:
		return "a later run, by itself"
	}
	return "you"
}

// Brief says a reason the way a person would, in at most 24 columns: the
// tables have no more.
func Brief(r collection.Reason) string {
	switch r {
	case collection.RequestCap:
		return "run reached request cap"
	case collection.WallClock:
		return "run reached time limit"
	case collection.RetryBudget:
		return "run used all retries"
	case collection.Interrupted:
		return "run was interrupted"
	case collection.CircuitOpen:
		return "breaker was open"
	case collection.RateLimited:
		return "provider was throttling"
	case collection.UpstreamPressure:
		return "provider kept failing"
	case collection.RetryAfter:
		return "provider asked to wait"
	case collection.Auth:
		return "token was rejected"
	case collection.Frozen:
		return "provider is frozen"
	case collection.Suspended:
		return "account is suspended"
	case collection.Forbidden:
		return "provider refuses it"
	case collection.SchemaDrift:
		return "records do not match"
	case collection.BadPage:
		return "page cannot be read"
	case collection.CursorExpired:
		return "cursor has expired"
	case collection.TooLarge:
		return "answer is too large"
	case collection.NotFound:
		return "not found"
	case collection.Gone:
		return "gone for good"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// NeedsOf says who acts on a gap of kind k.
func NeedsOf(k collection.Kind) string {
	switch k {
	case collection.Planned:
		return NeedsNothing
	case collection.Pressure:
		return NeedsTime
	}
	return NeedsOperator
}
