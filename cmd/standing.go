package cmd

import (
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
	"collect/runner"
)

// A health is what a connector does, or why it does nothing, in one word.
type health string

// The states of a connector.
const (
	isFrozen     health = "frozen"
	isBlocked    health = "blocked"
	isStuck      health = "stuck"
	isWaiting    health = "waiting"
	isBehind     health = "behind"
	isCollecting health = "collecting"
	isUnmeasured health = "not_measured"
	isUpToDate   health = "up_to_date"
)

// healths holds the order, the glyph and the color of each state. The glyph
// never stands without its word.
var healths = []struct {
	health
	glyph, color string
}{
	{isFrozen, "×", term.Red},
	{isBlocked, "×", term.Red},
	{isStuck, "×", term.Red},
	{isWaiting, "‖", term.Yellow},
	{isBehind, "…", ""},
	{isCollecting, "▸", term.Green},
	{isUnmeasured, "?", ""},
	{isUpToDate, "✓", term.Green},
}

// rank returns the place of h in the order of states.
func (h health) rank() int {
	for i, row := range healths {
		if row.health == h {
			return i
		}
	}
	return len(healths)
}

func (h health) words() string  { return strings.ReplaceAll(string(h), "_", " ") }
func (h health) String() string { return healths[h.rank()].glyph + " " + h.words() }
func (h health) color() string  { return healths[h.rank()].color }

// A standing is where a connector stands, by one reading of the facts. What a
// person reads, what JSON says and what --check exits with all come from it,
// so that they cannot disagree.
type standing struct {
	State health
	Needs string               // who acts: nothing, time or operator
	Code  int                  // what --check exits with: 0 if nothing is needed
	Next  string               // what happens next, in words
	Cause collection.WaitCause // why nothing leaves; "" if something may, or that is not known
	Until time.Time            // when the wait ends; zero: no time is known
}

// urgency orders standings: what needs a person first, then by state.
func (st standing) urgency() int {
	if st.Needs == problem.NeedsOperator {
		return st.State.rank() - len(healths)
	}
	return st.State.rank()
}

const (
	// aliveWithin is how long a run may be silent before it is taken for dead;
	// it beats every few seconds.
	aliveWithin = time.Minute
	// shortWait is a wait that is over before anybody has read of it: a run says
	// where it stands every few seconds.
	shortWait = 5 * time.Second
)

// stands says how a connector stands at now.
func (s connectorStatus) stands(now time.Time) standing {
	if len(s.Runs) == 0 {
		return standing{State: isUnmeasured, Needs: problem.NeedsNothing, Next: "never collected"}
	}
	last, running := s.Runs[0], s.running(now)
	reason, code := s.yours(running)
	you := func(h health, code int, why string) standing {
		return standing{State: h, Needs: problem.NeedsOperator, Code: code, Next: "you: " + why}
	}
	switch {
	case s.Account != nil && s.Account.Frozen, s.Account == nil && reason == collection.Frozen:
		return s.frozen(reason, now)
	case s.Account != nil && s.Account.heldOpen():
		return you(isBlocked, problem.ExitRefused, "breaker is held open")
	case running:
		st := standing{State: isCollecting, Needs: problem.NeedsNothing, Next: "alive " + words.Ago(last.SeenAt(), now)}
		if wait := last.Metrics.Wait; wait != nil && wait.Until.Sub(now) > shortWait {
			st = s.waits(wait.Cause, wait.Until, now)
		} else if cause, until := s.held(now); !until.IsZero() {
			st = s.waits(cause, until, now)
		}
		if reason != "" {
			st.Needs, st.Code, st.Next = problem.NeedsOperator, code, "you: "+problem.Brief(reason)+"; "+st.Next
		}
		return st
	case reason == collection.Auth || reason == collection.Suspended:
		return you(isBlocked, code, problem.Brief(reason))
	case reason != "":
		return you(isStuck, code, problem.Brief(reason))
	case last.Outcome == collection.Failed:
		return you(isStuck, forPerson(last.ExitCode), "the last run failed")
	case last.Outcome == collection.Blocked && last.Tally.Rejected > 0:
		return you(isStuck, problem.ExitOwed, quarantineWords(quarantinedIn(s.Streams)))
	case last.Outcome == collection.Blocked && s.refusedAndUndone():
		return you(isStuck, forPerson(last.ExitCode), problem.Brief(last.Reason))
	}
	return s.atRest(now)
}

