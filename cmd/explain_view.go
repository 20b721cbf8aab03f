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
	var lines []string
	head := func(text string) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, term.Wrap("", text, columns)...)
	}
	item := func(lead, text string) {
		lines = append(lines, term.Wrap(fmt.Sprintf("  %-10s ", lead), text, columns)...)
	}
	head(e.Question())
	for _, k := range e.Constraints() {
		text := k.Why
		if k.Binds {
			text += " " + strings.ReplaceAll(thisOne, " ", "_") // so that it stays on one line
		}
		item(k.What, text)
	}
	if !e.Known {
		item("?", "nothing is known of the pace yet: no run has ended")
	}
	for _, limit := range e.Announced() {
		item("announced", limit)
	}
	if e.Shared {
		lines = append(lines, term.Wrap("  ", "This is as the runs that share the account on this host left it, and newer than the database.", columns)...)
	}
	if changes := e.Changes(); len(changes) > 0 {
		head("What changed it?")
		for _, change := range changes {
			item(change.When, change.What)
		}
	}
	head("What stops a run first?")
	for i, stop := range e.Stops() {
		item(fmt.Sprintf("%d.", i+1), stop)
	}
	head("What would make it faster?")
	lines = append(lines, term.Wrap("  ", e.Faster(), columns)...)
	for i, line := range lines {
		lines[i] = c.Text(strings.ReplaceAll(strings.TrimRight(line, " "), strings.ReplaceAll(thisOne, " ", "_"), thisOne))
	}
	return strings.Join(lines, "\n") + "\n"
}

// thisOne marks what limits the pace.
const thisOne = "<- this one"

// runStory tells one run in a few sentences.
func runStory(run collection.Run, now time.Time, columns int, c term.Caps) string {
	s := report.Status{Name: run.Connector, Runs: []collection.Run{run}}
	lines := term.Wrap("", words.Clean(run.Connector)+runWords(s, now), columns)
	fact := func(label, text string) {
		lines = append(lines, term.Wrap(fmt.Sprintf("  %-10s  ", label), text, columns)...)
	}
	t := run.Tally
	fact("started", words.At(run.StartedAt, now)+", as "+string(run.Mode)+" in the "+string(run.Lane)+" lane")
	fact("saved", fmt.Sprintf("%s in %s, %s new or changed", words.Counted(t.Records, "record", "records"),
		words.Counted(t.Slices, "slice", "slices"), words.Count(t.Changed)))
	fact("requests", fmt.Sprintf("%s, of them %s; throttled %s", words.Count(t.Requests),
		words.Counted(t.Retries, "retry", "retries"), words.Counted(t.Throttled, "time", "times")))
	if !run.EndedAt.IsZero() {
		fact("time", summaryOf(run, nil, 0, t).timeWords())
	}
	if t.Rejected > 0 {
		fact("quarantine", words.Counted(t.Rejected, "record", "records")+", none dropped")
	}
	fact("gaps", fmt.Sprintf("%s opened, %s filled", words.Count(t.GapsOpen), words.Count(t.GapsShut)))
	if words, ok := problem.MeaningOf(string(run.Reason)); ok {
		fact("stopped", words.Meaning)
		fact("acts", words.Who)
		fact("next", words.Next)
	}
	for i, line := range lines {
		lines[i] = c.Text(line)
	}
	return strings.Join(lines, "\n") + "\n"
}
