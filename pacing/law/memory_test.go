package law_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestNextRun: a run that starts with what an earlier one learned an hour ago
// is not slower than one that knows nothing, unless a limit was found, and
// looks for more as the earlier one did.
func TestNextRun(t *testing.T) {
	for _, tc := range []struct {
		name          string
		kept          string
		first, before float64 // the pace at first, and after 100 answers, at least
		most          float64 // after them
	}{
		{"the start went on", `"target_per_second": 8`, 8, 12, 20},
		{"the start had just begun", `"target_per_second": 1.2`, 1.2, 12, 20},
		{"answers became slow beyond it", `"target_per_second": 8, "slow_beyond": true, "probe_every": 256`, 8, 8, 8},
		{"answers became slow beyond the start", `"target_per_second": 1.2, "slow_beyond": true, "probe_every": 256`, 1.2, 1.2, 1.2},
		{"answers became slow at the start", `"target_per_second": 0.3, "slow_beyond": true, "probe_every": 256`, 0.3, 0.3, 0.3},
		{"more was refused", `"target_per_second": 1.2, "limit_per_second": 1.25, "probe_every": 256`, 0.6, 1.2, 1.2},
		{"more was refused twice", `"target_per_second": 1.2, "limit_per_second": 1.25, "confirmed": 2, "probe_every": 256`, 0.6, 1.2, 1.2},
		{"more was refused each time", `"target_per_second": 1.2, "limit_per_second": 1.25, "confirmed": 3, "probe_every": 256`, 1.2, 1.2, 1.2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m law.Memory
			if err := json.Unmarshal(fmt.Appendf(nil, `{"interval_ns": 125000000, "plateau": {%s}}`, tc.kept), &m); err != nil {
				t.Fatal(err)
			}
			l, now := law.NewLearner(1, 20), t0
			l.Restore(m, time.Hour)
			if got := l.Rate(); got != tc.first {
				t.Errorf("it begins with %v/s, want %v", got, tc.first)
			}
			for range 100 {
				at, _ := l.Next(now)
				now = later(now, at)
				s := l.Send(now)
				now = now.Add(10 * ms)
				l.Result(s, law.Result{Signal: law.Succeeded}, now)
			}
			if got := l.Rate(); got < tc.before || got > tc.most {
				t.Errorf("after 100 answers its pace is %v/s, want %v to %v", got, tc.before, tc.most)
			}
			if got := l.Keep().Plateau; got.Slow != m.Plateau.Slow {
				t.Errorf("it keeps that answers are slow beyond: %v, and was told %v", got.Slow, m.Plateau.Slow)
			}
		})
	}
}

// TestCountOfNextRun: a run that begins below the start counts what is answered
// since its first request was asked for, and not since the time that moments count
// from. What a bucket refuses once is then close to what it was.
func TestCountOfNextRun(t *testing.T) {
	var m law.Memory
	if err := json.Unmarshal([]byte(`{"plateau": {"target_per_second": 0.7, "limit_per_second": 0.715, "confirmed": 2, "probe_every": 64}}`), &m); err != nil {
		t.Fatal(err)
	}
	l, now := law.NewLearner(1, 20), t0
	l.Restore(m, time.Hour)
	for i := range 40 {
		at, _ := l.Next(now)
		now = later(now, at)
		s := l.Send(now)
		signal := law.Succeeded
		if i == 30 {
			signal = law.Throttled
		}
		now = now.Add(10 * ms)
		l.Result(s, law.Result{Signal: signal}, now)
	}
	if got := l.Keep().Plateau.Limit; got < 0.5 || got > 0.8 {
		t.Errorf("one refusal later, the limit is %.4f/s, want about 0.7", got)
	}
}

// grants lets l go on at a provider that grants everything, and returns how long
// it took until the pace was above most; d if it never was.
func grants(l law.Learner, most float64, d time.Duration) time.Duration {
	now := t0
	for now.Before(t0.Add(d)) {
		at, _ := l.Next(now)
		now = later(now, at)
		s := l.Send(now)
		now = now.Add(10 * ms)
		l.Result(s, law.Result{Signal: law.Succeeded}, now)
		if l.Rate() > most {
			return now.Sub(t0)
		}
	}
	return d
}

