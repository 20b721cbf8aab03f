package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/runner"
	"collect/store"
)

// The exit codes. Scripts rely on them: they are only ever added to, and a
// script must take a code it does not know for a failure. The numbers 64 to
// 78 are those of sysexits.h, which systemd prints by name.
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitPaused     = 10
	exitWarned     = 11
	exitOwed       = 65
	exitUnreached  = 69
	exitBug        = 70
	exitStorage    = 74
	exitLater      = 75
	exitProtocol   = 76
	exitRefused    = 77
	exitConfig     = 78
	exitInterrupt  = 130
	exitTerminated = 143
	exitHangup     = 129
)

// An exitCode describes one exit code to people and to monitoring.
type exitCode struct {
	Code    int
	Systemd string // what systemctl status shows beside the number; "" for none
	When    string
	Who     string // who acts
	Retry   string
	Ping    string // what to tell a dead man's switch: success, fail, or log
}

// needs returns who acts in the words of JSON.
func (c exitCode) needs() string {
	switch {
	case c.Who == "no one":
		return needsNothing
	case strings.HasPrefix(c.Who, "time"):
		return needsTime
	}
	return needsOperator
}

// exitCodes lists all exit codes, worst first: of several problems, the worst
// decides. A bug outranks everything; what needs a person
// outranks what passes by itself.
var exitCodes = []exitCode{
	{exitBug, "SOFTWARE", "a bug in collect", "us", "no", "fail"},
	{exitStorage, "IOERR", "disk full, database damaged or missing, output not writable", "you", "after repair", "fail"},
	{exitConfig, "CONFIG", "unknown connector, mistake in a file, newer database", "you", "no", "fail"},
	{exitUsage, "INVALIDARGUMENT", "bad flag or argument", "you", "no", "fail"},
	{exitRefused, "NOPERM", "token missing or rejected, frozen after a 403, account suspended", "you", "no", "fail"},
	{exitProtocol, "PROTOCOL", "schema drift, unreadable page, cursor expired; with --strict also data that may not be all", "you", "no", "fail"},
	{exitOwed, "DATAERR", "finished, but gaps need you or records are in quarantine", "you", "after a look", "fail"},
	{exitFailure, "FAILURE", "a failure with no better class", "you", "maybe", "fail"},
	{exitUnreached, "UNAVAILABLE", "provider not reachable at all (DNS, TLS, refused)", "time, then you", "yes", "log"},
	{exitLater, "TEMPFAIL", "asked to wait longer than this run may, breaker open, another run holds the lock", "time", "yes, later", "log"},
	{exitTerminated, "TERM", "SIGTERM, after saving", "no one", "yes", "log"},
	{exitInterrupt, "", "SIGINT, after saving", "no one", "yes", "log"},
	{exitHangup, "", "SIGHUP (a terminal or a connection that was closed), after saving", "no one", "yes", "log"},
	{exitWarned, "", "finished with warnings, only with --strict", "you, a look", "next schedule", "success"},
	{exitPaused, "", "planned pause, only with --strict", "no one", "next schedule", "success"},
	{exitOK, "SUCCESS", "complete, nothing new, or a planned pause (cap, time, retries)", "no one", "next schedule", "success"},
}

