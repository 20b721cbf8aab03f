package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// gapNumber returns the id in the name of a gap: g_31.
func gapNumber(arg string) (id int64, ok bool) {
	digits, ok := strings.CutPrefix(arg, "g_")
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil && id > 0
}

// explainGap tells one gap: why it is there, who acts, and what is next.
func (a *app) explainGap(ctx context.Context, v looked, id int64) error {
	gaps, err := v.gaps(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(gaps, func(g store.OwnedGap) bool { return g.ID == id })
	if i < 0 {
		return problem.Usage("collect explain: no gap %s is owed here: it was filled, or there was none; see `collect gaps%s`", words.GapName(id), v.flags)
	}
	e := explainedGap{gaps[i], v}
	if a.flags.json {
		return jsonout.Print(a.out, e.line())
	}
	fmt.Fprint(a.out, e.render(a.width(), a.caps()))
	return nil
}

// An explainedGap is a gap that is owed, as a person reads it.
type explainedGap struct {
	store.OwnedGap
	looked
}

// An explainedGapLine is one in JSON.
type explainedGapLine struct {
	report.GapLine
	Meaning string   `json:"meaning"`
	Who     string   `json:"who_acts"`
	Next    string   `json:"next"`
	Do      []string `json:"commands"`
}

func (e explainedGap) line() explainedGapLine {
	next, commands := e.next()
	return explainedGapLine{report.GapLines([]store.OwnedGap{e.OwnedGap})[0], e.meaning(), e.who(), next, commands}
}

func (e explainedGap) render(columns int, c term.Caps) string {
	what := "a piece of the list (" + string(collection.SliceGap) + ")"
	if e.Shape == collection.DetailGap {
		what = "one detail (" + string(collection.DetailGap) + ")"
	}
	lines := term.Wrap("", fmt.Sprintf("%s: %s is owed: %s", words.GapName(e.ID), what, report.WhereOwed("", e.OwnedGap)), columns)
	fact := func(label, text string) {
		lines = append(lines, term.Wrap(fmt.Sprintf("  %-8s  ", label), text, columns)...)
	}
	fact("why", string(e.Reason)+": "+e.meaning())
	if e.Detail != "" && !e.waits() {
		fact("said", words.Clean(e.Detail))
	}
	fact("since", words.At(e.OpenedAt, e.now)+", run "+words.Clean(e.Run))
	tried := fmt.Sprintf("%s, %d more before it is left to you", words.Counted(int64(e.Attempts), "time", "times"), max(0, collection.MaxGapAttempts-e.Attempts))
	switch {
	case e.Revived():
		tried = fmt.Sprintf("not since it was revived, %d before it is left to you again", collection.MaxGapAttempts)
	case e.Attempts == 0:
		tried = "never; planned pauses do not count"
	case e.who() == "you": // it is left to you already
		tried = words.Counted(int64(e.Attempts), "time", "times")
	}
	if !e.TriedAt.IsZero() {
		tried += "; last " + words.Ago(e.TriedAt, e.now)
	}
	fact("tried", tried)
	fact("acts", e.who())
	next, commands := e.next()
	fact("next", next)
	for _, command := range commands {
		fact("", command)
	}
	for i, line := range lines {
		lines[i] = c.Text(line)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (e explainedGap) meaning() string {
	if e.waits() && e.Detail != "" {
		return words.Clean(e.Detail)
	}
	if known, ok := problem.MeaningOf(string(e.Reason)); ok {
		return known.Meaning
	}
	return problem.Brief(e.Reason)
}

func (e explainedGap) who() string {
	switch {
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
func (e explainedGap) waits() bool {
	return e.Kind() == collection.Planned && !e.Revived() && e.NotBefore.After(e.now)
}

// unmade reports whether the gap stands for a parent that has no partition.
func (e explainedGap) unmade() bool {
	_, ok := e.Partition.Unmade()
	return ok
}

// next says what comes next, and the commands for it.
func (e explainedGap) next() (say string, commands []string) {
	command := func(verb string) string { return e.command(verb, e.Connector) }
	resume := problem.ResumeCommand(e.Connector, e.flags, e.Lane)
	known, _ := problem.MeaningOf(string(e.Reason))
	retry := problem.RetryCommand(e.Connector, e.flags, e.ID)
	switch {
	case e.State == collection.GapLeased:
		return "a run tries it now", []string{command("status")}
	case e.Revived():
		return "the next run tries it again; to begin it now:", []string{resume}
	case e.Reason.Settled():
		return "nothing; if it came back:", []string{retry, resume}
	case e.Reason == collection.SchemaDrift && !e.unmade():
		sc := problem.Scene{Connector: e.Connector, Stream: e.Stream, Flags: e.flags}
		return "look at what the provider changed, and correct the connector file, or accept it if it is right; then:",
			[]string{problem.AcceptCommand(sc, nil), resume}
	case e.State == collection.GapDead && e.Reason == collection.CursorExpired:
		return "the provider no longer has that place; to collect the stream again:",
			[]string{command("reset") + " --stream " + words.Clean(words.Quoted(e.Stream)) + problem.LaneFlag(e.Lane) + " --reason WHY"}
	case e.State == collection.GapDead && e.Reason.Kind() == collection.Stuck:
		return known.Next + "; then:", []string{retry, resume}
	case e.State == collection.GapDead:
		return "no run tries it again by itself; when the provider answers again:", []string{retry, resume}
	case e.Reason.Freezes():
		return "settle it with the provider, or, if it is only about some records, write `on_403: gap` under `provider:` in the connector file; then:", []string{command("freeze release") + ` --reason WHY`, resume}
	case e.Reason.Kind() == collection.Stuck:
		return known.Next + "; then:", []string{resume}
	case e.Reason.Kind() != collection.Stuck && e.NotBefore.After(e.now):
		return "a run after " + words.At(e.NotBefore, e.now) + " tries it again; before that none does:", []string{resume}
	}
	return "the next run goes on there; to begin it now:", []string{resume}
}
