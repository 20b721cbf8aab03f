package problem

import (
	"strings"

	"collect/collection"
)

// A reasonRow is all that is said of a reason, beside what [collection] makes
// of it.
type reasonRow struct {
	row
	brief   string // as a person says it, in at most 24 columns: the tables have no more
	meaning string
	next    string
}

// reasons holds the row of each reason there is.
//
// The gaps that an open breaker leaves are planned, so that they arm no
// cooldown, but the run that it stopped is no success: no person chose it.
var reasons = map[collection.Reason]reasonRow{
	collection.RequestCap: {
		row{"P0501", LevelPaused, ExitPaused, NeedsNothing, true, writeRequestCap}, "requests were used up",
		"all the requests were used that the run or a ceiling allowed",
		"nothing to do: a ceiling gives more when its window ends, and the run after that continues; where it was the run's own cap, a higher --max-requests takes more at once",
	},
	collection.Quota: {
		row{"P0503", LevelPaused, ExitPaused, NeedsNothing, true, writeQuota}, "quota was used up",
		"all the requests were used that the provider grants until its quota is renewed, or all but the share for people",
		"nothing to do: the run after the quota is renewed continues",
	},
	collection.WallClock: {
		row{"P0502", LevelPaused, ExitPaused, NeedsNothing, true, writeWallClock}, "run reached time limit",
		"the run used all the time that it was allowed",
		"nothing to do; a longer --max-time takes more at once",
	},
	collection.RetryBudget: {
		row{"E0406", LevelWaiting, ExitLater, NeedsTime, true, writeNoRetries}, "run had no retries left",
		"the provider failed or refused, and the run had used the retries that it was allowed: more would only have added to the load of the provider",
		"nothing to do; if it comes back, look at the provider's status page",
	},
	collection.Interrupted: {
		row{"P0504", LevelPaused, ExitInterrupt, NeedsNothing, true, writeInterrupted}, "run was interrupted",
		"a signal ended the run, after the page in flight was saved",
		"nothing to do",
	},
	collection.CircuitOpen: {
		row{"E0401", LevelWaiting, ExitLater, NeedsTime, true, writeBreaker}, "breaker was open",
		"most of the latest requests failed, so calls were stopped for a while, and the wait did not fit in the run; or an operator stopped them",
		"nothing to do, unless an operator holds the breaker: collect breaker release",
	},
	collection.RateLimited: {
		row{"E0403", LevelWaiting, ExitLater, NeedsTime, true, pressed("%s kept throttling%s after every attempt")}, "provider was throttling",
		"the provider throttled every attempt",
		"nothing to do; the pace is lower now",
	},
	collection.UpstreamPressure: {
		row{"E0405", LevelWaiting, ExitLater, NeedsTime, true, pressed("%s kept failing%s after every attempt")}, "provider kept failing",
		"the provider failed, timed out or could not be reached, after every attempt",
		"nothing to do; if it comes back, look at the network and the provider's status page",
	},
	collection.RetryAfter: {
		row{"E0402", LevelWaiting, ExitLater, NeedsTime, true, writeLongWait}, "provider wanted a pause",
		"the provider must be left alone for longer than the run may wait: it asked for that, or a quota is used up",
		"nothing to do: no request leaves before that time, in any run; if the provider has granted more since, collect freeze release lets one request ask",
	},
	collection.Auth: {
		row{"E0301", LevelError, ExitRefused, NeedsOperator, false, writeAuth}, "credential was rejected",
		"the provider does not accept the credential",
		"put a valid one where the connector looks for it; if it sends none, say under `auth` in its file which one",
	},
	collection.Frozen: {
		row{"E0303", LevelError, ExitRefused, NeedsOperator, false, writeFrozen}, "provider is frozen",
		"the provider answered 403 for a reason that collect does not know, or an operator froze it: no request leaves, because going on could make a ban permanent",
		"settle it with the provider; then: collect freeze release. " + Rules403,
	},
	collection.Suspended: {
		row{"E0304", LevelError, ExitRefused, NeedsOperator, false, writeSuspended}, "account is suspended",
		"the provider says that the account is suspended",
		"settle it with the provider; then: collect freeze release",
	},
	collection.Forbidden: {
		row{"E0608", LevelError, ExitOwed, NeedsOperator, false, piece("%s refused %s%s")}, "provider refuses it",
		"the provider refuses this one piece; the others are collected",
		"give the account access to it, or leave it: no run tries it again by itself. If it is usual here, declare it in the connector file: " + goneRule + ", which is shown and not owed. If many pieces are refused at once, as too fast: " + FastRule,
	},
	collection.SchemaDrift: {
		row{"E0601", LevelError, ExitProtocol, NeedsOperator, false, writeDrift}, "records do not match",
		"records do not look as the connector says",
		"look at what the provider changed, and correct the connector file",
	},
	collection.BadPage: {
		row{"E0602", LevelError, ExitProtocol, NeedsOperator, false, writeBadPage}, "page cannot be read",
		"an answer could not be read as a page, so none of it was taken",
		"look at it once; if it comes back, correct the connector file",
	},
	collection.CursorExpired: {
		row{"E0603", LevelError, ExitProtocol, NeedsOperator, false, writeCursor}, "cursor has expired",
		"the provider no longer knows the place where the walk stood",
		"each run begins the walk anew, once; if cursors never last as long as a walk, collect it faster or in smaller parts",
	},
	collection.TooLarge: {
		row{"E0608", LevelError, ExitOwed, NeedsOperator, false, piece("%s answered with more than the limit for %s%s")}, "answer is too large",
		"an answer was larger than the connector allows",
		"ask for smaller pages, or raise the limit in the connector file",
	},
	collection.NotFound: {
		row{"E0608", LevelError, ExitOwed, NeedsOperator, false, piece("%s does not know %s%s")}, "not found",
		"the provider says that this piece is not there, and no rule explains it",
		"if that is normal, declare it in the connector file: `on: [{status: [404], verdict: gone}]`",
	},
	collection.Gone: {
		row{"W0609", LevelWarning, ExitOK, NeedsNothing, false, piece("%s says that %s is gone for good%s")}, "gone for good",
		"the provider says with a 410 that this piece is gone for good, or the connector file says so of its answer",
		"nothing: it is shown, and not owed; it is asked for again when its stream would ask for it anyway",
	},
	collection.Differs: {
		row{"P0505", LevelPaused, ExitPaused, NeedsNothing, true, piece("%s has other records than are stored: %s%s")}, "stored records differ",
		"a verification found records that are missing or stale, and was told to have them collected again",
		"nothing: the next run walks there from the start",
	},
	collection.ListChanged: {
		row{"P0506", LevelPaused, ExitPaused, NeedsNothing, true, writeListChanged}, "list changed meanwhile",
		"records were deleted or moved while the list was read, in two passes, so that some may have moved to a page that was read before",
		"nothing: the next run reads the list again; if each run ends so, read it at a quieter hour, or with enough time to read it whole: the eighth run in a row leaves it to you",
	},
	collection.Contested: {
		row{"P0507", LevelPaused, ExitPaused, NeedsNothing, true, piece("%s has shown a record of %s under two parents%s")}, "moved or shared key",
		"two parents have shown a record of one key: it moved from one to the other while they were read, or the key is not unique",
		"nothing: both lists are read again, mostly by the same run; if both show it then, the run says that the key is not unique",
	},
}

// Brief says a reason the way a person would, in at most 24 columns.
func Brief(r collection.Reason) string {
	if known, ok := reasons[r]; ok {
		return known.brief
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// WhoActs says who ends a gap with reason r.
func WhoActs(r collection.Reason) string {
	switch {
	case r.Settled():
		return "no one"
	case r.Kind() == collection.Planned:
		return "the next run, by itself"
	case r.Kind() == collection.Pressure:
		return "a later run, by itself"
	}
	return "you"
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

// ExitOfGap returns the exit code of a run that leaves a gap. What no run tries
// again is not a matter of time, whatever its reason. What was waived is not owed.
func ExitOfGap(gap collection.Gap) int {
	if gap.Waived() {
		return ExitOK
	}
	switch kind := gap.Kind(); kind {
	case collection.Planned:
		return ExitPaused
	case gap.Reason.Kind():
		return ExitOfReason(gap.Reason)
	}
	return ExitOwed
}

// ExitOfReason returns the exit code of a run that stopped for r, and of one that
// came to its end for "".
func ExitOfReason(r collection.Reason) int {
	if known, ok := reasons[r]; ok {
		return known.exit
	}
	if r == "" {
		return ExitOK
	}
	return ExitOwed // a reason of a later version
}
