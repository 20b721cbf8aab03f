package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
)

// render answers, for a person, why the pace is what it is, what changed it,
// what stops a run first, and what would make it faster.
func (e explained) render(columns int, c term.Caps) string {
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
	head(e.question())
	for _, k := range e.constraints() {
		text := k.Why
		if k.Binds {
			text += " " + strings.ReplaceAll(thisOne, " ", "_") // so that it stays on one line
		}
		item(k.What, text)
	}
	if !e.Known {
		item("?", "nothing is known of the pace yet: no run has ended")
	}
	if e.Shared {
		lines = append(lines, term.Wrap("  ", "This is as the runs that share the account on this host left it, and newer than the database.", columns)...)
	}
	if changes := e.changes(); len(changes) > 0 {
		head("What changed it?")
		for _, change := range changes {
			item(change.When, change.What)
		}
	}
	head("What stops a run first?")
	for i, stop := range e.stops() {
		item(fmt.Sprintf("%d.", i+1), stop)
	}
	head("What would make it faster?")
	lines = append(lines, term.Wrap("  ", e.faster(), columns)...)
	for i, line := range lines {
		lines[i] = c.Text(strings.ReplaceAll(strings.TrimRight(line, " "), strings.ReplaceAll(thisOne, " ", "_"), thisOne))
	}
	return strings.Join(lines, "\n") + "\n"
}

// thisOne marks what limits the pace.
const thisOne = "<- this one"

// question is what there is to explain.
func (e explained) question() string {
	name := words.Clean(e.Name)
	switch b := e.Pace.Limit(); {
	case b != nil && b.Blocks && b.Name != gate.InFlightMax:
		return name + ": why does no request leave now?"
	case e.Known && e.Pace.Learned > 0:
		return name + ": what limits the pace (" + words.Rate(e.Pace.Learned) + " now)?"
	}
	return name + ": what limits the pace?"
}

// An explainedConstraint is a constraint in words.
type explainedConstraint struct {
	What, Why string
	Binds     bool
}

// constraints says what limits the pace.
func (e explained) constraints() []explainedConstraint {
	var all []explainedConstraint
	for i := range e.Pace.Constraints {
		k := &e.Pace.Constraints[i]
		what, why := e.words(k)
		if k.Route != "" {
			why += " (route " + words.Clean(k.Route) + ")"
		}
		all = append(all, explainedConstraint{what, why, k.Binds})
	}
	return all
}

// words says one constraint: its number, and what it is.
func (e explained) words(k *gate.Constraint) (what, why string) {
	held := limit.HeldBy(&e.Pace, k)
	row := limit.For(k, held)
	what, why = limit.Figure(k, e.Now), row.Name+": "+row.Is
	switch {
	case k.Name == gate.CeilingOf:
		return e.ceilingWords(k)
	case k.Name == gate.FreezeOf && held:
		why += ": " + words.Clean(e.Pace.FreezeNote)
	case k.Name == gate.FreezeOf:
		why = fmt.Sprintf("%s: the provider refused the account (%s), so it is frozen; one test request may go out then", row.Name, spaced(e.Pace.FreezeReason))
	case k.Name == gate.BreakerOf && held:
		why += ": " + words.Clean(e.Pace.ForcedNote)
	case k.Name == gate.BreakerOf:
		why = row.Name + ": " + failureWords(e.Pace.Failure, e.Now) + "; then one goes out as a probe"
	}
	if detail := limit.Detail(k, e.Now); detail != "" {
		why += "; " + detail
	}
	return what, why
}

// ceilingWords says a window of the owner, and how much of a long one is used.
func (e explained) ceilingWords(k *gate.Constraint) (what, why string) {
	what = "ceiling"
	if k.PerSecond > 0 {
		what = words.Rate(k.PerSecond)
	}
	why = limit.For(k, false).Name + ": " + words.Ceiling(collection.Ceiling{Count: k.Count, Per: k.Window})
	if origin := e.originOf(*k); origin != "" {
		why += ", set in " + words.Clean(origin)
	}
	if detail := limit.Detail(k, e.Now); detail != "" {
		why += "; " + detail
	}
	if k.Blocks {
		why += ", so nothing leaves before " + words.At(k.Until, e.Now)
	}
	return what, why
}

