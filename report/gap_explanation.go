package report

import (
	"fmt"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// A GapExplanation says of a gap that is owed why it is there, who acts, and what is
// next.
type GapExplanation struct {
	store.OwnedGap
	Now   time.Time
	Flags string // what commands to copy must repeat
}

// A GapExplanationLine is one in JSON.
type GapExplanationLine struct {
	GapLine
	Meaning string   `json:"meaning"`
	Who     string   `json:"who_acts"`
	Next    string   `json:"next"`
	Do      []string `json:"commands"`
}

// Line returns the explanation for --json.
func (e GapExplanation) Line() GapExplanationLine {
	next, commands := e.Next()
	return GapExplanationLine{GapLines([]store.OwnedGap{e.OwnedGap})[0], e.Meaning(), e.Who(), next, commands}
}

// What says which piece is owed.
func (e GapExplanation) What() string {
	what := "a piece of the list (" + string(collection.SliceGap) + ")"
	if e.Shape == collection.DetailGap {
		what = "one detail (" + string(collection.DetailGap) + ")"
	}
	is := "is owed"
	switch {
	case e.Waived():
		is = "was waived"
	case e.Settled() && !e.Revived():
		is = "is gone for good"
	}
	return fmt.Sprintf("%s: %s %s: %s", words.GapName(e.ID), what, is, WhereOwed("", e.OwnedGap))
}

// Said is what was said of the piece, if that is no part of the meaning.
func (e GapExplanation) Said() string {
	if e.waits() {
		return ""
	}
	return words.Clean(e.Detail)
}

// Tried says how often it was tried, and how often it will be.
func (e GapExplanation) Tried() string {
	tried := fmt.Sprintf("%s, %d more before it is left to you", words.Counted(int64(e.Attempts), "time", "times"), max(0, collection.MaxGapAttempts-e.Attempts))
	switch {
	case e.Revived():
		tried = fmt.Sprintf("not since it was revived, %d before it is left to you again", collection.MaxGapAttempts)
	case e.Attempts == 0:
		tried = "never; planned pauses do not count"
	case e.Who() == "you", e.Settled(): // it is left to you already, or nothing is owed
		tried = words.Counted(int64(e.Attempts), "time", "times")
	}
	if !e.TriedAt.IsZero() {
		tried += "; last " + words.Ago(e.TriedAt, e.Now)
	}
	return tried
}

// Meaning says why the piece is owed.
func (e GapExplanation) Meaning() string {
	if e.waits() && e.Detail != "" {
		return words.Clean(e.Detail)
	}
	if known, ok := problem.MeaningOf(string(e.Reason)); ok {
		return known.Meaning
	}
	return problem.Brief(e.Reason)
}

// Who says who acts.
func (e GapExplanation) Who() string {
	switch {
	case e.Waived():
		return "no one: " + WaiverWords(e.OwnedGap, e.Now)
	case e.Revived():
		return "the next run, by itself"
	case e.State == collection.GapDead && !e.Reason.Settled():
		return "you"
	}
	if e.waits() {
		return "time; after that the next run, by itself"
	}
	return problem.WhoActs(e.Reason)
}

// waits reports whether a quota or a ceiling that is used up holds the gap back:
// the cap of a run alone holds back no other run.
func (e GapExplanation) waits() bool {
	return e.Kind() == collection.Planned && !e.Revived() && e.NotBefore.After(e.Now)
}

// unmade reports whether the gap stands for a parent that has no partition.
func (e GapExplanation) unmade() bool {
	_, ok := e.Partition.Unmade()
	return ok
}

// Next says what comes next, and the commands for it.
func (e GapExplanation) Next() (say string, commands []string) {
	command := func(verb string) string { return problem.Command(verb, e.Connector, e.Flags) }
	resume := problem.ResumeCommand(e.Connector, e.Flags, e.Lane)
	known, _ := problem.MeaningOf(string(e.Reason))
	retry := problem.RetryCommand(e.Connector, e.Flags, e.ID)
	switch {
	case e.State == collection.GapLeased:
		return "a run tries it now", []string{command("status")}
	case e.Waived():
		return "nothing; to have it tried after all:", []string{retry, resume}
	case e.Revived():
		return "the next run tries it again; to begin it now:", []string{resume}
	case e.Reason.Settled():
		return "nothing; if it came back:", []string{retry, resume}
	case e.Reason == collection.SchemaDrift && !e.unmade():
		sc := problem.Scene{Connector: e.Connector, Stream: e.Stream, Flags: e.Flags}
		return "look at what the provider changed, and correct the connector file, or accept it if it is right; then:",
			[]string{problem.AcceptCommand(sc, nil), resume}
	case e.State == collection.GapDead && e.Reason == collection.CursorExpired:
		return "the provider no longer has that place; to collect the stream again:",
			[]string{command("reset") + " --stream " + words.Clean(words.Quoted(e.Stream)) + problem.LaneFlag(e.Lane) + " --reason WHY"}
	case e.State == collection.GapDead && e.Reason.Kind() == collection.Stuck:
		return known.Next + "; then:", []string{retry, resume}
	case e.State == collection.GapDead:
		return "no run tries it again by itself; when the provider answers again:", []string{retry, resume}
	case e.Reason == collection.Suspended:
		return "settle it with the provider; then:", []string{command("freeze release") + ` --reason WHY`, resume}
	case e.Reason.Freezes():
		return "settle it with the provider. If a 403 is how it says too fast, write `throttle: [{status: [403]}]` under `provider:` in the connector file; if it is only about some records, `on_403: gap`. Then:", []string{command("freeze release") + ` --reason WHY`, resume}
	case e.Reason.Kind() == collection.Stuck:
		return known.Next + "; then:", []string{resume}
	case e.Reason.Kind() != collection.Stuck && e.NotBefore.After(e.Now):
		return "a run after " + words.At(e.NotBefore, e.Now) + " tries it again; before that none does:", []string{resume}
	case besideTheWalk(e.OwnedGap):
		return "a run tries it again after the new records; to try it first:", []string{resume}
	}
	return "the next run goes on there; to begin it now:", []string{resume}
}
