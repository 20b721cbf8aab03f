package ceiling_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
)

const ms = time.Millisecond

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// A window is one that is told times.
type window struct{ ceiling.Windows }

func newWindow(c collection.Ceiling) (w window) {
	w.Allow(c)
	return w
}

func (w window) add(now time.Time) { w.Leave(now.Sub(t0), 1) }
func (w window) Groups() int       { return w.Windows[0].Groups() }
func (w window) next(now time.Time) time.Time {
	if at, full := w.Next(now.Sub(t0), 1); full != nil {
		return t0.Add(at)
	}
	return time.Time{}
}

// TestWindowAgainstCounting compares a window with counting by hand.
func TestWindowAgainstCounting(t *testing.T) {
	var checks, held, free int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		count := rapid.IntRange(1, 12).Draw(t, "count")
		per := time.Duration(rapid.IntRange(1, 2000).Draw(t, "per ms")) * ms
		w := newWindow(collection.Ceiling{Count: count, Per: per})
		counted := per + min(ceiling.Transit, per/20)
		now := t0
		var sent []time.Time
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "pause ms")) * ms)
			next := w.next(now)
			recent := 0
			for _, at := range sent {
				if now.Sub(at) < counted {
					recent++
				}
			}
			if fits := recent < count; fits != next.IsZero() {
				t.Fatalf("%d of %d were sent in the last %v, and next is %v", recent, count, counted, next)
			}
			if !next.IsZero() {
				held++
				if want := sent[len(sent)-count].Add(counted); !next.Equal(want) {
					t.Fatalf("next is in %v, want %v", next.Sub(now), want.Sub(now))
				}
				now = next
				w.next(now)
			} else {
				free++
			}
			w.add(now)
			sent = append(sent, now)
		}
	})
	if min(held, free) < checks/4 {
		t.Errorf("in %d checks %d requests were held and %d were free", checks, held, free)
	}
}

// TestLargeWindowIsBounded: a day of a million requests is kept in groups,
// which never allow more than the ceiling, and cost a thousandth of the window.
func TestLargeWindowIsBounded(t *testing.T) {
	const count = 50_000
	w := newWindow(collection.Ceiling{Count: count, Per: time.Hour})
	now, most := t0, 0
	var sent []time.Time
	for len(sent) < 3*count {
		if next := w.next(now); !next.IsZero() {
			now = next
			continue
		}
		w.add(now)
		most = max(most, w.Groups())
		sent = append(sent, now)
		now = now.Add(20 * ms)
	}
	if most > 2*1024 {
		t.Errorf("%d groups are remembered", most)
	}
	// Each hour but the first, as many leave in the time that they took in that.
	least := 2*time.Hour + count*20*ms
	if got := now.Sub(t0); got < least || got > least+3*time.Hour/1024 {
		t.Errorf("%d requests take %v, want %v and at most a thousandth more", len(sent), got, least)
	}
	full := false
	for i := range sent[count:] {
		if got := sent[i+count].Sub(sent[i]); got < time.Hour {
			t.Fatalf("%d requests in %v, want at most %d in an hour", count+1, got, count)
		}
		full = full || sent[i+count*99/100].Sub(sent[i]) < time.Hour
	}
	if !full {
		t.Errorf("never were 99 %% of %d requests in an hour", count)
	}
}

// TestSmallWindowIsExact: up to 1024 departures are remembered one by one.
func TestSmallWindowIsExact(t *testing.T) {
	for count, exact := range map[int]bool{1024: true, 1025: false} {
		w := newWindow(collection.Ceiling{Count: count, Per: time.Hour})
		for i := range count {
			w.add(t0.Add(time.Duration(i) * ms))
		}
		if got := w.Groups(); (got == count) != exact {
			t.Errorf("%d departures are remembered as %d", count, got)
		}
	}
}

func TestStrictest(t *testing.T) {
	for _, tc := range []struct {
		ceilings []collection.Ceiling
		want     time.Duration
	}{
		{nil, 0},
		{[]collection.Ceiling{{Count: 30, Per: time.Minute}, {Count: 5, Per: time.Second}}, 2 * time.Second},
		{[]collection.Ceiling{{Count: 10, Per: time.Second}, {Count: 300, Per: 10 * time.Minute}}, 2 * time.Second},
		{[]collection.Ceiling{{Count: 5, Per: time.Second}, {Count: 5000, Per: time.Hour}}, 200 * ms}, // an hour is a budget
	} {
		if got := ceiling.Strictest(tc.ceilings); got != tc.want {
			t.Errorf("the strictest of %v is %v, want %v", tc.ceilings, got, tc.want)
		}
	}
}
