package pacing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/response"
)

// What a 403 means is decided in this order:
//
//	a rule of the connector speaks of it                 what the rule says
//	a header or a known code asks for less               a throttle, or a quota
//	it is about us: a firewall's riddle, abnormal usage  frozen
//	the provider uses 403 for single records             a gap
//	it came for a detail, or the list of a parent        the witness is asked,
//	which was forbidden before, and there is no witness  a gap
//	anything else                                        frozen
//
// The witness is what was readable a moment ago. If it can still be read, the account
// is fine, and the record is private. It is a request like any other: it waits its
// turn and is charged. See docs/decisions/0016.

// unexplained is why an account is frozen after a 403 that says no more.
const unexplained = "forbidden"

// many is how many answers of its stream make it likely that a 403 is about the pace: chosen. An account
// that may not read a list is refused at its first page.
const many = 10

// stillReadable says why a 403 is about one record.
const stillReadable = "what was readable before still is"

// readable notes that req was answered well.
func (g *Governor) readable(req *http.Request) {
	g.served.Store(time.Now().UnixNano())
	if repeatable(req) && g.origins[collection.Origin(req.URL)] {
		g.witness.Store(req)
	}
}

// answeredOf returns how many requests of a stream were answered well in this run.
func (g *Governor) answeredOf(stream string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered[stream]
}

// InDoubt reports whether what was forbidden before still is, no rule explains it, and nothing
// was readable yet that would tell whether that is about the account.
func (g *Governor) InDoubt() (doubt bool) {
	_ = g.each(func(one *Governor) error {
		doubt = doubt || one.doubted.Load() && one.witness.Load() == nil
		return nil
	})
	return doubt
}

// forbidden decides about a, the answer to req, whose class is that: the account is
// frozen, the record is a gap, or a witness has to be asked.
func (g *Governor) forbidden(a *answer, req *http.Request) {
	stop := &collection.Stop{Reason: collection.Frozen, Status: a.status}
	if g.answeredOf(collection.StreamOf(req.Context())) >= many && a.reading.Reason == "" {
		stop.Err = collection.ErrAfterMany
	}
	a.err, a.outcome.Operator = stop, g.provider.Forbidden == collection.Hold
	switch reason := a.reading.Reason; {
	case reason == response.AbnormalUsage, reason == response.Challenge:
		a.outcome.Refused = reason // whatever the policy
	case g.provider.Forbidden == collection.GapRecord:
		stop.Reason, stop.Err = collection.Forbidden, nil
	default:
		if a.witness = g.witnessOf(req); a.witness != nil && !a.outcome.Operator {
			a.outcome.Denied = true
			return
		}
		if a.witness = nil; collection.WasForbidden(req.Context()) && g.witness.Load() == nil && !a.outcome.Operator {
			stop.Reason, stop.Err = collection.Forbidden, nil
			g.doubted.Store(true) // whoever asked for it looks for a witness
		} else {
			a.outcome.Refused = unexplained
		}
	}
}

// witnessOf returns what can tell whether a refusal of req is about the account; nil
// if nothing can: a list is no private record.
func (g *Governor) witnessOf(req *http.Request) *http.Request {
	known := g.witness.Load()
	if collection.PlaceOf(req.Context()).Partition == "" || known == nil || known.URL.String() == req.URL.String() {
		return nil
	}
	return known
}

// private finds out whether a refusal that came just now is about one record: it
// asks for the witness. It returns the stop of that record, that of the freeze, or
// what keeps it from asking.
func (g *Governor) private(ctx context.Context, refusal *answer) error {
	came, known := time.Now(), refusal.witness
	refused, _ := errors.AsType[*collection.Stop](refusal.err)
	select {
	case g.asking <- struct{}{}:
		defer func() { <-g.asking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	alone := &collection.Stop{Reason: collection.Forbidden, Status: refused.Status, Detail: stillReadable}
	if refused.Detail != "" {
		alone.Detail = refused.Detail + "; " + stillReadable
	}
	if g.held.After(came) { // somebody else has found out since
		return alone
	}
	ctx = collection.WithPlace(ctx, collection.PlaceOf(known.Context()))
	turn := &desk.Turn{Stream: collection.StreamOf(ctx)}
	turn.Request.Stream, turn.Request.Ahead = turn.Stream, true
	p, err := g.enter(ctx, turn)
	if err != nil {
		return err
	}
	g.meter.Leave(false)
	a := g.attempt(known.Clone(ctx), p, g.limits.Attempts, mostRenewals)
	readable, stopped := a.err == nil, ctx.Err() != nil
	switch {
	case readable:
		g.held = time.Now()
	case !stopped: // the end of the run is no word of the provider
		a.err, a.outcome.Refused = refused, unexplained
	}
	_, err = g.settle(ctx, p, a, &desk.Turn{Stream: turn.Stream, Request: gate.Request{Stream: turn.Stream}})
	switch {
	case err != nil:
		return err
	case readable:
		return alone
	case stopped:
		return context.Cause(ctx)
	}
	return refused
}
