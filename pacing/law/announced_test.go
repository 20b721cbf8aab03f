package law_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
)

// minute answers as a provider of 300 requests a minute does, which tells what is
// left and until when, to the millisecond, and not that it is a minute.
func minute(p *provider) (law.Outcome, time.Duration) {
	ok, left, reset := p.fixed(300, time.Minute)
	o := announced(granted(ok), 300, left, reset.Truncate(ms), 0)
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

// TestRestOfAWindowIsNoRate: what is left of an hour that ends soon may be used, but it is no rate that the provider
// announced: where nothing is declared, clean answers have to earn the pace, as they do without an announcement.
func TestRestOfAWindowIsNoRate(t *testing.T) {
	hourly := func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(5000, time.Hour)
		return announced(granted(ok), 5000, left, reset, 0), 100 * ms
	}
	const reset = 3 * time.Hour
	earlier := begin(t, &provider{}, law.Memory{}, reset-50*time.Minute)
	earlier.answer = hourly
	earlier.until(reset - 50*time.Minute + 20*s)
	for _, tc := range []struct {
		name   string
		used   float64
		before time.Duration // the reset
		memory law.Memory
		least  int // requests until the reset
	}{
		{"nothing used", 0, 150 * s, law.Memory{}, 1500}, // 200 at 4/s, 200 at 8/s, 200 at 16/s, and then more
		{"most used", 4400, 18 * s, law.Memory{}, 55},
		{"the last seconds", 4000, 6 * s, law.Memory{}, 10},
		{"20 minutes", 0, 20 * time.Minute, law.Memory{}, 4500},
		{"a budget that is known", 1000, 100 * s, earlier.law.Keep(), 500},
	} {
		r := begin(t, &provider{window: int64((reset - 1) / time.Hour), used: tc.used}, tc.memory, reset-tc.before)
		r.answer = hourly
		for at := reset - tc.before; at < reset-tc.before+min(15*s, tc.before); at += s {
			if got := r.until(at + s); got > 6 {
				t.Errorf("%s: %d requests in a second, want 4 or 5", tc.name, got)
				break
			}
		}
		if kept, bound := r.law.Keep().PerSecond(), r.law.Most(); kept > bound {
			t.Errorf("%s: %.3v/s are kept, want at most the %v/s that are earned", tc.name, kept, bound)
		}
		if r.until(reset); r.answered < tc.least {
			t.Errorf("%s: %d requests until the reset, want %d at least", tc.name, r.answered, tc.least)
		}
	}
}

// channels answers as a provider that grants five requests in five seconds to each of n channels. The requests ask for one channel
// after the other, and each answer announces what is left of its own.
func channels(n int) func(*provider) (law.Outcome, time.Duration) {
	type channel struct {
		left  float64
		until law.Moment
	}
	all, next := make([]channel, n), 0
	return func(p *provider) (law.Outcome, time.Duration) {
		c := &all[next%n]
		next++
		if p.now >= c.until {
			*c = channel{5, p.now + 5*s}
		}
		ok := c.left > 0
		if ok {
			c.left--
		}
		o := announced(granted(ok), 5, c.left, c.until-p.now, 0)
		if !ok {
			o.Hold = c.until - p.now
		}
		return o, 80 * ms
	}
}

