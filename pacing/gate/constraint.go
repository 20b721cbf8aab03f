package gate

import (
	"cmp"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/response"
)

// The states of a breaker.
const (
	Closed   = halt.Closed
	Open     = halt.Open
	HalfOpen = halt.HalfOpen
)

// A Basis is what a pause follows from.
type Basis = response.Basis

// A Failure is what opened a breaker.
type Failure = halt.Failure

// A Status says how things stand with a provider, for people.
type Status struct {
	PerSecond  float64   // the pace in force; 0: not paced, or not known
	Learned    float64   // the pace that a later process goes on from; 0: not known
	Begins     float64   // the pace at which it begins, which is less where that is doubted; 0: not known
	Trial      float64   // the pace that it goes on to try soon; 0: none, or there are several routes
	Ceiling    *float64  // the strictest pace the owner allows; nil: none declared
	SavedAt    time.Time // when it was saved, if it is read from there
	HeardAt    time.Time // when the provider last confirmed the pace; zero: never
	HoldUntil  time.Time // the provider asked for silence until then; zero: it did not
	RejectedAt time.Time // when the provider rejected the credential; zero: it did not, or has answered since

	Breaker     string    // closed, open or half_open
	OpenUntil   time.Time // when the breaker lets a probe out; zero: it is closed, or only an operator does
	Failure     Failure   // what opened it; zero: it is closed, or that was not noted
	Forced      bool      // an operator holds the breaker in this state
	ForcedNote  string    // why, in the operator's words
	ForcedSince time.Time
	ForcedUntil time.Time // when that ends by itself; zero: only an operator releases it

	Frozen       bool      // and no person released it
	FreezeReason string    // "operator" if an operator did it
	FreezeNote   string    // why, in the operator's words
	Released     bool      // it was frozen, and an operator released it: the next request is the one test that decides
	Asks         bool      // a person lets one request leave before the end of a silence
	FrozenUntil  time.Time // when one test request may go out; zero: only an operator releases it

	Processes int     // that share the pace, which is that of all together; 0: one, or not known
	Routes    int     // that requests may leave by; the paces above are of all together; 0: not known
	Announced []Quota // the limits of the provider, each as it was announced last

	Ended  int // the latest requests that did,
	Failed int // of which so many failed or got no answer

	Constraints []Constraint // all that limit the pace, in a fixed order; one of them binds
}

// A Bound names one of the reasons why requests leave no faster. These names are
// in states, events and JSON.
type Bound string

// All bounds there are.
const (
	FreezeOf    Bound = "freeze"     // the account was refused, or an operator stopped all calls
	BreakerOf   Bound = "breaker"    // most of the latest requests failed, or an operator stopped all calls
	HoldOf      Bound = "hold"       // the provider asked for silence
	ReserveOf   Bound = "reserve"    // nothing is left of an announced quota, or only what is for people
	CeilingOf   Bound = "ceiling"    // a window of the owner
	ClampOf     Bound = "clamp"      // the strictest ceiling, lowered because too much was refused under it
	Undeclared  Bound = "undeclared" // the bound of a provider without a ceiling, which rises with clean answers
	Forbidden   Bound = "forbidden"  // the account was refused at a faster pace
	Announced   Bound = "announced"  // the pace that answers tell
	Learned     Bound = "learned"    // a faster pace was refused
	Slow        Bound = "slow"       // answers came late at a faster pace
	Rising      Bound = "rising"     // nothing yet: the start looks for the limit
	Places      Bound = "places"     // the provider refused when more were in flight
	InFlightMax Bound = "in_flight"  // the requests that may be in flight at once
	Unused      Bound = "unused"     // the run asks for no more
)

// Bounds returns all bounds, those first that leave no choice.
func Bounds() []Bound {
	return []Bound{FreezeOf, BreakerOf, HoldOf, ReserveOf, CeilingOf, ClampOf, Undeclared, Forbidden, Announced, Learned, Slow, Rising,
		Places, InFlightMax, Unused}
}

