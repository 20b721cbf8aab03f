package gate

import (
	"time"

	"collect/pacing/gate/internal/route"
	"collect/pacing/inflight"
	"collect/pacing/law"
	"collect/pacing/response"
)

// An Outcome is what became of an attempt.
type Outcome struct {
	Signal    law.Signal
	Weak      bool             // nothing but a 503 says so, which may be by chance
	Overdue   bool             // it failed because a gateway, or we, gave up waiting for the answer
	QuotaUsed bool             // a quota is used up: a hold, and no news about the pace
	Code      string           // the provider's word for it; "": there is none
	Period    time.Duration    // of the quota; 0: not said
	Wide      bool             // the hold concerns more than the requests of Key
	Operator  bool             // only an operator may release the account that is refused
	Hold      time.Duration    // the provider asked for it; negative: it did not
	MaxRate   float64          // requests per second that the provider announced; 0: it did not
	Windows   []response.Quota // limits that were announced
	Key       string           // of the requests that the answer speaks of; "": not said
	Refused   string           // why the account is refused; "" if it is not
	Why       string           // what went wrong, for people: a few words without secrets; "" if nothing did
}

// forLaw returns what it says of the pace. That the retry of a request is overdue
// as well may be because of the request.
func (o *Outcome) forLaw(retry bool) law.Outcome {
	return law.Outcome{Signal: o.Signal, Weak: o.Weak, Overdue: o.Overdue && !retry, Refused: o.Refused != "", Hold: o.Hold, Windows: o.Windows, MaxRate: o.MaxRate}
}

// without returns o with the windows that are believed, and without the silence
// until the others reset.
func (o *Outcome) without(believed []response.Quota, reset time.Duration) *Outcome {
	c := *o
	if c.Windows = believed; c.Hold <= reset {
		c.Hold = -1
	}
	return &c
}

// Retry-After is whole seconds, and many clients are told the same one: a
// little later is polite, earlier is never.
const (
	holdLeast  = 50 * time.Millisecond
	holdSpread = 100 * time.Millisecond
)

// silence notes the silence that o asks for, of its route or of all, and until when
// nothing is left of a limit. It reports whether it changed.
func (g *Gate) silence(way *route.Route, o *Outcome, wait time.Duration, now law.Moment) (changed bool) {
	hold, reserve := &g.hold, &g.reserve
	if o.Key != "" {
		reserve = &way.Reserve
		if !o.Wide {
			hold = &way.Hold
		}
	}
	reach := g.reach(o)
	if o.Signal == law.Succeeded && wait <= reach {
		wait = -1 // what was asked for was answered, and no more is to be had
	}
	changed = g.lengthen(hold, wait, now)
	return g.lengthen(reserve, reach, now) || changed
}

// lengthen moves until to the end of wait, and reports whether it moved. A
// negative wait is none.
func (g *Gate) lengthen(until *law.Moment, wait time.Duration, now law.Moment) bool {
	if wait < 0 {
		return false
	}
	to := now + wait + holdLeast + time.Duration(g.random()*float64(holdSpread))
	if to <= *until {
		return false
	}
	*until = to
	return true
}

// flown returns what the bound of the requests in flight is told.
func flown(o *Outcome) inflight.Outcome {
	switch {
	case o.Signal == law.Succeeded || o.Signal == law.Answered:
		return inflight.Answered
	case o.Signal == law.Throttled || o.Overdue:
		return inflight.Refused
	}
	return inflight.Silent
}

// evidence returns the signal that the breaker counts for an attempt. What is
// bad counts once: neither the retries of one request, which may be broken on
// its own, nor what was in flight when the provider refused, or lost, the first
// of it says more about the provider than that first one. The probe always
// counts.
func evidence(f *flight, s law.Signal, fresh bool) law.Signal {
	bad := s == law.Throttled || s == law.Failed
	if !f.probe && bad && (f.retry || !fresh) {
		return law.Silent
	}
	return s
}