// TestWhatIsGrantedIsKept: what a run found to be granted beyond an announced window, the next one begins with. Where less
// is granted then, a few are refused, and it is learned.
func TestWhatIsGrantedIsKept(t *testing.T) {
	first := begin(t, &provider{}, law.Memory{}, time.Hour)
	first.answer = channels(6)
	first.until(time.Hour + 3*time.Minute)
	learned := first.law.Keep().PerSecond()
	if learned < 3 {
		t.Fatalf("%.2f/s are learned, of six", learned)
	}
	for _, tc := range []struct {
		channels, least, refused int
	}{{6, 50, 0}, {1, 12, 1}} {
		var m law.Memory
		state, err := json.Marshal(first.law.Keep())
		if err == nil {
			err = json.Unmarshal(state, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		next := begin(t, &provider{}, m, 3*time.Hour)
		next.answer = channels(tc.channels)
		if got := next.until(3*time.Hour + 25*s); got < tc.least || next.refused > tc.refused {
			t.Errorf("%d channels, %.2f/s learned: %d answers in 25 s, %d refused, want %d, and at most %d", tc.channels, learned, got, next.refused, tc.least, tc.refused)
		}
		next.until(3*time.Hour + 5*time.Minute)
		if next.refused > tc.refused {
			t.Errorf("%d channels: %d refused in five minutes, want at most %d", tc.channels, next.refused, tc.refused)
		}
	}
}

// TestWindowIsKnownFromReset: once a window has begun anew, its limit is a rate, and needs not be earned.
func TestWindowIsKnownFromReset(t *testing.T) {
	r := begin(t, &provider{}, law.Memory{}, time.Hour+45*s)
	r.answer = func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(900, time.Minute)
		return announced(granted(ok), 900, left, reset, 0), 50 * ms
	}
	if got := r.until(time.Hour + 55*s); got > 50 {
		t.Errorf("%d requests in 10 s of a window that is not known, want about 40", got)
	}
	r.until(time.Hour + 65*s)
	if got := r.until(time.Hour + 75*s); got < 130 || r.refused > 0 {
		t.Errorf("%d requests in 10 s of a window that is known, %d refused, want about 150, and none", got, r.refused)
	}
}

// TestBudgetIsKnownFromReset: what was left of a window is spread until its reset, and no longer once that shows that the
// window is an hour's.
func TestBudgetIsKnownFromReset(t *testing.T) {
	const reset = 3 * time.Hour
	r := begin(t, &provider{window: int64((reset - 1) / time.Hour)}, law.Memory{}, reset-10*time.Minute)
	r.answer = func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(600, time.Hour)
		return announced(granted(ok), 600, left, reset, 0), 100 * ms
	}
	r.until(reset - 10*s)
	if got := r.until(reset); got < 9 || got > 11 {
		t.Errorf("%d requests in the last 10 s of ten minutes with 600, want 10", got)
	}
	r.until(reset + 10*s)
	if got := r.until(reset + 20*s); got < 35 || r.refused > 0 {
		t.Errorf("%d requests in 10 s of the hour after it, %d refused, want the 4 a second that were earned, and none", got, r.refused)
	}
}

// TestLastMomentOfAWindow: the few requests that are left in the last part of a
// second are no pace of many a second.
func TestLastMomentOfAWindow(t *testing.T) {
	l, now, resets := law.NewLearner(1, 0), t0, t0.Add(5*s)
	for {
		at, _ := l.Next(now)
		if now = later(now, at); !now.Before(resets) {
			break
		}
		l.Result(l.Send(now), law.Result{Signal: law.Succeeded, Limit: 300, Remaining: 9, Reset: resets.Sub(now)}, now)
	}
	if l.Bound() > 10 {
		t.Errorf("9 left for less than a second: %.3v/s are taken for earned, want 10 at most", l.Bound())
	}
}

