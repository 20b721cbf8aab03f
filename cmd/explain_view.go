package cmd

import (
	"fmt"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
)

// renderExplanation answers, for a person, why the pace is what it is, what changed it,
// what stops a run first, and what would make it faster.
func renderExplanation(e report.Explanation, columns int, c term.Caps) string {
	page := term.Page{Columns: columns, Label: 11}
	page.Say(e.Question())
	if answer := e.AnswerWords(); answer != "" {
		page.Indented(answer)
	}
	if stale := e.StaleWords(); stale != "" {
		page.Indented(stale)
	}
	if begins := e.BeginsWords(); begins != "" {
		page.Indented(begins)
	}
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
	page.Fact("latest", limit.Failures(&e.Pace))
	for _, said := range e.Announced() {
		page.Fact("announced", said)
	}
	for i := range e.Accounts {
		page.Fact("token", words.Clean(e.Accounts[i].From)+": "+e.Accounts[i].TurnWords(e.Now))
	}
	if e.Shared {
		page.Indented("This is as the runs that share the account left it, and newer than the database.")
	}
	if shared := e.SharingWords(); shared != "" {
		page.Fact("account", shared)
	} else if e.Running(e.Now) {
		page.Fact("account", limit.Shared(&e.Pace))
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
