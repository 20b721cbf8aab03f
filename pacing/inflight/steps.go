package inflight

import "time"

// stepAfter is how many answers in a row raise the limit, as in promptfoo's
// scheduler.
const stepAfter = 5

// steps is the law of promptfoo's scheduler, which starts at the maximum: a
// refusal halves the limit, rounded down. A run of answers adds one to it (the
// additive increase that its description promises), or half of it, rounded up
// (what its code does).
type steps struct {
	most     int
	multiply bool
	now      int
	run      int // answers since the limit last changed, or was refused
}

func (s *steps) limit() int     { return s.now }
func (s *steps) bound(most int) { s.most, s.now = most, min(s.now, most) }

func (s *steps) answered(time.Duration, int) {
	if s.run++; s.run < stepAfter {
		return
	}
	s.run = 0
	next := s.now + 1
	if s.multiply {
		next = s.now + (s.now+1)/2
	}
	s.now = min(next, s.most)
}

func (s *steps) refused() {
	s.run = 0
	s.now = max(1, s.now/2)
}
