package console

import (
	"context"
	"html/template"
	"time"

	"collect/fleet"
	"collect/internal/words"
	"collect/store"
)

// waitsShown is how many of the turns that wait are shown.
const waitsShown = 100

// quietFor is how long a worker may be silent before its row says so: it beats every 5 s.
const quietFor = 15 * time.Second

// A fleetPage is the workers that share the store, what each does, and what waits. Its
// times are those of the clock of the server.
type fleetPage struct {
	fleet.View
	There bool
	More  int // turns that wait and are not shown
}

func workers(ctx context.Context, l lookup) (any, error) {
	var page fleetPage
	if l.db == nil {
		return page, nil
	}
	var err error
	if page.View, page.There, err = fleet.Look(ctx, l.db); err != nil {
		return nil, err
	}
	page.Now = page.Now.In(l.now.Location())
	if page.More = max(0, len(page.Waits)-waitsShown); page.More > 0 {
		page.Waits = page.Waits[:waitsShown]
	}
	return page, nil
}

// Quiet reports whether a worker was not heard of for too long.
func (p fleetPage) Quiet(w fleet.WorkerView) bool { return p.Now.Sub(w.Seen) > quietFor }

// For says how long ago a time was.
func (p fleetPage) For(at time.Time) string {
	return words.Span(max(0, p.Now.Sub(at)).Round(time.Second))
}

// Lease says how long the lease of a turn lasts; "" if it has none.
func (p fleetPage) Lease(t fleet.TurnView) string {
	if left := p.View.Lease(t); left > 0 {
		return words.Span(left.Round(time.Second))
	}
	return ""
}

// Late reports whether a time has passed.
func (p fleetPage) Late(at time.Time) bool { return !at.After(p.Now) }

// At returns a time as a person reads it.
func (p fleetPage) At(at time.Time) template.HTML { return timeTag(at, words.At(at, p.Now), p.Now) }

// hasFleet notes that there is a fleet, once there is: so a page of a store without one
// asks for it, and the others do not.
func (s *Server) hasFleet(ctx context.Context, db store.Reader) error {
	if db == nil || s.fleet.Load() {
		return nil
	}
	there, err := fleet.Has(ctx, db)
	if there {
		s.fleet.Store(true)
	}
	return err
}
