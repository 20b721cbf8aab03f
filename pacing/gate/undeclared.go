package gate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// The constants of routes that nobody declared: chosen, and judged by the tests
// of pacing/sim.
const (
	mixOf        = 32       // latest requests, which the share of a stream is taken of
	mixLeast     = 1.0 / 16 // share that a stream is granted at least
	mixElsewhere = 0.05     // of the refusals, if one stream has a limit of its own: others meet them

	trialOdds    = 3               // to 1 that the refusals of a stream are its own
	trialUnsure  = 7               // times those odds while no limit is confirmed
	mostTried    = 10              // trials that are counted
	trialAgain   = 10              // times those odds for each trial that failed
	trialGain    = 1.35            // of the pace before: all together must reach it
	trialLong    = 3 * time.Minute // after it, no window of a minute does,
	trialWindows = 3               // nor one that is known after as many

	togetherOdds  = 100             // to 1 that two routes are one
	togetherSlots = 2               // intervals, or
	togetherFor   = 2 * time.Second // from a refusal of the one to a refusal of the other
	togetherOne   = 0.5             // of the refusals come together, if the routes are one,
	togetherTwo   = 0.1             // and if they are not
)

// A mix finds out which of the streams that share the route of all the provider
// counts apart, though neither the owner nor the provider says so.
//
// If they share one limit, each stream meets as many of the refusals as it has
// of the requests. If one of them has a limit of its own, it meets all of them.
// A refusal moves the odds of the second against the first, which begin anew
// when they are below 1: a sequential test (E. S. Page, 1954), which is wrong at
// most once in trialOdds episodes (G. Lorden, 1971).
//
// Then the stream is tried alone: it gets a law of its own, with its share of the
// pace, and the others get back what they had before its refusals. The route is
// kept if all together are faster for it, and given up if a refusal of the
// others shows that they are not.
type mix struct {
	latest [mixOf]string // streams of the latest requests: a ring
	sent   uint64        // requests that were noted in it
	fence  uint64        // the latest request that had left at the last refusal that counts,
	blamed string        // and the stream of that refusal
	odds   map[string]*suspicion
	due    string // the stream that is tried with the next answer of another one; "": none
}

// A suspicion is that the refusals of a stream are its own.
type suspicion struct {
	odds   float64    // their logarithm
	before law.Memory // of the pace, before these refusals
	pace   float64    // the highest at which one of them came, once a limit was confirmed; 0: none was
}

// A trial is what is known of a route that a stream has because of its refusals.
type trial struct {
	stream  string
	sure    bool          // it is kept
	pace    float64       // of all together, before the trial
	shared  *paused       // the law of all together, until then; nil: not known any more
	long    time.Duration // after so long it is sure
	began   law.Moment
	answers float64       // since then, of this route and of the others
	refused [2]law.Moment // when the others, and this route, were refused last; 0: they were not
	odds    float64       // logarithm of those that it is no route
	over    bool          // it is none, and ends with the next answer
}

// sends notes that a request of stream leaves by the route of all, which is not
// only that of one stream.
func (g *Gate) sends(stream string) {
	if g.mix == nil {
		g.mix = &mix{odds: map[string]*suspicion{}}
	}
	g.mix.latest[g.mix.sent%mixOf] = stream
	g.mix.sent++
}

// share returns how much of the latest requests were of stream.
func (m *mix) share(stream string) float64 {
	n, all := 0.0, min(m.sent, mixOf)
	for _, s := range m.latest[:all] {
		if s == stream {
			n++
		}
	}
	return max(mixLeast, n/float64(max(1, all)))
}

// blame notes a refusal of f, which left by the route of all. The law of that has
// not heard of it.
func (g *Gate) blame(f *flight) {
	m, way := g.mix, g.routes[0]
	if f.id <= m.fence { // what was in flight together is refused together
		if s := m.odds[m.blamed]; s != nil && f.stream != m.blamed {
			s.weigh(mixElsewhere, 1-m.share(m.blamed))
		}
		return
	}
	m.fence, m.blamed = g.sent, f.stream
	for stream, s := range m.odds {
		if stream != f.stream {
			s.weigh(mixElsewhere, 1-m.share(stream))
		}
	}
	s := m.odds[f.stream]
	if s == nil {
		if f.stream == "" || len(m.odds) >= mostStreams {
			return
		}
		s = &suspicion{}
		m.odds[f.stream] = s
	}
	known := way.law.Keep()
	if s.odds == 0 {
		s.before, s.pace = known, 0
	}
	if known.Confirmed() {
		s.pace = max(s.pace, way.law.Rate())
	}
	s.weigh(1-mixElsewhere, m.share(f.stream))
	need := math.Log(trialOdds) + float64(g.tried)*math.Log(trialAgain)
	if s.pace == 0 {
		need += math.Log(trialUnsure)
	}
	if s.odds >= need {
		m.due = f.stream
		s.pace = cmp.Or(s.pace, max(way.law.Rate(), known.PerSecond()))
	}
}

// weigh moves the odds by what was just as likely if the refusals are those of
// the stream, and if they are not.
func (s *suspicion) weigh(own, shared float64) {
	s.odds = max(0, s.odds+math.Log(own/max(mixLeast, shared)))
}

