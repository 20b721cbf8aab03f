package declarative

import (
	"strconv"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/since"
)

// unsettled follows a version at the end of a walk after which the parent may
// have changed once more without another version: its mark is as coarse as a
// second or a day, and was not over by the clock of the provider when the walk
// began. No parent has such a version, so that the next run walks once more.
const unsettled = "~"

// settle marks the version at the end of a walk that began at clock.
func settle(st *compile.Stream, s *collection.Slice, clock time.Time) {
	if st.Changed == nil || !s.Next.Done || clock.IsZero() {
		return
	}
	at, unit := coarse(s.Next.Version, clock)
	if end := at.Add(unit); unit > 0 && end.After(clock) && at.Before(clock.Add(24*time.Hour)) {
		s.Next.Version += unsettled
	}
}

// coarse returns the time that a version stands for, and how long it stays the
// same; 0 if it is no time, or one with a fraction. A number is taken for a time
// if it is one of about now.
func coarse(version string, now time.Time) (at time.Time, unit time.Duration) {
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		at = time.Unix(n, 0)
		if at.Before(now.Add(-24*time.Hour)) || at.After(now.Add(24*time.Hour)) {
			return at, 0
		}
		return at, time.Second
	}
	at, layout, ok := since.ParseTime(version)
	switch {
	case !ok, strings.Contains(version, "."):
		return at, 0
	case layout == time.DateOnly:
		return at, 24 * time.Hour
	}
	return at, time.Second
}
