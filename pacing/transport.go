package pacing

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// A transport sends the requests of a Governor's client.
type transport struct{ *Governor }

// RoundTrip sends req until there is an answer for the connector, or a stop.
// Each attempt has its own turn at the gate.
func (t transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := t.listed(req); err != nil {
		return nil, err
	}
	ctx := req.Context()
	turn := &desk.Turn{Stream: collection.StreamOf(ctx)}
	turn.Request.Stream, turn.Request.NotBefore = turn.Stream, collection.NotBefore(ctx)
	id, n := t.meter.Ask(), 1
	why := ""          // the attempt before this one got no answer
	renewals := 0      // of the credential
	doubted := false   // a 401 was asked about once more
	var same *Governor // the account that the next attempt must have; nil: any
	t.trace(ctx, collection.RequestStarted, collection.RequestInfo{ID: id, Attempt: n})
	var sent time.Time // the first attempt
	defer func() { t.ended(ctx, id, n, !sent.IsZero(), err) }()
	for ; ; n++ {
		g, p, err := t.turn(ctx, turn, same)
		if err != nil {
			return nil, because(err, why)
		}
		if sent.IsZero() {
			sent = time.Now()
		}
		t.meter.Leave(turn.Request.Retry)
		t.trace(ctx, collection.SlotAcquired, collection.RequestInfo{ID: id, Attempt: n})
		a := g.attempt(req, p, n, renewals)
		notBefore := time.Now().Add(backoff(min(n, t.limits.Attempts)-1, t.random()))
		if !doubted && t.several == nil && n < g.limits.Attempts && g.doubts(req, &a) { // where there are several accounts, another goes on
			doubted, a.again, a.outcome.Denied, notBefore = true, true, true, time.Now().Add(gate.DoubtFor)
		}
		if a.outcome.Rejected = a.rejected(); a.outcome.Rejected && t.several == nil {
			g.mu.Lock()
			g.broken = cmp.Or(g.broken, a.err)
			g.mu.Unlock()
		}
		next := &desk.Turn{Stream: turn.Stream, Request: turn.Request}
		next.Request.Retry, next.Request.Ahead = true, a.outcome.Denied
		next.Request.NotBefore = notBefore
		another := n < g.limits.Attempts
		if rest := g.restOfWindow(&a, sent, time.Now()); !another && rest > 0 {
			a.outcome.Hold, a.outcome.Basis, another = rest, gate.Basis{By: response.Window}, true
		}
		settled, err := g.settle(ctx, p, a, next)
		t.released(ctx, id, n, a)
		if err != nil {
			return nil, err
		}
		if a.renewed { // by this turn, so that the request has another
			renewals++
			n--
			same = g
			turn = &desk.Turn{Stream: turn.Stream, Request: gate.Request{Stream: turn.Stream}}
			continue
		}
		if a.err == nil {
			g.readable(req)
			return a.resp, nil
		}
		if a.witness != nil {
			a.err = g.private(ctx, &a)
		}
		if t.several != nil && repeatable(req) && t.several.moves(g, a, settled, n, next) {
			renewals, same, turn = 0, nil, next
			continue
		}
		if !a.again {
			if t.several != nil && t.several.keeps {
				a.err = t.several.bound(g, a.err)
			}
			return nil, g.refused(a.err, turn.Stream)
		}
		if err := g.retry(req, a, another || g.isAway(&a, sent, time.Now()), settled, next); err != nil {
			return nil, err
		}
		next.Request.Retry = n < g.limits.Attempts // a later attempt probes the provider
		t.retrying(ctx, id, n+1, a, next)
		turn, why, same = next, a.outcome.Why, nil
		if a.status == http.StatusUnauthorized && a.again { // the account has another credential now
			same = g
		}
	}
}

// turn waits for the turn of an attempt, and returns the account that it has. Same is the one that
// it must be; nil: any.
func (t transport) turn(ctx context.Context, turn *desk.Turn, same *Governor) (*Governor, gate.Pass, error) {
	if t.several != nil {
		return t.several.enter(ctx, turn, same)
	}
	p, err := t.enter(ctx, turn)
	return t.Governor, p, err
}

// refused returns err, the end of a request, and tells it if it is that of a
// budget.
func (g *Governor) refused(err error, stream string) error {
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		g.mu.Lock()
		defer g.unlock()
		return g.stopped(stop, time.Now(), stream)
	}
	return err
}

// because returns err. If err is a stop, and the attempt before got no answer, the
// stop says why it got none: that tells more than what this attempt waited for, but for
// a quota, which only the wait names.
func because(err error, why string) error {
	if stop, ok := errors.AsType[*collection.Stop](err); ok && (stop.Reason != collection.Quota || stop.Detail == "") {
		stop.Detail = cmp.Or(why, stop.Detail)
	}
	return err
}

