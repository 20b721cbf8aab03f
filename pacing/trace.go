package pacing

import (
	"context"
	"errors"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/law"
)

// trace tells of a moment in the life of a request, if somebody asked for it.
func (g *Governor) trace(ctx context.Context, kind collection.EventKind, r collection.RequestInfo) {
	if !g.traced {
		return
	}
	g.mu.Lock()
	defer g.unlock()
	told := r // so that r is on the heap only if it is told
	told.QueueDepth = int(g.waiting.Load())
	at := collection.PlaceOf(ctx)
	g.tell(collection.Event{Kind: kind, Partition: at.Partition, Lane: at.Lane, Request: &told}, time.Now(), at.Stream)
}

// ended counts the end of a request and tells it. One that was asked ahead and
// not needed any more before it left was neither answered nor refused.
func (g *Governor) ended(ctx context.Context, id int64, attempt int, sent bool, err error) {
	_, stopped := errors.AsType[*collection.Stop](err)
	if err != nil && !sent && !stopped && errors.Is(err, context.Canceled) {
		g.meter.Withdraw()
	} else {
		g.meter.Answer(err == nil, callEnd(sent, err))
	}
	r := collection.RequestInfo{ID: id, Attempt: attempt}
	if err == nil {
		g.trace(ctx, collection.RequestCompleted, r)
		return
	}
	r.Reason = "error"
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		r.Reason = string(stop.Reason)
	}
	g.trace(ctx, collection.RequestFailed, r)
}

// callEnd returns how a request ended whose attempts, if any were sent, ended with err.
func callEnd(sent bool, err error) collection.CallEnd {
	stop, stopped := errors.AsType[*collection.Stop](err)
	switch {
	case err == nil, errors.Is(err, collection.ErrDeclared) && !stop.Reason.Freezes():
		return collection.CallAnswered
	case !sent, !stopped, stop.Reason == collection.RequestCap, stop.Reason == collection.Quota, stop.Reason == collection.WallClock, stop.Reason == collection.Interrupted:
		return collection.CallStopped
	}
	return collection.CallFailed // also where that opened the breaker, or used up the retries
}

// released tells that the attempt a has ended.
func (g *Governor) released(ctx context.Context, id int64, attempt int, a answer) {
	r := collection.RequestInfo{ID: id, Attempt: attempt}
	if a.took > 0 {
		seconds := a.took.Seconds()
		r.Latency = &seconds
	}
	g.trace(ctx, collection.SlotReleased, r)
}

// retrying tells that a request is sent again, not before next allows it.
func (g *Governor) retrying(ctx context.Context, id int64, attempt int, a answer, next *desk.Turn) {
	delay := time.Until(next.Request.NotBefore).Seconds()
	r := collection.RequestInfo{ID: id, Attempt: attempt, Delay: &delay, Reason: "error"}
	if a.outcome.Signal == law.Throttled || a.outcome.QuotaUsed {
		r.Reason = "ratelimit"
	}
	g.trace(ctx, collection.RequestRetrying, r)
}
