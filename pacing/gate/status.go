package gate

import (
	"cmp"
	"time"

	"collect/collection"
	"collect/pacing/response"
)

// A Status says how things stand with a provider, for people.
type Status struct {
	PerSecond float64   // the pace in force; 0: not paced, or not known
	Learned   float64   // the pace that a later process goes on from; 0: not known
	Ceiling   *float64  // the strictest pace the owner allows; nil: none declared
	HeardAt   time.Time // when the provider last confirmed the pace; zero: never
	HoldUntil time.Time // the provider asked for silence until then; zero: it did not

	Breaker     string    // closed, open or half_open
	OpenUntil   time.Time // when the breaker lets a probe out; zero: it is closed, or only an operator does
	Failure     Failure   // what opened it; zero: it is closed, or that was not noted
	Forced      bool      // an operator holds the breaker in this state
	ForcedNote  string    // why, in the operator's words
	ForcedSince time.Time

	Frozen       bool
	FreezeReason string    // "operator" if an operator did it
	FreezeNote   string    // why, in the operator's words
	FrozenUntil  time.Time // when one test request may go out; zero: only an operator releases it

	Constraints []Constraint // all that limit the pace, in a fixed order
}

// The names of constraints.
const (
	Learned     = "learned"    // the pace that the law found
	Undeclared  = "undeclared" // the bound of a provider without a ceiling, which rises with clean answers
	Announced   = "announced"  // the pace that the provider told
	CeilingOf   = "ceiling"    // a window of the owner
	ClampOf     = "clamp"      // the strictest ceiling, lowered because too much was refused under it
	ReserveOf   = "reserve"    // what is left of a limit is for people
	HoldOf      = "hold"       // the provider asked for silence
	BreakerOf   = "breaker"    // it is open
	FreezeOf    = "freeze"     // the account was refused
	InFlightMax = "in_flight"  // the requests in flight at once
)

// A Constraint is one of the reasons why requests leave no faster. It has a
// rate, or a time before which nothing leaves, or a number in flight.
type Constraint struct {
	Name      string
	Route     string        // that it is of; "": it is of all requests
	Window    time.Duration // of a ceiling
	Count     int           // requests in the window, or in flight; 0: not known
	Used      int           // of Count, now
	PerSecond float64       // the highest pace under it; 0: it is no pace
	Until     time.Time     // nothing leaves before; zero: something may, or a person must act
	Blocks    bool          // nothing leaves now because of it
	Binds     bool          // it is the strictest one now
	Since     time.Time     // when it was learned or decided; zero: not known
}

// Status returns how things stand at now.
func (g *Gate) Status(at time.Time) Status {
	now := g.clock.moment(at)
	bound := g.Most()
	if g.unpaced {
		bound = 0
	}
	s := g.status(g.Rate(), bound, g.routes[0].keep(&g.clock).HeardAt, now)
	for _, r := range g.routes {
		s.Learned += r.keep(&g.clock).PerSecond()
	}
	s.Learned = min(s.Learned, g.Most())
	return s
}

func (g *Gate) status(rate, bound float64, heard time.Time, now moment) Status {
	s := Status{
		PerSecond: rate, HeardAt: heard, Ceiling: g.perSecond(), HoldUntil: g.clock.ahead(g.hold, now),
		Breaker: g.breaker.state, OpenUntil: g.OpenUntil(), Failure: g.breaker.failure,
	}
	if f := g.breaker.forced; f != nil {
		s.Forced, s.ForcedNote, s.ForcedSince = true, f.Note, f.At
	}
	if g.freeze.frozen {
		s.Frozen, s.FreezeReason, s.FreezeNote, s.FrozenUntil = true, g.freeze.reason, g.freeze.note, g.freeze.ends(&g.clock)
	}
	s.Constraints = g.constraints(s, bound, now)
	return s
}

