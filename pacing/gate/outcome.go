package gate

import (
	"time"

	"collect/pacing/inflight"
	"collect/pacing/law"
	"collect/pacing/response"
)

// An Outcome is what became of an attempt.
type Outcome struct {
	Signal    law.Signal
	Weak      bool             // nothing but a 503 says so, which may be by chance
	QuotaUsed bool             // a quota is used up: a hold, and no news about the pace
	Wide      bool             // the hold concerns more than the requests of Key
	Operator  bool             // only an operator may release the account that is refused
	Hold      time.Duration    // the provider asked for it; negative: it did not
	MaxRate   float64          // requests per second that the provider announced; 0: it did not
	Windows   []response.Quota // limits that were announced
	Key       string           // of the requests that the answer speaks of; "": not said
	Refused   string           // why the account is refused; "" if it is not
	Why       string           // what went wrong, for people: a few words without secrets; "" if nothing did
}

// forLaw returns what it says of the pace.
func (o *Outcome) forLaw() law.Outcome {
	return law.Outcome{Signal: o.Signal, Weak: o.Weak, Refused: o.Refused != "", Hold: o.Hold, Windows: o.Windows, MaxRate: o.MaxRate}
}

// Retry-After is whole seconds, and many clients are told the same one: a
// little later is polite, earlier is never.
const (
	holdLeast  = 50 * time.Millisecond
	holdSpread = 100 * time.Millisecond
)

// quotaHold is how long a provider is left alone whose quota is used up and
// which does not say until when. No documented quota is shorter than an hour.
const quotaHold = time.Hour

// silence notes the silence that o asks for, of its route or of all, and what
// is left for people. It reports whether it changed.
func (g *Gate) silence(way *route, o *Outcome, wait time.Duration, now moment) (changed bool) {
	hold, reserve := &g.hold, &g.reserve
	if o.Key != "" {
		reserve = &way.reserve
		if !o.Wide {
			hold = &way.hold
		}
	}
	if o.QuotaUsed && wait < 0 {
		wait = quotaHold
	}
	changed = g.lengthen(hold, wait, now)
	if g.share > 0 {
		changed = g.lengthen(reserve, g.reach(o), now) || changed
	}
	return changed
}

// lengthen moves until to the end of wait, and reports whether it moved. A
// negative wait is none.
func (g *Gate) lengthen(until *moment, wait time.Duration, now moment) bool {
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
func flown(s law.Signal) inflight.Outcome {
	switch s {
	case law.Succeeded, law.Answered:
		return inflight.Answered
	case law.Throttled:
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
