package pacing

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// An answer is what became of an attempt: a response for the connector, or an
// error, after which it may be tried again.
type answer struct {
	resp    *http.Response
	err     error
	again   bool
	renewed bool // it got a credential, and no answer for the connector
	status  int
	page    bool          // it is a web page
	took    time.Duration // from sending to the end of the body; 0: it was not sent
	reading response.Reading
	outcome gate.Outcome
	witness *http.Request // tells whether a 403 is about the account; nil: nothing can, or that is known
}

// fate returns what became of the attempt; asked says that the provider asked for
// less.
func (a *answer) fate(asked bool) collection.Fate {
	_, stopped := errors.AsType[*collection.Stop](a.err)
	switch {
	case asked:
		return collection.FateThrottled
	case a.err == nil:
		return collection.FateOK
	case a.outcome.Signal == law.Failed, a.outcome.Leftover:
		return collection.FateFailed
	case stopped && a.took > 0:
		return collection.FateRefused
	}
	return collection.FateCancelled
}

// trouble says in a few fixed words what went wrong with an attempt.
func (a *answer) trouble() string {
	stop, ok := errors.AsType[*collection.Stop](a.err)
	switch {
	case !ok || !a.again:
		return ""
	case a.status == 0:
		return stop.Detail
	case stop.Detail == "":
		return fmt.Sprintf("answered %d", a.status)
	}
	return fmt.Sprintf("answered %d: %s", a.status, stop.Detail)
}

func signalOf(c response.Class, status int) law.Signal {
	switch c {
	case response.OK:
		if status >= 400 {
			return law.Answered // accepted by a rule, and still no reason to speed up
		}
		return law.Succeeded
	case response.Throttle:
		return law.Throttled
	case response.Transient:
		return law.Failed
	case response.QuotaUsed, response.Auth, response.Forbidden:
		return law.Silent
	}
	return law.Answered
}

// rejected reports whether the credential was refused, and there is no other one. A 407 is
// about that of a proxy.
func (a *answer) rejected() bool {
	stop, ok := errors.AsType[*collection.Stop](a.err)
	return ok && stop.Reason == collection.Auth && stop.Status != http.StatusProxyAuthRequired && !a.again
}

// ends are the verdicts that end the slice or the run.
var ends = []collection.Verdict{collection.OpenGap, collection.IsGone, collection.Fail, collection.StopRun}

// ruled applies a verdict that ends the slice or the run.
func (a *answer) ruled(v collection.Verdict) {
	reason, cause := collection.BadPage, collection.ErrDeclared
	switch {
	case v == collection.StopRun:
		reason = collection.Suspended
		a.outcome.Refused, a.outcome.Operator = "suspended", true
		a.outcome.Signal = law.Silent
	case v == collection.IsGone:
		reason = collection.Gone
	case v == collection.OpenGap:
		reason, cause = owed(a.status), collection.ErrGapDeclared
	}
	if a.outcome.Signal == law.Succeeded {
		a.outcome.Signal = law.Answered
	}
	a.err = &collection.Stop{Reason: reason, Status: a.status, Err: cause}
}

// classed applies the class of a response that no rule ended.
func (a *answer) classed() {
	stop := &collection.Stop{Status: a.status}
	a.err = stop
	switch a.reading.Class {
	case response.OK:
		a.err = nil
	case response.Throttle, response.Transient, response.Conflict:
		a.again, a.outcome.Period = true, a.reading.Period
		stop.Reason = collection.RateLimited
		if a.status >= 500 || a.reading.Class != response.Throttle {
			stop.Reason = collection.UpstreamPressure
		}
	case response.QuotaUsed:
		a.again, a.outcome.QuotaUsed = true, true
		a.outcome.Code, a.outcome.Period = a.reading.Reason, a.reading.Period
		stop.Reason, stop.Detail = collection.RateLimited, "the provider says that "+a.reading.Basis.Of()+" is used up"
	case response.Auth:
		stop.Reason = collection.Auth
	default:
		stop.Reason = rejected(a.status)
	}
}

// rejected returns the reason of a refusal that concerns only the request.
func rejected(status int) collection.Reason {
	switch status {
	case http.StatusNotFound:
		return collection.NotFound
	case http.StatusGone:
		return collection.Gone
	case http.StatusRequestEntityTooLarge:
		return collection.TooLarge
	}
	return collection.BadPage
}

// owed returns the reason of a gap that a rule asks for: what the status says, but
// never that the piece is gone, since it stays owed.
func owed(status int) collection.Reason {
	switch status {
	case http.StatusForbidden:
		return collection.Forbidden
	case http.StatusGone:
		return collection.NotFound
	}
	return rejected(status)
}

// throttleInfo describes an answer that asks for less.
func throttleInfo(a answer) *collection.ThrottleInfo {
	info := &collection.ThrottleInfo{Signal: strconv.Itoa(a.status)}
	if a.reading.Hold >= 0 && a.reading.Basis.By == response.Asked {
		seconds := a.reading.Hold.Seconds()
		info.RetryAfter = &seconds
	}
	return info
}
