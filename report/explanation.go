package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/limit"
	"collect/report/problem"
)

// An Explanation is all that the pace of a connector is explained from.
type Explanation struct {
	Status
	Now     time.Time
	Known   bool // of the pace, which then is Pace
	Shared  bool // Pace is of the runs that share the account, and newer than the database
	Pace    gate.Status
	History []collection.Event // changes of pace, breaker and freeze, oldest first
	Allowed []Allowance        // what the files say now
	Caps    []Allowance        // of a run
}

// An Allowance is what a file allows, and where it says so.
type Allowance struct {
	collection.Ceiling
	What, Origin string
}

// originOf returns where a window of the saved state is allowed; "" if no file
// says so any more.
func (e Explanation) originOf(c gate.Constraint) string {
	for _, a := range e.Allowed {
		if a.Per == c.Window && a.Count == c.Count {
			return a.Origin
		}
	}
	return ""
}

// Question is what there is to explain.
func (e Explanation) Question() string {
	name := words.Clean(e.Name)
	switch {
	case e.awaited() != nil:
		return name + ": why does no answer come?"
	case e.refused():
		return name + ": why is nothing collected?"
	case e.waits() != "":
		return name + ": why does no request leave now (" + e.waits() + ")?"
	case e.Known && e.Pace.Learned > 0:
		rate, of := e.paceNow(&e.Pace, e.Shared, e.Now)
		said := words.Rate(rate) + " now" + of
		switch {
		case rate > 0:
		case e.Pace.Begins > 0:
			said = "the next run begins at " + words.Rate(e.Pace.Begins) + untilTold(&e.Pace) + together(&e.Pace)
		default:
			said = "learned " + words.Rate(e.Pace.Learned) + together(&e.Pace)
		}
		return name + ": what limits the pace (" + said + ")?"
	}
	return name + ": what limits the pace?"
}

// AnswerWords answers the question where nothing of the pace does, nor the question itself; "" where
// one does.
func (e Explanation) AnswerWords() string {
	if e.refused() {
		return e.Stands(e.Now).Next
	}
	return ""
}

// waits says until when no request leaves, and why; "" if requests leave.
func (e Explanation) waits() string {
	if b := e.blocks(); b != nil {
		return limit.Figure(b, e.Now) + ": " + limit.Name(&e.Pace)
	}
	return e.waitWords(&e.Pace, e.Now)
}

// blocks returns the constraint that binds and lets nothing out; nil if something may leave, or something else
// keeps it from that.
func (e Explanation) blocks() *gate.Constraint {
	if b := e.binds(); holdsAll(b) {
		return b
	}
	return nil
}

// binds returns the constraint that binds; nil if none does, or something else than the pace keeps requests from
// leaving.
func (e Explanation) binds() *gate.Constraint {
	if e.waitWords(&e.Pace, e.Now) != "" || e.refused() || e.awaited() != nil {
		return nil
	}
	return e.Pace.Limit()
}

// StaleWords says that a run at work has saved nothing for a while; "" if it has.
func (e Explanation) StaleWords() string {
	if a := e.awaited(); a != nil {
		return "The run waits for the answers to " + a.requests() + ": " + a.none() + ". This is how it stood then."
	}
	if saved := e.Pace.SavedAt; e.Running(e.Now) && !saved.IsZero() && e.Now.Sub(saved) > staleAfter {
		return "This is how it stood " + words.Ago(saved, e.Now) + ": no answer has been saved since."
	}
	return ""
}

// awaited returns the answers that the run at work waits for; nil if it waits for something else.
func (e Explanation) awaited() *awaited { return e.awaits(&e.Pace, e.Now) }

// atWork reports whether requests of the account leave now, of this connector or of others.
func (e Explanation) atWork() bool { return (e.Running(e.Now) || e.Shared) && e.Pace.PerSecond > 0 }

// BeginsWords says why the next run begins at less than what was learned; "" if it does not.
func (e Explanation) BeginsWords() string {
	learned := words.Rate(e.Pace.Learned)
	if e.atWork() || e.Pace.Begins == 0 || e.Pace.Begins >= e.Pace.Learned || words.Rate(e.Pace.Begins) == learned {
		return ""
	}
	return fmt.Sprintf("%s was found. The next run begins below it, because fewer than three refusals in a row agreed on it or it is hours old, and rises to it while nothing is refused.", learned)
}

// A ConstraintWords is a constraint in words.
type ConstraintWords struct {
	What, Why string
	Binds     bool
}

