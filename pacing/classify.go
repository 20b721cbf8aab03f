package pacing

import (
	"net/http"
	"strconv"
	"time"

	"collect/collection"
)

// A class is what a response says about the provider's patience.
type class string

const (
	classOK        class = "ok"
	classThrottle  class = "throttle"  // slower, please
	classQuota     class = "quota"     // nothing more for a while; the pace was not the problem
	classAuth      class = "auth"      // the credential is not accepted
	classForbidden class = "forbidden" // the account is refused
	classTransient class = "transient" // a passing fault
	classConflict  class = "conflict"  // this request met another one
	classRejected  class = "rejected"  // this request is wrong, or what it asks for is not there
)

// classOf returns the class that status and headers give. mark is the class
// that a machine-readable code in header or body names; "" if there is none.
func classOf(status int, mark class, pressed bool) class {
	switch {
	case status == http.StatusUnauthorized:
		return classAuth
	case status == http.StatusNotFound || status == http.StatusGone:
		return classRejected
	case mark != "":
		return mark
	case status < 400:
		return classOK
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable,
		420, // as Twitter answered before 429 was a standard
		509, // bandwidth limit exceeded: Apache, cPanel
		529: // overloaded: Anthropic, Qualys
		return classThrottle
	case http.StatusPaymentRequired:
		if pressed {
			return classQuota
		}
	case http.StatusForbidden:
		if pressed {
			return classThrottle
		}
		return classForbidden
	case http.StatusRequestTimeout:
		return classTransient
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return classRejected
	}
	if status >= 500 {
		return classTransient
	}
	return classRejected
}

// judge turns a complete response into an answer: by the connector's own
// rules, or else by status, headers and the codes of known providers.
func (g *Governor) judge(resp *http.Response, body []byte, stream string) answer {
	verdict := collection.NoVerdict
	if g.provider.Judge != nil {
		verdict = g.provider.Judge(collection.Response{
			Stream: stream, Status: resp.StatusCode, Header: resp.Header, Body: body,
		})
	}
	r := read(time.Now(), resp.StatusCode, resp.Header, body)
	switch verdict {
	case collection.Accept:
		r.class = classOK
	case collection.Throttle:
		if r.class != classQuota {
			r.class = classThrottle
		}
		r.hold = max(r.hold, r.retry)
	case collection.Retry:
		r.class = classTransient
	}
	a := answer{status: resp.StatusCode, reading: r, outcome: outcome{signal: signalOf(r.class, resp.StatusCode), hold: r.hold}}
	a.outcome.weak = resp.StatusCode == http.StatusServiceUnavailable && r.hold < 0
	a.outcome.windows = r.windows
	switch verdict {
	case collection.OpenGap, collection.IsGone, collection.Fail, collection.StopRun:
		a.ruled(verdict)
	default:
		a.classed(g.provider.Forbidden)
	}
	return a
}

func signalOf(c class, status int) signal {
	switch c {
	case classOK:
		if status >= 400 {
			return answered // accepted by a rule, and still no reason to speed up
		}
		return succeeded
	case classThrottle:
		return throttled
	case classTransient:
		return failed
	case classQuota, classAuth, classForbidden:
		return silent
	}
	return answered
}

// ruled applies a verdict that ends the slice or the run.
func (a *answer) ruled(v collection.Verdict) {
	reason := collection.BadPage
	switch {
	case v == collection.StopRun:
		reason = collection.Suspended
		a.outcome.refused, a.outcome.operator = "suspended", true
		a.outcome.signal = silent
	case v == collection.IsGone:
		reason = collection.Gone
	case v == collection.OpenGap && a.status == http.StatusForbidden:
		reason = collection.Forbidden
	}
	if a.outcome.signal == succeeded {
		a.outcome.signal = answered
	}
	a.err = &collection.Stop{Reason: reason, Status: a.status}
}

// classed applies the class of a response that no rule ended.
func (a *answer) classed(policy collection.ForbiddenPolicy) {
	stop := &collection.Stop{Status: a.status}
	a.err = stop
	switch a.reading.class {
	case classOK:
		a.err = nil
	case classThrottle, classTransient, classConflict:
		a.again = true
		stop.Reason = collection.RateLimited
		if a.status >= 500 || a.reading.class == classTransient {
			stop.Reason = collection.UpstreamPressure
		}
	case classQuota:
		a.again, a.outcome.quota = true, true
		stop.Reason, stop.Detail = collection.RateLimited, "the quota is used up"
	case classAuth:
		stop.Reason = collection.Auth
	case classForbidden:
		stop.Reason = collection.Frozen
		switch {
		case a.reading.reason == abnormalUsage: // told in so many words, whatever the policy
			a.outcome.refused = abnormalUsage
		case policy == collection.GapRecord:
			stop.Reason = collection.Forbidden
		default:
			a.outcome.refused, a.outcome.operator = "forbidden", policy == collection.Hold
		}
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

// throttleInfo describes an answer that asks for less.
func throttleInfo(a answer) *collection.ThrottleInfo {
	info := &collection.ThrottleInfo{Signal: strconv.Itoa(a.status)}
	if a.reading.hold >= 0 {
		seconds := a.reading.hold.Seconds()
		info.RetryAfter = &seconds
	}
	return info
}
