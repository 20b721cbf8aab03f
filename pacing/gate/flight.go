package gate

import (
	"collect/collection"
	"collect/pacing/gate/internal/route"
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// A Pass is the permission for one attempt. With no more than four fields and
// four words it is passed in registers.
type Pass struct {
	ID     uint64            // from 1, rising
	Change *collection.Event // of the breaker, whose probe it is; nil: none
	Save   bool              // the state must be saved before it leaves
	slot   int32             // the index of its slot in flight
}

// A flight is an attempt that has left and not ended. It stays with the gate:
// what travels with the attempt is a [Pass], which is small.
type flight struct {
	id     uint64 // of its pass; 0: it has ended
	ticket law.Ticket
	slot   inflight.Slot
	party  *party // whose it is; nil: of the only process
	stream string
	way    *route.Route
	pace   *route.Pace // that its route had when it left
	left   law.Moment
	retry  bool
	probe  bool // of the breaker
	test   bool // of the freeze
	asks   bool // whether a silence is over
}

// current reports whether its route still has the pace that it left under.
func (f *flight) current() bool { return f.pace == f.way.Pace }

// flights are kept by the index of their slot in flight.
type flights []flight

// at returns the place of the flight in slot i.
func (f *flights) at(i int) *flight {
	for i >= len(*f) {
		*f = append(*f, flight{})
	}
	return &(*f)[i]
}

// of returns the flight of p; nil if it has ended.
func (f flights) of(p Pass) *flight {
	if i := int(p.slot); i < len(f) && f[i].id == p.ID && p.ID > 0 {
		return &f[i]
	}
	return nil
}
