// Package timeline turns times into moments, which never go back.
package timeline

import (
	"time"

	"collect/pacing/law"
)

// setBack is by how much a time must lie before an earlier one for the clock
// to have been set back; less is two callers that overtook each other.
const setBack = time.Second

// before is when a timeline begins: so long before the first time that it was
// told, so that no moment is zero.
const before = 24 * time.Hour

// A Timeline counts moments since a day before the first time that it was told.
// When the clock is set back, time has stood still. So a wait that had begun goes on for
// as long as it would have, and nobody waits until the old time comes again.
// When the clock jumps forward, or the machine has slept, the time has passed,
// and an idle time earns nothing. What is saved, and what a caller sees, are
// times.
//
// The steady clock of a process hears nothing of either: then the moments go on
// as it does, while the hour that others read has moved. So moments become
// times, and times moments, by the clock as it was read last, not as it was
// when the timeline began.
type Timeline struct {
	epoch  time.Time
	now    time.Time // at the latest moment
	latest law.Moment
}

// Moment returns the moment of now.
func (l *Timeline) Moment(now time.Time) law.Moment {
	if now == l.now { // the same reading: a request is planned and leaves at one
		return l.latest
	}
	if l.epoch.IsZero() {
		l.epoch = now.Add(-before)
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

// Now returns the time at the latest moment, and Latest that moment.
func (l *Timeline) Now() time.Time     { return l.now }
func (l *Timeline) Latest() law.Moment { return l.latest }

// Of returns the moment of a time that is not now; one long ago for the zero
// time. The timeline has begun.
func (l *Timeline) Of(t time.Time) law.Moment { return l.latest + t.Sub(l.now) }

// When returns the time of m.
func (l *Timeline) When(m law.Moment) time.Time { return l.now.Add(m - l.latest) }

// Ahead returns the time of m; the zero time if it is not after now.
func (l *Timeline) Ahead(m, now law.Moment) time.Time {
	if m <= now {
		return time.Time{}
	}
	return l.When(m)
}

// Kept returns the time of m as it is saved, and KeptAhead that of a moment to
// come.
func (l *Timeline) Kept(m law.Moment) time.Time           { return Saved(l.When(m)) }
func (l *Timeline) KeptAhead(m, now law.Moment) time.Time { return Saved(l.Ahead(m, now)) }

// Saved returns t as it is saved: without the reading of this process's clock.
func Saved(t time.Time) time.Time { return t.UTC().Round(0) }
