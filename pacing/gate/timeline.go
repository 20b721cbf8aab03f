package gate

import (
	"time"

	"collect/pacing/law"
)

// A moment is a time as everything in a gate counts it: since the first one
// that the gate was told. What is saved, and what a caller sees, are times.
type moment = law.Moment

// setBack is by how much a time must lie before an earlier one for the clock
// to have been set back; less is two callers that overtook each other.
const setBack = time.Second

// A timeline turns times into moments, which never go back: when the clock is
// set back, time has stood still. So a wait that had begun goes on for as long
// as it would have, and nobody waits until the old time comes again. When the
// clock jumps forward, or the machine has slept, the time has passed, and an
// idle time earns nothing.
//
// The steady clock of a process hears nothing of either: then the moments go on
// as it does, while the hour that others read has moved. So moments become
// times, and times moments, by the clock as it was read last, not as it was
// when the timeline began.
type timeline struct {
	epoch  time.Time
	now    time.Time // at the latest moment
	latest moment
}

// moment returns the moment of now.
func (l *timeline) moment(now time.Time) moment {
	if now == l.now { // the same reading: a request is planned and leaves at one
		return l.latest
	}
	if l.epoch.IsZero() {
		l.epoch = now
	}
	m := now.Sub(l.epoch)
	if m < l.latest {
		if m < l.latest-setBack {
			l.epoch, l.now = now.Add(-l.latest), now
		}
		return l.latest
	}
	l.latest, l.now = m, now
	return m
}

// of returns the moment of a time that is not now; one long ago for the zero
// time. The timeline has begun.
func (l *timeline) of(t time.Time) moment { return l.latest + t.Sub(l.now) }

// when returns the time of m.
func (l *timeline) when(m moment) time.Time { return l.now.Add(m - l.latest) }

// ahead returns the time of m; the zero time if it is not after now.
func (l *timeline) ahead(m, now moment) time.Time {
	if m <= now {
		return time.Time{}
	}
	return l.when(m)
}
