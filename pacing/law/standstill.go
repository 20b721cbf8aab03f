package law

// heldTogether is how much of the time in which a queue would have given its answers those of a pause take at most.
const heldTogether = 0.25

// A standstill finds answers that were held up together. A provider that pauses, to collect garbage or
// to write a checkpoint, answers all that wait at once when it goes on, and so does a machine of ours
// that was busy. What has too much to do answers one after the other: by Little's law, as many in the time
// that one takes as were in flight. The pace is not what makes a pause, so that only the first of its answers
// tells how long answers take.
type standstill struct {
	answers int    // slow ones, to requests that left before the first of them came
	began   Moment // when that came
}

// slow takes the answer to d, a slow one, and reports whether it was held up together with those before it.
func (s *standstill) slow(d *Ticket, now Moment) bool {
	if d.at >= s.began {
		*s = standstill{began: now}
	}
	queued := (now - d.at) * Moment(s.answers) / Moment(d.inFlight)
	s.answers++
	return now-s.began < scale(queued, heldTogether)
}
