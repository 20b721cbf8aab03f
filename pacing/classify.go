package pacing

import (
	"net/http"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/response"
)

// dayWait is the shortest wait for which a day's quota is believed to come back. A
// shorter one is that of the minute's quota, which Gemini names beside it.
const dayWait = 5 * time.Minute

// judge turns a complete response to req into an answer: by the connector's own
// rules, or else by status, headers and the codes of known providers.
func (g *Governor) judge(resp *http.Response, body []byte, req *http.Request) answer {
	verdict := collection.NoVerdict
	if g.provider.Judge != nil {
		verdict = g.provider.Judge(collection.Response{
			Stream: collection.StreamOf(req.Context()), Status: resp.StatusCode, Header: resp.Header, Body: body,
		})
	}
	r := response.Read(time.Now(), resp.StatusCode, resp.Header, body)
	for i, w := range r.Windows { // told, with the names that the provider gave them
		if g.holdsSecret(w.Name + " " + w.Unit) {
			r.Windows[i].Name, r.Windows[i].Unit = "…", ""
		}
	}
	if g.holdsSecret(r.Route) { // kept, under the name that the provider gave it
		r.Route = ""
	}
	if g.holdsSecret(r.Reason) {
		r.Reason = ""
	}
	r.Basis.Quota = g.quotaName(r.Basis.Quota)
	switch verdict {
	case collection.Accept:
		r.Class = response.OK
	case collection.Throttle:
		if r.Class != response.QuotaUsed {
			r.Class = response.Throttle
		}
		if r.Retry > r.Hold {
			r.Hold, r.Basis.By = r.Retry, response.Asked
		}
	case collection.Retry:
		r.Class = response.Transient
	}
	page := isWebPage(resp.Header)
	astray := page && verdict == collection.NoVerdict && r.Class == response.OK && g.astray(collection.StreamOf(req.Context()))
	if astray {
		r.Class = response.Transient
	}
	a := answer{status: resp.StatusCode, page: page, reading: r, outcome: gate.Outcome{Signal: signalOf(r.Class, resp.StatusCode), Hold: r.Hold}}
	if r.Class == response.QuotaUsed && r.Period >= 24*time.Hour && r.Hold < dayWait {
		a.outcome.Hold = -1
	}
	a.outcome.Weak = resp.StatusCode == http.StatusServiceUnavailable && r.Hold < 0 || response.OwnTrouble(r.Reason)
	a.outcome.AtOnce = r.AtOnce
	a.outcome.Overdue = resp.StatusCode == http.StatusGatewayTimeout || resp.StatusCode == http.StatusBadGateway || astray
	a.outcome.Windows, a.outcome.Cost, a.outcome.MaxRate, a.outcome.Basis = r.Windows, r.Cost, r.Pace, r.Basis
	a.outcome.Key, a.outcome.Wide = r.Route, wide(r)
	switch {
	case slices.Contains(ends, verdict):
		a.ruled(verdict)
	case r.Class == response.Forbidden:
		g.forbidden(&a, req)
	case astray:
		a.again, a.err = true, &collection.Stop{Reason: collection.UpstreamPressure, Status: a.status, Detail: aWebPage}
	default:
		a.classed()
	}
	return a
}

// longestQuota bounds the name of a quota that is told, in bytes.
const longestQuota = 64

// quotaName returns the name that a provider gave a quota, or its code for it, as it may be told; "" if it may not.
func (g *Governor) quotaName(name string) string {
	if name = oneLine(name); len(name) > longestQuota || g.holdsSecret(name) {
		return ""
	}
	return name
}

// wide reports whether a silence that r asks for concerns more than its route. It
// concerns the account, unless the provider names the route that it holds, or the
// quota that is used up is that of the route.
func wide(r response.Reading) bool {
	if r.Key != "" {
		return r.Key != r.Route
	}
	return !slices.ContainsFunc(r.Windows, func(q response.Quota) bool { return q.Name == r.Route && q.Remaining == 0 })
}
