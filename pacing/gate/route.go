package gate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// mostRoutes bounds the routes of a provider, and keyBytes the names it gives
// them. What comes after them shares the first.
const (
	mostRoutes  = 64
	mostStreams = 256
	keyBytes    = 128
)

// A route is a class of requests that the provider counts apart: its own pace,
// and its own silence. The breaker, the freeze, the ceilings and a hold that
// names no route belong to the account, and so to all.
//
// A connector declares routes, or the provider names them in its answers: the
// first name belongs to the route of all, each other one begins a route.
type route struct {
	name  string // declared; "" for the route of all, and those that were learned
	key   string // the provider's name; "": not known
	trial *trial // of a stream that may be counted apart; nil: it is another route
	law   law.Law
	kept  *law.Memory // of a route that is only looked at, and has no law
	used  bool        // a request left
	spoke bool        // the provider said something about its pace,
	heard law.Moment  // and when it last did

	hold    law.Moment // the provider asked for silence until then
	reserve law.Moment // what is left until then is for people
	most    float64    // requests per second that the provider announced last; 0: none
	told    law.Moment // when it did
	empty   empty
	last    departed
	usage   usage
}

// label returns what people know r by; "" for that of all.
func (r *route) label() string {
	if r.trial != nil && r.key == "" {
		return r.trial.stream
	}
	return cmp.Or(r.name, r.key)
}

// A departed is a request that left, and what it counts as.
type departed struct {
	at     law.Moment
	weight float64 // 0: none left
}

// then returns when the next request may leave at rate.
func (d departed) then(rate float64) law.Moment {
	return d.at + law.Moment(float64(time.Second)/rate*d.weight)
}

// heaviest bounds what one request counts as.
const heaviest = 1e6

// A lane is how requests of a stream leave.
type lane struct {
	route  int
	weight float64 // what the law counts one as
	units  int     // and the ceilings, which count whole requests
}

// plain is how requests leave of which nothing else is known.
var plain = lane{weight: 1, units: 1}

// declare makes the routes of p.
func (g *Gate) declare(p collection.Provider) {
	streams := make([]string, 0, len(p.Routes))
	for stream := range p.Routes {
		streams = append(streams, stream)
	}
	slices.Sort(streams) // so that the bound cuts off the same ones each time
	for _, stream := range streams {
		r := p.Routes[stream]
		l := plain
		if r.Weight > 0 {
			l.weight, l.units = r.Weight, int(math.Ceil(min(r.Weight, heaviest)))
		}
		if r.Name != "" {
			l.route = g.routeNamed(r.Name)
		}
		g.assign(stream, l)
	}
}

func (g *Gate) routeNamed(name string) int {
	if i := slices.IndexFunc(g.routes, func(r *route) bool { return r.name == name }); i >= 0 {
		return i
	}
	return g.addRoute(&route{name: name})
}

// addRoute adds r, or returns the route of all if there are too many.
func (g *Gate) addRoute(r *route) int {
	if len(g.routes) >= mostRoutes {
		return 0
	}
	r.law = g.newLaw()
	g.routes = append(g.routes, r)
	return len(g.routes) - 1
}

func (g *Gate) assign(stream string, l lane) {
	if _, known := g.lanes[stream]; !known && len(g.lanes) >= mostStreams {
		return
	}
	if g.lanes == nil {
		g.lanes = map[string]lane{}
	}
	g.lanes[stream] = l
}

// laneOf returns how requests of stream leave.
func (g *Gate) laneOf(stream string) lane {
	if len(g.lanes) == 0 {
		return plain
	}
	if l, ok := g.lanes[stream]; ok {
		return l
	}
	return plain
}

// learn notes what the provider counts stream under, which o, the answer to a
// request of the route at from, told. It returns the route of that key.
//
// An error does not move a stream to another route, whose pace may be faster:
// the answer after it does.
func (g *Gate) learn(stream string, from *route, o *Outcome) *route {
	if len(o.Key) > keyBytes {
		return from
	}
	to := slices.IndexFunc(g.routes, func(r *route) bool { return r.key == o.Key })
	switch {
	case to >= 0:
	case from.key == "":
		from.key = o.Key
		to = slices.Index(g.routes, from)
	default:
		to = g.addRoute(&route{key: o.Key})
	}
	moves := o.Signal == law.Succeeded || o.Signal == law.Answered
	if to < 0 { // it was given up meanwhile
		return from
	}
	if l := g.laneOf(stream); moves && l.route != to {
		l.route = to
		g.assign(stream, l)
	}
	return g.routes[to]
}

// The pace that a provider announces is believed for so long, and for so many
// of its intervals. It is never believed to be slower than one in an hour.
const (
	announcedFor     = time.Minute
	announcedSlots   = 10
	announcedSlowest = 1.0 / 3600
)

// announce notes the pace that the provider announced. An error only lowers it.
func (r *route) announce(most float64, failed bool, now law.Moment) {
	most = max(announcedSlowest, most)
	if failed && r.fresh(now) {
		most = min(most, r.most)
	}
	r.most, r.told = most, now
}

// fresh reports whether an announced pace is in force.
func (r *route) fresh(now law.Moment) bool {
	return r.most > 0 && now-r.told <= max(announcedFor, time.Duration(announcedSlots*float64(time.Second)/r.most))
}

// earliest returns when the next request may leave under the announced pace.
func (r *route) earliest(now law.Moment) law.Moment {
	if !r.fresh(now) {
		return now
	}
	return r.last.then(r.most)
}