// An explainedChange is something that changed the pace.
type explainedChange struct{ When, What string }

// changes says what happened last, newest first.
func (e explained) changes() []explainedChange {
	var all []explainedChange
	for i := len(e.History) - 1; i >= 0 && len(all) < historyShown; i-- {
		event := e.History[i]
		what := ""
		switch {
		case event.Rate != nil:
			what = words.RateChange(event.Rate.Previous, event.Rate.Learned) + ": " + words.Clean(event.Rate.Reason)
		case event.Breaker != nil:
			what = words.WithReason(fmt.Sprintf("breaker %s -> %s: %s", event.Breaker.Previous, event.Breaker.State, spaced(event.Breaker.Reason)), words.Clean(event.Breaker.Detail))
		case event.Clamp != nil:
			what = "ceiling " + words.Clamp(event.Clamp)
		case event.Route != nil:
			what = words.Route(event.Route)
		case event.Freeze != nil && event.Freeze.Frozen:
			what = "frozen: " + spaced(event.Freeze.Reason)
		case event.Freeze != nil:
			what = "no longer frozen: " + spaced(event.Freeze.Reason)
		}
		if event.Message != "" {
			what += " (" + words.Clean(event.Message) + ")"
		}
		all = append(all, explainedChange{words.At(event.Time, e.Now), what})
	}
	return all
}

// spaced returns a name of ours as words.
func spaced(name string) string { return strings.ReplaceAll(words.Clean(name), "_", " ") }

// stops says what ends a run, the first first.
func (e explained) stops() []string {
	var all []string
	if b := e.Pace.Limit(); b != nil && b.Blocks && b.Name != gate.InFlightMax {
		all = append(all, "it does not begin: no request leaves now")
	}
	if refusal := e.refusal(); refusal != "" {
		all = append(all, refusal)
	} else if run := e.Newest(); unanswered(run) {
		all = append(all, words.WithReason("no usable answer: none of "+words.Counted(run.Tally.Requests, "request", "requests")+" of the last run got one", lastTrouble(e.Owed)))
	}
	for _, c := range e.Caps {
		text := c.What
		if c.Origin != "" {
			text += ", set in " + words.Clean(c.Origin)
		}
		all = append(all, text)
	}
	end := "the end of the work"
	if left := e.left(); left != nil {
		end += ", " + left.words()
	}
	if owed := report.OwedCount(e.Owed); owed > 0 {
		end += ", with " + words.Counted(int64(owed), "gap", "gaps") + " owed: " + e.Command("gaps")
	}
	all = append(all, end)
	if len(e.Caps) == 0 {
		all[len(all)-1] += " (the files set no request cap and no time limit)"
	}
	return all
}

// refusal says that a provider does not accept the credential, and who acts: a
// run ends with its first request.
func (e explained) refusal() string {
	for _, gap := range slices.Backward(e.Owed) {
		if gap.Reason != collection.Auth {
			continue
		}
		auth, _ := problem.MeaningOf(string(gap.Reason))
		return fmt.Sprintf("auth: %s, since %s. You act: %s; then: %s",
			auth.Meaning, words.At(gap.OpenedAt, e.Now), auth.Next, e.Command("resume"))
	}
	return ""
}

// faster says what would help, by what binds.
func (e explained) faster() string {
	b := e.Pace.Limit()
	switch {
	case !e.Known:
		return "A run: the pace is learned from what comes back."
	case e.refusal() != "":
		return "Nothing before the provider accepts the credential: see above."
	case b == nil && unanswered(e.Newest()):
		return "An answer: the provider gave none to the last run."
	case b == nil:
		return "Nothing on our side: requests are not paced."
	}
	text := strings.ReplaceAll(limit.For(b, limit.HeldBy(&e.Pace, b)).Do, "NAME", words.Clean(e.Name+e.Flags))
	if refused := e.Newest().Tally.Throttled; b.Name == gate.Learned && refused > 0 {
		text += fmt.Sprintf(" In the last run it did so %s.", words.Counted(refused, "time", "times"))
	}
	return text
}

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
