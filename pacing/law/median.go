package law

// latencies is of how many answers the median is taken.
const latencies = 21

// A runningMedian keeps the latest values in order of age and in order of
// size, so that a new one moves past those between it and the one it replaces
// and nothing is sorted.
type runningMedian struct {
	n      int
	oldest int // in ring, once that is full
	ring   [latencies]float32
	sorted [latencies]float32 // the first n
}

func (m *runningMedian) add(value float64) {
	v, i := float32(value), m.n
	if m.n == latencies {
		gone := m.ring[m.oldest]
		m.ring[m.oldest] = v
		if m.oldest++; m.oldest == latencies {
			m.oldest = 0
		}
		for i = 0; m.sorted[i] != gone; i++ {
		}
	} else {
		m.ring[m.n] = v
		m.n++
	}
	for ; i > 0 && m.sorted[i-1] > v; i-- {
		m.sorted[i] = m.sorted[i-1]
	}
	for ; i+1 < m.n && m.sorted[i+1] < v; i++ {
		m.sorted[i] = m.sorted[i+1]
	}
	m.sorted[i] = v
}

func (m *runningMedian) clear() { m.n, m.oldest = 0, 0 }

// median returns the value in the middle; only of one or more.
func (m *runningMedian) median() float64 { return float64(m.sorted[m.n/2]) }

// second returns the second largest value; only of two or more.
func (m *runningMedian) second() float64 { return float64(m.sorted[m.n-2]) }
