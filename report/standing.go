package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
)

// A Health is what a connector does, or why it does nothing, in one word.
type Health string

// The states of a connector.
const (
	Frozen     Health = "frozen"
	Blocked    Health = "blocked"
	Stuck      Health = "stuck"
	Waiting    Health = "waiting"
	Behind     Health = "behind"
	Collecting Health = "collecting"
	Unmeasured Health = "not_measured"
	UpToDate   Health = "up_to_date"
)

// healths are the states in their order: what needs a person first.
var Healths = []Health{Frozen, Blocked, Stuck, Waiting, Behind, Collecting, Unmeasured, UpToDate}

// Words says a state: up to date.
func (h Health) Words() string { return strings.ReplaceAll(string(h), "_", " ") }

// A Standing is where a connector stands, by one reading of the facts. What a
// person reads, what JSON says and what --check exits with all come from it,
// so that they cannot disagree.
type Standing struct {
	State Health
	Needs string               // who acts: nothing, time or operator
	Code  int                  // what --check exits with: 0 if nothing is needed but a planned pause
	Next  string               // what happens next, in words
	Cause collection.WaitCause // why nothing leaves; "" if something may, or that is not known
	Until time.Time            // when the wait ends; zero: no time is known
}

// Urgency orders standings: what needs a person first, then by state.
func (st Standing) Urgency() int {
	if st.Needs == problem.NeedsOperator {
		return slices.Index(Healths, st.State) - len(Healths)
	}
	return slices.Index(Healths, st.State)
}

const (
	// aliveWithin is how long a run may be silent before it is taken for dead;
	// it beats every few seconds.
	aliveWithin = time.Minute
	// shortWait is a wait that is over before anybody has read of it: a run says
	// where it stands every few seconds.
	shortWait = 5 * time.Second
)

// Stands says how a connector stands at now.
func (s Status) Stands(now time.Time) Standing {
	if len(s.Runs) == 0 {
		return Standing{State: Unmeasured, Needs: problem.NeedsNothing, Next: "never collected"}
	}
	last, running := s.Runs[0], s.Running(now)
	reason, code := s.yours(running)
	you := func(h Health, code int, why string) Standing {
		return Standing{State: h, Needs: problem.NeedsOperator, Code: code, Next: "you: " + why}
	}
	switch {
	case s.Account != nil && s.Account.Frozen, s.Account == nil && reason == collection.Frozen:
		return s.frozen(reason, now)
	case !s.Pause.At.IsZero() && !running: // on purpose, whatever else there is
		return Standing{State: Waiting, Needs: problem.NeedsNothing, Next: s.PauseWords(now)}
	case s.Account != nil && s.Account.heldOpen():
		return you(Blocked, problem.ExitRefused, "breaker is held open")
	case running:
		st := Standing{State: Collecting, Needs: problem.NeedsNothing, Next: "alive " + words.Ago(last.SeenAt(), now)}
		if wait := s.underWay(now); wait != nil {
			st = s.waits(wait.Cause, wait.Until, now)
		} else if cause, until := s.held(now); !until.IsZero() {
			st = s.waits(cause, until, now)
		}
		if reason != "" {
			st.Needs, st.Code, st.Next = problem.NeedsOperator, code, "you: "+problem.Brief(reason)+"; "+st.Next
		}
		return st
	case reason.RefusesAccount():
		return you(Blocked, code, problem.Brief(reason))
	case reason != "":
		return you(Stuck, code, problem.Brief(reason))
	case s.ServerWasAway():
		return s.goesOn(now)
	case s.Unsaid && s.Turn.IsZero():
		return you(Stuck, problem.ExitFailure, s.unsaid())
	case s.Unsaid:
		return Standing{State: Waiting, Needs: problem.NeedsTime, Code: problem.ExitLater, Next: s.unsaid() + s.triedAgain(now), Until: s.toCome(now)}
	case last.Outcome == collection.Failed && !s.Turn.IsZero() && problem.DiskFull(last.Metrics.Broke):
		return Standing{State: Waiting, Needs: problem.NeedsTime, Code: problem.ExitLater, Next: BrokeWords(last) + s.triedAgain(now), Until: s.toCome(now)}
	case last.Outcome == collection.Failed:
		why := BrokeWords(last) + s.triedAgain(now)
		if last.Metrics.Broke == "" {
			why = "the last run failed: " + why
		}
		return you(Stuck, forPerson(last.ExitCode), why)
	case last.Outcome == collection.Blocked && last.Tally.Rejected > 0:
		return you(Stuck, problem.ExitOwed, QuarantineWords(QuarantinedIn(s.Streams)))
	case last.Outcome == collection.Blocked && s.refusedAndUndone():
		return you(Stuck, forPerson(last.ExitCode), problem.Brief(last.Reason))
	}
	return s.atRest(now)
}