// remembered reads what an earlier run left behind.
func remembered(t *testing.T, plateau string) law.Memory {
	var m law.Memory
	if err := json.Unmarshal(fmt.Appendf(nil, `{"interval_ns": 500000000, "plateau": {%s}}`, plateau), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNextRunIsCalm: what an earlier run found is not doubted in the first
// minutes, but it is in the end, also if all runs are short.
func TestNextRunIsCalm(t *testing.T) {
	const short, least = 3 * time.Minute, 5 * time.Minute
	begin := func(m law.Memory) law.Learner {
		l := law.NewLearner(1, 20)
		l.Restore(m, time.Minute)
		return l
	}
	m := remembered(t, `"target_per_second": 2, "limit_per_second": 2.04, "confirmed": 3, "probe_every": 32`)
	if got := grants(begin(m), 2, time.Hour); got < least || got > 2*least {
		t.Errorf("it looks for more after %v, want %v", got, least)
	}
	far := remembered(t, `"target_per_second": 2, "limit_per_second": 3, "probe_every": 32`)
	if got := grants(begin(far), 2, time.Hour); got >= least {
		t.Errorf("far below what was counted, it looks for more after %v", got)
	}
	m = remembered(t, `"target_per_second": 2, "limit_per_second": 2.04, "confirmed": 3, "probe_every": 1024`)
	runs := 0
	for ; runs < 100; runs++ {
		l := begin(m)
		if grants(l, 2, short) < short {
			break
		}
		m = l.Keep()
	}
	if runs < 1 || runs > 20 {
		t.Errorf("it looks for more in run %d of %v", runs+1, short)
	}
}

// TestPlacesAreCalm: neither is the number of requests in flight, and what was
// counted for it in the run before counts.
func TestPlacesAreCalm(t *testing.T) {
	l, err := law.New(law.Plateau, 1, 20, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	l.Restore(remembered(t, `"target_per_second": 8, "in_flight": 3, "probe_every": 1024, "probe_since": 900`), time.Minute)
	const begin, least = time.Hour, 5 * time.Minute
	r := &run{T: t, law: l, provider: &provider{}, now: begin, world: world{workers: 32, answer: func(*provider) (law.Outcome, time.Duration) {
		return granted(true), 3 * s
	}}}
	for len(r.flights) <= 3 && r.now < begin+time.Hour {
		r.step()
	}
	if got := r.now - begin; got < least || got > 2*least {
		t.Errorf("it tries a fourth in flight after %v, want %v", got, least)
	}
}

// TestAWindowThatTheRunBeforeUsed: a run that is refused soon after it began has
// counted a part of a window, and that is no lower limit: what the run before used of
// it is not in the count. The window after it is a whole one.
func TestAWindowThatTheRunBeforeUsed(t *testing.T) {
	l := law.NewLearner(1, 20)
	l.Restore(remembered(t, `"target_per_second": 1.6, "limit_per_second": 1.63, "window_ns": 60000000000, "confirmed": 1`), time.Second)
	const window, left = 100, 9 // of which the run before left nine for its last 30 s
	now, in, used, answered := t0, t0.Add(-30*time.Second), window-left, 0
	for ends := t0.Add(5 * time.Minute); now.Before(ends); {
		at, _ := l.Next(now)
		now = later(now, at)
		sent := l.Send(now)
		now = now.Add(20 * time.Millisecond)
		for now.Sub(in) >= time.Minute {
			in, used = in.Add(time.Minute), 0
		}
		if used++; used > window {
			l.Result(sent, law.Result{Signal: law.Throttled}, now)
			continue
		}
		l.Result(sent, law.Result{Signal: law.Succeeded}, now)
		answered++
	}
	if want := 0.8 * (left + 4.5*window); float64(answered) < want || l.Keep().Plateau.Limit < 1.5 {
		t.Errorf("%d answers in five minutes, want at least %.0f; the limit is %.2f/s", answered, want, l.Keep().Plateau.Limit)
	}
}

// TestHeldLevelIsKept: of a probe that is under way when a run ends, the level that
// was held is kept, and not the one that has just begun.
func TestHeldLevelIsKept(t *testing.T) {
	l := law.NewLearner(1, 20)
	l.Restore(remembered(t, `"target_per_second": 2, "limit_per_second": 2.04, "confirmed": 3, "probe_every": 32`), time.Minute)
	if grants(l, 3, time.Hour) == time.Hour {
		t.Fatal("it never looks for more")
	}
	if got := l.Keep().Plateau.Target; got < 2.2 || got > 0.95*l.Rate() {
		t.Errorf("at %v/s it keeps %v/s, want the level before, of more than 2.2/s", l.Rate(), got)
	}
}

// TestShortRunsLookForMore: runs of seven answers each, too short for a climb and a level
// of a probe, go on where the one before ended, so that a plateau that is far too low
// does not last.
func TestShortRunsLookForMore(t *testing.T) {
	m := remembered(t, `"target_per_second": 0.04, "limit_per_second": 0.041, "confirmed": 1, "window_ns": 120000000000, "probe_every": 64`)
	runs := 0
	for ; runs < 400 && m.Plateau.Target < 0.1; runs++ {
		l, now := law.NewLearner(1, 20), t0
		l.Restore(m, time.Minute)
		for range 7 {
			at, _ := l.Next(now)
			now = later(now, at)
			sent := l.Send(now)
			now = now.Add(10 * ms)
			l.Result(sent, law.Result{Signal: law.Succeeded}, now)
		}
		m = l.Keep()
	}
	if runs == 400 {
		t.Errorf("after %d runs of seven answers the pace is %.3f/s, want 0.1/s", runs, m.Plateau.Target)
	}
}

// TestTrustOfShortRuns: the answers that earn a higher bound are counted across
// runs, so that a job of a few requests a day gets beyond the first one as well. A
// build that does not keep the count is none the worse.
func TestTrustOfShortRuns(t *testing.T) {
	var m law.Memory
	bounds := []float64{}
	for range 14 {
		l, now := law.NewLearner(1, 0), t0
		l.Restore(m, 24*time.Hour)
		for range 52 {
			at, _ := l.Next(now)
			now = later(now, at)
			sent := l.Send(now)
			now = now.Add(10 * ms)
			l.Result(sent, law.Result{Signal: law.Succeeded}, now)
		}
		m = l.Keep()
		bounds = append(bounds, m.Earned())
	}
	if bounds[1] != 4 || bounds[4] != 8 || bounds[13] < 16 {
		t.Errorf("after each of 14 runs of 52 answers the bound is %v, want 8 from the fifth on, and 16 in the end", bounds)
	}
	for _, clean := range []string{`-1`, `0`, `199`, `2000000000`} {
		l := law.NewLearner(1, 0)
		l.Restore(remembered(t, `"target_per_second": 4, "earned_per_second": 4, "earned_clean": `+clean), time.Hour)
		if got := l.Keep(); got.Earned() != 4 {
			t.Errorf("with %s answers that were kept the bound is %v, want 4", clean, got.Earned())
		}
	}
}

// TestShortRunsAfterAStorm: at the start of a first run everything is refused for a while, and later
// nothing is, in runs that are too short for one probe. What was counted meanwhile is no
// limit, and does not hold them back for long.
func TestShortRunsAfterAStorm(t *testing.T) {
	const short = 55 * time.Second
	now := t0
	refused := func() law.Result {
		switch since := now.Sub(t0); {
		case since > 6*time.Second && since < 7*time.Second:
			return law.Result{Signal: law.Throttled, Hold: 6 * time.Second}
		case since > 20*time.Second && since < 32*time.Second:
			return law.Result{Signal: law.Throttled}
		}
		return law.Result{Signal: law.Succeeded}
	}
	var m law.Memory
	for n := range 25 {
		l := law.NewLearner(1, 50)
		if n > 0 {
			l.Restore(m, time.Second)
		}
		began := now
		for {
			at, _ := l.Next(now)
			if at.After(began.Add(short)) {
				break
			}
			now = later(now, at)
			s := l.Send(now)
			answer := refused()
			now = now.Add(10 * ms)
			l.Result(s, answer, now)
		}
		m = l.Keep()
		now = began.Add(short + time.Second)
	}
	if got := m.PerSecond(); got < 10 {
		t.Errorf("after 25 runs it keeps %.2f/s, want at least 10", got)
	}
}

// TestSilenceAfterARun: a run ends seconds after an ordinary refusal, and the first request of the next one is asked to
// wait for a minute and a half. What the run before was granted shows that such a silence is no part of a window.
func TestSilenceAfterARun(t *testing.T) {
	p := &provider{tokens: 12}
	after := 0
	refused := func(since time.Duration) law.Result {
		switch {
		case since > 100*time.Second && since < 101*time.Second:
			return law.Result{Signal: law.Throttled}
		case since > 112*time.Second && since < 202*time.Second:
			return law.Result{Signal: law.Throttled, Hold: 202*time.Second - since}
		case !p.bucket(12, 12):
			return law.Result{Signal: law.Throttled}
		}
		if since > 202*time.Second {
			after++
		}
		return law.Result{Signal: law.Succeeded}
	}
	var m law.Memory
	for n, run := range []struct{ begins, ends time.Duration }{{0, 105 * time.Second}, {125 * time.Second, 262 * time.Second}} {
		l := law.NewLearner(1, 30)
		if n > 0 {
			l.Restore(m, 20*time.Second)
		}
		for now := t0.Add(run.begins); ; {
			at, _ := l.Next(now)
			if at.After(t0.Add(run.ends)) {
				break
			}
			now = later(now, at)
			s := l.Send(now)
			p.now, p.weight = now.Sub(t0), 1
			answer := refused(now.Sub(t0))
			now = now.Add(80 * ms)
			if hold := l.Result(s, answer, now); hold > 0 {
				now = now.Add(hold)
			}
		}
		m = l.Keep()
	}
	if after < 350 {
		t.Errorf("%d answers in the minute after the silence, want 350 of 720", after)
	}
}
