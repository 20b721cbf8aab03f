package pacing

import (
	"net/http"
	"time"

	"collect/pacing/law"
)

// The backoff of a retry: "full jitter" of Marc Brooker's "Exponential Backoff
// And Jitter" (AWS Architecture Blog, 2015).
const (
	backoffBase = time.Second
	backoffCap  = time.Minute
)

// backoff returns how long the retry after n retries waits at least: u of
// min(cap, base·2^n), where u is drawn evenly from [0, 1).
func backoff(n int, u float64) time.Duration {
	most := backoffCap
	if n < 6 { // 2^6 s is over the cap
		most = min(backoffCap, backoffBase<<max(n, 0))
	}
	return time.Duration(u * float64(most))
}

// isAway reports whether the provider stopped answering all requests, so that the failure a says nothing about its
// own request, which was first sent at sent. The provider must have answered a request in this run. It is away from
// its last answer until LongestWait has passed. While it is away a request may have more than its
// attempts; the pace and the breaker decide when each one leaves.
func (g *Governor) isAway(a *answer, sent, now time.Time) bool {
	served := time.Unix(0, g.served.Load())
	says := a.outcome.Signal == law.Throttled || a.outcome.Overdue || a.status == 0
	return says && g.limits.Attempts > 1 && served.Before(sent) && now.Sub(served) < g.limits.LongestWait
}

// restOfWindow returns how long the window of a limit still lasts of which the refusal a says only that it is used
// up: the window began before the request was first sent, at sent. A negative time is none, or a longer wait than a
// run grants.
func (g *Governor) restOfWindow(a *answer, sent, now time.Time) time.Duration {
	var window time.Duration = -1
	for _, q := range a.outcome.Windows {
		if q.Unit == "" && q.Remaining == 0 && q.Reset < 0 {
			window = max(window, q.Window)
		}
	}
	if a.outcome.Signal != law.Throttled || a.outcome.Hold >= 0 || window > g.limits.LongestWait || g.limits.Attempts == 1 {
		return -1
	}
	return window - now.Sub(sent)
}

// doubts reports whether a, the answer to req, is a 401 that may be by chance, as the provider has answered well
// in this run, with the same credential or without any: the server that checks credentials may be away for a moment.
func (g *Governor) doubts(req *http.Request, a *answer) bool {
	return repeatable(req) && a.status == http.StatusUnauthorized && a.rejected() && g.served.Load() > 0
}

// repeatable reports whether req may be sent again after an attempt that may
// have reached the provider: its method is idempotent (RFC 9110, 9.2.2), or it
// carries an Idempotency-Key, and its body can be had again.
//
// As with [http.Transport], a key without values marks a request as repeatable
// and is not sent: a connector sets req.Header["Idempotency-Key"] = nil on a
// POST that only reads.
func repeatable(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, xKey := req.Header["X-Idempotency-Key"]
	return key || xKey
}
