package inflight

import "time"

// What the tests of the parts need to see.

type Minimum = minimum

func (m *minimum) Add(rtt time.Duration) { m.add(rtt) }
func (m *minimum) Value() time.Duration  { return m.value() }

func NewGradient(from, most float64) *gradient {
	return &gradient{least: 4, most: most, est: from}
}

func (g *gradient) Answered(rtt time.Duration, inFlight int) { g.answered(rtt, inFlight) }
func (g *gradient) Refused()                                 { g.refused() }
func (g *gradient) Estimate() float64                        { return g.est }
