package gate

import (
	"cmp"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
	"collect/pacing/response"
)

// A picture is what the constraints of a gate are made from that is not in it:
// of a gate at work, or of one that was saved.
type picture struct {
	rate     float64     // the pace in force, of all routes
	paces    []float64   // and of each
	bound    float64     // the highest there can be; 0: not known
	usage    *usage.Kept // nil: nothing has left
	recorded time.Time
}

// constraints returns what limits the pace at now, and which of it binds.
func (g *Gate) constraints(s Status, p picture, now law.Moment) []Constraint {
	var all []Constraint
	if s.Frozen {
		all = append(all, Constraint{Name: FreezeOf, Until: s.FrozenUntil, Since: g.freeze.Since, Blocks: g.freeze.Blocks(now)})
	}
	if s.Breaker != halt.Closed {
		all = append(all, Constraint{Name: BreakerOf, Until: s.OpenUntil, Since: s.ForcedSince,
			Blocks: s.Forced || g.breaker.Until > now})
	}
	silence := func(name Bound, route string, way int, until law.Moment, basis *Basis) {
		if until > now {
			all = append(all, Constraint{Name: name, Route: route, Until: g.clock.When(until), Basis: basisOf(basis), Blocks: true, way: way})
		}
	}
	silence(HoldOf, "", 0, g.hold, g.basis)
	silence(ReserveOf, "", 0, g.reserve, nil)
	for i := range g.windows {
		all = append(all, g.window(&g.windows[i], now))
	}
	if share := g.clamped(); share < 1 {
		all = append(all, Constraint{Name: ClampOf, PerSecond: share * g.ceiling, Since: g.clock.When(g.clamp.Since())})
	}
	if g.ceiling == 0 && p.bound > 0 {
		all = append(all, Constraint{Name: Undeclared, PerSecond: p.bound})
	}
	for i, r := range g.routes.All {
		name, way := r.Label(), i+1
		silence(HoldOf, name, way, r.Hold, r.Basis)
		silence(ReserveOf, name, way, r.Reserve, nil)
		pace := 0.0
		if i < len(p.paces) {
			pace = p.paces[i]
		}
		for _, c := range g.limits(r, p.recorded, pace) {
			if c.way = way; i > 0 {
				c.Route = name
			}
			all = append(all, c)
		}
		if r.Fresh(now) {
			all = append(all, Constraint{Name: Announced, Route: name, PerSecond: r.Most, Since: g.clock.When(r.Told), way: way})
		}
	}
	all = append(all, g.used(p.usage)...)
	if i := g.binding(all, p.usage); i >= 0 {
		all[i].Binds = true
	}
	return all
}

// limits returns what the law of r knows of, when it was recorded at a time and had a
// pace; 0 if that is not known. What bounds all routes is told apart.
func (g *Gate) limits(r *route.Route, recorded time.Time, pace float64) (all []Constraint) {
	m := r.Memory(&g.clock)
	ago := route.Ago(&m, recorded, g.clock.Now())
	if b, ok := m.BanBound(ago); ok {
		all = append(all, Constraint{Name: Forbidden, PerSecond: b.PerSecond, Since: g.clock.Now().Add(-b.Age), Again: g.clock.Now().Add(b.Rises())})
	}
	rate := m.PerSecond()
	if rate == 0 && r.Pace != nil {
		rate = r.Pace.Rate()
	}
	rate = cmp.Or(rate, pace) // nothing is learned yet
	if name, ok := boundOf[m.By]; ok && rate > 0 {
		if (name == Announced || name == Rising) && pace > 0 { // these have no pace of their own
			rate = pace
		}
		c := Constraint{Name: name, PerSecond: rate, Since: m.HeardAt}
		if name != Places && (pace > same*rate || pace > 0 && rate > same*pace) {
			c.InForce = pace
		}
		if name == Places {
			c.Count, c.PerSecond = m.InFlight(), 0
		} else if n := m.InFlight(); n > 0 { // both are
			all = append(all, Constraint{Name: Places, Count: n, Since: m.HeardAt})
		}
		wait, refused := m.Backoff(ago), m.Refused()
		probes := refused > 0 && refused+m.Backoff(0) > passes && (r.Pace != nil || ago < m.Backoff(0)+probed)
		if wait > passes || probes {
			c.Until, c.Probes, c.Blocks = g.clock.Now().Add(wait), m.Probes(), true
			if !m.HeardAt.IsZero() {
				c.Since = m.HeardAt.Add(-refused)
			}
		}
		all = append(all, c)
	}
	return all
}

