package timeline_test

import (
	"testing"
	"time"

	"collect/pacing/gate/internal/timeline"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// TestMomentsNeverGoBack: time stands still while the clock is behind, for up to
// a second, and goes on from the new time where the clock was set back further.
func TestMomentsNeverGoBack(t *testing.T) {
	for _, tc := range []struct {
		back  time.Duration
		after time.Duration // what has passed a minute after the step
	}{
		{0, 2 * time.Minute},
		{time.Second, 2*time.Minute - time.Second}, // two callers overtook each other
		{time.Second + 1, 2 * time.Minute},
		{24 * time.Hour, 2 * time.Minute},
		{-time.Hour, 2*time.Minute + time.Hour}, // the machine has slept
	} {
		var l timeline.Timeline
		begun := l.Moment(t0)
		before := l.Moment(t0.Add(time.Minute))
		now := t0.Add(time.Minute - tc.back)
		at := l.Moment(now)
		if at < before {
			t.Errorf("set back by %v, the moment is %v after %v", tc.back, at, before)
		}
		if got := l.Moment(now.Add(time.Minute)) - begun; got != tc.after {
			t.Errorf("set back by %v, a minute later %v have passed, want %v", tc.back, got, tc.after)
		}
		if got := l.When(l.Latest()); !got.Equal(now.Add(time.Minute)) || l.Of(got) != l.Latest() {
			t.Errorf("set back by %v, the latest moment is %v by the clock of %v", tc.back, got, now.Add(time.Minute))
		}
	}
}

// TestAhead: what is over is no time.
func TestAhead(t *testing.T) {
	var l timeline.Timeline
	now := l.Moment(t0)
	if got := l.Ahead(now, now); !got.IsZero() || !l.KeptAhead(now, now).IsZero() {
		t.Errorf("now is %v", got)
	}
	if got := l.KeptAhead(now+1, now); !got.Equal(t0.Add(1)) {
		t.Errorf("the next moment is %v", got)
	}
}
