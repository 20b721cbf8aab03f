package route

import (
	"math"
	"slices"
	"strings"
	"time"

	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
	"collect/pacing/response"
)

// Kept is the saved form of a route, or of what only the first has
// beside its law.
type Kept struct {
	Name    string          `json:"name,omitempty"`
	Key     string          `json:"key,omitempty"`
	Stream  string          `json:"stream,omitempty"`           // whose refusals showed it
	Tried   float64         `json:"tried_per_second,omitempty"` // the pace before the trial; 0: it is kept
	Trial   *keptTrial      `json:"trial,omitempty"`
	Suspect []suspect       `json:"suspects,omitempty"` // of the first
	Streams []string        `json:"streams,omitempty"`  // that were found to belong to it
	Memory  *law.Memory     `json:"memory,omitempty"`   // nil for the first
	Hold    time.Time       `json:"hold_until,omitzero"`
	Basis   *response.Basis `json:"hold_basis,omitempty"`
	Reserve time.Time       `json:"reserved_until,omitzero"`
	Most    float64         `json:"announced_per_second,omitempty"`
	Told    time.Time       `json:"announced_at,omitzero"`
	Empty   int8            `json:"told_empty,omitempty"` // how often in a row it was announced that nothing is left
}

// A keptTrial is the saved form of a trial that has not ended: a run may be shorter.
type keptTrial struct {
	For     time.Duration `json:"for_ns"` // of the runs so far
	Long    time.Duration `json:"long_ns"`
	Answers float64       `json:"answers"`
}

// A suspect is the saved form of a suspicion.
type suspect struct {
	Stream string     `json:"of"`
	Odds   float64    `json:"odds"`
	Pace   float64    `json:"per_second,omitempty"`
	Before law.Memory `json:"before"`
}

// suspects returns the suspicions that are kept.
func (t *Table) suspects() (all []suspect) {
	if t.mix == nil {
		return nil
	}
	for stream, s := range t.mix.odds {
		if s.odds > 0 {
			all = append(all, suspect{stream, s.odds, s.pace, s.before})
		}
	}
	slices.SortFunc(all, func(a, b suspect) int { return strings.Compare(a.Stream, b.Stream) })
	return all
}

// suspect goes on with the suspicions of a run before.
func (t *Table) suspect(all []suspect) {
	for _, k := range all {
		if k.Stream == "" || !(k.Odds > 0) || k.Odds > oddsMost || t.mix != nil && len(t.mix.odds) >= mostStreams {
			continue
		}
		if t.mix == nil {
			t.mix = &mix{odds: map[string]*suspicion{}}
		}
		s := &suspicion{odds: k.Odds, before: k.Before}
		if k.Pace >= announcedSlowest && !math.IsInf(k.Pace, 1) {
			s.pace = k.Pace
		}
		t.mix.odds[k.Stream] = s
	}
}

// plain reports whether there is nothing to be kept of r but its law.
func (r *Route) plain(now law.Moment) bool {
	return r.key == "" && r.Hold <= now && r.Reserve <= now && !r.Fresh(now) && r.Empty.told == 0
}

// Keep returns what is known of the routes.
func (t *Table) Keep(clock *timeline.Timeline, now law.Moment) []Kept {
	suspects := t.suspects()
	if len(t.All) == 1 && t.All[0].plain(now) && suspects == nil {
		return nil
	}
	all := make([]Kept, len(t.All))
	all[0].Suspect = suspects
	for i, r := range t.All {
		k := &all[i]
		k.Name, k.Key, k.Empty = r.name, r.key, r.Empty.told
		if k.Hold, k.Reserve = clock.KeptAhead(r.Hold, now), clock.KeptAhead(r.Reserve, now); !k.Hold.IsZero() {
			k.Basis = r.Basis
		}
		if r.trial != nil {
			k.Stream = r.trial.stream
			if !r.trial.sure {
				k.Tried = r.trial.pace
				k.Trial = &keptTrial{now - r.trial.began, r.trial.long, r.trial.answers}
			}
		}
		if r.Fresh(now) {
			k.Most, k.Told = r.Most, clock.Kept(r.Told)
		}
		if i > 0 {
			m := r.Memory(clock)
			k.Memory = &m
		}
	}
	for stream, l := range t.lanes {
		if l.Route > 0 {
			all[l.Route].Streams = append(all[l.Route].Streams, stream)
		}
	}
	for i := range all {
		slices.Sort(all[i].Streams)
	}
	return all
}

