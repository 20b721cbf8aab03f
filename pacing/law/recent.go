package law

import "math"

// latencies is how many answers the typical latency is of.
const latencies = 21

// A recentLatencies keeps the logarithms of the latest latencies.
//
// Their mean says how long answers take. Ordinary latencies have long tails, or
// two modes, one of a cache: a median flips between the modes, and a mean of
// seconds follows the tail.
type recentLatencies struct {
	n      int
	oldest int // in ring, once that is full
	ring   [latencies]logarithm
	sum    int
}

// A logarithm of seconds. The bits of a float are its logarithm to base 2, but
// for at most 6 %, which costs nothing to compute, either way.
type logarithm int32

// logarithms make a difference of 1 in the natural logarithm.
const logarithms = (1 << 23) / math.Ln2

func logOf(seconds float64) logarithm { return logarithm(math.Float32bits(float32(seconds))) }

func (l logarithm) seconds() float64 { return float64(math.Float32frombits(uint32(l))) }

// over returns by how much l is more than m, in natural logarithms.
func (l logarithm) over(m logarithm) float64 { return float64(l-m) / logarithms }

func (r *recentLatencies) add(l logarithm) {
	r.sum += int(l)
	if r.n < latencies {
		r.ring[r.n] = l
		r.n++
		return
	}
	r.sum -= int(r.ring[r.oldest])
	r.ring[r.oldest] = l
	if r.oldest++; r.oldest == latencies {
		r.oldest = 0
	}
}

func (r *recentLatencies) clear() { r.n, r.oldest, r.sum = 0, 0, 0 }

// typical returns their mean; only of one or more.
func (r *recentLatencies) typical() logarithm { return logarithm(r.sum / r.n) }

// above returns how many took longer than so many seconds.
func (r *recentLatencies) above(seconds float64) int {
	n, most := 0, logOf(seconds)
	for _, l := range r.ring[:r.n] {
		if l > most {
			n++
		}
	}
	return n
}