// Constraints says what limits the pace.
func (e Explanation) Constraints() []ConstraintWords {
	var all []ConstraintWords
	if !e.Known {
		for _, a := range e.Allowed {
			k := gate.Untouched(a.Ceiling)
			what, why := e.ceilingWords(&k)
			all = append(all, ConstraintWords{what, why, false})
		}
	}
	binds := e.binds()
	for i := range e.Pace.Constraints {
		k := &e.Pace.Constraints[i]
		what, why := e.words(k)
		if k.Route != "" {
			why += " (route " + words.Clean(k.Route) + ")"
		}
		all = append(all, ConstraintWords{what, why, k == binds})
	}
	return all
}

// words says one constraint: its number, and what it is.
func (e Explanation) words(k *gate.Constraint) (what, why string) {
	held := limit.HeldBy(&e.Pace, k)
	row := limit.For(k, held)
	what, why = limit.Figure(k, e.Now), row.Name+": "+row.Is
	switch {
	case k.Name == gate.CeilingOf:
		return e.ceilingWords(k)
	case k.Name == gate.Unused && e.onTheWay() > 1:
		why = fmt.Sprintf("%s: it waits for the answers to %d requests that are on their way", row.Name, e.onTheWay())
	case k.Name == gate.Rising:
		if at, after := e.lowered(k.Route, e.Newest().StartedAt); after != "" {
			why = fmt.Sprintf("%s: the pace was lowered at %s after %s, and rises again: no limit is known from that yet", row.Name, words.At(at, e.Now), after)
		}
	case k.Name == gate.FreezeOf && held:
		why += ": " + words.Clean(e.Pace.FreezeNote)
	case k.Name == gate.FreezeOf:
		why = fmt.Sprintf("%s: the provider refused the account (%s), so it is frozen; one test request may go out then", row.Name, spaced(e.Pace.FreezeReason))
	case k.Name == gate.BreakerOf && held:
		why += ": " + words.Clean(e.Pace.ForcedNote)
	case k.Name == gate.BreakerOf:
		why = row.Name + ": " + FailureWords(e.Pace.Failure, e.Now) + "; one request goes out as a probe"
	}
	if detail := limit.Detail(k, e.Now); detail != "" {
		why += "; " + detail
	}
	if at, after := e.lowered(k.Route, time.Time{}); after != "" && !k.Blocks && (k.Name == gate.Learned || k.Name == gate.Slow) {
		why += fmt.Sprintf("; last lowered at %s after %s", words.At(at, e.Now), after)
	}
	if k.InForce > 0 && !k.Blocks && e.atWork() && what != words.Rate(k.InForce) { // else it is what the next run goes on from
		why += "; " + what + " was found"
		if k.InForce > k.PerSecond {
			why += ", and more is tried"
		}
		what = words.Rate(k.InForce)
	}
	return what, why
}

// onTheWay returns how many requests of the run at work were on their way when it last said so: a list
// that is read page after page has one.
func (e Explanation) onTheWay() int {
	if !e.Running(e.Now) {
		return 0
	}
	return e.Newest().Metrics.ActiveRequests
}

// lowerings are the reasons for which a rising pace is lowered, as people say them.
var lowerings = map[string]string{"throttled": "a refusal", "no usable answer": "a request without a usable answer", string(gate.Learned): "refusals", string(gate.Slow): "late answers"}

// lowered returns when and after what the pace of a route was last lowered since a time; "" if it was not.
func (e Explanation) lowered(route string, since time.Time) (at time.Time, after string) {
	for _, event := range slices.Backward(e.History) {
		if event.Time.Before(since) {
			break
		}
		if r := event.Rate; r != nil && r.Route == route && r.Learned < r.Previous && lowerings[r.Reason] != "" {
			return event.Time, lowerings[r.Reason]
		}
	}
	return at, ""
}

