package report

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// WaiverWords says who gave up a gap, when and why.
func WaiverWords(gap store.OwnedGap, now time.Time) string {
	return fmt.Sprintf("waived by %s (%s): %s", words.Clean(gap.Waiver.Who), words.At(gap.Waiver.At, now), words.Clean(gap.Waiver.Why))
}

// LeftToYou returns the gaps that are owed and that no run tries again by
// itself.
func LeftToYou(gaps []store.OwnedGap) (left []store.OwnedGap) {
	for _, gap := range gaps {
		if gap.State == collection.GapDead && !gap.Settled() {
			left = append(left, gap)
		}
	}
	return left
}

// An Urgency says who acts on a gap; the lowest is shown first.
type Urgency int

// Who acts.
const (
	ByPerson Urgency = iota
	ByTime
	ByNextRun
	ByNoOne
)

// UrgencyOf says who acts on a gap.
func UrgencyOf(gap store.OwnedGap) Urgency {
	switch {
	case gap.Revived():
		return ByNextRun
	case gap.Settled():
		return ByNoOne
	case gap.Kind() == collection.Stuck:
		return ByPerson
	case gap.Kind() == collection.Pressure:
		return ByTime
	}
	return ByNextRun
}

// WhereOwed says what piece a gap is of. name is the connector that all gaps are of,
// "" if that is to be said.
func WhereOwed(name string, gap store.OwnedGap) string {
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

// NextTry says who tries the gap again, and when.
func NextTry(gap store.OwnedGap, now time.Time) string {
	switch {
	case gap.State == collection.GapLeased:
		return "being tried"
	case gap.Revived():
		return "next run"
	case gap.Settled() && !gap.Waived() && gap.Shape == collection.SliceGap && gap.Partition != "":
		return "a later pass" // see [collection.Absence]
	case gap.Settled():
		return "nothing"
	case gap.Kind() == collection.Stuck:
		return "you"
	case gap.NotBefore.After(now):
		return words.At(gap.NotBefore, now)
	case besideTheWalk(gap):
		return "after the new records"
	}
	return "next run"
}

// besideTheWalk reports whether the walk of its stream went on without the piece that gap is of: only recovery tries
// it, which a run does after the forward work of the stream.
func besideTheWalk(gap store.OwnedGap) bool { return gap.Partition != "" && !gap.Reason.EndsRun() }

// OwedWords counts gaps by kind, what needs a person first.
func OwedWords(gaps []store.OwnedGap) string {
	if len(gaps) == 0 {
		return "none"
	}
	byKind, owed := OwedKinds(gaps), OwedCount(gaps)
	var parts []string
	for _, kind := range []collection.Kind{collection.Stuck, collection.Pressure, collection.Planned} {
		if n := byKind[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", words.Count(int64(n)), kind))
		}
	}
	text := "none owed"
	if owed > 0 {
		text = fmt.Sprintf("%s owed: %s", words.Count(int64(owed)), strings.Join(parts, ", "))
	}
	if gone := GoneCount(gaps); gone > 0 {
		text += fmt.Sprintf("; %s gone for good", words.Count(int64(gone)))
	}
	if waived := len(Waived(gaps)); waived > 0 {
		text += fmt.Sprintf("; %s waived", words.Count(int64(waived)))
	}
	return text
}

// mostDetails bounds the details that are told of many gaps.
const mostDetails = 3

// StuckDetails returns what is known of gaps that need a person, a line for the
// gaps that have it in common.
func StuckDetails(gaps []store.OwnedGap) (lines []string) {
	n := map[string]int{}
	for _, gap := range gaps {
		n[gap.Detail]++
	}
	for _, gap := range gaps {
		if gap.Detail == "" || n[gap.Detail] == 0 || UrgencyOf(gap) != ByPerson || len(lines) == mostDetails {
			continue
		}
		who := words.GapName(gap.ID)
		if more := n[gap.Detail] - 1; more > 0 {
			who += fmt.Sprintf(" and %s more", words.Count(int64(more)))
		}
		n[gap.Detail] = 0
		lines = append(lines, who+": "+words.Clean(gap.Detail))
	}
	return lines
}

// ShapeWords counts what is owed by its shape.
func ShapeWords(gaps []store.OwnedGap) string {
	n := map[collection.Shape]int64{}
	for _, gap := range gaps {
		if !gap.Settled() {
			n[gap.Shape]++
		}
	}
	var parts []string
	for _, shape := range []collection.Shape{collection.DetailGap, collection.SliceGap} {
		if n[shape] > 0 {
			parts = append(parts, words.Count(n[shape])+" "+string(shape))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// KnownBefore reports whether a gap was left to a person by a run before run,
// which said so.
func KnownBefore(gap store.OwnedGap, run collection.Run) bool {
	return gap.State == collection.GapDead && gap.OpenedAt.Before(run.StartedAt)
}

// OnePiece reports whether a gap is a single piece that its provider does not
// give: nothing else waits for it, and no run tries it again.
func OnePiece(gap collection.Gap) bool { return gap.Permanent() && gap.Partition != "" }
