package gate

import (
	"math"
	"slices"
	"time"

	"collect/pacing/inflight"
	"collect/pacing/law"
	"collect/pacing/response"
)

// An Outcome is what became of an attempt.
type Outcome struct {
	Signal    law.Signal
	Weak      bool             // nothing but a 503 says so, which may be by chance, or the provider has trouble of its own
	AtOnce    bool             // it was refused because too many requests were in flight
	Overdue   bool             // it failed because a gateway, or we, gave up waiting for the answer, or the connection was closed in its place
	Leftover  bool             // it failed after the run had ended, when only what takes long was left: only the breaker counts that
	QuotaUsed bool             // a quota is used up: a hold, and no news about the pace
	Code      string           // the provider's word for it; "": there is none
	Period    time.Duration    // of the quota; of a refusal that is one of the pace unless a budget is used up: of that; 0: not said
	Wide      bool             // the hold concerns more than the requests of Key
	Operator  bool             // only an operator may release the account that is refused
	Hold      time.Duration    // the provider asked for it; negative: it did not
	Basis     response.Basis   // what Hold follows from
	MaxRate   float64          // requests per second that the provider announced; 0: it did not
	Windows   []response.Quota // limits that were announced
	Cost      float64          // of the request, in the points that such a limit counts; 0: not said
	Key       string           // of the requests that the answer speaks of; "": not said
	Refused   string           // why the account is refused; "" if it is not
	Rejected  bool             // the credential is
	Denied    bool             // access was: a 401 or 403 that may be about the credential, the account, or this request alone
	Why       string           // what went wrong, for people: a few words without secrets; "" if nothing did
}

// forLaw returns what it says of the pace. That the retry of a request is overdue
// as well may be because of the request.
func (o *Outcome) forLaw(retry bool) law.Outcome {
	return law.Outcome{Signal: o.Signal, Weak: o.Weak, AtOnce: o.AtOnce, Overdue: o.Overdue && !retry, Refused: o.Refused != "", Hold: o.Hold, Windows: o.Windows, Cost: o.Cost, MaxRate: o.MaxRate}
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

// lacking returns o with the reason of a silence that the law asks for, until a limit has enough for one request. It
// names the announced limit that has the smallest share left.
func (o *Outcome) lacking() *Outcome {
	c, least := *o, math.Inf(1)
	c.Basis = Basis{By: response.TooLittle}
	for _, q := range c.Windows {
		if left := q.Remaining / q.Limit; q.Limit > 0 && left < least && max(q.Window, q.Reset) > 0 {
			c.Basis.Quota, least = q.Name, left
		}
	}
	c.Wide = c.Wide && c.Basis.Quota != c.Key
	return &c
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

// isPlain reports whether o says that all is well, and no more than a law reads.
func (o *Outcome) isPlain() bool {
	return o.Signal == law.Succeeded && o.Hold < 0 && o.Key == "" && o.MaxRate <= 0 && o.Refused == "" && !o.QuotaUsed
}

// tellsEnd reports whether a limit is announced that is used up, and until when.
func (o *Outcome) tellsEnd() bool {
	return slices.ContainsFunc(o.Windows, func(q response.Quota) bool {
		return q.Remaining == 0 && q.Reset >= 0 && max(q.Window, q.Reset) >= response.BudgetFrom
	})
}
