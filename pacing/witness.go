package pacing

import (
	"context"
	"net/http"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A 403 that nothing explains, to a detail or the list of a parent, may be about the
// account or about that one record. So what was readable a moment ago, the witness,
// is asked for once more before everything is frozen: if it can still be read, the
// account is fine, and the record is private. The witness is a request like any
// other: it waits its turn and is charged. See docs/decisions/0016.

// stillReadable says why a 403 is about one record.
const stillReadable = "what was readable before still is"

// readable notes that req was answered well.
func (g *Governor) readable(req *http.Request) {
	if repeatable(req) && g.origins[collection.Origin(req.URL)] {
		g.witness.Store(req)
	}
}

// doubts returns what can tell whether a, the answer to req, is about the account;
// nil if nothing can, or if that is known: a list is no private record.
func (g *Governor) doubts(req *http.Request, a *answer) *http.Request {
	known := g.witness.Load()
	if a.outcome.Refused != unexplained || collection.PlaceOf(req.Context()).Partition == "" || a.outcome.Operator || known == nil || known.URL.String() == req.URL.String() {
		return nil
	}
	return known
}

// private finds out whether a refusal that came just now is about one record: it
// asks for known, which was readable. It returns the stop of that record, that of
// the freeze, or what keeps it from asking.
func (g *Governor) private(ctx context.Context, refused *collection.Stop, known *http.Request) error {
	came := time.Now()
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
	turn.Request.Stream = turn.Stream
	p, err := g.enter(ctx, turn)
	if err != nil {
		return err
	}
	g.meter.Leave(false)
	a := g.attempt(known.Clone(ctx), p, mostRenewals)
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
