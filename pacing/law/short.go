package law

import (
	"time"

	"collect/pacing/response"
)

// The constants of a short window that is announced.
const (
	shortMost  = 32                    // requests in a window of which every departure is remembered
	shortKept  = 2 * shortMost         // departures: those of a window, and those in flight
	shortSlack = 50 * time.Millisecond // by which one request may be longer on its way than another
)

// A short is a window of a few seconds whose limit is announced. Its reset is
// told in whole seconds, which may be as long as the window. But it ends at the
// latest a window's length after the first request that it counts left. If all
// that it counts are ours, we know when that was, and need not be told.
//
// Whether they are, each answer says: between it and the one before, no more may
// be gone than we sent until it came.
type short struct {
	name    string
	limit   float64
	length  time.Duration
	left    []departure // the latest requests: a ring
	oldest  int         // in left, when it is full
	counted Moment      // departure of the latest request that was answered,
	heard   Moment      // when its answer came,
	remains float64     // and what remained after it
	others  Moment      // somebody else uses it, until then
	free    Moment      // a request after it is in another window than the first that this one counts
}

// A departure is a request that left, and what it counts as.
type departure struct {
	at     Moment
	weight float64
}

// strictest reports whether no window that was announced is stricter than q.
func (s *short) strictest(q *response.Quota, length time.Duration) bool {
	return s == nil || q.Name == s.name || q.Limit*s.length.Seconds() < s.limit*length.Seconds()
}

// see takes what the answer to d announced, and returns what is known of q now.
func (s *short) see(d *Ticket, q *response.Quota, length time.Duration, now Moment) *short {
	if s == nil || q.Name != s.name || q.Limit != s.limit {
		s = &short{name: q.Name, limit: q.Limit, left: []departure{{d.at, d.weight}}, remains: q.Limit}
	}
	s.length = length
	if d.at < s.counted {
		return s // it was overtaken
	}
	// Less than d itself is gone: a window began in between. Or d counted before, because
	// some providers tell what remains when they send the answer.
	gone := s.remains - q.Remaining
	if gone < 0 || gone < d.weight && d.at >= s.heard {
		gone = s.limit - q.Remaining
	}
	if gone > s.sent(s.counted, now) {
		s.others = now + disbelieved
	}
	s.counted, s.heard, s.remains = d.at, now, q.Remaining
	return s
}

// leave notes a request that leaves.
func (s *short) leave(now Moment, weight float64) {
	if len(s.left) < shortKept {
		s.left = append(s.left, departure{now, weight})
	} else {
		s.left[s.oldest] = departure{now, weight}
		s.oldest = (s.oldest + 1) % shortKept
	}
	s.free = s.next(weight)
}

// ago returns the departure so many before the latest.
func (s *short) ago(i int) departure {
	return s.left[(s.oldest+len(s.left)-1-i)%len(s.left)]
}

// sent returns the work that left in (from, to].
func (s *short) sent(from, to Moment) float64 {
	work := 0.0
	for i := range s.left {
		if d := s.ago(i); d.at > from && d.at <= to {
			work += d.weight
		}
	}
	return work
}

// next returns when a request of some weight is in another window than the
// first of those that fill this one; 0 if it fits.
func (s *short) next(weight float64) Moment {
	for i := range s.left {
		d := s.ago(i)
		if weight += d.weight; weight > s.limit {
			return d.at + s.length + shortSlack
		}
	}
	return 0
}