// used returns what the requests in flight, and the run itself, make of the pace: nothing as long as
// none was answered.
func (g *Gate) used(u *usage.Kept) (all []Constraint) {
	flying := Constraint{Name: InFlightMax}
	if g.slots != nil {
		flying.Count, flying.Used, flying.Blocks = g.slots.Limit(), g.slots.InFlight(), !g.slots.Room()
	} else if u != nil {
		flying.Count = u.InFlight
	}
	answered := u != nil && u.Ended > u.Failed
	if answered && u.Latency > 0 {
		flying.Latency, flying.PerSecond = u.Latency, float64(flying.Count)/u.Latency.Seconds()
	}
	if flying.Count > 0 {
		all = append(all, flying)
	}
	if answered && u.Held == usage.ByNothing {
		all = append(all, Constraint{Name: Unused, PerSecond: u.PerSecond, Latency: u.Latency})
	}
	return all
}

func (g *Gate) window(w *ceiling.Window, now law.Moment) Constraint {
	c := Untouched(collection.Ceiling{Count: w.Count, Per: w.Per})
	c.Until, c.Used = g.clock.Ahead(w.Next(now, 1), now), w.Used()
	if c.Until.Sub(g.clock.Now()) <= passes { // four a second let nothing out for a quarter of one, which is a pace and no block
		c.Until = time.Time{}
	}
	c.Lowered = g.ordered().budgets.Of(w.Per)
	c.Blocks = !c.Until.IsZero()
	if c.Lowered != nil && c.PerSecond > 0 {
		c.PerSecond = min(c.PerSecond, c.Lowered.PerSecond())
	}
	return c
}

// Untouched returns the constraint of a ceiling before any of it is used.
func Untouched(allowed collection.Ceiling) Constraint {
	c := Constraint{Name: CeilingOf, Window: allowed.Per, Count: allowed.Count}
	if c.Count > 0 && c.Window < response.BudgetFrom {
		c.PerSecond = float64(c.Count) / c.Window.Seconds()
	}
	return c
}

// binding returns the index of the constraint that binds; -1 if none does. That
// is the one that lets nothing out for the longest time, a person longer than
// any time. Where requests leave, it is what most of them waited for: the lowest
// pace, the slots in flight, or nothing.
func (g *Gate) binding(all []Constraint, u *usage.Kept) int {
	held, route := usage.Unknown, 0
	if u != nil {
		held, route = u.Held, u.Route
	}
	block, pace, flying, unused := -1, -1, -1, -1
	for i, c := range all {
		// What limits one of several routes limits all only if it is what they wait for.
		ofAnother := c.way > 0 && c.Route != ""
		if held == usage.ByTime {
			ofAnother = c.way > 0 && c.way-1 != route
		}
		if ofAnother && len(g.routes.All) > 1 {
			continue
		}
		switch {
		case c.Name == Places || c.Name == InFlightMax:
			if flying < 0 || c.Count < all[flying].Count {
				flying = i
			}
		case c.Name == Unused:
			unused = i
		case c.Blocks && (c.Name != ReserveOf || c.Until.Sub(g.clock.Now()) > passes):
			if block < 0 || c.outlasts(&all[block]) {
				block = i
			}
		case c.PerSecond > 0 && (pace < 0 || c.slower(&all[pace])):
			pace = i
		}
	}
	switch {
	case block >= 0:
		return block
	case held == usage.BySlot && flying >= 0:
		return flying
	case held == usage.ByNothing && unused >= 0:
		return unused
	case pace >= 0:
		return pace
	}
	return flying
}

// slower reports whether c is what binds and not other, which comes before it.
// Of two that are the same it is the one that is known more of, which comes
// later; of a start nothing is known, so it rises as far as the other one lets it.
func (c *Constraint) slower(other *Constraint) bool {
	if c.Name == Rising {
		return same*c.PerSecond < other.PerSecond
	}
	return c.PerSecond <= same*other.PerSecond
}

// same is what a pace may be more than another one and still be the same: it was
// an interval of whole nanoseconds.
const same = 1 + 1e-6

const (
	passes  = 5 * time.Second // the longest wait that is no block to people
	noticed = time.Second     // a back-off from which on each refusal is saved: who looks then sees that nothing succeeds
	probed  = time.Minute     // after a pause: from then on nobody is taken to ask whether refusals are over
)

// boundOf names what a law is limited by.
var boundOf = map[law.Limit]Bound{
	"": Learned, law.Rising: Rising, law.Refusals: Learned, law.LateAnswers: Slow, law.Headers: Announced, law.Places: Places,
}