// ceilingWords says a window of the owner, and how much of a long one is used.
func (e Explanation) ceilingWords(k *gate.Constraint) (what, why string) {
	what = "ceiling"
	if k.PerSecond > 0 {
		what = words.Rate(k.PerSecond)
	}
	b := Budget{Count: k.Count, Window: k.Window, Lowered: k.Lowered}
	why = limit.For(k, limit.HeldBy(&e.Pace, k)).Name + ": " + b.InForce()
	if said := b.LoweredWords(e.Now); said != "" {
		why += ", " + said
	} else if origin := e.originOf(*k); origin != "" {
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

// Hear takes in an event of the past, if it is a change of the pace. They come oldest
// first.
func (e *Explanation) Hear(event collection.Event) {
	if event.Rate != nil || event.Breaker != nil || event.Freeze != nil || event.Clamp != nil || event.Route != nil {
		e.History = append(e.History, event)
	}
}

// Announced says the limits of the provider as it announced them last, with when.
func (e Explanation) Announced() (said []string) {
	for i := range e.Pace.Announced {
		q := &e.Pace.Announced[i]
		text := amount(q.Limit, q)
		switch {
		case q.Window > 0 && q.Known:
			text += " in " + words.Span(q.Window)
		case q.Ends.After(e.Now):
			text += " until " + words.At(q.Ends, e.Now)
		}
		if over := !q.Ends.IsZero() && !q.Ends.After(e.Now); over {
			text += ", granted anew at " + words.At(q.Ends, e.Now)
		} else {
			text += fmt.Sprintf(", %s left %s", words.Count(int64(q.Remaining)), words.Ago(q.Told, e.Now))
		}
		if q.Each > 0 {
			text += ", about " + words.Count(int64(math.Round(q.Each))) + " less after each request"
		}
		if name := words.Clean(q.Name); name != "" {
			text += " (" + name + ")"
		}
		said = append(said, text)
	}
	return said
}

// unitOf returns what q counts: requests, if the provider names nothing else.
func unitOf(q *gate.Quota) string { return cmp.Or(words.Clean(q.Unit), "requests") }

// amount says so much of q. If more than one is gone after each request, and the provider names no unit, it counts
// something else, or others use it as well.
func amount(n float64, q *gate.Quota) string {
	if q.Each > 0 && q.Unit == "" {
		return words.Count(int64(n))
	}
	unit := unitOf(q)
	return words.Counted(int64(n), strings.TrimSuffix(unit, "s"), unit)
}

// A Change is something that changed the pace.
type Change struct{ When, What string }

// historyShown is how many changes a person is shown.
const historyShown = 5

// Changes says what happened last, newest first. A pace that changed by less than is said did not change.
func (e Explanation) Changes() []Change {
	var all []Change
	for i := len(e.History) - 1; i >= 0 && len(all) < historyShown; i-- {
		event := e.History[i]
		if r := event.Rate; r != nil && words.Rate(r.Previous) == words.Rate(r.Learned) {
			continue
		}
		what := EventWords(event)
		if event.Account != "" {
			what = words.Clean(event.Account) + ": " + what
		}
		all = append(all, Change{words.At(event.Time, e.Now), what})
	}
	return all
}

// spaced returns a name of ours as words.
func spaced(name string) string { return strings.ReplaceAll(words.Clean(name), "_", " ") }

// Stops says what ends a run, the first first.
func (e Explanation) Stops() []string {
	var all []string
	if why, end := e.Order(e.Now); why != "" {
		all = append(all, "it sends nothing: "+why+"; to end that: "+end)
	} else if e.waits() != "" && !e.silent(&e.Pace, e.Now) {
		does := "it does not begin: no request leaves now"
		switch {
		case e.Pace.Asks:
			does = "one request asks whether the wait is over, as a person ordered; unless it is answered, no other leaves"
		case e.Running(e.Now):
			does = "it waits: no request leaves now"
		}
		all = append(all, does)
	}
	if owed := e.owedWait(&e.Pace, e.Now); owed != "" {
		all = append(all, owed)
	}
	if failure := e.failure(); failure != "" {
		all = append(all, failure)
	}
	if refusal := e.refusal(); refusal != "" {
		all = append(all, refusal)
	} else if run := e.Newest(); Unanswered(run) {
		all = append(all, words.WithReason("no usable answer: none of "+words.Counted(run.Tally.Requests, "request", "requests")+" of the last run got one", LastTrouble(e.Owed)))
	}
	ends := append(e.limits(), e.quota()...)
	ends = append(ends, e.workEnds())
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(a.in, b.in) })
	for _, end := range ends {
		all = append(all, end.what)
	}
	return all
}

// An ending is something that ends a run, and in which time at this pace.
type ending struct {
	what string
	in   time.Duration
}

// unknown stands for the time of an ending whose time is not known.
const unknown = time.Duration(math.MaxInt64)

