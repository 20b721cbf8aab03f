package law_test

import (
	"math"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestTheLimitIsNamed: a law says what keeps its pace from being faster, and it
// is known to the next run. What whole histories end in is in testdata/trajectories.*.
func TestTheLimitIsNamed(t *testing.T) {
	good, refused := law.Result{Signal: law.Succeeded}, law.Result{Signal: law.Throttled}
	for _, tc := range []struct {
		name           string
		start, ceiling float64
		answers        int
		last           law.Result
		want           law.Limit
	}{
		{"nothing has left", 1, 20, 0, law.Result{}, law.Rising},
		{"a few answers", 1, 20, 10, good, law.Rising},
		{"the ceiling is reached", 1, 2, 100, good, law.Most},
		{"the bound that was earned is reached", 1, 0, 100, good, law.Most},
		{"a refusal", 1, 20, 10, refused, law.Refusals},
		{"a bare 503, which may be by chance", 1, 20, 10, law.Result{Signal: law.Throttled, Weak: true}, law.Refusals},
		{"headers", 1, 20, 10, law.Result{Signal: law.Succeeded, Limit: 100, Remaining: 50, Reset: time.Minute, Per: 2 * time.Minute}, law.Headers},
		{"the account is refused", 1, 20, 10, law.Result{Refused: true}, law.Ban},
		{"the account is refused at the ceiling", 1, 2, 100, law.Result{Refused: true}, law.Ban},
	} {
		l, now := law.NewLearner(tc.start, tc.ceiling), t0
		for i := range tc.answers {
			at, _ := l.Next(now)
			now = later(now, at)
			s, r := l.Send(now), good
			if i == tc.answers-1 {
				r = tc.last
			}
			now = now.Add(50 * ms)
			l.Result(s, r, now)
		}
		if got := l.Keep().By; got != tc.want {
			t.Errorf("%s: limited by %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestBanBoundAges: what a 403 leaves is a quarter higher for each day, tells
// since when it is there, and is let go of by an operator. That it is not known
// since when says nothing against it.
func TestBanBoundAges(t *testing.T) {
	l, now := law.NewLearner(8, 20), t0
	at, _ := l.Next(now)
	now = later(now, at)
	l.Result(l.Send(now), law.Result{Refused: true}, now)
	m := l.Keep()
	first, ok := m.BanBound(0)
	if !ok || first.Age != 0 || first.Rises() != 24*time.Hour {
		t.Fatalf("at first: %+v, %t", first, ok)
	}
	m.Plateau.Held, m.Plateau.Age = time.Hour, time.Hour // more came in, in this hour
	for _, tc := range []struct {
		ago, age, rises time.Duration
		times           float64
	}{
		{-time.Hour, time.Hour, 23 * time.Hour, 1},
		{time.Hour, 2 * time.Hour, 22 * time.Hour, 1},
		{23 * time.Hour, 24 * time.Hour, 24 * time.Hour, 1.25},
		{50 * time.Hour, 51 * time.Hour, 21 * time.Hour, 1.25 * 1.25},
		{math.MaxInt64, 1441 * time.Hour, 23 * time.Hour, math.Pow(1.25, 60)},
	} {
		b, ok := m.BanBound(tc.ago)
		if !ok || b.Age != tc.age || b.Rises() != tc.rises || math.Abs(b.PerSecond/first.PerSecond/tc.times-1) > 1e-9 {
			t.Errorf("%v later: %+v, rises in %v; want age %v, in %v, %v times %v/s", tc.ago, b, b.Rises(), tc.age, tc.rises, tc.times, first.PerSecond)
		}
		again := law.NewLearner(8, 20)
		again.Restore(m, tc.ago)
		if kept := again.Keep(); tc.ago < math.MaxInt64 && (kept.Plateau.Age != tc.age || again.Bound() != min(20, b.PerSecond)) {
			t.Errorf("%v later a run goes on with the bound %v/s of age %v, want %v/s and %v", tc.ago, again.Bound(), kept.Plateau.Age, b.PerSecond, tc.age)
		}
	}
	if m.Forgive(); m.By == law.Ban {
		t.Error("the bound is let go of, and still is what limits")
	}
	if _, ok := m.BanBound(0); ok {
		t.Error("the bound is let go of, and still there")
	}
}
