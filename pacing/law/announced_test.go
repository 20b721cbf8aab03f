package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// minute answers as a provider of 300 requests a minute does, which tells what is
// left and until when, and not that it is a minute.
func minute(p *provider) (law.Outcome, time.Duration) {
	ok, left, reset := p.fixed(300, time.Minute)
	o := announced(granted(ok), 300, left, (reset + s - 1).Truncate(s), 0)
	if left == 0 {
		o.Hold = o.Windows[0].Reset
	}
	return o, 5 * ms
}

// begin returns a run of an undeclared provider from now on, with what is
// remembered.
func begin(t *testing.T, p *provider, m law.Memory, now law.Moment) *run {
	l, err := law.New(law.Plateau, 1, 0, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	l.Restore(m, time.Minute)
	return &run{T: t, world: world{workers: 4, answer: minute}, law: l, provider: p, now: now}
}

// until plays until a moment, and returns how many requests were answered.
func (r *run) until(m law.Moment) int {
	for before := r.answered; ; r.step() {
		if r.now >= m {
			return r.answered - before
		}
	}
}

// TestLateInAWindow: who begins shortly before a reset spreads what is left, and
// does not take the rest of the window for all of it.
func TestLateInAWindow(t *testing.T) {
	const opens = time.Hour
	p := &provider{}
	first := begin(t, p, law.Memory{}, opens)
	first.until(opens + 50*s)
	for _, tc := range []struct {
		used, left float64
		before     time.Duration // the reset
		memory     law.Memory
	}{
		{262, 38, 5 * s, first.law.Keep()},
		{262, 38, 5 * s, law.Memory{}},
		{150, 150, 9 * s, first.law.Keep()},
		{299, 1, 2 * s, first.law.Keep()},
	} {
		const reset = opens + time.Hour
		*p = provider{window: int64((reset - 1) / time.Minute), used: tc.used}
		r := begin(t, p, tc.memory, reset-tc.before)
		fastest := 0
		for at := reset - tc.before + s; at <= reset; at += s {
			fastest = max(fastest, r.until(at))
		}
		if most := 1.2*tc.left/tc.before.Seconds() + 2; float64(fastest) > most {
			t.Errorf("%v left for %v: %d requests in a second, want at most %.0f", tc.left, tc.before, fastest, most)
		}
		if got := r.until(reset + 50*s); got < 230 || got > 270 {
			t.Errorf("%v left for %v: then %d requests in 50 s, want about 250", tc.left, tc.before, got)
		}
		if rate := r.law.Keep().PerSecond(); r.refused > 0 || rate < 4 || rate > 7.5 {
			t.Errorf("%v left for %v: %d refused, and %.3v/s are kept, want none, and about 5", tc.left, tc.before, r.refused, rate)
		}
	}
}
