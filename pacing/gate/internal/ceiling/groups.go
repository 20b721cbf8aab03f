package ceiling

import "collect/pacing/law"

// A group is n requests that left at, or shortly before, at.
type group struct {
	at law.Moment
	n  int
}

// A groups is a queue of groups, oldest first, in a ring that grows when it is
// full, so that a window costs nothing but the groups that are in it. Groups
// are counted from the first there ever was.
type groups struct {
	ring        []group // of a length that is a power of two, or none
	oldest, end uint    // those from oldest to before end are left
}

func (q *groups) len() int { return int(q.end - q.oldest) }

func (q *groups) full() bool { return q.len() == len(q.ring) }

// at returns group i, which is left.
func (q *groups) at(i uint) *group { return &q.ring[i&uint(len(q.ring)-1)] }

// push adds g, for which there must be room.
func (q *groups) push(g group) {
	q.ring[q.end&uint(len(q.ring)-1)] = g
	q.end++
}

func (q *groups) grow() {
	larger := groups{ring: make([]group, max(4, 2*len(q.ring)))}
	for ; q.oldest < q.end; q.oldest++ {
		*larger.at(larger.end) = *q.at(q.oldest)
		larger.end++
	}
	*q = larger
}