// exitCodeHelp returns the exit codes for people, by number, each with the
// name systemd gives it.
func exitCodeHelp() string {
	byNumber := slices.Clone(exitCodes)
	slices.SortFunc(byNumber, func(a, b exitCode) int { return a.Code - b.Code })
	var b strings.Builder
	for _, c := range byNumber {
		lead := fmt.Sprintf("%5d  %-16s", c.Code, c.Systemd)
		for _, line := range term.Wrap(lead, fmt.Sprintf("%s (acts: %s; retry: %s)", c.When, c.Who, c.Retry), 80) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("\nOf several connectors that \"collect status --check\" looks at, the worst decides,\n" +
		"and of several problems of a run. More codes may be added: take an unknown one\nfor a failure.\n")
	return b.String()
}

// worst returns the code that decides among codes, and exitOK if there are
// none. A code that is not in the table ranks with exitFailure.
func worst(codes ...int) int {
	rank := func(code int) int {
		i := slices.IndexFunc(exitCodes, func(c exitCode) bool { return c.Code == code })
		if i < 0 {
			i = slices.IndexFunc(exitCodes, func(c exitCode) bool { return c.Code == exitFailure })
		}
		return i
	}
	decides := exitOK
	for _, code := range codes {
		if rank(code) < rank(decides) {
			decides = code
		}
	}
	return decides
}

// An ending is all that the verdict on a run depends on.
type ending struct {
	Run         collection.Run   // with its Reason and Tally, once the work is over
	Owed        []store.OwnedGap // what its connector owes then, whichever run left it
	Err         error            // what ended the run; nil if it came to its end
	Unreached   bool             // no request got as far as an answer
	Interrupted int              // the exit code of the signal, if there was one
	Warnings    int
	Doubted     bool // a warning speaks against the data; see [collection.WarningCode.Contradicts]
	Strict      bool // say planned pauses, warnings and doubts with codes of their own
}

// verdictCode returns the verdict on a run and the exit code that says it.
//
// The code is exitOK only if everything is stored, or what is left is in
// planned gaps. An older gap counts like a new one: what is owed does not
// become less owed by a second run. But that a credential was refused is true
// of the run that met it; see [runner.OfBefore]. Quarantined records count in the run that
// put them there, since quarantine keeps them for good. A piece that its
// provider declared gone is shown and does not count: there is nothing left
// to store. A 404 that no rule explains does.
//
// An interruption speaks for itself, whatever else is owed: the run was not
// there to see the end of it.
func verdictCode(e ending) (collection.Outcome, int) {
	if interrupted(e) {
		return collection.RunInterrupted, cmp.Or(e.Interrupted, exitInterrupt)
	}
	codes := []int{endCode(e)}
	for _, gap := range e.Owed {
		if runner.OfBefore(e.Run, gap.Gap) {
			codes = append(codes, exitPaused)
			continue
		}
		codes = append(codes, gapCode(gap.Gap))
	}
	if e.Run.Tally.Rejected > 0 {
		codes = append(codes, exitOwed)
	}
	if e.Unreached {
		codes = append(codes, exitUnreached)
	}
	if e.Warnings > 0 {
		codes = append(codes, exitWarned)
	}
	if e.Strict && e.Doubted {
		codes = append(codes, exitProtocol)
	}
	code := worst(codes...)
	if !e.Strict && (code == exitPaused || code == exitWarned) {
		code = exitOK
	}
	return outcomeOf(e), code
}

// interrupted reports whether a signal, and nothing worse, ended the run.
func interrupted(e ending) bool {
	if e.Err == nil {
		return e.Run.Reason == collection.Interrupted
	}
	return classify(e.Err).exit == exitInterrupt
}

// endCode returns the code of what ended the run, its owed pieces aside.
func endCode(e ending) int {
	if e.Err != nil {
		if stop, ok := errors.AsType[*collection.Stop](e.Err); ok {
			return reasonCode(stop.Reason)
		}
		return classify(e.Err).exit
	}
	return reasonCode(e.Run.Reason)
}

// gapCode returns the exit code of a run that leaves a gap. What no run tries
// again is not a matter of time, whatever its reason.
func gapCode(gap collection.Gap) int {
	switch kind := gap.Kind(); kind {
	case collection.Planned:
		return exitPaused
	case gap.Reason.Kind():
		return reasonCode(gap.Reason)
	}
	return exitOwed
}

// reasonCode returns the exit code of a run that stopped for r.
//
// The gaps that an open breaker leaves are planned, so that they arm no
// cooldown, but the run that it stopped is no success: nobody chose it.
func reasonCode(r collection.Reason) int {
	switch r {
	case "", collection.Gone:
		return exitOK
	case collection.Interrupted, collection.RequestCap, collection.WallClock, collection.RetryBudget:
		return exitPaused
	case collection.CircuitOpen, collection.RateLimited, collection.UpstreamPressure, collection.RetryAfter:
		return exitLater
	case collection.Auth, collection.Frozen, collection.Suspended:
		return exitRefused
	case collection.SchemaDrift, collection.BadPage, collection.CursorExpired:
		return exitProtocol
	}
	return exitOwed
}

// outcomeOf returns the verdict on a run: the runner's, unless something ended
// it that is no stop.
func outcomeOf(e ending) collection.Outcome {
	run, owed := e.Run, make([]collection.Gap, len(e.Owed))
	for i, gap := range e.Owed {
		owed[i] = gap.Gap
	}
	if stop := stopIn(e.Err); stop != nil {
		run.Reason = stop.Reason
	} else if e.Err != nil {
		if code := classify(e.Err).exit; code != exitLater && code != exitUnreached {
			return collection.Failed
		}
		run.Reason = collection.RetryAfter // it is time that helps
	}
	return runner.Verdict(run, owed)
}