// PauseWords says who keeps the runs of the connector from beginning.
func (s Status) PauseWords(now time.Time) string {
	return fmt.Sprintf("paused by %s %s: %s", words.Clean(s.Pause.Who), words.Ago(s.Pause.At, now), words.Clean(s.Pause.Why))
}

// Order says what a person, or the account's freeze, lets nothing of the connector leave
// with, and the command that ends it; "" if nothing is held so.
func (s Status) Order(now time.Time) (why, end string) {
	a := s.Account
	switch {
	case a != nil && a.Frozen:
		why, end = words.WithReason("the account is frozen", words.Clean(a.Pace.FreezeNote)), "freeze release"
	case !s.Pause.At.IsZero():
		why, end = s.PauseWords(now), "unpause"
	case a != nil && a.Forced && a.Breaker == gate.Open:
		why, end = words.WithReason("an operator holds the breaker open", words.Clean(a.Pace.ForcedNote)), "breaker release"
	default:
		return "", ""
	}
	return why, s.Command(end) + " --reason WHY"
}

// atRest says how a connector stands that needs no person, and that no run
// collects now.
func (s Status) atRest(now time.Time) Standing {
	if cause, until := s.held(now); !until.IsZero() || s.Account != nil && s.Account.Breaker == gate.Open {
		st := s.waits(cause, until, now)
		if s.Account.Pace.Asks {
			st.Next = "the next run sends one request that asks whether the wait is over; " + st.Next
		}
		return st
	}
	planned := false
	for _, gap := range s.Owed {
		switch {
		case gap.Settled():
		case gap.Kind() == collection.Pressure && !gap.Revived():
			return s.waits("", FirstWait(s.Owed, now), now)
		default:
			planned = true
		}
	}
	done := !planned && !s.unfinished()
	switch s.Runs[0].Outcome {
	case collection.Complete, collection.NothingNew:
	case collection.Blocked, collection.Waiting, collection.Deferred: // what it left was filled since
		done = done && s.Complete() == len(s.Collected())
	default:
		done = false
	}
	if left := LeftToNext(s.Collected(), now); done && left != "" {
		return Standing{State: Behind, Needs: problem.NeedsNothing, Next: "the walk that was begun is complete; " + left}
	}
	if done {
		return Standing{State: UpToDate, Needs: problem.NeedsNothing, Next: "nothing"}
	}
	return Standing{State: Behind, Needs: problem.NeedsNothing, Next: "the next run continues" + s.silentRoutes(now)}
}

// silentRoutes says which routes nothing leaves by, and until when; "" if requests may leave by all of them.
func (s Status) silentRoutes(now time.Time) (text string) {
	if s.Account == nil {
		return ""
	}
	for _, k := range s.Account.Pace.Constraints {
		if k.Route != "" && k.Blocks && k.Until.After(now) {
			text += "; the route " + words.Clean(k.Route) + " waits until " + words.At(k.Until, now)
		}
	}
	return text
}

// ServerWasAway reports whether nothing but an outage of the database server ended the newest run.
func (s Status) ServerWasAway() bool {
	last := s.Newest()
	return last.Outcome == collection.Failed && problem.ServerAway(last.Metrics.Broke)
}

// goesOn is the standing of a connector whose newest run ended as the database server was away,
// which answers again: it was asked how the connector stands.
func (s Status) goesOn(now time.Time) Standing {
	st := Standing{State: Behind, Needs: problem.NeedsNothing}
	why := "the database server was away; "
	switch {
	case s.Turn.IsZero():
		st.Next = why + "the next run continues"
	case s.Turn.After(now):
		st.Next, st.Until = why+"the fleet goes on with it "+words.At(s.Turn, now), s.Turn
	default:
		st.Next = why + "the fleet goes on with it now"
	}
	return st
}

// unsaid says that the end of the newest run could not be stored, and who knows it.
func (s Status) unsaid() string {
	return "the last run is over, and how could not be stored: the log of its worker (" + holderWords(s.Newest().Holder) + ") says it"
}

// triedAgain says when a worker goes on after a run that failed; "" if none does.
func (s Status) triedAgain(now time.Time) string {
	switch {
	case s.Turn.IsZero():
		return ""
	case s.Turn.After(now):
		return "; a worker tries again " + words.At(s.Turn, now)
	}
	return "; a worker tries again now"
}

// toCome returns when the fleet goes on, if that is to come.
func (s Status) toCome(now time.Time) time.Time {
	if s.Turn.After(now) {
		return s.Turn
	}
	return time.Time{}
}

// waits is the standing of a connector that goes on by itself. A pause until a known
// time is as planned, unless the provider fails or the last run could not wait for it.
func (s Status) waits(cause collection.WaitCause, until, now time.Time) Standing {
	st := Standing{State: Waiting, Needs: problem.NeedsTime, Code: problem.ExitLater, Cause: cause, Until: until}
	if cause != "" && cause != collection.WaitBreaker && !until.IsZero() && s.Runs[0].Outcome != collection.Waiting {
		st.Code = problem.ExitOK
	}
	why := s.whyItWaits(cause)
	switch {
	case until.IsZero() && cause == collection.WaitBreaker:
		st.Next = "the next run tries again: " + why
	case until.IsZero():
		st.Next = "the next run tries again"
	case why == "":
		st.Next = "until " + words.At(until, now)
	default:
		st.Next = "until " + words.At(until, now) + ": " + why
	}
	return st
}

