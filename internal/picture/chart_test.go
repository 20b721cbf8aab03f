package picture_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/internal/picture"
	"collect/internal/texttest"
)

// noon is the end of the pictures over time, and before a time so many hours before it.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func before(hours float64) time.Time { return noon.Add(-time.Duration(hours * float64(time.Hour))) }

// asked is a day with two runs, of which the second was refused.
func asked() picture.Rate {
	return picture.Rate{
		From: before(24), To: noon,
		Sent:    []picture.Sent{{From: before(20), To: before(16), PerSecond: 4, Name: "acme"}, {From: before(6), To: before(1), PerSecond: 2, Refused: 7, Name: "acme"}},
		Learned: []picture.Level{{At: before(30), PerSecond: 4.5}, {At: before(5), PerSecond: 2}},
		Ceiling: []picture.Level{{At: before(24), PerSecond: 5}},
		Lowered: []time.Time{before(5.01), before(5)},
	}
}

// owing is two weeks in which most of what was owed was filled.
func owing() picture.Burndown {
	return picture.Burndown{From: before(14 * 24), To: noon, Counts: []picture.Count{
		{At: before(14 * 24), Owed: 4}, {At: before(10 * 24), Owed: 12}, {At: before(4 * 24), Owed: 6}, {At: before(12), Owed: 3},
	}}
}

// doors is a day in which the breaker opened twice, once for a moment, and of whose
// beginning nothing is known.
func doors() picture.Breaker {
	return picture.Breaker{From: before(24), To: noon, Changes: []picture.Change{
		{At: before(24), To: picture.DoorUnknown}, {At: before(20), To: picture.DoorClosed},
		{At: before(10), To: picture.DoorOpen}, {At: before(9), To: picture.DoorHalf}, {At: before(8.5), To: picture.DoorClosed},
		{At: before(4), To: picture.DoorOpen}, {At: before(3.999), To: picture.DoorClosed}, {At: before(2), To: picture.DoorFrozen},
	}}
}

func TestChartText(t *testing.T) {
	texttest.Same(t, "rate", asked().Text(48, true), `        ████████                    ▅▅▅▅▅▅▅▅▅▅
·····································××·········
rate, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: sent 4.0/s at most, in the mean of a run; learned 2.0/s in the end; ceiling 5.0/s; 7 refusals; pace lowered 2 times
`)
	texttest.Same(t, "burn-down", owing().Text(28, false), `--------@@@@@@@@@@@@+++++++-
gaps owed, 2026-11-11 to 2026-11-25: 4 at first; 12 at most, since 2026-11-15; 3 now
`)
	texttest.Same(t, "breaker", doors().Text(48, false), `        ====================XX~=========X===####
breaker, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: not measured 4 h; closed 16 h (3 times); half-open 30 min; open 60 min (2 times); frozen 2 h
`)
}

// TestNothingKnown: what was not measured is said to be so, and is no 0.
func TestNothingKnown(t *testing.T) {
	for _, p := range []interface{ Sentence() string }{picture.Rate{From: before(24), To: noon}, picture.Burndown{From: before(24), To: noon}, picture.Breaker{From: before(24), To: noon}} {
		if got := p.Sentence(); !strings.Contains(got, "2026-11-24 12:00 to 2026-11-25 12:00 UTC: not measured") {
			t.Errorf("of nothing it says %q", got)
		}
	}
}

// TestFarCeiling: a ceiling far above what was sent is named, and does not set the scale.
func TestFarCeiling(t *testing.T) {
	r := asked()
	r.Ceiling = []picture.Level{{At: before(24), PerSecond: 60}}
	tallest := 0.0
	svg := parse(t, r.SVG(picture.Wide))
	svg.each(func(e element) {
		if e.XMLName.Local == "rect" && len(e.titles()) > 0 {
			tallest = max(tallest, e.number("height"))
		}
	})
	if tallest != 80 || !strings.Contains(r.SVG(picture.Wide), "ceiling 60.0/s, far above") { // 4 a second sent, of 4.5 learned, in 90 px
		t.Errorf("the tallest bar has %g px", tallest)
	}
	if strings.Contains(asked().SVG(picture.Wide), "far above") {
		t.Error("a ceiling that is near is said to be far")
	}
}

// TestShortOpeningIsSeen: a breaker that was open for seconds of a day has a piece of the
// strip, and one that stayed as it was has one piece.
func TestShortOpeningIsSeen(t *testing.T) {
	b := doors()
	b.Changes = append(b.Changes, picture.Change{At: before(1), To: picture.DoorFrozen})
	opened, frozen := 0, 0
	for _, size := range []picture.Size{picture.Wide, picture.Narrow} {
		parse(t, b.SVG(size)).each(func(e element) {
			if e.XMLName.Local == "rect" && e.number("height") == 20 && strings.Contains(fmt.Sprint(e.titles()), "open") && e.number("width") >= 2 {
				opened++
			}
		})
		for _, title := range parse(t, b.SVG(size)).titles() {
			if strings.HasPrefix(title, "frozen") {
				frozen++
			}
		}
	}
	if opened != 2*3 || frozen != 2 { // open, half-open, open
		t.Errorf("%d pieces are open, want 6; %d frozen, want 2", opened, frozen)
	}
}