// onSend records that a request leaves.
func (r *route) onSend(weight float64, now law.Moment) law.Ticket {
	r.used = true
	r.last = departed{now, weight}
	return r.law.OnSend(now, weight)
}

// keep returns what a later process should know of the pace of r.
func (r *route) keep(clock *timeline.Timeline) law.Memory {
	m := r.law.Keep()
	if r.spoke {
		m.HeardAt = clock.Kept(r.heard)
	}
	return m
}

// memory returns what is known of the pace of r, which may have no law.
func (r *route) memory(clock *timeline.Timeline) law.Memory {
	if r.law == nil {
		return *r.kept
	}
	return r.keep(clock)
}

// ago returns how long ago the provider was heard, as m tells that was recorded
// at a time. What a law knows without having heard of it counts from there.
func ago(m *law.Memory, recorded, now time.Time) time.Duration {
	if m.HeardAt.IsZero() {
		return now.Sub(recorded)
	}
	return now.Sub(m.HeardAt)
}

// restore continues with it, as it was recorded at a time.
func (r *route) restore(m law.Memory, clock *timeline.Timeline, recorded, now time.Time) {
	if r.law.Restore(m, ago(&m, recorded, now)) {
		r.heard, r.spoke = clock.Of(m.HeardAt), true
	}
}

// A keptRoute is the saved form of a route, or of what only the first has
// beside its law.
type keptRoute struct {
	Name    string      `json:"name,omitempty"`
	Key     string      `json:"key,omitempty"`
	Stream  string      `json:"stream,omitempty"`           // whose refusals showed it
	Tried   float64     `json:"tried_per_second,omitempty"` // the pace before the trial; 0: it is kept
	Streams []string    `json:"streams,omitempty"`          // that were found to belong to it
	Memory  *law.Memory `json:"memory,omitempty"`           // nil for the first
	Hold    time.Time   `json:"hold_until,omitzero"`
	Reserve time.Time   `json:"reserved_until,omitzero"`
	Most    float64     `json:"announced_per_second,omitempty"`
	Told    time.Time   `json:"announced_at,omitzero"`
	Empty   int8        `json:"told_empty,omitempty"` // how often in a row it was announced that nothing is left
}

// keepRoutes returns what is known of the routes.
func (g *Gate) keepRoutes(now law.Moment) []keptRoute {
	if len(g.routes) == 1 && g.routes[0].plain(now) {
		return nil
	}
	all := make([]keptRoute, len(g.routes))
	for i, r := range g.routes {
		all[i] = keptRoute{Name: r.name, Key: r.key, Hold: g.clock.KeptAhead(r.hold, now), Reserve: g.clock.KeptAhead(r.reserve, now), Empty: r.empty.told}
		if r.trial != nil {
			all[i].Stream = r.trial.stream
			if !r.trial.sure {
				all[i].Tried = r.trial.pace
			}
		}
		if r.fresh(now) {
			all[i].Most, all[i].Told = r.most, g.clock.Kept(r.told)
		}
		if i > 0 {
			m := r.keep(&g.clock)
			all[i].Memory = &m
		}
	}
	for stream, l := range g.lanes {
		if l.route > 0 {
			all[l.route].Streams = append(all[l.route].Streams, stream)
		}
	}
	for i := range all {
		slices.Sort(all[i].Streams)
	}
	return all
}

// plain reports whether there is nothing to be kept of r but its law.
func (r *route) plain(now law.Moment) bool {
	return r.key == "" && r.hold <= now && r.reserve <= now && !r.fresh(now) && r.empty.told == 0
}

// restoreRoutes continues routes. The first is that of all. A route that is
// declared no more is forgotten, but for the silence it was asked for, which
// then is that of all.
func (g *Gate) restoreRoutes(all []keptRoute, recorded, now time.Time) {
	for i, k := range all {
		if len(k.Key) > keyBytes {
			k.Key = ""
		}
		at := 0
		if i > 0 {
			at = g.placeOf(k)
		}
		r := g.routes[at]
		if k.Name == r.name {
			r.key = k.Key
		}
		r.hold = max(r.hold, g.clock.Of(k.Hold))
		r.reserve = max(r.reserve, g.clock.Of(k.Reserve))
		if k.Most >= announcedSlowest && !math.IsInf(k.Most, 1) {
			r.most, r.told = k.Most, g.clock.Of(k.Told)
		}
		if k.Empty != 0 {
			r.empty = empty{g.clock.Latest(), max(-emptyTrusted, min(k.Empty, emptyProven))} // what leaves from now on has waited
		}
		if at == 0 {
			continue
		}
		if k.Memory != nil {
			r.restore(*k.Memory, &g.clock, recorded, now)
		}
		for _, stream := range k.Streams {
			if l := g.laneOf(stream); l.route == 0 || k.Name == "" {
				l.route = at
				g.assign(stream, l)
			}
		}
	}
}

// placeOf returns the index of the route of k.
func (g *Gate) placeOf(k keptRoute) int {
	if k.Stream != "" && k.Name == "" && k.Key == "" {
		if g.laneOf(k.Stream).route > 0 { // it has a route for another reason
			return 0
		}
		return g.addRoute(&route{trial: &trial{stream: k.Stream, sure: k.Tried == 0, pace: k.Tried, began: g.clock.Latest(), long: trialLong}})
	}
	same := func(r *route) bool { return k.Name != "" && r.name == k.Name || k.Name == "" && r.key == k.Key }
	if i := slices.IndexFunc(g.routes, same); i >= 0 {
		return i
	}
	if k.Name != "" || k.Key == "" {
		return 0
	}
	return g.addRoute(&route{key: k.Key})
}
