package gate

// A group is n requests that left at, or shortly before, at.
type group struct {
	at moment
	n  int
}

// A groups is a queue of groups, oldest first, in a ring that grows when it is
// full, so that a window costs nothing but the groups that are in it.
type groups struct {
	ring []group // of a length that is a power of two, or none
	head int
	n    int
}

// at returns the i-th oldest group.
func (q *groups) at(i int) *group { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *groups) full() bool { return q.n == len(q.ring) }

func (q *groups) push(g group) {
	if q.full() {
		larger := make([]group, max(4, 2*q.n))
		copy(larger[copy(larger, q.ring[q.head:]):], q.ring[:q.head])
		q.ring, q.head = larger, 0
	}
	q.n++
	*q.at(q.n - 1) = g
}

func (q *groups) pop() group {
	g := *q.at(0)
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return g
}
