package inflight

import (
	"math"
	"time"
)

// The constants of the gradient law, those of throttlekit.
const (
	gradientLeast = 4
	rttWindow     = 100 // samples
	smoothing     = 0.2
	tolerance     = 2.0
	dropped       = 0.5 // the gradient of a refusal, and the lowest there is
)

// gradient follows the round-trip time: with est the limit,
//
//	g   = clamp(tolerance · shortest rtt / rtt, 0.5, 1); 0.5 for a refusal
//	est = est + smoothing · (est · g + √est − est)
//
// The shortest rtt is that of a window of samples, so it may rise again. A
// limit that is not half used does not grow.
type gradient struct {
	least, most float64
	est         float64
	shortest    minimum
}

func newGradient(most int) *gradient {
	g := &gradient{least: min(gradientLeast, float64(most)), most: float64(most)}
	g.est = g.least
	return g
}

func (g *gradient) limit() int { return int(g.est) }

func (g *gradient) bound(most int) {
	g.most = float64(most)
	g.least = min(gradientLeast, g.most)
	g.est = max(g.least, min(g.est, g.most))
}

func (g *gradient) answered(rtt time.Duration, inFlight int) {
	if rtt > 0 {
		g.shortest.add(rtt)
		g.move(slope(rtt, g.shortest.value()), inFlight)
	} else {
		g.move(1, inFlight)
	}
}

func slope(rtt, shortest time.Duration) float64 {
	return max(dropped, min(1, tolerance*float64(shortest)/float64(rtt)))
}

func (g *gradient) refused() { g.move(dropped, math.MaxInt32) }

func (g *gradient) move(slope float64, inFlight int) {
	next := g.est*slope + math.Sqrt(g.est)
	if next > g.est && 2*float64(inFlight) < g.est {
		return
	}
	g.est = max(g.least, min(g.most, g.est+smoothing*(next-g.est)))
}

// A sample is a round-trip time and which one it was.
type sample struct {
	n   uint64
	rtt time.Duration
}

// minimum is the shortest of the last samples: a ring of those that are
// shorter than all before them, oldest first (a monotonic queue).
type minimum struct {
	n    uint64
	ring [rttWindow]sample
	head int // of the oldest
	size int
}

func (m *minimum) add(rtt time.Duration) {
	m.n++
	if m.size > 0 && m.n-m.ring[m.head].n >= rttWindow {
		m.head, m.size = m.at(1), m.size-1
	}
	for m.size > 0 && m.ring[m.at(m.size-1)].rtt >= rtt {
		m.size--
	}
	m.ring[m.at(m.size)] = sample{m.n, rtt}
	m.size++
}

// at returns the index of the i-th oldest, i at most rttWindow. It does not
// divide: this is on the way of every request.
func (m *minimum) at(i int) int {
	if i += m.head; i >= rttWindow {
		i -= rttWindow
	}
	return i
}

func (m *minimum) value() time.Duration { return m.ring[m.head].rtt }
