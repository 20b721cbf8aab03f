package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// ofAnAccount answers for a list of so many requests a minute, and announces the 400 a
// minute of the account with each answer, also with refusals.
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

// TestPromiseOfAnotherLimit: an announced limit of which plenty was left when a pace was refused is not the one that
// refused it, so that it does not raise the pace that refusals made known, in that run or in one after it.
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
