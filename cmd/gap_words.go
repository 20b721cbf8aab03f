package cmd

import (
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// leftToYou returns the gaps that are owed and that no run tries again by
// itself.
func leftToYou(gaps []store.OwnedGap) (left []store.OwnedGap) {
	for _, gap := range gaps {
		if gap.State == collection.GapDead && !gap.Reason.Settled() {
			left = append(left, gap)
		}
	}
	return left
}

// urgency orders gaps by who acts.
func urgency(gap store.OwnedGap) int {
	switch {
	case gap.Revived():
		return 2
	case gap.Reason.Settled():
		return 3
	case gap.Kind() == collection.Stuck:
		return 0
	case gap.Kind() == collection.Pressure:
		return 1
	}
	return 2
}

func whereOwed(name string, gap store.OwnedGap) string {
	where := words.Clean(gap.Stream)
	if name == "" {
		where = words.Clean(gap.Connector) + "/" + where
	}
	if gap.Partition != "" {
		where += " " + words.Clean(gap.Partition.String())
	}
	if gap.Lane == collection.Backfill {
		where += " (backfill)"
	}
	return where
}

func kindWords(gap store.OwnedGap) string {
	switch urgency(gap) {
	case 0:
		return "× stuck"
	case 3:
		return "gone"
	}
	return string(gap.Kind())
}

// nextTry says who tries the gap again, and when.
func nextTry(gap store.OwnedGap, now time.Time) string {
	switch {
	case gap.State == collection.GapLeased:
		return "being tried"
	case gap.Revived():
		return "next run"
	case gap.Reason.Settled():
		return "nothing"
	case gap.Kind() == collection.Stuck:
		return "you"
	case gap.NotBefore.After(now):
		return words.At(gap.NotBefore, now)
	}
	return "next run"
}
