package pacing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// mostRenewals is how often a request may wait for another credential: because
// there was none, and because what there was is refused. A refusal after that
// stands.
const mostRenewals = 2

// renews reports whether the credential of req is one that does not last.
func (g *Governor) renews(req *http.Request) bool {
	return g.provider.Renewal != nil && g.origins[collection.Origin(req.URL)]
}

// renew sees to it that there is a credential. If it had to ask for one, the
// turn of the attempt is used up, and so is what it was charged: a request for
// a credential is a request of the account like any other. One that is answered
// says nothing about the pace; one that is refused is what the attempt came to.
func (g *Governor) renew(ctx context.Context) answer {
	a := answer{outcome: gate.Outcome{Hold: -1}}
	within := ctx
	if end := g.budget.deadline(time.Now()); !end.IsZero() { // it may wait for another process
		var cancel context.CancelFunc
		within, cancel = context.WithDeadlineCause(ctx, end, errOver)
		defer cancel()
	}
	a.err = g.provider.Renewal.Renew(within, func(req *http.Request) (*http.Response, error) {
		a = g.ask(req.WithContext(ctx)) // a request is never cut off by the time limit
		return a.resp, a.err
	})
	if a.err == errOver {
		a = g.failure(ctx, nil, errOver)
	}
	a.resp, a.renewed = nil, a.renewed && a.err == nil
	a.outcome.Why = a.trouble()
	return a
}

// ask sends a request for a credential. An answer that may be better later becomes
// an error here; the caller reads all other answers.
func (g *Governor) ask(req *http.Request) answer {
	out := req.Clone(req.Context())
	out.Header.Set("User-Agent", userAgent())
	out.Header.Set("Accept-Encoding", "gzip")
	sent := time.Now()
	resp, content, err := g.exchange(out, g.headerWait())
	took := time.Since(sent)
	var a answer
	if err != nil {
		a = g.failure(req.Context(), resp, err)
		if stop, ok := errors.AsType[*collection.Stop](a.err); ok && stop.Reason.Kind() == collection.Stuck {
			stop.Reason = collection.Auth // an answer that cannot be read costs no slice, but the run
		}
	} else {
		a = g.weigh(resp, content.head, req)
	}
	a.took = took
	return a
}

// weigh turns a complete response to a request for a credential into an answer.
func (g *Governor) weigh(resp *http.Response, body []byte, req *http.Request) answer {
	r := response.Read(time.Now(), resp.StatusCode, resp.Header, body)
	r.Basis.Quota = g.quotaName(r.Basis.Quota)
	a := answer{status: resp.StatusCode, reading: r, outcome: gate.Outcome{Hold: -1}}
	switch r.Class {
	case response.OK, response.Auth, response.Forbidden, response.Rejected:
		a.resp, a.renewed = complete(resp, req, content{head: body}), true
		return a
	}
	// What it announces holds for who gives credentials. That without one
	// nothing can be asked holds for the account.
	a.outcome = gate.Outcome{Signal: signalOf(r.Class, resp.StatusCode), Hold: r.Hold, Basis: r.Basis, Wide: true}
	if a.outcome.Signal == law.Throttled && !g.origins[collection.Origin(req.URL)] {
		a.outcome.Signal = law.Failed // which is no news about the pace of the API
	}
	a.classed()
	return a
}

// renewable lets an attempt be tried again with another credential, if it was
// refused for the one that it carried: by a 401, or by the words of an answer
// that has another status. A 407 is about another one.
func (g *Governor) renewable(a *answer, out *http.Request) {
	stop, ok := errors.AsType[*collection.Stop](a.err)
	if ok && stop.Reason == collection.Auth && a.status != http.StatusProxyAuthRequired && g.renews(out) {
		a.again = g.provider.Renewal.Refused(out)
	}
}
