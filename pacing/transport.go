package pacing

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"collect/collection"
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
	ctx := req.Context()
	turn := turn{stream: collection.StreamOf(ctx)}
	id, n := t.meter.Ask(), 1
	t.trace(collection.RequestStarted, turn.stream, collection.RequestInfo{ID: id, Attempt: n})
	defer func() { t.ended(id, n, collection.StreamOf(ctx), err) }()
	for ; ; n++ {
		p, err := t.enter(ctx, &turn)
		if err != nil {
			return nil, err
		}
		t.meter.Leave(turn.retry)
		t.trace(collection.SlotAcquired, turn.stream, collection.RequestInfo{ID: id, Attempt: n})
		a := t.attempt(req, p, n)
		err = t.settle(ctx, p, a, turn.stream)
		t.released(id, n, turn.stream, a)
		if err != nil {
			return nil, err
		}
		if a.err == nil {
			return a.resp, nil
		}
		if !a.again {
			return nil, a.err
		}
		if turn, err = t.retry(req, a, n, turn.stream); err != nil {
			return nil, err
		}
		t.retrying(id, n+1, a, turn)
	}
}

// An answer is what became of an attempt: a response for the connector, or an
// error, after which it may be tried again.
type answer struct {
	resp    *http.Response
	err     error
	again   bool
	status  int
	took    time.Duration // from sending to the end of the body; 0: it was not sent
	reading response.Reading
	outcome law.Outcome
}

// attempt sends req once, after the save that its departure needs.
func (g *Governor) attempt(req *http.Request, p gate.Pass, n int) answer {
	if p.Save {
		if err := g.persist(req.Context(), p.Change...); err != nil {
			return answer{err: err, outcome: law.Outcome{Hold: -1}}
		}
	}
	out, err := g.prepare(req, n)
	if err != nil {
		return answer{err: err, outcome: law.Outcome{Hold: -1}}
	}
	sent := time.Now()
	resp, body, err := g.exchange(out)
	took := time.Since(sent)
	var a answer
	if err != nil {
		a = failure(req.Context(), resp, err)
	} else if a = g.judge(resp, body, collection.StreamOf(req.Context())); a.err == nil {
		a.resp = complete(resp, req, body)
	}
	a.took = took
	return a
}

// failure is the answer to an attempt without a usable response.
func failure(ctx context.Context, resp *http.Response, err error) answer {
	a := answer{outcome: law.Outcome{Hold: -1}}
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
	a.outcome.Signal, a.again = law.Failed, true
	a.err = &collection.Stop{Reason: collection.UpstreamPressure, Status: a.status, Detail: describe(err), Err: err}
	return a
}

// settle records the end of an attempt, and saves what must not be forgotten
// before anything else leaves.
func (g *Governor) settle(ctx context.Context, p gate.Pass, a answer, stream string) error {
	asked := a.outcome.Signal == law.Throttled || a.outcome.QuotaUsed
	g.budget.record(a.outcome.Signal, asked)
	g.meter.Settle(a.took, asked)
	g.mu.Lock()
	now := time.Now()
	if asked {
		g.tell(collection.Event{Kind: collection.Throttled, Throttle: throttleInfo(a)}, now, stream)
	}
	changes, save := g.gate.Settle(now, p, a.outcome)
	for i, e := range changes {
		changes[i] = g.tell(e, now, stream)
	}
	g.tellRate(now, stream)
	for _, e := range g.heard.Note(a.outcome.Windows) {
		g.tell(e, now, stream)
	}
	if stop, ok := errors.AsType[*collection.Stop](a.err); ok && stop.Reason == collection.Frozen {
		*stop = *g.gate.Frozen(a.status)
	}
	if save {
		g.saving++
		g.unlock()
		return g.persist(ctx, changes...)
	}
	g.dispatch(now)
	g.unlock()
	return nil
}

// rateStep is the change of the rate that is told. Every success changes it a
// little.
const rateStep = 1.25

// tellRate tells that the pace has grown. A decrease is told when it happens.
func (g *Governor) tellRate(now time.Time, stream string) {
	rate := g.gate.Rate()
	switch {
	case rate < g.reported:
		g.reported = rate
	case rate > g.reported && (rate >= g.reported*rateStep || rate >= g.gate.Most()):
		g.tell(collection.Event{Kind: collection.RateChanged, Rate: &collection.RateInfo{
			Learned: rate, Previous: g.reported, Reason: "answered without complaint",
		}}, now, stream)
		g.reported = rate
	}
}

// retry returns the turn of the next attempt, or the stop that ends the
// request. It decides before anybody sleeps.
func (g *Governor) retry(req *http.Request, a answer, n int, stream string) (turn, error) {
	next := turn{stream: stream, retry: true}
	g.mu.Lock()
	defer g.unlock()
	now := time.Now()
	next.notBefore = now.Add(backoff(n-1, rand.Float64()))
	if !repeatable(req) || n >= g.limits.Attempts {
		return turn{}, g.final(a)
	}
	if p := g.gate.Plan(next.request(g.budget.deadline(now)), now); p.Stop != nil {
		if p.Stop.Status == 0 {
			p.Stop.Status = a.status
		}
		return turn{}, g.stopped(p.Stop, now, stream)
	}
	if reason := g.budget.over(now); reason != "" {
		return turn{}, g.stopped(&collection.Stop{Reason: reason, Status: a.status}, now, stream)
	}
	// The next attempt at an open breaker is its probe, which is no retry. If
	// another request turns out to be the probe, the token is taken then.
	if g.gate.Closed() {
		if !g.budget.takeToken() {
			return turn{}, g.stopped(&collection.Stop{Reason: collection.RetryBudget, Status: a.status}, now, stream)
		}
		next.paid = true
	}
	return next, nil
}

// final returns the stop of a request that has no attempt left: the hold if
// the provider asks for a longer one than the run grants, the breaker if it is
// not closed, and else what the last attempt met. g.mu is held.
func (g *Governor) final(a answer) error {
	now := time.Now()
	if stop := g.gate.Refuse(now, g.budget.deadline(now)); stop != nil {
		stop.Status = a.status
		return stop
	}
	stop, ok := errors.AsType[*collection.Stop](a.err)
	if !ok {
		return a.err
	}
	status := g.gate.Status(now)
	if !g.gate.Closed() {
		return &collection.Stop{Reason: collection.CircuitOpen, NotBefore: status.OpenUntil,
			Status: stop.Status, Detail: stop.Detail, Err: stop.Err}
	}
	if !status.HoldUntil.IsZero() {
		stop.NotBefore = status.HoldUntil
	}
	return stop
}