// TestEmptiedByOthers: a window that somebody else used up costs its rest, and
// nothing of those after it.
func TestEmptiedByOthers(t *testing.T) {
	const hour = time.Hour
	for _, tc := range []struct {
		name  string
		takes []float64 // requests of others, at each 100 ms from the 40th second on
	}{
		{"at once", []float64{300}},
		{"one after the other", []float64{20, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
		{"all but one", []float64{50, 20, 10}},
	} {
		p := &provider{}
		r := begin(t, p, law.Memory{}, hour-time.Minute)
		r.until(hour + 40*s)
		for i, n := range tc.takes {
			if p.now < hour+time.Minute {
				p.used = min(300, p.used+n)
			}
			r.until(hour + 40*s + time.Duration(i+1)*100*ms)
		}
		r.until(hour + time.Minute - 50*ms)
		if by := r.law.Keep().By; by != law.Headers {
			t.Errorf("%s: it is limited by %q, want %q", tc.name, by, law.Headers)
		}
		kept := r.law.Keep().PerSecond()
		if kept < 4 || kept > 7.5 {
			t.Errorf("%s: %.3v/s are kept, want about 5", tc.name, kept)
		}
		r.until(hour + 61*s)
		if got := r.until(hour + 111*s); got < 230 {
			t.Errorf("%s: %d requests in 50 s of the window after it, want about 250", tc.name, got)
		}
		if r.refused > 2 {
			t.Errorf("%s: %d refused, want one or two", tc.name, r.refused)
		}
	}
}

// TestSenselessWindow: a window of less than no time is none that was told.
func TestSenselessWindow(t *testing.T) {
	l, now := law.NewLearner(1, 20), t0
	for range 20 {
		at, _ := l.Next(now)
		now = later(now, at)
		l.Result(l.Send(now), law.Result{Signal: law.Succeeded, Limit: 100, Remaining: 50, Reset: 20 * s, Per: -time.Second}, now)
	}
	if l.Rate() < 1 || l.Rate() > 10 {
		t.Errorf("50 are left for 20 s: the pace is %v/s", l.Rate())
	}
}

// TestTroubleAtTheEndOfABudget: where the last requests of an hour leave one by one, what
// goes wrong among them says nothing of the pace of the next hour.
func TestTroubleAtTheEndOfABudget(t *testing.T) {
	const limit, hour = 1000, time.Hour
	weak := law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}
	for _, tc := range []struct {
		name string
		some []law.Outcome
		took time.Duration
	}{
		{"a lone 503", []law.Outcome{weak}, 100 * ms},
		{"503s", []law.Outcome{weak, weak, weak, weak}, 100 * ms},
		{"lost requests", []law.Outcome{lost, lost, lost}, givenUp},
		{"slow answers", slices.Repeat([]law.Outcome{granted(true)}, 60), 3 * s},
	} {
		l, err := law.New(law.Plateau, 1, 20, func() float64 { return 0.5 })
		if err != nil {
			t.Fatal(err)
		}
		now, left := hour, float64(limit)
		answer := func(o law.Outcome, took, reset time.Duration) {
			at, _ := l.Next(now)
			now = max(now, at)
			d := l.OnSend(now, 1)
			now += took
			left = max(0, left-1)
			if o.Signal != law.Failed {
				o = announced(o, limit, max(1, left), reset, hour)
			}
			l.OnResult(d, o, now)
		}
		for now < 2*hour-20*time.Minute && left > 0 {
			answer(granted(true), 50*ms, 2*hour-now)
		}
		spared := l.Rate()
		for _, o := range tc.some {
			answer(o, tc.took, 2*hour-now)
		}
		now, left = max(now, 2*hour), limit
		for range 200 {
			answer(granted(true), 50*ms, hour)
		}
		if spared > 1 || l.Rate() < 15 {
			t.Errorf("%s: %.2v/s at the end of the hour and %.2v/s in the next, want less than 1 and 15", tc.name, spared, l.Rate())
		}
	}
}

// TestResetOnlyBesideARefusal: where nothing but a refusal tells a reset, that says how long to
// wait, and the pace is what it is without one.
func TestResetOnlyBesideARefusal(t *testing.T) {
	paces := func(reset time.Duration) (all []float64) {
		l, now := law.NewLearner(1, 50), t0
		ask := func(r law.Result) {
			at, _ := l.Next(now)
			now = later(now, at)
			l.Result(l.Send(now), r, now)
			all = append(all, l.Rate())
		}
		for range 2 {
			for range 60 {
				ask(law.Result{Signal: law.Succeeded, Limit: 20, Remaining: 19})
			}
			ask(law.Result{Signal: law.Throttled, Hold: 5 * s, Limit: 20, Reset: reset})
			now = now.Add(5 * s)
		}
		for range 60 {
			ask(law.Result{Signal: law.Succeeded, Limit: 20, Remaining: 19})
		}
		return all
	}
	want := paces(0)
	for _, reset := range []time.Duration{ms, 4 * s, 5 * s, 30 * s, time.Minute} {
		got := paces(reset)
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("a reset in %v: %.3v/s after %d answers, want %.3v", reset, got[i], i+1, want[i])
				break
			}
		}
	}
}

// TestWindowWithoutAReset: a limit whose window is named is used up nearly, and no
// more, where no answer tells when it is granted anew.
func TestWindowWithoutAReset(t *testing.T) {
	for _, tc := range []struct {
		limit float64
		per   time.Duration
	}{{300, time.Minute}, {100, 10 * s}, {20, 12 * s}} {
		average := tc.limit / tc.per.Seconds()
		l, now, left, ends := law.NewLearner(1, 50), t0, tc.limit, t0.Add(tc.per)
		for i := range 500 {
			at, _ := l.Next(now)
			if now = later(now, at); !now.Before(ends) {
				left, ends = tc.limit, ends.Add(tc.per)
			}
			left--
			l.Result(l.Send(now), law.Result{Signal: law.Succeeded, Limit: tc.limit, Remaining: left, Per: tc.per}, now)
			if l.Rate() > average {
				t.Errorf("%v in %v: %.3v/s after %d answers", tc.limit, tc.per, l.Rate(), i+1)
				break
			}
		}
		if l.Rate() < 0.95*average {
			t.Errorf("%v in %v: %.3v/s", tc.limit, tc.per, l.Rate())
		}
	}
}

// TestSlowAnnouncedPaceIsKept: a limit that the provider announces is what was learned, also where it is slower than the start.
func TestSlowAnnouncedPaceIsKept(t *testing.T) {
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	r.answer = func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(75, 3*time.Minute)
		return announced(granted(ok), 75, left, reset, 3*time.Minute), 5 * ms
	}
	r.until(time.Hour + 2*time.Minute)
	if m := r.law.Keep(); m.By != law.Headers || m.PerSecond() > 0.7 {
		t.Errorf("75 in three minutes are announced: %.2f/s by %s is kept, want at most 0.7/s by headers", m.PerSecond(), m.By)
	}
}
