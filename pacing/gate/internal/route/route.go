// Package route keeps apart the requests of a provider that it counts apart: a
// [Route] is such a class of requests, and a [Table] says which one a stream
// leaves by. A connector declares routes, the provider names them in its answers,
// or refusals show them, which come on one stream only.
package route

import (
	"cmp"
	"time"

	"collect/pacing/gate/internal/timeline"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
	"collect/pacing/response"
)

// A Route is a class of requests that the provider counts apart: its own pace,
// and its own silence. The breaker, the freeze, the ceilings and a hold that
// names no route belong to the account, and so to all.
//
// A connector declares routes, or the provider names them in its answers: the
// first name belongs to the route of all, each other one begins a route.
type Route struct {
	name  string // declared; "" for the route of all, and those that were learned
	key   string // the provider's name; "": not known
	trial *trial // of a stream that may be counted apart; nil: it is another route
	Pace  *Pace
	kept  *law.Memory // of a route that is only looked at, and has no pace
	Used  bool        // a request left
	spoke bool        // the provider said something about its pace,
	heard law.Moment  // and when it last did

	Hold    law.Moment      // the provider asked for silence until then,
	Basis   *response.Basis // for which there is this reason; nil: not known
	Reserve law.Moment      // what is left until then is for people
	Most    float64         // requests per second that the provider announced last; 0: none
	Told    law.Moment      // when it did
	Usage   usage.Usage
	Empty   Empty

	left   law.Moment // when the latest request left,
	weight float64    // and what it counts as; 0: none left
}

// Key returns the provider's name of r; "": not known.
func (r *Route) Key() string { return r.key }

// hold leaves r alone until then at least, for the reason of the longest silence.
func (r *Route) hold(until law.Moment, basis *response.Basis) {
	if until > r.Hold {
		r.Hold, r.Basis = until, basis
	}
}

// Label returns what people know r by; "" for that of all.
func (r *Route) Label() string {
	if r.trial != nil && r.key == "" {
		return r.trial.stream
	}
	return cmp.Or(r.name, r.key)
}

// The pace that a provider announces is believed for so long, and for so many
// of its intervals. It is never believed to be slower than one in an hour.
const (
	announcedFor     = time.Minute
	announcedSlots   = 10
	announcedSlowest = 1.0 / 3600
	announcedUsed    = 0.95 // share of it that is used: in a second, a request may be 50 ms longer on its way than another
)

// Announce notes the pace that the provider announced. An error only lowers it.
func (r *Route) Announce(most float64, failed bool, now law.Moment) {
	most = max(announcedSlowest, most)
	if failed && r.Fresh(now) {
		most = min(most, r.Most)
	}
	r.Most, r.Told = most, now
}

// Fresh reports whether an announced pace is in force.
func (r *Route) Fresh(now law.Moment) bool {
	return r.Most > 0 && now-r.Told <= max(announcedFor, time.Duration(announcedSlots*float64(time.Second)/r.Most))
}

// Earliest returns when the next request may leave under the announced pace.
func (r *Route) Earliest(now law.Moment) law.Moment {
	if !r.Fresh(now) {
		return now
	}
	return r.Then(max(announcedSlowest, announcedUsed*r.Most))
}

// Leave records that a request leaves.
func (r *Route) Leave(weight float64, now law.Moment) law.Ticket {
	r.Used = true
	r.Usage.Leave()
	r.left, r.weight = now, weight
	return r.Pace.OnSend(now, weight)
}

// idleAfter is how long nothing has left by a route that is idle beside others, and nobody waited for it. Chosen.
const idleAfter = 5 * time.Second

// InUse reports whether requests leave by r, when the latest of all routes left at a moment.
func (r *Route) InUse(latest, now law.Moment) bool {
	return r.Used && (r.left >= latest || r.Usage.Waits != usage.Unknown || now-r.left < idleAfter || r.Then(r.Pace.Rate()) > now)
}

// Left returns when the latest request left by r; 0 if none did.
func (r *Route) Left() law.Moment { return r.left }

// Hears notes that the provider said something about the pace.
func (r *Route) Hears(now law.Moment) { r.heard, r.spoke = now, true }

// Then returns when the next request may leave at a rate.
func (r *Route) Then(rate float64) law.Moment {
	return r.left + law.Moment(float64(time.Second)/rate*r.weight)
}

// Memory returns what a later process should know of the pace of r, which may
// only be looked at.
func (r *Route) Memory(clock *timeline.Timeline) law.Memory {
	if r.Pace == nil {
		return *r.kept
	}
	m := r.Pace.Keep()
	if r.spoke {
		m.HeardAt = clock.Kept(r.heard)
	}
	return m
}

// Ago returns how long ago the provider was heard, as m tells that was recorded
// at a time. What a law knows without having heard of it counts from there.
func Ago(m *law.Memory, recorded, now time.Time) time.Duration {
	if m.HeardAt.IsZero() {
		return now.Sub(recorded)
	}
	return now.Sub(m.HeardAt)
}

// Restore continues with it, as it was recorded at a time.
func (r *Route) Restore(m law.Memory, clock *timeline.Timeline, recorded, now time.Time) {
	ago := Ago(&m, recorded, now)
	if r.Pace.Restore(m, ago) {
		r.heard, r.spoke = clock.Of(m.HeardAt), true
	}
	if m.Backoff(ago) > 0 {
		r.Pace.Next(clock.Latest()) // what is left of it counts from now
	}
}
