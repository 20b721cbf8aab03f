package inflight

import (
	"math"
	"time"
)

const (
	neededEMA    = 0.1 // weight of one answer in the mean latency
	neededSpread = 2.0 // standard deviations of the requests in flight that have room as well
)

// needed allows as many as the pace needs for as long as each holds its slot. By
// Little's law that is their product on average. What is in flight scatters
// around it like a Poisson count, so there is room for a little more.
type needed struct {
	most int
	pace float64 // requests per second
	mean float64 // seconds for which a request holds its slot; 0: not known
	now  int
}

func (n *needed) limit() int { return n.now }

func (n *needed) bound(most int) {
	n.most = most
	n.set()
}

func (n *needed) answered(rtt time.Duration, _ int) {
	if n.mean == 0 {
		n.mean = rtt.Seconds()
	}
	n.mean += neededEMA * (rtt.Seconds() - n.mean)
}

func (n *needed) refused() {}

func (n *needed) set() {
	average := n.pace * n.mean
	n.now = int(max(1, min(float64(n.most), math.Ceil(average+neededSpread*math.Sqrt(average)))))
}