// limits says the request cap and the time limit: of the run at work, or of each run by the
// files.
func (e Explanation) limits() (all []ending) {
	if limits := e.runLimits(); limits != nil {
		if most := limits.MaxRequests; most > 0 {
			left := max(0, most-e.Newest().Tally.Requests)
			text, in := "the request cap of this run", unknown
			if takes := e.takes(left); takes > 0 {
				text, in = text+", at this pace in "+about(takes), takes
			}
			all = append(all, ending{fmt.Sprintf("%s: %s of %s are left", text, words.Count(left), words.Counted(most, "request", "requests")), in})
		}
		if until := limits.Until; !until.IsZero() {
			in := max(0, until.Sub(e.Now))
			all = append(all, ending{fmt.Sprintf("the time limit of this run, in %s: %s", words.Span(in.Truncate(time.Second)), words.At(until, e.Now)), in})
		}
		return all
	}
	for _, c := range e.Caps {
		text, in := c.What, unknown
		if c.Origin != "" {
			text += ", set in " + words.Clean(c.Origin)
		}
		if takes := e.takes(int64(c.Count)); takes > 0 {
			in = takes
		} else if c.Per > 0 {
			in = c.Per
		}
		all = append(all, ending{text, in})
	}
	return all
}

// runLimits returns what the run at work was begun with; nil if none is at work, or that is not known.
func (e Explanation) runLimits() *collection.RunLimits {
	if !e.Running(e.Now) {
		return nil
	}
	return e.Newest().Metrics.Limits
}

// workEnds says when the work is done, and that no limit ends a run before where none does.
func (e Explanation) workEnds() ending {
	text, in := "the end of the work", unknown
	if left := e.Left(); left != nil {
		text += ", " + left.Words()
		if left.In > 0 {
			in = left.In
		}
	}
	if owed := OwedCount(e.Owed); owed > 0 {
		text += ", with " + words.Counted(int64(owed), "gap", "gaps") + " owed: " + e.Command("gaps")
	}
	limits := e.runLimits()
	switch none := "no request cap and no time limit"; {
	case limits != nil && *limits == (collection.RunLimits{}):
		text += " (this run has " + none + ")"
	case limits != nil || len(e.Caps) > 0:
	case e.Running(e.Now):
		text += " (the files set " + none + "; what this run was begun with is not known)"
	default:
		text += " (the files set " + none + ")"
	}
	return ending{text, in}
}

// quota says which budget of the provider is used up first, before the work is done, at
// this pace; or in which time, where it is not known how much work there is.
func (e Explanation) quota() []ending {
	work := e.Left()
	if work == nil && !e.Running(e.Now) {
		return nil
	}
	requests := int64(0)
	if work != nil {
		requests = work.Requests
	}
	first, soonest := usedUpFirst(&e.Pace, requests, e.Now)
	if first == nil {
		return nil
	}
	return []ending{{e.usedUp(first, soonest, work != nil), soonest}}
}

// usedUp says in which time q is used up, and until when: before the work is done, if it is known how much there is.
func (e Explanation) usedUp(q *gate.Quota, in time.Duration, known bool) string {
	text := "the provider's quota"
	if q.Name != "" {
		text += " (" + words.Clean(q.Name) + ")"
	}
	if !known && in > 0 {
		text += ", if the work takes more"
	}
	if in == 0 {
		text += ", now"
	} else {
		text += ", at this pace in " + about(in)
	}
	left := words.Count(int64(q.Left(e.Now))) + " of " + amount(q.Limit, q)
	switch requests := int64(q.Requests(q.Left(e.Now))); {
	case q.Each > 0 && requests == 0:
		left += " (too few for one request)"
	case q.Each > 0:
		left += " (for " + words.Counted(requests, "request", "requests") + ")"
	}
	text += ": " + left + " are left"
	if q.Ends.IsZero() {
		return text + ", and it does not say when there are more"
	}
	return text + " until " + words.At(q.Ends, e.Now)
}

// failure says which error ended the last run, and who acts; "" if none did.
func (e Explanation) failure() string {
	last := e.Newest()
	switch {
	case e.Unsaid:
		return e.Stands(e.Now).Next
	case last.Outcome != collection.Failed:
		return ""
	case e.ServerWasAway():
		return e.goesOn(e.Now).Next
	case !e.Turn.IsZero():
		return "what ended the last run: " + BrokeWords(last) + e.triedAgain(e.Now)
	}
	return "what ended the last run: " + BrokeWords(last) + ". You act; then: " + e.Command("resume")
}

