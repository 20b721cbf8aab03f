package problem

import (
	"slices"
	"strings"
)

// The exit codes. Scripts rely on them: they are only ever added to, and a
// script must take a code it does not know for a failure. The numbers 64 to
// 78 are those of sysexits.h, which systemd prints by name.
const (
	ExitOK         = 0
	ExitFailure    = 1
	ExitUsage      = 2
	ExitPaused     = 10
	ExitWarned     = 11
	ExitOwed       = 65
	ExitUnreached  = 69
	ExitBug        = 70
	ExitStorage    = 74
	ExitLater      = 75
	ExitProtocol   = 76
	ExitRefused    = 77
	ExitConfig     = 78
	ExitInterrupt  = 130
	ExitTerminated = 143
	ExitHangup     = 129
)

// An ExitCode describes one exit code to people and to monitoring.
type ExitCode struct {
	Code    int
	Systemd string // what systemctl status shows beside the number; "" for none
	When    string
	Who     string // who acts
	Retry   string
	Ping    string // what to tell a dead man's switch: success, fail, or log
}

// needs returns who acts in the words of JSON.
func (c ExitCode) needs() string {
	switch {
	case c.Who == "no one":
		return NeedsNothing
	case strings.HasPrefix(c.Who, "time"):
		return NeedsTime
	}
	return NeedsOperator
}

// NeedsOfExit returns who must act on an exit code, in the words of JSON. A code
// that is not in the table is a failure.
func NeedsOfExit(code int) string {
	for _, c := range ExitCodes {
		if c.Code == code {
			return c.needs()
		}
	}
	return NeedsOperator
}

// ExitCodes lists all exit codes, worst first: of several problems, the worst
// decides. A bug outranks everything; what needs a person
// outranks what passes by itself.
var ExitCodes = []ExitCode{
	{ExitBug, "SOFTWARE", "a bug in collect", "us", "no", "fail"},
	{ExitStorage, "IOERR", "disk full, database damaged or missing, output not writable", "you", "after repair", "fail"},
	{ExitConfig, "CONFIG", "unknown connector, mistake in a file, newer database", "you", "no", "fail"},
	{ExitUsage, "INVALIDARGUMENT", "bad flag or argument", "you", "no", "fail"},
	{ExitRefused, "NOPERM", "token missing or rejected, frozen after a 403, account suspended", "you", "no", "fail"},
	{ExitProtocol, "PROTOCOL", "schema drift, unreadable page, cursor expired; with --strict also data that may not be all; of verify, stored records that differ", "you", "no", "fail"},
	{ExitOwed, "DATAERR", "finished, but gaps need you or records went to quarantine", "you", "after a look", "fail"},
	{ExitFailure, "FAILURE", "a failure with no better class", "you", "maybe", "fail"},
	{ExitUnreached, "UNAVAILABLE", "provider not reachable at all (DNS, TLS, refused)", "time, then you", "yes", "log"},
	{ExitLater, "TEMPFAIL", "asked to wait longer than this run may, breaker open, another run holds the lock", "time", "yes, later", "log"},
	{ExitTerminated, "TERM", "SIGTERM, after saving", "no one", "yes", "log"},
	{ExitInterrupt, "", "SIGINT, after saving", "no one", "yes", "log"},
	{ExitHangup, "", "SIGHUP (a terminal or a connection that was closed), after saving", "no one", "yes", "log"},
	{ExitWarned, "", "finished with warnings, only with --strict", "you, a look", "next schedule", "success"},
	{ExitPaused, "", "planned pause, only with --strict", "no one", "next schedule", "success"},
	{ExitOK, "SUCCESS", "complete, nothing new, or a planned pause (cap, time, retries)", "no one", "next schedule", "success"},
}

// Worst returns the code that decides among codes, and [ExitOK] if there are
// none. A code that is not in the table ranks with [ExitFailure].
func Worst(codes ...int) int {
	rank := func(code int) int {
		i := slices.IndexFunc(ExitCodes, func(c ExitCode) bool { return c.Code == code })
		if i < 0 {
			i = slices.IndexFunc(ExitCodes, func(c ExitCode) bool { return c.Code == ExitFailure })
		}
		return i
	}
	decides := ExitOK
	for _, code := range codes {
		if rank(code) < rank(decides) {
			decides = code
		}
	}
	return decides
}