// atRest says how a connector stands that needs nobody, and that no run
// collects now.
func (s connectorStatus) atRest(now time.Time) standing {
	if cause, until := s.held(now); !until.IsZero() || s.Account != nil && s.Account.Breaker == gate.Open {
		return s.waits(cause, until, now)
	}
	planned := false
	for _, gap := range s.Owed {
		switch {
		case gap.Reason == collection.Gone:
		case gap.Kind() == collection.Pressure && !gap.Revived():
			return s.waits("", firstWait(s.Owed, now), now)
		default:
			planned = true
		}
	}
	done := !planned && !s.unfinished()
	switch s.Runs[0].Outcome {
	case collection.Complete, collection.NothingNew:
	case collection.Blocked, collection.Waiting, collection.Deferred: // what it left was filled since
		done = done && s.complete() == len(s.selected())
	default:
		done = false
	}
	if left := leftFor(s.selected(), now); done && left != "" {
		return standing{State: isBehind, Needs: problem.NeedsNothing, Next: "the walk that was begun is complete; " + left}
	}
	if done {
		return standing{State: isUpToDate, Needs: problem.NeedsNothing, Next: "nothing"}
	}
	return standing{State: isBehind, Needs: problem.NeedsNothing, Next: "the next run continues"}
}

// waits is the standing of a connector that goes on by itself.
func (s connectorStatus) waits(cause collection.WaitCause, until, now time.Time) standing {
	st := standing{State: isWaiting, Needs: problem.NeedsTime, Code: problem.ExitLater, Cause: cause, Until: until}
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
func (s connectorStatus) whyItWaits(cause collection.WaitCause) string {
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
func (s connectorStatus) frozen(reason collection.Reason, now time.Time) standing {
	st := standing{State: isFrozen, Needs: problem.NeedsOperator, Code: problem.ExitRefused, Next: "you: check the account"}
	switch {
	case reason == collection.Suspended:
		st.Next = "you: " + problem.Brief(reason)
	case s.Account != nil && s.Account.Until.After(now):
		st.Next, st.Until = "you; one test request after "+words.At(s.Account.Until, now), s.Account.Until
	}
	return st
}

// yours returns the worst reason of what is owed that a person must act on, and
// the exit code of it; "" if there is nothing. A freeze that was released needs
// nobody, and neither does what a run may fill that is under way.
func (s connectorStatus) yours(running bool) (reason collection.Reason, code int) {
	for _, gap := range s.Owed {
		if len(s.Runs) > 0 && runner.OfBefore(s.Runs[0], gap.Gap) {
			continue
		}
		released := (gap.Reason == collection.Frozen || gap.Reason == collection.Suspended) && s.Account != nil && !s.Account.Frozen
		switch {
		case gap.Reason == collection.Gone, gap.Revived(), gap.Kind() != collection.Stuck:
			continue
		case gap.State != collection.GapDead && (released || running):
			continue
		}
		if c := problem.Worst(code, problem.ExitOfGap(gap.Gap)); c != code {
			code, reason = c, gap.Reason
		}
	}
	return reason, code
}

// refusedAndUndone reports whether the newest run was refused for good, and
// nothing that happened since has mended it: what it stopped at is not owed any
// more only if it was reset or filled.
func (s connectorStatus) refusedAndUndone() bool {
	last := s.Runs[0]
	released := (last.Reason == collection.Frozen || last.Reason == collection.Suspended) && s.Account != nil && !s.Account.Frozen
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
func (s connectorStatus) held(now time.Time) (cause collection.WaitCause, until time.Time) {
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

// running reports whether a run is alive.
func (s connectorStatus) running(now time.Time) bool {
	last := s.Runs[0]
	return last.Outcome == collection.Running && now.Sub(last.SeenAt()) < aliveWithin
}

// unfinished reports whether a walk of a stream was begun, or reset, and has
// not come to its end. A stream that no run was asked for was never begun.
func (s connectorStatus) unfinished() bool {
	for _, stream := range s.selected() {
		if len(stream.Lanes) > 0 && !reachedEnd(stream) {
			return true
		}
	}
	return false
}

// checkCode is what "collect status --check" exits with: the worst of all.
func checkCode(all []connectorStatus, now time.Time) int {
	var codes []int
	for _, s := range all {
		codes = append(codes, s.stands(now).Code)
	}
	return problem.Worst(codes...)
}
