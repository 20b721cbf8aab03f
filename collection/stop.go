package collection

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoProgress is the cause of a [Stop] for a walk that goes on and gets
// nowhere: the same cursor, or the same pages, again and again. What comes
// behind such a page is no better, so that it is not looked for.
var ErrNoProgress = errors.New("no progress")

// ErrMarkExpired is the cause of a [Stop] for [CursorExpired] if the provider also
// refuses what the walk began with: only a walk of everything has what it missed.
var ErrMarkExpired = errors.New("the mark expired")

// ErrWindow is a cause of a [Stop] for the first page of a window of time that the
// provider refused as a bad request. Nothing led to that page, so that its refusal is
// never the end of a list.
var ErrWindow = errors.New("the window was refused")

// ErrCursorRefused is a cause of a [Stop] for a page that the provider led to itself and
// then refused as a bad request: it may not know the cursor any more.
var ErrCursorRefused = errors.New("the cursor was refused")

// ErrContradicted is the cause of a [Stop] for a walk that came to its end twice,
// and what came contradicts each time that this was all; see [Evidence]. It is an
// ErrNoProgress.
var ErrContradicted = fmt.Errorf("what came is not all: %w", ErrNoProgress)

// ErrDeclared is the cause of a [Stop] that a rule of the connector asks for.
var ErrDeclared = errors.New("a rule of the connector says so")

// ErrGapDeclared is [ErrDeclared] of a rule that makes a gap of this one piece, so that
// the walk goes on behind it if the next one can be named.
var ErrGapDeclared = fmt.Errorf("%w (gap)", ErrDeclared)

// ErrAfterMany is the cause of a [Stop] for a refusal that nothing explains, where many requests of the
// same stream were answered well before it: it may be how the provider says that it is asked too fast.
var ErrAfterMany = errors.New("many answers came before it")

// ErrLate is the cause of a [Stop] for an answer that did not come in time, or did not
// end in time.
var ErrLate = errors.New("late")

// ErrUnreached is the cause of a [Stop] for a request that did not leave, as there was no connection.
var ErrUnreached = errors.New("no connection")

// ErrClientCertificate is the cause of a [Stop] for a connection that a provider ends
// because of the certificate of this client, or for want of one.
var ErrClientCertificate = errors.New("the provider does not accept the client certificate")

// A Stop is the error that ends a slice for a known reason. What it stopped
// becomes a [Gap] with the same reason.
//
// The governed client returns it for budgets, refusals and verdicts, and a
// connector returns it for a page it cannot read. Callers find it with
// errors.AsType[*collection.Stop].
type Stop struct {
	Reason    Reason
	NotBefore time.Time // when trying again may help; zero: at any time
	Status    int       // the provider's status; 0 if there was no response
	Detail    string    // one line for people: no secrets, paths and queries of URLs, cursors or bodies
	CodeAt    string    // where the body has the code that its words in Detail begin with, as rules name it: body.error.code; "" if they begin with none
	Err       error     // the cause, if there is one

	Held *Held // records that came, and are in quarantine while their piece is owed
}

func (s *Stop) Error() string {
	switch {
	case s.Detail != "" && s.Status != 0:
		return fmt.Sprintf("%s: %s (%d)", s.Reason, s.Detail, s.Status)
	case s.Detail != "":
		return fmt.Sprintf("%s: %s", s.Reason, s.Detail)
	case s.Status != 0:
		return fmt.Sprintf("%s (%d)", s.Reason, s.Status)
	}
	return string(s.Reason)
}

func (s *Stop) Unwrap() error { return s.Err }

// EndsRun reports whether s stops all work with the provider, as its reason says, and
// not only that of one account; see [OneAccountError].
func (s *Stop) EndsRun() bool {
	_, one := errors.AsType[*OneAccountError](s.Err)
	return s.Reason.EndsRun() && !one
}

// A OneAccountError is the cause of a [Stop] that concerns one of several accounts, and
// the walks that are bound to it: the walks of the others go on.
type OneAccountError struct{ From string } // where its credential came from

func (e *OneAccountError) Error() string { return "only the walks of " + e.From + " are stopped" }

// A Verdict is what a response means for the slice that asked.
type Verdict string

// The verdicts. Every verdict other than [Accept] and [Retry] leaves a row
// that names the slice.
const (
	NoVerdict Verdict = ""         // the rules say nothing: the client decides by status and headers
	Accept    Verdict = "ok"       // hand it to the connector, whatever its status
	Retry     Verdict = "retry"    // a passing fault
	Throttle  Verdict = "throttle" // the provider asks for a slower pace
	OpenGap   Verdict = "gap"      // this piece cannot be had; the rest goes on
	IsGone    Verdict = "gone"     // this piece is gone for good; the rest goes on
	StopRun   Verdict = "stop"     // stop all calls to the provider (a suspension)
	Fail      Verdict = "fail"     // the connector does not understand its provider: stop this walk
)
