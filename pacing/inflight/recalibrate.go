package inflight

import "time"

// A recalibration measures the shortest round-trip time anew, as Envoy's
// gradient controller does: 50 requests at the least concurrency. Envoy does so
// each minute; here it is counted in answers, since a limiter has no clock.
const (
	recalibrateEvery = 1000 // answers between two
	recalibrateBy    = 50   // answers measured
)

// recalibrated is the gradient law with a shortest round-trip time that holds
// until it is measured anew. For that the limit is the least one, so that
// queues drain; at the beginning it is the least anyway. A window of samples
// forgets a time without a queue when the queue stays. What left before the
// limit was lowered is not measured.
type recalibrated struct {
	gradient
	base    time.Duration // 0: not measured yet
	fresh   time.Duration // the shortest of those measured now
	answers int           // since the last recalibration
	left    int           // answers to measure; 0: it does not recalibrate
}

func newRecalibrated(most int) *recalibrated {
	return &recalibrated{gradient: *newGradient(most), left: recalibrateBy}
}

func (r *recalibrated) limit() int {
	if r.left > 0 {
		return int(r.least)
	}
	return r.gradient.limit()
}

func (r *recalibrated) answered(rtt time.Duration, inFlight int) {
	switch {
	case rtt <= 0:
	case r.left == 0:
		r.base = min(r.base, rtt)
		r.move(slope(rtt, r.base), inFlight)
		if r.answers++; r.answers >= recalibrateEvery {
			r.answers, r.left, r.fresh = 0, recalibrateBy, 0
		}
	case inFlight <= int(r.least):
		if r.fresh == 0 || rtt < r.fresh {
			r.fresh = rtt
		}
		if r.left--; r.left == 0 {
			r.base = r.fresh
		}
	}
}