// A Constraint is a bound with its figures: a rate, a time before which nothing
// leaves, or a number in flight.
type Constraint struct {
	Name      Bound
	Route     string        // that it is of; "": it is of all requests
	Window    time.Duration // of a ceiling
	Count     int           // requests in the window, or in flight; 0: not known
	Used      int           // of Count, now
	Lowered   *Lowered      // by an operator; nil: all of the ceiling may be used
	PerSecond float64       // the highest pace under it; 0: it is no pace
	InForce   float64       // the pace where another one than PerSecond was found, as while more is tried; 0: it is PerSecond, or not known
	Latency   time.Duration // for which a request is on its way, answered or not, which makes a pace of what is in flight; 0: not known
	Until     time.Time     // nothing leaves before; zero: something may, or a person must act
	Since     time.Time     // when it was learned or decided; zero: not known
	Basis     Basis         // of a pause
	Again     time.Time     // when more is tried; zero: with the answers that come, or never
	Probes    int           // lone requests that were refused after a pause each, since everything was
	Blocks    bool          // nothing leaves now because of it
	Binds     bool          // it is what limits the pace now

	way int // the route that it is of, from 1; 0: it is of the account
}

// outlasts reports whether c blocks for longer than d. What a person must end
// lasts longest.
func (c *Constraint) outlasts(d *Constraint) bool {
	if c.Until.IsZero() || d.Until.IsZero() {
		return c.Until.IsZero() && !d.Until.IsZero()
	}
	return c.Until.After(d.Until)
}

// Limit returns what limits the pace; nil if nothing is known to.
func (s *Status) Limit() *Constraint {
	for i := range s.Constraints {
		if s.Constraints[i].Binds {
			return &s.Constraints[i]
		}
	}
	return nil
}

// OfRoute returns which of several routes has the pace that limits all requests now, the pace in force by it, and
// the one that was found; "" if none has.
func (s *Status) OfRoute() (name string, inForce, found float64) {
	if k := s.Limit(); s.Routes > 1 && k != nil && k.Route != "" && k.PerSecond > 0 {
		return k.Route, cmp.Or(k.InForce, k.PerSecond), k.PerSecond
	}
	return "", 0, 0
}

// Binding names what limits the pace; "" if nothing is known to.
func (s Status) Binding() string {
	if limit := s.Limit(); limit != nil {
		return string(limit.Name)
	}
	return ""
}

// PacedBy names what keeps the pace from being higher, whatever requests wait for;
// "" if nothing is known to.
func (s Status) PacedBy() Bound {
	if i := s.paced(); i >= 0 {
		return s.Constraints[i].Name
	}
	return ""
}

// paced returns the index of the constraint with the lowest pace; -1 if there is none.
func (s *Status) paced() int {
	lowest := -1
	for i, c := range s.Constraints {
		if c.Name != InFlightMax && c.Name != Unused && c.PerSecond > 0 && (lowest < 0 || c.PerSecond <= same*s.Constraints[lowest].PerSecond) {
			lowest = i
		}
	}
	return lowest
}

// waitOf names the wait that a bound makes, if it is one of its own.
var waitOf = map[Bound]collection.WaitCause{
	BreakerOf: collection.WaitBreaker, CeilingOf: collection.WaitWindow, ReserveOf: collection.WaitReserve,
}

// Cause names the wait that c makes; "" if that is none of its own.
func (c *Constraint) Cause() collection.WaitCause {
	if c.Name == HoldOf {
		return causeOf(c.Basis)
	}
	return waitOf[c.Name]
}

// causeOf names the wait for the end of a pause.
func causeOf(b Basis) collection.WaitCause {
	if b.OfQuota() {
		return collection.WaitReserve
	}
	return collection.WaitRetryAfter
}

// Waiting returns s as it is for a run that waits for cause, which is what binds
// then. What waits for a retry of its own is bound by nothing that others are.
func (s Status) Waiting(cause collection.WaitCause) Status {
	binds := -1
	if cause == collection.WaitPacing {
		binds = s.paced()
		if name, _, _ := s.OfRoute(); name != "" {
			binds = slices.IndexFunc(s.Constraints, func(k Constraint) bool { return k.Binds })
		}
	}
	s.Constraints = slices.Clone(s.Constraints)
	for i := range s.Constraints {
		c := &s.Constraints[i]
		if c.Binds = false; c.Cause() == cause && (binds < 0 || c.holdsLonger(&s.Constraints[binds])) {
			binds = i
		}
	}
	if binds >= 0 {
		s.Constraints[binds].Binds = true
	}
	return s
}

// holdsLonger reports whether c, rather than d, is what a wait is for: it ends
// later, or more of its window is used.
func (c *Constraint) holdsLonger(d *Constraint) bool {
	if c.Blocks && d.Blocks {
		return c.outlasts(d)
	}
	return c.Blocks || !d.Blocks && c.Used*d.Count > d.Used*c.Count
}
