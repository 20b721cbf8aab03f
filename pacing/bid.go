package pacing

import (
	"context"
	"errors"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A bid is one attempt that stands in the lines of several accounts.
type bid struct {
	lead  *Governor
	shown *desk.Turn         // as those who watch see it: it waits as long as the shortest line
	stops []*collection.Stop // by account: why it cannot let the attempt go; nil: it could

	mu    sync.Mutex
	plans []*gate.Plan // by account: what the attempt waits for there; nil: it does not wait
	by    int          // the account that has it; -1: none yet
}

// errElsewhere is why an attempt leaves a line: another one has it.
var errElsewhere = errors.New("another account has the request")

// run waits until one of the accounts lets the attempt t go.
func (b *bid) run(ctx context.Context, t *desk.Turn, among []*Governor) (*Governor, gate.Pass, error) {
	type end struct {
		i    int
		pass gate.Pass
		err  error
	}
	within, leave := context.WithCancelCause(ctx)
	defer leave(errElsewhere)
	began := time.Now()
	ends := make(chan end, len(among))
	joined, standing := 0, 0
	join := func() {
		i := joined
		joined, standing = joined+1, standing+1
		turn := &desk.Turn{Asker: bidder{asker{among[i]}, b, i}, Request: t.Request, Paid: t.Paid, Stream: t.Stream, Over: b.lead.budget.ended}
		turn.Request.Deadline = b.lead.budget.deadline(began)
		go func() {
			pass, err := among[i].desk.Enter(within, turn)
			ends <- end{i, pass, err}
		}()
	}
	b.stops = make([]*collection.Stop, len(among))
	join()
	timer := time.NewTimer(joinAfter)
	defer timer.Stop()
	var failed end
	for standing > 0 {
		select {
		case <-timer.C:
			if joined < len(among) {
				join()
				timer.Reset(joinAfter)
			}
			continue
		case e := <-ends:
			standing--
			if errors.Is(e.err, errElsewhere) {
				continue // the line that has it ends, too
			}
			stop, stopped := errors.AsType[*collection.Stop](e.err)
			switch {
			case e.err == nil, b.has(e.i), !stopped: // it leaves, or the run cannot go on
				t.Slept = time.Now().After(began)
				return among[e.i], e.pass, e.err
			case failed.err == nil || sooner(stop, b.stops[failed.i]):
				failed = e
			}
			b.stops[e.i] = stop
			if joined < len(among) {
				join()
			}
		}
	}
	return among[failed.i], gate.Pass{}, failed.err
}

// sooner reports whether a run that ends with a could go on earlier than one that ends with
// b: what a run of its own budget keeps waiting for nothing, a wait ends at a time, and
// what is stuck does not end by itself.
func sooner(a, b *collection.Stop) bool {
	rank := func(s *collection.Stop) int {
		switch {
		case s.Reason.Kind() == collection.Stuck:
			return 2
		case s.NotBefore.IsZero():
			return 0
		}
		return 1
	}
	if rank(a) != rank(b) {
		return rank(a) < rank(b)
	}
	return rank(a) == 1 && a.NotBefore.Before(b.NotBefore)
}

// has reports whether the account i has the attempt.
func (b *bid) has(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.by == i
}

// wait notes what the attempt waits for at the account i; nil: it does not wait there. People
// are told of the wait that ends first.
func (b *bid) wait(i int, p *gate.Plan, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plans[i] = p
	var first *gate.Plan
	for _, p := range b.plans {
		if p != nil && (first == nil || p.Until.Before(first.Until)) {
			first = p
		}
	}
	if first == nil || b.by >= 0 {
		asker{b.lead}.Waited(b.shown, now)
		return
	}
	asker{b.lead}.Waits(b.shown, *first, now)
}

// A bidder is the asker of an attempt in the line of one account.
type bidder struct {
	asker
	bid *bid
	i   int
}

// Admit lets the first line that has a turn have the attempt, and charges it there.
func (b bidder) Admit(t *desk.Turn, retries bool, now time.Time) error {
	b.bid.mu.Lock()
	defer b.bid.mu.Unlock()
	if b.bid.by >= 0 && b.bid.by != b.i {
		return errElsewhere
	}
	b.bid.by = b.i
	return b.asker.Admit(t, retries, now)
}

func (b bidder) Waits(_ *desk.Turn, p gate.Plan, now time.Time) { b.bid.wait(b.i, &p, now) }
func (b bidder) Waited(_ *desk.Turn, now time.Time)             { b.bid.wait(b.i, nil, now) }
