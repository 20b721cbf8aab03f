package route

import (
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// Mixes notes that a request of stream leaves by the route of all. changed says
// that the one before it was of another stream.
func (t *Table) Mixes(stream string, changed bool) {
	if t.mix == nil {
		if !changed {
			return
		}
		t.mix = &mix{odds: map[string]*suspicion{}}
	}
	t.mix.leave(stream)
}

// Refused notes the refusal of a request that left by the route of all at its
// pace, of which the law has not heard. latest is the latest request that left.
func (t *Table) Refused(id, latest uint64, stream string) {
	if t.mix != nil {
		t.mix.blame(id, latest, stream, t.All[0], t.tried)
	}
}

// Try gives a stream whose refusals are its own a route of its own, if there is
// one, and tells of it. A request of another stream was answered: an error makes
// nothing faster.
func (t *Table) Try(answered string, now law.Moment) []collection.RouteInfo {
	m, way := t.mix, t.All[0]
	if m == nil || m.due == "" || m.due == answered {
		return nil
	}
	stream, s := m.due, m.odds[m.due]
	m.due = ""
	m.odds = map[string]*suspicion{}
	if len(t.All) >= mostRoutes {
		return nil
	}
	known, part := way.Pace.Keep(), m.share(stream)
	before := s.before
	if before.PerSecond() < trialGain*s.pace {
		before = before.Doubted(max(before.PerSecond(), s.pace))
	}
	own := &Route{heard: way.heard, spoke: way.spoke, Used: true, trial: &trial{
		stream: stream, pace: s.pace, shared: way.Pace.pause(now), began: now,
		long: max(trialLong, trialWindows*known.Window()),
	}}
	way.Pace = &Pace{Law: t.newLaw()}
	way.Pace.Restore(before, 0)
	l := t.Lane(stream)
	l.Route = t.add(own)
	t.assign(stream, l)
	own.Pace.Restore(known.Part(part), 0)
	return []collection.RouteInfo{{Stream: stream, State: collection.RouteTried}}
}

// Tell tells the trials of an answer to a request of cost that left by way at its
// pace; refused says that it began an episode. It returns which routes are kept, or
// given up.
func (t *Table) Tell(way *Route, cost float64, s law.Signal, refused bool, now law.Moment) (changes []collection.RouteInfo) {
	for _, r := range slices.Clone(t.All) {
		trial := r.trial
		if trial == nil || way != r && way != t.All[0] {
			continue
		}
		was := trial.sure
		if s == law.Succeeded || s == law.Answered {
			trial.answers += cost
		}
		if refused {
			trial.refuse(way == r, law.Moment(togetherSlots*float64(time.Second)/way.Pace.Rate()), now)
		}
		trial.over = trial.over || trial.isOne(refused, now)
		if trial.sure && !was {
			changes = append(changes, collection.RouteInfo{Stream: trial.stream, State: collection.RouteKept})
		}
		if trial.over && s == law.Succeeded {
			t.join(r, now)
			changes = append(changes, collection.RouteInfo{Stream: trial.stream, State: collection.RouteGivenUp})
		}
	}
	return changes
}

// join gives up the route r, whose stream goes back to that of all. An answer
// came, as for Try.
func (t *Table) join(r *Route, now law.Moment) {
	way := t.All[0]
	if shared := r.trial.shared; shared != nil {
		way.Pace = shared.resume(now)
	} else {
		m := way.Pace.Keep()
		next := &Pace{Law: t.newLaw()}
		next.Restore(m.Part(1+r.Pace.Rate()/way.Pace.Rate()), 0)
		way.Pace = next
	}
	way.hold(r.Hold, r.Basis)
	way.Reserve = max(way.Reserve, r.Reserve)
	i := slices.Index(t.All, r)
	t.All = slices.Delete(t.All, i, i+1)
	for stream, l := range t.lanes {
		switch {
		case l.Route == i:
			l.Route = 0
		case l.Route > i:
			l.Route--
		}
		t.lanes[stream] = l
	}
	t.tried = min(t.tried+1, mostTried)
}
