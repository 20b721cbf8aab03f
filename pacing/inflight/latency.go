package inflight

import (
	"math"
	"time"
)

// latencyBackoff is what a slow or refused request leaves of the limit: that
// of throttlekit's AIMD, and of Netflix's.
const latencyBackoff = 0.9

// latencySteps is the other AIMD of throttlekit, which goes by the round-trip
// time: an answer that took more than tolerance times the shortest of a window,
// or a refusal, leaves nine tenths of the limit; any other answer adds one. A
// limit that is not half used does not grow.
type latencySteps struct {
	least, most int
	now         int
	shortest    minimum
}

func newLatencySteps(most int) *latencySteps {
	least := min(gradientLeast, most)
	return &latencySteps{least: least, most: most, now: least}
}

func (l *latencySteps) limit() int { return l.now }

func (l *latencySteps) bound(most int) {
	l.most, l.least = most, min(gradientLeast, most)
	l.now = max(l.least, min(l.now, most))
}

func (l *latencySteps) answered(rtt time.Duration, inFlight int) {
	slow := false
	if rtt > 0 {
		l.shortest.add(rtt)
		slow = float64(rtt) > tolerance*float64(l.shortest.value())
	}
	switch {
	case slow:
		l.refused()
	case 2*inFlight >= l.now:
		l.now = min(l.most, l.now+1)
	}
}

func (l *latencySteps) refused() {
	l.now = max(l.least, int(math.Floor(float64(l.now)*latencyBackoff)))
}
