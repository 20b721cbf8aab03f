package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

// render answers, for a person, why the pace is what it is, what changed it,
// what stops a run first, and what would make it faster.
func (e explained) render(columns int, c caps) string {
	var lines []string
	head := func(text string) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, wrap("", text, columns)...)
	}
	item := func(lead, text string) {
		lines = append(lines, wrap(fmt.Sprintf("  %-10s ", lead), text, columns)...)
	}
	head(e.question())
	for _, k := range e.constraints() {
		text := k.Why
		if k.Binds {
			text += "  <- this one"
		}
		item(k.What, text)
	}
	if !e.Known {
		item("?", "nothing is known of the pace yet: no run has ended")
	}
	if e.Shared {
		lines = append(lines, wrap("  ", "This is as the runs that share the account on this host left it, and newer than the database.", columns)...)
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
	lines = append(lines, wrap("  ", e.faster(), columns)...)
	for i, line := range lines {
		lines[i] = c.text(strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// question is what there is to explain.
func (e explained) question() string {
	name := clean(e.Name)
	switch b := e.binding(); {
	case b != nil && b.Blocks && b.Name != gate.InFlightMax:
		return name + ": why does no request leave now?"
	case e.Known && e.Pace.Learned > 0:
		return name + ": what limits the pace (" + rate(e.Pace.Learned) + " now)?"
	}
	return name + ": what limits the pace?"
}

// binding returns the constraint that binds, or nil.
func (e explained) binding() *gate.Constraint {
	for i := range e.Pace.Constraints {
		if e.Pace.Constraints[i].Binds {
			return &e.Pace.Constraints[i]
		}
	}
	return nil
}

// An explainedConstraint is a constraint in words.
type explainedConstraint struct {
	What, Why string
	Binds     bool
}

// constraints says what limits the pace.
func (e explained) constraints() []explainedConstraint {
	var all []explainedConstraint
	for _, k := range e.Pace.Constraints {
		what, why := e.words(k)
		if k.Route != "" {
			why += " (route " + clean(k.Route) + ")"
		}
		all = append(all, explainedConstraint{what, why, k.Binds})
	}
	return all
}

// words says one constraint: its number, and where it comes from.
func (e explained) words(k gate.Constraint) (what, why string) {
	until := func(nobody string) string {
		if k.Until.IsZero() {
			return nobody
		}
		return "until " + at(k.Until, e.Now)
	}
	switch k.Name {
	case gate.FreezeOf:
		why := "frozen: the provider refused the account (" + clean(e.Pace.FreezeReason) + "); one test request may go out then"
		if e.Pace.FreezeReason == gate.ByOperator {
			why = "frozen by an operator: " + clean(e.Pace.FreezeNote)
		}
		return until("frozen"), why
	case gate.BreakerOf:
		if e.Pace.Forced {
			return "open", "breaker: an operator holds it open since " + at(k.Since, e.Now) + ": " + clean(e.Pace.ForcedNote)
		}
		return until("open"), "breaker: " + failureWords(e.Pace.Failure, e.Now) + "; then one goes out as a probe"
	case gate.HoldOf:
		return until("silent"), "the provider asked for silence"
	case gate.ReserveOf:
		return until("reserved"), "what is left of the limit is reserved for people"
	case gate.CeilingOf:
		return e.ceilingWords(k)
	case gate.ClampOf:
		return rate(k.PerSecond), "the ceiling, lowered for now: too much was refused under it" + e.since(k)
	case gate.Announced:
		return rate(k.PerSecond), "announced by the provider" + e.since(k)
	case gate.Undeclared:
		return rate(k.PerSecond), "no ceiling is declared: this bound rises with clean answers"
	case gate.Learned:
		return rate(k.PerSecond), "learned; last confirmed " + ago(k.Since, e.Now)
	case gate.InFlightMax:
		return fmt.Sprint(k.Count), "in flight at most"
	}
	return rate(k.PerSecond), clean(k.Name)
}

func (e explained) since(k gate.Constraint) string {
	if k.Since.IsZero() {
		return ""
	}
	return ", " + ago(k.Since, e.Now)
}

// ceilingWords says a window of the owner, and how much of a long one is used.
func (e explained) ceilingWords(k gate.Constraint) (what, why string) {
	what = "ceiling"
	if k.PerSecond > 0 {
		what = rate(k.PerSecond)
	}
	why = "ceiling: " + ceilingWords(collection.Ceiling{Count: k.Count, Per: k.Window})
	if origin := e.originOf(k); origin != "" {
		why += ", set in " + clean(origin)
	}
	if k.Window > time.Minute {
		why += fmt.Sprintf("; %s used", count(int64(k.Used)))
	}
	if k.Blocks {
		why += ", so nothing leaves before " + at(k.Until, e.Now)
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
			what = rateChange(event.Rate.Previous, event.Rate.Learned) + ": " + clean(event.Rate.Reason)
		case event.Breaker != nil:
			what = withReason(fmt.Sprintf("breaker %s -> %s: %s", event.Breaker.Previous, event.Breaker.State, spaced(event.Breaker.Reason)), clean(event.Breaker.Detail))
		case event.Clamp != nil:
			what = "ceiling " + clampWords(event.Clamp)
		case event.Freeze != nil && event.Freeze.Frozen:
			what = "frozen: " + spaced(event.Freeze.Reason)
		case event.Freeze != nil:
			what = "no longer frozen: " + spaced(event.Freeze.Reason)
		}
		if event.Message != "" {
			what += " (" + clean(event.Message) + ")"
		}
		all = append(all, explainedChange{at(event.Time, e.Now), what})
	}
	return all
}

// spaced returns a name of ours as words.
func spaced(name string) string { return strings.ReplaceAll(clean(name), "_", " ") }

// stops says what ends a run, the first first.
func (e explained) stops() []string {
	var all []string
	if b := e.binding(); b != nil && b.Blocks && b.Name != gate.InFlightMax {
		all = append(all, "it does not begin: no request leaves now")
	}
	if refusal := e.refusal(); refusal != "" {
		all = append(all, refusal)
	} else if run := e.newest(); unanswered(run) {
		all = append(all, withReason("no usable answer: none of "+counted(run.Tally.Requests, "request", "requests")+" of the last run got one", lastTrouble(e.Owed)))
	}
	for _, c := range e.Caps {
		text := c.What
		if c.Origin != "" {
			text += ", set in " + clean(c.Origin)
		}
		all = append(all, text)
	}
	end := "the end of the work"
	if left := e.left(); left != nil {
		end += ", " + left.words()
	}
	if owed := owedCount(e.Owed); owed > 0 {
		end += ", with " + counted(int64(owed), "gap", "gaps") + " owed: " + e.command("gaps")
	}
	all = append(all, end)
	if len(e.Caps) == 0 {
		all[len(all)-1] += " (no request cap and no time limit is set)"
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
		words := reasonMeanings[gap.Reason]
		return fmt.Sprintf("auth: %s, since %s. You act: %s; then: %s",
			words[0], at(gap.OpenedAt, e.Now), words[1], e.command("resume"))
	}
	return ""
}

// faster says what would help, by what binds.
func (e explained) faster() string {
	b := e.binding()
	switch {
	case !e.Known:
		return "A run: the pace is learned from what comes back."
	case e.refusal() != "":
		return "Nothing before the provider accepts the credential: see above."
	case b == nil && unanswered(e.newest()):
		return "An answer: the provider gave none to the last run."
	case b == nil:
		return "Nothing on our side: requests are not paced."
	}
	switch b.Name {
	case gate.FreezeOf:
		return "Settle it with the provider; then: " + e.command("freeze release") + ` --reason WHY`
	case gate.BreakerOf:
		if e.Pace.Forced {
			return e.command("breaker release") + ` --reason WHY`
		}
		return "Time: the provider fails, and asking more often would not help it."
	case gate.HoldOf, gate.ReserveOf:
		return "Time. Asking earlier would only be refused."
	case gate.CeilingOf:
		return "A higher ceiling, if the provider allows more: only you can raise it. Try it on a model first: collect simulate --ceiling"
	case gate.Undeclared:
		return "A ceiling that you declare, in the connector file: `ceiling: {per_second: N}`, or under `providers:` in collect.yaml: " +
			"`ceiling_per_second: N`. Without one the bound doubles after 200 clean answers."
	case gate.ClampOf:
		return "Time: the ceiling is given back as soon as less is refused."
	case gate.Announced:
		return "Nothing on our side: the provider says that this is its limit."
	case gate.InFlightMax:
		return "More requests in flight, if the provider does not mind: --concurrency"
	}
	return e.fasterThanLearned()
}

// fasterThanLearned says what would help against a pace that was learned.
func (e explained) fasterThanLearned() string {
	refused := e.Runs[0].Tally.Throttled
	if refused == 0 {
		return "Nothing: the pace rises by itself as long as the provider does not complain."
	}
	return fmt.Sprintf("Nothing on our side: in the last run the provider asked for less %s. A higher ceiling would not be used until it stops.",
		counted(refused, "time", "times"))
}

// runStory tells one run in a few sentences.
func runStory(run collection.Run, now time.Time, columns int, c caps) string {
	s := connectorStatus{Name: run.Connector, Runs: []collection.Run{run}}
	lines := wrap("", clean(run.Connector)+runWords(s, now), columns)
	fact := func(label, text string) {
		lines = append(lines, wrap(fmt.Sprintf("  %-10s  ", label), text, columns)...)
	}
	t := run.Tally
	fact("started", at(run.StartedAt, now)+", as "+string(run.Mode)+" in the "+string(run.Lane)+" lane")
	fact("saved", fmt.Sprintf("%s in %s, %s new or changed", counted(t.Records, "record", "records"),
		counted(t.Slices, "slice", "slices"), count(t.Changed)))
	fact("requests", fmt.Sprintf("%s, of them %s; throttled %s", count(t.Requests),
		counted(t.Retries, "retry", "retries"), counted(t.Throttled, "time", "times")))
	if !run.EndedAt.IsZero() {
		fact("time", summaryOf(run, nil, 0, t).timeWords())
	}
	if t.Rejected > 0 {
		fact("quarantine", counted(t.Rejected, "record", "records")+", none dropped")
	}
	fact("gaps", fmt.Sprintf("%s opened, %s filled", count(t.GapsOpen), count(t.GapsShut)))
	if words, ok := wordsFor(string(run.Reason)); ok {
		fact("stopped", words.Meaning)
		fact("next", words.Who+". "+words.Next)
	}
	for i, line := range lines {
		lines[i] = c.text(line)
	}
	return strings.Join(lines, "\n") + "\n"
}