// attempt sends req once, for the nth time, after the save that its departure needs. If there is
// no credential for it, it sends the request for one instead.
func (g *Governor) attempt(req *http.Request, p gate.Pass, n, renewals int) answer {
	if p.Save {
		var changes []collection.Event
		if p.Change != nil {
			changes = []collection.Event{*p.Change}
		}
		if err := g.persist(req.Context(), changes...); err != nil {
			return answer{err: err, outcome: gate.Outcome{Hold: -1}}
		}
	}
	if renewals < mostRenewals && g.renews(req) {
		if a := g.renew(req.Context()); a.renewed || a.err != nil {
			return a
		}
	}
	out, err := g.prepare(req)
	if err != nil {
		return answer{err: err, outcome: gate.Outcome{Hold: -1}}
	}
	sent := time.Now()
	wait := g.soonWait(req, n, sent)
	resp, content, err := g.exchange(out, wait)
	took := time.Since(sent)
	if err == nil {
		err = leads(resp, out.URL)
	}
	var a answer
	if err != nil {
		a = g.failure(req.Context(), resp, err)
		if errors.Is(err, errSoon) && !g.patience.heard(sent.Add(wait/2)) { // it may have been answered later, with all others
			a.outcome.Signal, a.outcome.Overdue = law.Silent, false
		}
	} else if a = g.judge(resp, content.head, req); a.err == nil {
		a.resp = complete(resp, req, content)
	} else {
		a.outcome.Why = a.trouble() // without the words of the provider, since it is kept with the pace
		g.quote(&a, out, resp.Header, content.head)
		if renewals < mostRenewals {
			g.renewable(&a, out)
		}
	}
	if o := &a.outcome; o.Signal == law.Failed && g.budget.over(time.Now()) != "" {
		o.Signal, o.Overdue, o.Leftover = law.Silent, false, true
	}
	if a.resp == nil {
		content.discard()
	}
	a.took = took
	a.outcome.Why = cmp.Or(a.outcome.Why, a.trouble())
	return a
}

// quote adds what a refusal says to the stop that it became, where nothing of
// ours says more.
func (g *Governor) quote(a *answer, out *http.Request, header http.Header, body []byte) {
	if stop, ok := errors.AsType[*collection.Stop](a.err); ok && a.status >= 400 {
		if stop.Detail == "" {
			stop.Detail, stop.CodeAt = g.said(out, header, body)
		}
	}
}

// failure is the answer to an attempt without a usable response.
func (g *Governor) failure(ctx context.Context, resp *http.Response, err error) answer {
	a := answer{outcome: gate.Outcome{Hold: -1}}
	if resp != nil {
		a.status = resp.StatusCode
	}
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		stop.Status = a.status
		a.err, a.outcome.Signal = stop, law.Answered
		return a
	}
	if ctx.Err() != nil {
		a.err = context.Cause(ctx)
		return a
	}
	if own, ok := errors.AsType[*spillError](err); ok { // which says nothing about the provider
		a.err = own
		return a
	}
	if errors.Is(err, errOver) { // which says nothing about the provider
		a.err = &collection.Stop{Reason: collection.WallClock, Detail: err.Error()}
		return a
	}
	if fault, ok := faulty(err, g.limits.Headers); ok {
		fault.status = a.status
		return fault
	}
	a.outcome.Signal, a.outcome.Overdue, a.again = law.Failed, timedOut(err) || resp == nil && hungUp(err), true
	if _, idle := errors.AsType[idleError](err); idle { // the server closed it for its own reasons
		a.outcome.Signal = law.Silent
	}
	stop := &collection.Stop{Reason: collection.UpstreamPressure, Status: a.status, Detail: describe(err), Err: err}
	if unconnected(err) != "" {
		stop.Err = errors.Join(collection.ErrUnreached, err)
	}
	a.err = stop
	return a
}

// settle records the end of an attempt, and saves what must not be forgotten
// before anything else leaves. next is the attempt that may follow.
func (g *Governor) settle(ctx context.Context, p gate.Pass, a answer, next *desk.Turn) (desk.Settled, error) {
	asked := a.outcome.Signal == law.Throttled || a.outcome.QuotaUsed
	g.budget.record(a.outcome.Signal, asked)
	settled := g.desk.Settle(p, a.outcome, next.Request)
	g.meter.Settle(a.took, a.fate(asked), a.status)
	g.mu.Lock()
	if a.resp != nil && a.err == nil {
		g.answered[next.Stream]++
		if a.page {
			g.webPages[next.Stream] = true
		}
	}
	now := time.Now()
	if asked {
		g.tell(collection.Event{Kind: collection.Throttled, Throttle: throttleInfo(a)}, now, next.Stream)
	}
	for i, e := range settled.Changes {
		settled.Changes[i] = g.tell(e, now, next.Stream)
	}
	moved := g.moved(settled, now)
	for _, e := range g.heard.Note(a.outcome.Windows) {
		g.tell(e, now, next.Stream)
	}
	g.unlock()
	if moved != nil {
		g.tellRate(moved, next.Stream)
	}
	if stop, ok := errors.AsType[*collection.Stop](a.err); ok && stop.Reason == collection.Frozen && settled.Frozen != nil {
		said, cause := stop.Detail, stop.Err
		*stop = *settled.Frozen
		stop.Err = cause
		stop.Status, stop.Detail = a.status, cmp.Or(stop.Detail, said)
	}
	if settled.Save {
		return settled, g.persist(ctx, settled.Changes...)
	}
	return settled, nil
}