// Restore continues routes. The first is that of all. A route that is
// declared no more is forgotten, but for the silence it was asked for, which
// then is that of all.
func (t *Table) Restore(all []Kept, tried int, clock *timeline.Timeline, recorded, now time.Time) {
	t.tried = int8(max(0, min(tried, mostTried)))
	if len(all) > 0 {
		t.suspect(all[0].Suspect)
	}
	for i, k := range all {
		if len(k.Key) > KeyBytes {
			k.Key = ""
		}
		at := 0
		if i > 0 {
			at = t.placeOf(k, clock)
		}
		r := t.All[at]
		if k.Name == r.name {
			r.key = k.Key
		}
		r.hold(clock.Of(k.Hold), k.Basis)
		r.Reserve = max(r.Reserve, clock.Of(k.Reserve))
		if k.Most >= announcedSlowest && !math.IsInf(k.Most, 1) {
			r.Most, r.Told = k.Most, clock.Of(k.Told)
		}
		if k.Empty != 0 {
			r.Empty = Empty{clock.Latest(), max(-emptyTrusted, min(k.Empty, emptyProven))} // what leaves from now on has waited
		}
		if at == 0 {
			continue
		}
		if k.Memory != nil {
			r.Restore(*k.Memory, clock, recorded, now)
		}
		for _, stream := range k.Streams {
			if l := t.Lane(stream); l.Route == 0 || k.Name == "" {
				l.Route = at
				t.assign(stream, l)
			}
		}
	}
}

// placeOf returns the index of the route of k.
func (t *Table) placeOf(k Kept, clock *timeline.Timeline) int {
	if k.Stream != "" && k.Name == "" && k.Key == "" {
		if t.Lane(k.Stream).Route > 0 { // it has a route for another reason
			return 0
		}
		tr := &trial{stream: k.Stream, sure: k.Tried == 0, pace: k.Tried, began: clock.Latest(), long: trialLong}
		if on := k.Trial; on != nil && on.Answers >= 0 && !math.IsInf(on.Answers, 1) {
			tr.began -= max(0, min(on.For, trialLongest))
			tr.long, tr.answers = max(trialLong, min(on.Long, trialLongest)), on.Answers
		}
		return t.add(&Route{trial: tr})
	}
	same := func(r *Route) bool { return k.Name != "" && r.name == k.Name || k.Name == "" && r.key == k.Key }
	if i := slices.IndexFunc(t.All, same); i >= 0 {
		return i
	}
	if k.Name != "" || k.Key == "" {
		return 0
	}
	return t.add(&Route{key: k.Key})
}

// Tried returns how many routes that nobody declared turned out to be none.
func (t *Table) Tried() int { return int(t.tried) }

// Seen returns saved routes to be looked at, and what is known of the first.
func Seen(all []Kept, first *law.Memory, clock *timeline.Timeline) (t Table) {
	for _, k := range all {
		r := &Route{name: k.Name, key: k.Key, Hold: clock.Of(k.Hold), Basis: k.Basis, Reserve: clock.Of(k.Reserve),
			Most: k.Most, Told: clock.Of(k.Told), kept: k.Memory}
		if k.Stream != "" {
			r.trial = &trial{stream: k.Stream}
		}
		if r.kept == nil {
			r.kept = &law.Memory{}
		}
		t.All = append(t.All, r)
	}
	if len(t.All) == 0 {
		t.All = []*Route{{}}
	}
	t.All[0].kept = first
	return t
}
