package route

import (
	"cmp"
	"math"

	"collect/pacing/law"
)

// The constants of streams that may be counted apart: chosen, and judged by the
// tests of pacing/sim.
const (
	mixOf        = 32       // latest requests, which the share of a stream is taken of
	mixLeast     = 1.0 / 16 // share that a stream is granted at least
	mixElsewhere = 0.05     // of the refusals, if one stream has a limit of its own: others meet them

	trialOdds   = 3  // to 1 that the refusals of a stream are its own
	trialUnsure = 7  // times those odds while no limit is confirmed
	mostTried   = 10 // trials that are counted
	trialAgain  = 10 // times those odds for each trial that failed
	oddsMost    = 50 // logarithm of odds that are believed of those that were kept
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
	pace   float64    // the highest plateau when one of them came, once a limit was confirmed; 0: none was
}

// leave notes a request of stream that leaves.
func (m *mix) leave(stream string) {
	m.latest[m.sent%mixOf] = stream
	m.sent++
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

// blame notes the refusal of a request of stream, of which the law of way, the
// route of all, has not heard. latest is the latest request that left, and tried
// how many trials failed.
func (m *mix) blame(id, latest uint64, stream string, way *Route, tried int8) {
	if id <= m.fence { // what was in flight together is refused together
		if s := m.odds[m.blamed]; s != nil && stream != m.blamed {
			s.weigh(mixElsewhere, 1-m.share(m.blamed))
		}
		return
	}
	m.fence, m.blamed = latest, stream
	for other, s := range m.odds {
		if other != stream {
			s.weigh(mixElsewhere, 1-m.share(other))
		}
	}
	s := m.odds[stream]
	if s == nil {
		if stream == "" || len(m.odds) >= mostStreams {
			return
		}
		s = &suspicion{}
		m.odds[stream] = s
	}
	known := way.Pace.Keep()
	if s.odds == 0 {
		s.before, s.pace = known.Part(1), 0 // without a back-off
	}
	if known.Confirmed() {
		s.pace = max(s.pace, known.PerSecond())
	}
	s.weigh(1-mixElsewhere, m.share(stream))
	need := math.Log(trialOdds) + float64(tried)*math.Log(trialAgain)
	if s.pace == 0 {
		need += math.Log(trialUnsure)
	}
	if s.odds >= need {
		m.due = stream
		s.pace = cmp.Or(s.pace, max(way.Pace.Rate(), known.PerSecond()))
	}
}

// weigh moves the odds by what was just as likely if the refusals are those of
// the stream, and if they are not.
func (s *suspicion) weigh(own, shared float64) {
	s.odds = max(0, s.odds+math.Log(own/max(mixLeast, shared)))
}