// The changes of the pace that are told: every answer changes it a little, and
// limits that are announced move it up and down.
const (
	rateRise  = 1.25
	rateFall  = 1 / 1.5
	fallHolds = 2 * time.Second // the last second of an announced window is no fall: resets are told in whole seconds
)

// moved returns how far the pace has moved since it was last told, if it is to be
// told again. A decrease by a refusal is told when it happens, and any other once it
// has held for [fallHolds]. g.mu is held.
func (g *Governor) moved(s desk.Settled, now time.Time) *collection.RateInfo {
	rate, was, fell := s.Rate, g.reported, g.fell
	g.fell = time.Time{}
	switch {
	case slices.ContainsFunc(s.Changes, func(e collection.Event) bool { return e.Rate != nil }):
		g.reported = rate
	case rate == was:
	case rate <= was*rateFall && fell.IsZero():
		g.fell = now
	case rate <= was*rateFall && now.Sub(fell) < fallHolds:
		g.fell = fell
	case rate <= was*rateFall, rate >= was*rateRise, rate > was && rate >= s.Most:
		g.reported = rate
		return &collection.RateInfo{Learned: rate, Previous: was}
	}
	return nil
}

// tellRate tells that the pace has moved, why, and what binds now. The desk is asked
// for that, so g.mu is not held.
func (g *Governor) tellRate(r *collection.RateInfo, stream string) {
	status := g.desk.Status()
	r.Binds, r.Reason = status.Binding(), "answered without complaint"
	if by := status.PacedBy(); r.Learned < r.Previous || by == gate.Announced {
		r.Reason = string(by)
	}
	g.mu.Lock()
	defer g.unlock()
	g.tell(collection.Event{Kind: collection.RateChanged, Rate: r}, time.Now(), stream)
}

// retry prepares the turn of the next attempt, or returns the stop that ends the request.
// another says that one more attempt is allowed. It decides before anybody sleeps.
func (g *Governor) retry(req *http.Request, a answer, another bool, settled desk.Settled, next *desk.Turn) error {
	late := a.status == http.StatusGatewayTimeout || errors.Is(a.err, collection.ErrLate)
	smaller := late && collection.HasSmaller(req.Context())
	if !repeatable(req) || smaller || !another {
		return final(a, settled)
	}
	var stop *collection.Stop
	now := time.Now()
	if settled.Next != nil {
		stop = settled.Next
	} else if reason := g.budget.over(now); reason != "" {
		stop = &collection.Stop{Reason: reason}
	} else if settled.Closed {
		// The next attempt at an open breaker is its probe, which is no retry.
		// If another request turns out to be the probe, the token is taken then.
		if next.Paid = g.budget.takeToken(); !next.Paid {
			stop = &collection.Stop{Reason: collection.RetryBudget}
		}
	}
	if stop == nil {
		return nil
	}
	if stop.Status = cmp.Or(stop.Status, a.status); stop.Reason == collection.RetryBudget && errors.Is(a.err, collection.ErrUnreached) {
		stop.Err = a.err // it may be that nothing can be reached at all
	}
	// What failed says more than what the next attempt would wait for, but for a budget, which only the wait names.
	if budget := stop.Reason == collection.Quota || a.reading.Class == response.Throttle && a.reading.Period > 0; !budget || stop.Detail == "" {
		stop.Detail = cmp.Or(a.outcome.Why, stop.Detail)
	}
	g.mu.Lock()
	defer g.unlock()
	return g.stopped(stop, now, next.Stream)
}

// final returns the stop of a request that has no attempt left: the hold if
// the provider asks for a longer one than a run grants or this one has left, the breaker if it is
// not closed, and else what the last attempt met.
func final(a answer, settled desk.Settled) error {
	if stop := settled.Refused; stop != nil {
		stop.Status = a.status
		return stop
	}
	stop, ok := errors.AsType[*collection.Stop](a.err)
	if !ok {
		return a.err
	}
	if !settled.Closed {
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: settled.OpenUntil,
			Status: stop.Status, Detail: cmp.Or(a.outcome.Why, stop.Detail), Err: stop.Err}
	}
	if !settled.HoldUntil.IsZero() {
		stop.NotBefore = settled.HoldUntil
	}
	return stop
}
