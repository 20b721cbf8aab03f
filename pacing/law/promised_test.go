package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// ofAnAccount allows a list as many requests a minute as list says. Each answer and each
// refusal announces another limit: the 400 requests a minute of the account.
func ofAnAccount(list func(law.Moment) float64) func(*provider) (law.Outcome, time.Duration) {
	account := &provider{}
	return func(p *provider) (law.Outcome, time.Duration) {
		account.now, account.weight = p.now, 1
		_, left, reset := account.fixed(400, time.Minute)
		ok, _, ends := p.fixed(list(p.now), time.Minute)
		o := granted(ok)
		o.Windows = []response.Quota{{Name: "account", Limit: 400, Remaining: left, Reset: (reset + s - 1).Truncate(s)}}
		if !ok {
			o.Hold = (ends + s - 1).Truncate(s)
		}
		return o, 100 * ms
	}
}

// TestPromiseOfAnotherLimit: if a pace is refused while plenty of an announced limit is left, another limit refused it.
// The announced one does not raise the pace that was learned from refusals, in this run or a later one.
func TestPromiseOfAnotherLimit(t *testing.T) {
	ten := func(law.Moment) float64 { return 10 }
	for _, tc := range []struct {
		name         string
		runs         int
		lasts, pause time.Duration // of a run, and between two
		refused      int
	}{
		{"an hour", 1, time.Hour, 0, 8},
		{"three minutes of each ten", 12, 3 * time.Minute, 7 * time.Minute, 8},
		{"a minute of each half hour", 20, time.Minute, 29 * time.Minute, 6},
	} {
		for _, off := range []time.Duration{5 * s, 33 * s} {
			p, answer, memory, now := &provider{}, ofAnAccount(ten), law.Memory{}, time.Hour+off
			refused, followed := 0, 0
			for range tc.runs {
				r := begin(t, p, memory, now)
				r.workers, r.answer = 1, answer
				for end := now + tc.lasts; r.now < end; {
					if r.step(); refused+r.refused >= 2 && r.law.Keep().By == law.Headers {
						followed++
					}
				}
				refused += r.refused
				now, memory = now+tc.lasts+tc.pause, r.law.Keep()
			}
			if followed > 0 || refused > tc.refused {
				t.Errorf("%s, from %v: after two refusals %d times the announcement binds, and %d requests are refused, want none, and %d at most",
					tc.name, off, followed, refused, tc.refused)
			}
		}
	}
}

// TestPromiseIsKeptAgain: where nothing but the announced limit binds any more, it is followed again, and what spoke
// against it is forgotten.
func TestPromiseIsKeptAgain(t *testing.T) {
	const over = time.Hour + 20*s
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	r.workers, r.answer = 1, ofAnAccount(func(now law.Moment) float64 {
		if now < over {
			return 10
		}
		return 1e6
	})
	r.until(over + 10*time.Minute)
	if got := r.until(over + 11*time.Minute); got < 380 || r.refused > 3 {
		t.Errorf("ten minutes later %d requests are answered in a minute, and %d were refused, want 400, and 3 at most", got, r.refused)
	}
	r.until(over + time.Hour)
	if k := r.law.Keep(); k.By != law.Headers || k.Plateau.Doubted() {
		t.Errorf("it is limited by %q, and the announcement is doubted: %t, want %q and no doubt", k.By, k.Plateau.Doubted(), law.Headers)
	}
}

// TestADoubtFadesInShortRuns: for how long headers were followed without a refusal counts over runs.
func TestADoubtFadesInShortRuns(t *testing.T) {
	const over = time.Hour + 20*s
	answer := ofAnAccount(func(now law.Moment) float64 {
		if now < over {
			return 10
		}
		return 1e6
	})
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	for r.now < over+2*time.Hour {
		r.workers, r.answer = 1, answer
		r.until(r.now + 50*s)
		r = begin(t, r.provider, r.law.Keep(), r.now+10*s)
	}
	if r.law.Keep().Plateau.Doubted() {
		t.Error("after two hours of runs of 50 s without a refusal, the announcement is doubted")
	}
}

