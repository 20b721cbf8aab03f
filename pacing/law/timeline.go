package law

import "time"

// A moment is a time as a law counts it: since the first one that it was told.
// Moments are compared and subtracted like the numbers they are.
type moment = time.Duration

// setBack is by how much a time must lie before an earlier one for the clock
// to have been set back; less is two callers that overtook each other.
const setBack = time.Second

// A timeline turns times into moments, which never go back: when the clock is
// set back, time has stood still. So a wait that had begun goes on for as long
// as it would have, and nobody waits until the old time comes again. When the
// clock jumps forward, or the machine has slept, the time has passed, and an
// idle time earns nothing.
type timeline struct {
	epoch  time.Time
	latest moment
}

// moment returns the moment of now.
func (l *timeline) moment(now time.Time) moment {
	if l.epoch.IsZero() {
		l.epoch = now
	}
	m := now.Sub(l.epoch)
	if m < l.latest {
		if m < l.latest-setBack {
			l.epoch = now.Add(-l.latest)
		}
		return l.latest
	}
	l.latest = m
	return m
}

// when returns the time of m.
func (l *timeline) when(m moment) time.Time { return l.epoch.Add(m) }