// constraints returns what limits the pace of s, where bound is the highest that
// it can be.
func (g *Gate) constraints(s Status, bound float64, now moment) []Constraint {
	var all []Constraint
	if s.Frozen {
		all = append(all, Constraint{Name: FreezeOf, Until: s.FrozenUntil, Blocks: g.freeze.blocks(now)})
	}
	if s.Breaker != Closed {
		all = append(all, Constraint{Name: BreakerOf, Until: s.OpenUntil, Since: s.ForcedSince,
			Blocks: s.Forced || g.breaker.until > now})
	}
	silence := func(name, route string, until moment) {
		if until > now {
			all = append(all, Constraint{Name: name, Route: route, Until: g.clock.when(until), Blocks: true})
		}
	}
	silence(HoldOf, "", g.hold)
	silence(ReserveOf, "", g.reserve)
	for i := range g.windows {
		all = append(all, g.windows[i].constraint(&g.clock, now))
	}
	if share := g.clamped(); share < 1 {
		all = append(all, Constraint{Name: ClampOf, PerSecond: share * g.ceiling, Since: g.clock.when(g.clamp.since)})
	}
	if g.ceiling == 0 && bound > 0 {
		all = append(all, Constraint{Name: Undeclared, PerSecond: bound})
	}
	if s.PerSecond > 0 {
		all = append(all, Constraint{Name: Learned, PerSecond: s.PerSecond, Since: s.HeardAt})
	}
	for i, r := range g.routes {
		name := cmp.Or(r.name, r.key)
		silence(HoldOf, name, r.hold)
		silence(ReserveOf, name, r.reserve)
		if r.fresh(now) {
			all = append(all, Constraint{Name: Announced, Route: name, PerSecond: r.most, Since: g.clock.when(r.told)})
		}
		if rate, since := r.learned(&g.clock); i > 0 && rate > 0 {
			all = append(all, Constraint{Name: Learned, Route: name, PerSecond: rate, Since: since})
		}
	}
	if g.slots != nil {
		all = append(all, Constraint{Name: InFlightMax, Count: g.slots.Limit(), Used: g.slots.InFlight(), Blocks: !g.slots.Room()})
	}
	if i := strictestOf(all, len(g.routes)); i >= 0 {
		all[i].Binds = true
	}
	return all
}

// learned returns the pace of r, and when it was last confirmed.
func (r *route) learned(clock *timeline) (rate float64, since time.Time) {
	switch {
	case r.law != nil:
		return r.law.Rate(), r.keep(clock).HeardAt
	case r.kept != nil:
		return r.kept.PerSecond(), r.kept.HeardAt
	}
	return 0, time.Time{}
}

func (w *window) constraint(clock *timeline, now moment) Constraint {
	c := Constraint{Name: CeilingOf, Window: w.per, Count: w.count, Until: clock.ahead(w.next(now, 1), now), Used: w.total}
	c.Blocks = !c.Until.IsZero()
	if w.count > 0 && w.per <= response.PaceLimit {
		c.PerSecond = float64(w.count) / w.per.Seconds()
	}
	return c
}

// strictestOf returns the index of the constraint that binds: the one that
// blocks longest, a person longer than any time and a full house shorter, and
// else the lowest rate. What is of one route of several limits not all. It
// returns -1 if nothing limits.
func strictestOf(all []Constraint, routes int) int {
	best := -1
	for i, c := range all {
		if c.Route != "" && routes > 1 {
			continue
		}
		if best < 0 || stricter(c, all[best]) {
			best = i
		}
	}
	return best
}

func stricter(a, b Constraint) bool {
	if ra, rb := a.rank(), b.rank(); ra != rb {
		return ra > rb
	}
	switch a.rank() {
	case forTime:
		return a.Until.After(b.Until)
	case asRate:
		return a.PerSecond < b.PerSecond
	}
	return false
}

// The ranks of what limits, mildest first.
const (
	asLimit = iota // of requests in flight, with room
	asRate
	forRoom
	forTime
	forPerson
)