// refusal says that a provider does not accept the credential, and who acts: a
// run ends with its first request.
func (e Explanation) refusal() string {
	for _, gap := range slices.Backward(e.Owed) {
		if gap.Reason != collection.Auth {
			continue
		}
		auth, _ := problem.MeaningOf(string(gap.Reason))
		since := gap.OpenedAt // or later: it may have been owed for another reason before
		if at := e.Pace.RejectedAt; at.After(since) {
			since = at
		}
		return fmt.Sprintf("auth: %s, since %s. You act: %s; then: %s",
			auth.Meaning, words.At(since, e.Now), auth.Next, e.Command("resume"))
	}
	return ""
}

// refused reports whether each run ends with its first request, because the provider does not
// accept the credential: then no pace limits anything.
func (e Explanation) refused() bool { return e.refusal() != "" && !e.Running(e.Now) }

// Faster says what would help, by what binds.
func (e Explanation) Faster() string {
	b := e.Pace.Limit()
	switch {
	case !e.Pause.At.IsZero():
		return "Nothing before the pause is ended: see above."
	case !e.Known:
		return "A run: the pace is learned from what comes back."
	case e.refusal() != "":
		return "Nothing before the provider accepts the credential: see above."
	case e.awaited() != nil:
		return "The answers: " + e.awaited().none() + ". Nobody acts at first; if it lasts, check the network and the provider."
	case e.silent(&e.Pace, e.Now):
		return "Time, or an answer: see above."
	case e.waits() != "" && e.blocks() == nil:
		return "Time: the run goes on by itself then."
	case b == nil && Unanswered(e.Newest()):
		return "An answer: the provider gave none to the last run."
	case b == nil:
		return "Nothing on our side: requests are not paced."
	}
	if e.Left() != nil && len(e.quota()) > 0 && b.PerSecond > 0 && !b.Blocks {
		return "More of the provider's quota, which ends the run before the work is done: a higher pace would only use it up sooner."
	}
	text := strings.NewReplacer("NAME", words.Clean(e.Name+e.Flags), "WINDOW", WindowWords(b.Window)).Replace(limit.For(b, limit.HeldBy(&e.Pace, b)).Do)
	if b.Name == gate.Unused && e.onTheWay() > 1 {
		text = "Answers that come sooner: no pace brings them."
	}
	failures, mostly := limit.Failures(&e.Pace), 2*e.Pace.Failed > e.Pace.Ended
	switch {
	case mostly && b.Name == gate.Rising:
		return "Answers: " + failures + ". A faster pace would not bring them."
	case mostly && (b.Name == gate.InFlightMax || b.Name == gate.Unused):
		return "Answers: " + failures + ", and each of them takes its time. More requests in flight would not bring them."
	case failures != "" && (b.Name == gate.InFlightMax || b.Name == gate.Unused):
		text += " " + failures + ", and each of them takes its time."
	}
	if other := e.blocksToo(b); other != nil && b.Name == gate.CeilingOf {
		return fmt.Sprintf("Time. A higher ceiling would let nothing out before %s: %s.", words.At(other.Until, e.Now), limit.For(other, limit.HeldBy(&e.Pace, other)).Name)
	}
	if b.Blocks && (b.Name == gate.Learned || b.Name == gate.Slow || b.Name == gate.Places) {
		if b.Probes == 0 {
			return "Time: one request asks then whether that is over."
		}
		return "Time: no request succeeds now, and one at a time asks whether that is over."
	}
	if refused := e.Newest().Tally.Throttled; b.Name == gate.Learned && refused > 0 {
		which := "the last run"
		if e.Running(e.Now) {
			which = "this run"
		}
		text += fmt.Sprintf(" In %s it refused %s.", which, words.Counted(refused, "time", "times"))
	}
	if b.Name == gate.Learned && b.Route == "" && len(e.Streams) > 1 {
		text += " All streams share this pace: if the provider limits one of them by itself, give that stream a `route` in the connector file."
	}
	return text
}

// blocksToo returns what lets nothing out beside b, which binds: of several, what does for
// the longest; nil if nothing does.
func (e Explanation) blocksToo(b *gate.Constraint) (longest *gate.Constraint) {
	for i := range e.Pace.Constraints {
		k := &e.Pace.Constraints[i]
		if k != b && b.Blocks && k.Blocks && k.Name != gate.CeilingOf && k.Until.After(e.Now) && (longest == nil || k.Until.After(longest.Until)) {
			longest = k
		}
	}
	return longest
}