// whyItWaits says a cause in words; without one, for what a gap is owed.
func (s Status) whyItWaits(cause collection.WaitCause) string {
	provider := "the provider"
	if s.Account != nil {
		provider = words.Clean(s.Account.Provider)
	}
	switch cause {
	case collection.WaitRetryAfter:
		return provider + " asked to wait"
	case collection.WaitBreaker:
		return "the breaker is open"
	case collection.WaitWindow:
		return "the ceiling is used up"
	case collection.WaitReserve:
		return provider + "'s quota is used up"
	case collection.WaitBackoff:
		return provider + " failed, and is asked again"
	case collection.WaitPacing:
		if s.Refuses() {
			return limit.Name(&s.Account.Pace)
		}
		return "pacing"
	}
	for _, gap := range s.Owed {
		if gap.Kind() == collection.Pressure && !gap.Revived() {
			return problem.Brief(gap.Reason)
		}
	}
	return ""
}

// frozen is the standing of a connector whose provider is frozen.
func (s Status) frozen(reason collection.Reason, now time.Time) Standing {
	st := Standing{State: Frozen, Needs: problem.NeedsOperator, Code: problem.ExitRefused, Next: "you: check the account"}
	switch {
	case reason == collection.Suspended:
		st.Next = "you: " + problem.Brief(reason)
	case s.Account != nil && s.Account.Until.After(now):
		st.Next, st.Until = "you: release it, or wait for a test request after "+words.At(s.Account.Until, now), s.Account.Until
	}
	return st
}

// yours returns the worst reason of the owed gaps that a person must act on, and
// its exit code; "" for none.
func (s Status) yours(running bool) (reason collection.Reason, code int) {
	for _, gap := range s.Owed {
		if !s.isYours(gap, running) {
			continue
		}
		if c := problem.Worst(code, problem.ExitOfGap(gap.Gap)); c != code {
			code, reason = c, gap.Reason
		}
	}
	return reason, code
}

// isYours reports whether a person must act on a gap. A freeze that was released needs no person, and
// neither does a gap that a run under way may fill.
func (s Status) isYours(gap store.OwnedGap, running bool) bool {
	released := gap.Reason.Freezes() && s.Account != nil && !s.Account.Frozen
	if UrgencyOf(gap) != ByPerson || len(s.Runs) > 0 && collection.OfBefore(s.Runs[0], gap.Gap) {
		return false
	}
	return gap.State == collection.GapDead || !released && !running
}

// refusedAndUndone reports whether the newest run was refused for good, and
// nothing that happened since has mended it: what it stopped at is not owed any
// more only if it was reset or filled.
func (s Status) refusedAndUndone() bool {
	last := s.Runs[0]
	released := last.Reason.Freezes() && s.Account != nil && !s.Account.Frozen
	return last.Reason != "" && last.Reason.Kind() == collection.Stuck && len(s.Owed) == 0 && !released && !s.unfinished()
}

// forPerson returns code if a person acts on it, and else the code of a failure
// that has no better one.
func forPerson(code int) int {
	i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == code })
	if i < 0 || problem.ExitCodes[i].Who != "you" && problem.ExitCodes[i].Who != "us" {
		return problem.ExitFailure
	}
	return code
}

// held returns why and until when no request of the account may leave; zero if
// one may.
func (s Status) held(now time.Time) (cause collection.WaitCause, until time.Time) {
	if s.Account == nil {
		return "", time.Time{}
	}
	if s.Account.Until.After(now) {
		return s.Account.Cause, s.Account.Until
	}
	if s.Account.Breaker == gate.Open {
		return collection.WaitBreaker, time.Time{}
	}
	return "", time.Time{}
}

// Running reports whether a run is alive.
func (s Status) Running(now time.Time) bool {
	last := s.Newest()
	return last.Outcome == collection.Running && now.Sub(last.SeenAt()) < aliveWithin && !s.Unsaid
}

// unfinished reports whether a walk of a stream was begun, or reset, and has
// not come to its end. A stream that no run was asked for was never begun.
func (s Status) unfinished() bool {
	for _, stream := range s.Collected() {
		if len(stream.Lanes) > 0 && !reachedEnd(stream) {
			return true
		}
	}
	return false
}

// CheckCode is what "collect status --check" exits with: the worst of all.
func CheckCode(all []Status, now time.Time) int {
	var codes []int
	for _, s := range all {
		codes = append(codes, s.Stands(now).Code)
	}
	return problem.Worst(codes...)
}
