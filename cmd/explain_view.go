package cmd

import (
	"fmt"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// renderExplanation answers, for a person, why the pace is what it is, what changed it,
// what stops a run first, and what would make it faster.
func renderExplanation(e report.Explanation, columns int, c term.Caps) string {
	page := term.Page{Columns: columns, Label: 11}
	page.Say(e.Question())
	for _, k := range e.Constraints() {
		text := k.Why
		if k.Binds {
			text += " " + strings.ReplaceAll(thisOne, " ", "_") // so that it stays on one line
		}
		page.Fact(k.What, text)
	}
	if !e.Known {
		page.Fact("?", "nothing is known of the pace yet: no run has ended")
	}
	for _, limit := range e.Announced() {
		page.Fact("announced", limit)
	}
	if e.Shared {
		page.Indented("This is as the runs that share the account on this host left it, and newer than the database.")
	}
	if changes := e.Changes(); len(changes) > 0 {
		page.Add("")
		page.Say("What changed it?")
		for _, change := range changes {
			page.Fact(change.When, change.What)
		}
	}
	page.Add("")
	page.Say("What stops a run first?")
	for i, stop := range e.Stops() {
		page.Fact(fmt.Sprintf("%d.", i+1), stop)
	}
	page.Add("")
	page.Say("What would make it faster?")
	page.Indented(e.Faster())
	return strings.ReplaceAll(page.Render(c), strings.ReplaceAll(thisOne, " ", "_"), thisOne)
}

// thisOne marks what limits the pace.
const thisOne = "<- this one"

// runStory tells one run in a few sentences.
func runStory(run collection.Run, now time.Time, columns int, c term.Caps) string {
	s := report.Status{Name: run.Connector, Runs: []collection.Run{run}}
	page := term.Page{Columns: columns, Label: 12}
	page.Say(words.Clean(run.Connector) + s.RunWords(now))
	t := run.Tally
	page.Fact("started", words.At(run.StartedAt, now)+", as "+string(run.Mode)+" in the "+string(run.Lane)+" lane")
	page.Fact("saved", fmt.Sprintf("%s in %s, %s new or changed", words.Counted(t.Records, "record", "records"),
		words.Counted(t.Slices, "slice", "slices"), words.Count(t.Changed)))
	page.Fact("requests", fmt.Sprintf("%s, of them %s; throttled %s", words.Count(t.Requests),
		words.Counted(t.Retries, "retry", "retries"), words.Counted(t.Throttled, "time", "times")))
	if !run.EndedAt.IsZero() {
		page.Fact("time", report.SummaryOf(run, nil, 0, t).TimeWords())
	}
	if t.Rejected > 0 {
		page.Fact("quarantine", words.Counted(t.Rejected, "record", "records")+", none dropped")
	}
	page.Fact("gaps", fmt.Sprintf("%s opened, %s filled", words.Count(t.GapsOpen), words.Count(t.GapsShut)))
	if words, ok := problem.MeaningOf(string(run.Reason)); ok {
		page.Fact("stopped", words.Meaning)
		page.Fact("acts", words.Who)
		page.Fact("next", words.Next)
	}
	return page.Render(c)
}
