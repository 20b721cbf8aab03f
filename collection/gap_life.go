package collection

import (
	"cmp"
	"time"
)

// The rules of a gap's life. Every store follows them; none writes them again.

// MaxGapAttempts is the number of failed recoveries after which a gap is not
// tried again by itself.
const MaxGapAttempts = 8

// Rank orders gaps for recovery, lowest first, then by last attempt and id:
// a gap waits longer the more often it failed, and less the older it is, so
// that neither a poisoned gap nor a long queue starves another. (One attempt
// weighs as much as 15 minutes of age; both count up to 8.)
func (g Gap) Rank(now time.Time) int {
	age := int(max(0, now.Sub(g.OpenedAt)) / (15 * time.Minute))
	return min(g.Attempts, 8) - min(8, age)
}

// The cooldown after source pressure: a gap of kind provider is not tried again
// before cooldownBase, doubled with each failed attempt up to cooldownDoublings
// times, and never later than cooldownLongest for this reason alone. One that was
// not really tried waits for cooldownUntried.
const (
	cooldownUntried   = 10 * time.Second
	cooldownBase      = time.Minute
	cooldownDoublings = 6
	cooldownLongest   = 6 * time.Hour
)

// Owed returns g as it is owed from now on. was is what was owed at its cursor
// before, which g renews; nil if nothing was. worked tells that the piece was
// really tried. The id and the run of a new gap are left to the store; its Attempts
// are those of the gaps before it that were about the same.
func (g Gap) Owed(was *Gap, worked bool, now time.Time) Gap {
	if was != nil {
		g.ID, g.Attempts, g.OpenedAt, g.TriedAt, g.Run = was.ID, was.Attempts, was.OpenedAt, was.TriedAt, was.Run
		if was.Reason.Settled() {
			g.Attempts = 0 // it was gone, and is something else now, or still gone
		}
		g.Waiver = was.Waiver
		g.Behind = g.Behind || was.Behind
	} else {
		g.ID, g.TriedAt, g.Waiver = 0, time.Time{}, Waiver{}
		if g.OpenedAt.IsZero() {
			g.OpenedAt = now
		}
	}
	g.Shape = cmp.Or(g.Shape, SliceGap)
	if worked {
		g.Attempts++
		g.TriedAt = now
	}
	g.State = GapOpen
	kind := g.Reason.Kind()
	if g.Attempts >= MaxGapAttempts && kind != Planned || g.Permanent() || g.Waived() {
		g.State = GapDead
	}
	if kind == Pressure {
		cooldown := cooldownUntried
		if worked {
			cooldown = min(cooldownBase<<min(g.Attempts, cooldownDoublings), cooldownLongest)
		}
		if cooled := now.Add(cooldown); g.NotBefore.Before(cooled) {
			g.NotBefore = cooled
		}
	}
	return g
}

// Due reports whether a run may try g now. found tells that it was this run
// that owed it last: only a person can have changed anything about a stuck gap,
// between runs, and a list that changes is read again by the next run.
func (g Gap) Due(found bool, now time.Time) bool {
	kind := g.Reason.Kind()
	if found && (kind == Stuck || g.Reason == ListChanged) {
		return false
	}
	return g.State == GapOpen && (kind == Planned || !g.NotBefore.After(now))
}

// Event returns the event that tells of what happened to g.
func (g Gap) Event(kind EventKind) Event {
	info := &GapInfo{ID: g.ID, Shape: g.Shape, Reason: g.Reason, Kind: g.Reason.Kind(), Attempts: g.Attempts}
	if g.Held != nil {
		info.Held = len(g.Held.Records)
	}
	return Event{Kind: kind, Stream: g.Stream, Partition: g.Partition, Lane: g.Lane, Gap: info}
}

// Reopened returns a gap as a person has it tried again: one that is dead with its
// tries counted anew, one that cools at once. When it was tried last stays known; see
// [Gap.Revived].
func (g Gap) Reopened() Gap {
	if g.State == GapOpen {
		g.NotBefore = time.Time{}
		return g
	}
	g.State, g.Attempts, g.NotBefore, g.Waiver = GapOpen, 0, time.Time{}, Waiver{}
	return g
}

// Retriable reports whether a person may order that g is tried again at now. The
// next run tries every other gap anyway, unless what that waits for is not over yet.
func (g Gap) Retriable(now time.Time) bool { return g.State == GapDead || g.Cools(now) }

// Cools reports whether only our own patience with the provider keeps g from being
// tried at now. What the provider asked us to wait for is another matter.
func (g Gap) Cools(now time.Time) bool {
	return g.State == GapOpen && g.Reason.Kind() == Pressure && g.Reason != RetryAfter && g.NotBefore.After(now)
}

// GivenUp returns a gap as a person waives it.
func (g Gap) GivenUp(by Waiver) Gap {
	g.State, g.NotBefore, g.Waiver = GapDead, time.Time{}, by
	return g
}

// An Absence says when a piece was found to be gone; the zero Absence: it is not.
type Absence struct {
	Covers       string // the version of the parent, or the pass, that it was gone in
	Since, Tried time.Time
}

// goneFor is how long a list that is gone is left alone at first, while its parent stays as it is.
const goneFor = time.Hour

// Due reports whether a piece that is gone is asked for again, for a version of its parent, or a pass. A list also is
// from time to time, each time when it has been gone for twice as long: a server may have said so for a moment.
func (a Absence) Due(version string, role Role, now time.Time) bool {
	if a.Tried.IsZero() || a.Covers != version {
		return !a.Tried.IsZero()
	}
	return role != Detail && now.Sub(a.Tried) >= max(goneFor, a.Tried.Sub(a.Since))
}