func (c Constraint) rank() int {
	switch {
	case c.Blocks && !c.Until.IsZero():
		return forTime
	case c.Blocks && c.Name == InFlightMax:
		return forRoom
	case c.Blocks:
		return forPerson
	case c.PerSecond > 0:
		return asRate
	}
	return asLimit
}

// perSecond returns the ceiling; nil if there is none.
func (g *Gate) perSecond() *float64 {
	if g.ceiling == 0 {
		return nil
	}
	ceiling := g.ceiling
	return &ceiling
}

// Inspect returns how things stood when state was saved, seen at now. It
// fails if state cannot be read.
func Inspect(state []byte, now time.Time) (Status, error) {
	k, err := parseState(state, now)
	if err != nil {
		return Status{}, err
	}
	g := Gate{ceiling: k.Ceiling, breaker: breaker{state: Closed}}
	at := g.clock.moment(now)
	g.hold, g.reserve = g.clock.of(k.Hold), g.clock.of(k.Reserve)
	g.clamp = k.Clamp.seen(&g.clock)
	for _, kr := range k.Routes {
		g.routes = append(g.routes, &route{name: kr.Name, key: kr.Key, hold: g.clock.of(kr.Hold), reserve: g.clock.of(kr.Reserve),
			most: kr.Most, told: g.clock.of(kr.Told), kept: kr.Memory})
	}
	g.breaker.restore(k.Breaker, &g.clock)
	g.freeze.restore(k.Freeze, &g.clock)
	for _, kw := range k.Windows {
		w := window{count: kw.Count, per: kw.Per}
		w.restore(kw, &g.clock, at)
		g.windows = append(g.windows, w)
	}
	s := g.status(k.PerSecond(), k.Earned(), k.HeardAt, at)
	s.Learned = k.PerSecond()
	for _, kr := range k.Routes {
		if kr.Memory != nil {
			s.Learned += kr.Memory.PerSecond()
		}
	}
	if k.Ceiling > 0 {
		s.Learned = min(s.Learned, k.Ceiling)
	}
	return s, nil
}

// Binding names the constraint that binds; "" if none does.
func (s Status) Binding() string {
	for _, c := range s.Constraints {
		if c.Binds {
			return c.Name
		}
	}
	return ""
}

// nameBinding says in changes of the rate what binds after all of them.
func (g *Gate) nameBinding(changes []collection.Event, at time.Time) {
	for _, e := range changes {
		if e.Rate != nil {
			e.Rate.Binds = g.Status(at).Binding()
		}
	}
}

// Rate returns the learned pace in requests per second, of all routes that
// requests left by; 0 if there is none.
func (g *Gate) Rate() float64 {
	sum := 0.0
	for _, r := range g.routes {
		if r.used {
			sum += r.law.Rate()
		}
	}
	return min(cmp.Or(sum, g.routes[0].law.Rate()), g.Most())
}

// Most returns the highest rate there can be now. Where none is declared, it is
// the highest that any route earned.
func (g *Gate) Most() float64 {
	most := 0.0
	for _, r := range g.routes {
		most = max(most, r.law.Most())
	}
	return most
}

// Concurrency returns how many requests may be in flight at once.
func (g *Gate) Concurrency() int { return g.slots.Limit() }

// Closed reports whether the breaker is.
func (g *Gate) Closed() bool { return g.breaker.state == Closed }

// OpenUntil returns when the breaker lets a probe out; the zero time if it is
// closed, or only an operator does.
func (g *Gate) OpenUntil() time.Time {
	if g.Closed() || g.breaker.forced != nil {
		return time.Time{}
	}
	return g.clock.when(g.breaker.until)
}

// HoldUntil returns until when the provider asked for silence; the zero time
// if it did not.
func (g *Gate) HoldUntil(now time.Time) time.Time {
	return g.clock.ahead(g.hold, g.clock.moment(now))
}
