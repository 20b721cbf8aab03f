package report_test

import (
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/internal/picture"
	"collect/report"
	"collect/store"
)

// TestBurndown: what was owed is counted back from what is owed now. One that is waived is
// owed no more; no pace closes what waits for a person, and nothing that waits is closed
// before its time.
func TestBurndown(t *testing.T) {
	moves := []store.Move{{At: hoursAgo(20), Opened: 6}, {At: hoursAgo(18), Opened: 1, Closed: 1}, {At: hoursAgo(12), Closed: 1}, {At: hoursAgo(9), Closed: 1}, {At: hoursAgo(6), Closed: 1}}
	owed := []store.OwnedGap{
		{Gap: collection.Gap{ID: 2, Reason: collection.RateLimited, NotBefore: hoursAgo(-2)}},
		{Gap: collection.Gap{ID: 4, Reason: collection.Forbidden, NotBefore: hoursAgo(-99)}},
		{Gap: collection.Gap{ID: 5, Reason: collection.RateLimited}},
		{Gap: collection.Gap{ID: 6, Reason: collection.RateLimited}},
		{Gap: collection.Gap{ID: 3, State: collection.GapDead, Waiver: collection.Waiver{At: hoursAgo(6)}}},
	}
	want := []picture.Count{{At: hoursAgo(24), Owed: 1}, {At: hoursAgo(20), Owed: 7}, {At: hoursAgo(12), Owed: 6}, {At: hoursAgo(9), Owed: 5}, {At: hoursAgo(6), Owed: 4}}
	b := report.BurndownOf([]report.Status{{Owed: owed}}, moves, hoursAgo(24), pastNoon)
	if !slices.Equal(b.Counts, want) {
		t.Errorf("Counts = %v, want %v", b.Counts, want)
	}
	// Three closed in 20 hours, three more that runs can close.
	if got, want := b.Sentence(), "7 at most, since 2026-11-24 16:00; 4 now; 1 waits for a person, the others are closed about 2026-11-26 08:00 at this pace"; !strings.HasSuffix(got, want) {
		t.Errorf("Sentence = %q, want ... %q", got, want)
	}
	owed[0].NotBefore = hoursAgo(-30)
	if got, want := report.BurndownOf([]report.Status{{Owed: owed}}, moves, hoursAgo(24), pastNoon).Sentence(), "the others are closed not before 2026-11-26 18:00, when the last wait ends"; !strings.HasSuffix(got, want) {
		t.Errorf("Sentence = %q, want ... %q", got, want)
	}
	if got := report.BurndownOf([]report.Status{{Owed: owed}}, moves[:4], hoursAgo(24), pastNoon).Sentence(); !strings.HasSuffix(got, "4 now; 1 waits for a person") {
		t.Errorf("after two falls Sentence = %q, want no guess", got)
	}
	run := collection.Run{Outcome: collection.Running, BeatAt: pastNoon}
	at := report.Status{Owed: owed, Runs: []collection.Run{run}}
	if b := report.BurndownOf([]report.Status{at}, moves, hoursAgo(24), pastNoon); b.Held != 0 || at.Stands(pastNoon).Needs != "nothing" {
		t.Errorf("%d gaps wait for a person while a run, which may fill them, needs %s", b.Held, at.Stands(pastNoon).Needs)
	}
}
