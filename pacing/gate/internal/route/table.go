package route

import (
	"math"
	"slices"

	"collect/collection"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
)

// mostRoutes bounds the routes of a provider, and KeyBytes the names it gives
// them. What comes after them shares the first.
const (
	mostRoutes  = 64
	mostStreams = 256
	KeyBytes    = 128
)

// A Table says which route each stream leaves by.
type Table struct {
	All []*Route // the first is the route of all that have no other

	lanes  map[string]Lane // by stream
	mix    *mix            // of the streams of the first; nil: there is one
	tried  int8            // routes nobody declared that turned out to be none
	newLaw func() law.Law
}

// New returns the routes that p declares, each with a law of its own.
func New(p collection.Provider, newLaw func() law.Law) Table {
	t := Table{newLaw: newLaw}
	t.add(&Route{})
	t.declare(p)
	return t
}

// Renew gives all routes new laws.
func (t *Table) Renew() {
	for _, r := range t.All {
		r.Pace = &Pace{Law: t.newLaw()}
	}
}

// One reports whether all streams leave by one route, and will.
func (t *Table) One() bool { return len(t.All) == 1 && (t.mix == nil || t.mix.due == "") }

// By returns the route that requests of stream leave by.
func (t *Table) By(stream string) *Route { return t.All[t.Lane(stream).Route] }

// heaviest bounds what one request counts as.
const heaviest = 1e6

// A Lane is how requests of a stream leave.
type Lane struct {
	Route  int
	Weight float64 // what the law counts one as
	Units  int     // and the ceilings, which count whole requests
}

// plain is the lane of a stream without a declared route.
var plain = Lane{Weight: 1, Units: 1}

// declare makes the routes of p.
func (t *Table) declare(p collection.Provider) {
	streams := make([]string, 0, len(p.Routes))
	for stream := range p.Routes {
		streams = append(streams, stream)
	}
	slices.Sort(streams) // so that the bound cuts off the same ones each time
	for _, stream := range streams {
		r := p.Routes[stream]
		l := plain
		if r.Weight > 0 {
			l.Weight, l.Units = r.Weight, int(math.Ceil(min(r.Weight, heaviest)))
		}
		if r.Name != "" {
			l.Route = t.named(r.Name)
		}
		t.assign(stream, l)
	}
}

func (t *Table) named(name string) int {
	if i := slices.IndexFunc(t.All, func(r *Route) bool { return r.name == name }); i >= 0 {
		return i
	}
	return t.add(&Route{name: name})
}

// add adds r, or returns the route of all if there are too many.
func (t *Table) add(r *Route) int {
	if len(t.All) >= mostRoutes {
		return 0
	}
	r.Pace = &Pace{Law: t.newLaw()}
	t.All = append(t.All, r)
	return len(t.All) - 1
}

func (t *Table) assign(stream string, l Lane) {
	if _, known := t.lanes[stream]; !known && len(t.lanes) >= mostStreams {
		return
	}
	if t.lanes == nil {
		t.lanes = map[string]Lane{}
	}
	t.lanes[stream] = l
}

// Lane returns how requests of stream leave.
func (t *Table) Lane(stream string) Lane {
	if len(t.lanes) == 0 {
		return plain
	}
	if l, ok := t.lanes[stream]; ok {
		return l
	}
	return plain
}

// Learn notes the key that the provider counts stream under, as the answer with the
// signal s to a request of the route at from told. It returns the route of that
// key.
//
// An error does not move a stream to another route, whose pace may be faster:
// the answer after it does.
func (t *Table) Learn(stream string, from *Route, key string, s law.Signal) *Route {
	if len(key) > KeyBytes {
		return from
	}
	to := slices.IndexFunc(t.All, func(r *Route) bool { return r.key == key })
	switch {
	case to >= 0:
	case from.key == "":
		from.key = key
		to = slices.Index(t.All, from)
	default:
		to = t.add(&Route{key: key})
	}
	moves := s == law.Succeeded || s == law.Answered
	if to < 0 { // it was given up meanwhile
		return from
	}
	if l := t.Lane(stream); moves && l.Route != to {
		t.All[l.Route].Usage.Waits = usage.Unknown // a request that waits there plans anew, by whichever route it has then
		l.Route = to
		t.assign(stream, l)
	}
	return t.All[to]
}