// laravel counts from the first request of a minute. It tells the limit and what is left with each answer, and when
// there is more only with a refusal.
func laravel(limit func(law.Moment) float64) func(*provider) (law.Outcome, time.Duration) {
	var ends law.Moment
	used := 0.0
	return func(p *provider) (law.Outcome, time.Duration) {
		if p.now >= ends {
			ends, used = p.now+time.Minute, 0
		}
		most := limit(p.now)
		if used < most {
			used++
			return announced(granted(true), most, most-used, -1, 0), 40 * ms
		}
		o := announced(granted(false), most, 0, (ends-p.now).Truncate(s)+s, 0)
		o.Hold = o.Windows[0].Reset
		return o, 40 * ms
	}
}

// TestAnnouncedLimitChanges: where no answer but a refusal tells a reset, the pace that refusals made known follows the
// limit that is announced.
func TestAnnouncedLimitChanges(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to float64
		after    time.Duration
		restart  bool // a run of a minute after the other
		within   time.Duration
		refused  int // from then on
	}{
		{"ten times as much, soon", 60, 600, 3 * time.Minute, false, time.Minute, 0},
		{"ten times as much", 60, 600, 20 * time.Minute, false, time.Minute, 0},
		{"ten times as much, in short runs", 60, 600, 5 * time.Minute, true, 2 * time.Minute, 0},
		{"twice as much", 60, 120, 10 * time.Minute, false, 30 * s, 0},
	} {
		changes := time.Hour + tc.after
		answer := laravel(func(now law.Moment) float64 {
			if now < changes {
				return tc.from
			}
			return tc.to
		})
		r := begin(t, &provider{}, law.Memory{}, time.Hour)
		play := func(until law.Moment) (answered, refused int) {
			for r.now < until {
				if r.workers, r.answer = 1, answer; !tc.restart {
					refused -= r.refused
					return r.until(until), refused + r.refused
				}
				answered += r.until(r.now + 50*s)
				refused += r.refused
				r = begin(t, r.provider, r.law.Keep(), r.now+10*s)
			}
			return answered, refused
		}
		play(changes)
		_, refused := play(changes + tc.within)
		got, more := play(changes + tc.within + 2*time.Minute)
		if got < int(1.6*tc.to) || refused+more > tc.refused {
			t.Errorf("%s: after %v, %d requests are answered in two minutes, and %d were refused, want %.0f, and %d at most",
				tc.name, tc.within, got, refused+more, 2*tc.to, tc.refused)
		}
	}
}

// TestAnnouncedLimitGrowsInVain: a limit that is announced to have grown, and has not, costs a refusal, and what was
// known of it is found again.
func TestAnnouncedLimitGrowsInVain(t *testing.T) {
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	answer := laravel(func(law.Moment) float64 { return 60 })
	r.workers, r.answer = 1, func(p *provider) (law.Outcome, time.Duration) {
		o, took := answer(p)
		if p.now > time.Hour+10*time.Minute && o.Signal == law.Succeeded {
			o.Windows[0].Limit, o.Windows[0].Remaining = 600, o.Windows[0].Remaining+540
		}
		return o, took
	}
	r.until(time.Hour + 10*time.Minute)
	before := r.refused
	r.until(time.Hour + 12*time.Minute)
	if got := r.until(time.Hour + 17*time.Minute); got < 250 || r.refused > before+4 {
		t.Errorf("after two minutes, %d requests are answered in five, and %d were refused, want 300, and 4 at most", got, r.refused-before)
	}
}

// TestAnnouncedLimitsOfTwoAddresses: where one address in every three, or 21, has a limit, and the others tell a larger
// one by the same name, that one did not grow.
func TestAnnouncedLimitsOfTwoAddresses(t *testing.T) {
	for every, least := range map[int]int{3: 800, 21: 5500} {
		r := begin(t, &provider{}, law.Memory{}, time.Hour)
		limited, n := laravel(func(law.Moment) float64 { return 60 }), 0
		r.workers, r.answer = 1, func(p *provider) (law.Outcome, time.Duration) {
			if n++; n%every == 0 {
				return limited(p)
			}
			return announced(granted(true), 6000, 5900, -1, 0), 20 * ms
		}
		r.until(time.Hour + 5*time.Minute)
		for range 5 {
			before := r.refused
			if got := r.until(r.now + 5*time.Minute); got < least || r.refused-before > 4 {
				t.Errorf("one of %d: %d requests are answered in five minutes, and %d are refused, want %d, and 4 at most", every, got, r.refused-before, least)
			}
		}
	}
}