// try gives the stream that is due a route of its own. An answer came: an error
// makes nothing faster. It returns what there is to tell.
func (g *Gate) try(now law.Moment) []collection.Event {
	m, way := g.mix, g.routes[0]
	stream, s := m.due, m.odds[m.due]
	m.due = ""
	m.odds = map[string]*suspicion{}
	if len(g.routes) >= mostRoutes {
		return nil
	}
	known, part := way.law.Keep(), m.share(stream)
	before := s.before
	if before.PerSecond() < trialGain*s.pace {
		before = before.Doubted(max(before.PerSecond(), s.pace))
	}
	others := g.newLaw()
	others.Restore(before, 0)
	own := &route{heard: way.heard, spoke: way.spoke, used: true, trial: &trial{
		stream: stream, pace: s.pace, shared: g.replace(way, others, now), began: now,
		long: max(trialLong, trialWindows*known.Window()),
	}}
	l := g.laneOf(stream)
	l.route = g.addRoute(own)
	g.assign(stream, l)
	own.law.Restore(known.Part(part), 0)
	g.calm = false
	return []collection.Event{own.trial.event(collection.RouteTried)}
}

// event tells what became of the route of t.
func (t *trial) event(is collection.RouteState) collection.Event {
	return collection.Event{Kind: collection.RouteChanged, Route: &collection.RouteInfo{Stream: t.stream, State: is}}
}

// replace gives way the law next. What has left under the one before ends there.
func (g *Gate) replace(way *route, next law.Law, now law.Moment) *paused {
	old := &paused{Law: way.law, last: now}
	for i := range g.flights {
		if f := &g.flights[i]; f.way == way && f.old == nil {
			f.old = old
		}
	}
	way.law = next
	return old
}

// tell tells the trials of the outcome of f; refused says that it began an
// episode. It returns which routes are kept, or given up.
func (g *Gate) tell(f *flight, s law.Signal, refused bool, now law.Moment) (changes []collection.Event) {
	for _, r := range slices.Clone(g.routes) {
		t := r.trial
		if t == nil || f.way != r && f.way != g.routes[0] {
			continue
		}
		was := t.sure
		if s == law.Succeeded || s == law.Answered {
			t.answers += f.ticket.Cost()
		}
		if refused {
			t.refuse(f.way == r, law.Moment(togetherSlots*float64(time.Second)/f.law().Rate()), now)
		}
		t.over = t.over || t.isOne(refused, now)
		if t.sure && !was {
			changes = append(changes, t.event(collection.RouteKept))
		}
		if t.over && s == law.Succeeded {
			g.join(r, now)
			changes = append(changes, t.event(collection.RouteGivenUp))
		}
	}
	return changes
}

// refuse notes a refusal of this route, or of the others.
func (t *trial) refuse(own bool, near, now law.Moment) {
	this, other := 0, 1
	if own {
		this, other = 1, 0
	}
	t.refused[this] = now
	ratio := (1 - togetherOne) / (1 - togetherTwo)
	if at := t.refused[other]; at > 0 && now-at <= max(near, togetherFor) {
		ratio = togetherOne / togetherTwo
	}
	t.odds = max(0, t.odds+math.Log(ratio))
}

// isOne reports whether it turned out that the provider does not count the route
// apart.
func (t *trial) isOne(refused bool, now law.Moment) bool {
	if t.sure {
		return refused && t.odds >= math.Log(togetherOdds)
	}
	since := now - t.began
	faster := t.answers >= trialGain*t.pace*since.Seconds()
	switch {
	case since >= t.long && faster:
		t.sure, t.shared = true, nil
	case !faster && t.refused[0] > 0:
		return refused || since >= t.long
	}
	return false
}

// join gives up the route r, whose stream goes back to that of all. An answer
// came, as for try.
func (g *Gate) join(r *route, now law.Moment) {
	way, t := g.routes[0], r.trial
	var next law.Law
	if t.shared != nil {
		t.shared.resume(now)
		next = t.shared
	} else {
		m := way.law.Keep()
		next = g.newLaw()
		next.Restore(m.Part(1+r.law.Rate()/way.law.Rate()), 0)
	}
	g.replace(way, next, now)
	way.hold, way.reserve = max(way.hold, r.hold), max(way.reserve, r.reserve)
	i := slices.Index(g.routes, r)
	g.routes = slices.Delete(g.routes, i, i+1)
	for stream, l := range g.lanes {
		switch {
		case l.route == i:
			l.route = 0
		case l.route > i:
			l.route--
		}
		g.lanes[stream] = l
	}
	g.tried = min(g.tried+1, mostTried)
}

// A paused law goes on where it stopped, as if the time between had not been.
type paused struct {
	law.Law
	by   time.Duration
	last law.Moment // when it was last told something
}

// resume ends a pause.
func (p *paused) resume(now law.Moment) { p.by += now - p.last }

func (p *paused) Next(now law.Moment) (law.Moment, bool) {
	at, open := p.Law.Next(now - p.by)
	return at + p.by, open
}

func (p *paused) OnSend(now law.Moment, weight float64) law.Ticket {
	return p.Law.OnSend(now-p.by, weight)
}

func (p *paused) OnResult(t law.Ticket, o law.Outcome, now law.Moment) time.Duration {
	p.last = now
	return p.Law.OnResult(t, o, now-p.by)
}

// Forgive forgets that a pace was forbidden.
func (p *paused) Forgive() {
	if l, ok := p.Law.(interface{ Forgive() }); ok {
		l.Forgive()
	}
}
