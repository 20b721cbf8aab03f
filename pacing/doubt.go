package pacing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collect/pacing/desk"
	"collect/pacing/gate"
)

// doubtFor is how long a 401 is left alone that may be by chance.
const doubtFor = 5 * time.Second

// A doubt is a 401 to the only credential that is asked about once more. Until that is answered no other request
// leaves: some providers count each one that they refuse so.
type doubt struct{ over chan struct{} }

// errInDoubt is why an attempt is not admitted now, though nothing else holds it back.
var errInDoubt = errors.New("a 401 is asked about once more")

// doubts reports whether a, the answer to req, is a 401 that may be by chance, as the provider has answered well
// in this run, with the same credential or without any: the server that checks credentials may be away for a moment.
func (g *Governor) doubts(req *http.Request, a *answer) bool {
	return repeatable(req) && a.status == http.StatusUnauthorized && a.rejected() && g.served.Load() > 0
}

// beginDoubt returns the doubt that the caller is to settle; nil if another request asks already.
func (g *Governor) beginDoubt() *doubt {
	d := &doubt{make(chan struct{})}
	if !g.doubt.CompareAndSwap(nil, d) {
		return nil
	}
	return d
}

// endDoubt lets the other requests go on. It may be called twice, and with nil.
func (g *Governor) endDoubt(d *doubt) {
	if d != nil && g.doubt.CompareAndSwap(d, nil) {
		close(d.over)
	}
}

// awaitDoubt waits until there is no doubt, or the run ends. It returns the cause of ctx if that ends first.
func (g *Governor) awaitDoubt(ctx context.Context) error {
	d := g.doubt.Load()
	if d == nil {
		return nil
	}
	select {
	case <-d.over:
	case <-g.budget.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// enter waits for the turn of an attempt. But for a doubt, this is the only wait of an attempt.
func (g *Governor) enter(ctx context.Context, t *desk.Turn) (gate.Pass, error) {
	for {
		p, err := g.queue(ctx, t)
		if err != errInDoubt { // as Admit returned it
			return p, err
		}
		if err := g.awaitDoubt(ctx); err != nil {
			return p, err
		}
		*t = desk.Turn{Asker: t.Asker, Request: t.Request, Paid: t.Paid, Stream: t.Stream} // it is out of the line
	}
}

// A doubter is the asker of the request that is to end a doubt.
type doubter struct{ asker }

// Admit charges an attempt, in doubt or not.
func (d doubter) Admit(t *desk.Turn, retries bool, _ time.Time) error { return d.charge(t, retries) }
