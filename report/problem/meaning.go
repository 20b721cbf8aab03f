package problem

import (
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

// warningMeanings says, for each code of a warning, what it means and what to do.
var warningMeanings = map[collection.WarningCode][2]string{
	collection.FarFewer:        {"a walk had less than half of the records that the walk before had", "look whether the provider deleted them; if not, look at the account and at `query`"},
	collection.MaybeOnePage:    {"exactly as many records came as a page often holds, or as providers often give of a list at most", "if there are more, say with `page` how to read the next one, with `cap` of `windows` how many a window may have, or ask for smaller lists with `each` or `query`"},
	collection.Overwritten:     {"many records of one walk replaced another record of the same walk", "look whether `key` is unique: if not, correct it and start the stream over; if it is, these were updated while the walk was under way, as in one that took several runs, and nothing is missing"},
	collection.MarkIgnored:     {"the provider sends records that are older than the run asked for, so that each run reads everything again", "look at `since`: its `param`, and how the provider reads the time"},
	collection.RefusedBeside:   {"a page with records says that something failed", "look at the answer; if it is normal, say so with the rule that the warning names"},
	collection.OrderChanges:    {"records came on two pages, where none that were added explain it", "sort the list by an id (`query`), or if the provider cannot, read it with a cursor (`page`); `collect verify NAME --repair` brings what was left out"},
	collection.CertificateEnds: {"the client certificate ends within 14 days, and then no run gets through", "get a new one from the provider, and put it where `provider.tls` of the connector file says"},
	collection.AccountLeftOut:  {"the run goes on without one of the tokens that take turns: it is rejected, refused, or not there", "`collect status NAME` has each token, and who acts; replace it, or take it out of the list"},
	collection.PaceAway:        {"the store where the machines share the pace of an account does not answer, so that no request leaves", "nothing: the run goes on by itself when the store answers within 20 seconds, and else ends; look at the store"},
	collection.PaceShared:      {"the store where the machines share the pace of an account answers again", "nothing: requests go on"},
	collection.MeetsApart:      {"the runs of an account meet in a temporary folder, and a run with another one does not see this one", "put XDG_STATE_HOME on a file system that has sockets"},
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
	if e, ok := meaningOfCode(strings.ToUpper(arg)); ok {
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
	reason := collection.Reason(arg)
	known, ok := reasons[reason]
	if !ok {
		return Meaning{}, false
	}
	needs := NeedsOf(reason.Kind())
	if reason.Settled() {
		needs = NeedsNothing
	}
	return Meaning{"reason " + arg, known.meaning, WhoActs(reason), jsonout.OrNull(needs), known.next}, true
}

// meaningOfCode explains the code that a message begins with: by the reason that
// it stands for, if that is one, or else by the exit code of a command that
// says it.
func meaningOfCode(code string) (e Meaning, ok bool) {
	all := []row{other, quarantined}
	for _, known := range rows {
		all = append(all, known.row)
	}
	var of []collection.Reason
	for reason, known := range reasons {
		if all = append(all, known.row); known.code == code {
			of = append(of, reason)
		}
	}
	i := slices.IndexFunc(all, func(r row) bool { return r.code == code })
	if i < 0 {
		return Meaning{}, false
	}
	word := strconv.Itoa(all[i].exit)
	if len(of) == 1 {
		word = string(of[0])
	}
	e, ok = MeaningOf(word)
	e.Word = code + ", " + e.Word
	return e, ok
}
