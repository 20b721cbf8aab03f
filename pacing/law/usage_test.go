package law_test

import (
	"math"
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// share tells what is used of an hour in whole percent, as Meta does.
func share(o law.Outcome, used, limit int) law.Outcome {
	percent := math.Floor(100 * float64(used) / float64(limit))
	o.Windows = []response.Quota{{Name: "app", Limit: 100, Remaining: max(0, 100-percent), Reset: -1, Window: time.Hour, Unit: response.Percent}}
	return o
}

// TestUsageInPercent: a limit of an hour that rolls, and that is told in percent,
// is used without running into it, whatever its size.
func TestUsageInPercent(t *testing.T) {
	const hours = 8
	for _, limit := range []int{60, 200, 1000, 5000, 20000} {
		answered, refused := 0, 0
		w := world{start: 1, ceiling: 20, workers: 4, lasts: hours * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
			ok := p.sliding(limit, time.Hour)
			if ok {
				answered++
			} else {
				refused++
			}
			return share(granted(ok), len(p.recent), limit), 200 * ms
		}}
		w.play(t, law.Plateau)
		if all := limit * hours; answered < all*3/4 || refused > 0 {
			t.Errorf("%d an hour: %d answered of %d, %d refused, want three quarters, and none", limit, answered, all, refused)
		}
	}
}

// TestUsageIsNoCrawl: a run that begins with a part of the limit used, and does not know what a request takes of it,
// is never slower than what is left allows until the end of the hour.
func TestUsageIsNoCrawl(t *testing.T) {
	const start = 10.0
	for _, limit := range []float64{2000, 5000, 20000} {
		for _, began := range []float64{0, 0.0399, 0.5, 0.7, 0.8, 0.9, 0.97} {
			l, err := law.New(law.Plateau, start, start, func() float64 { return 0.5 })
			if err != nil {
				t.Fatal(err)
			}
			used := int(began * limit)
			for now := time.Second; now < 10*time.Minute; {
				at, _ := l.Next(now)
				now = max(now, at)
				d := l.OnSend(now, 1)
				now += 50 * ms
				used++
				l.OnResult(d, share(granted(true), used, int(limit)), now)
				left := limit*0.99 - float64(used) // percents are whole
				if allowed := min(start, left/3600); l.Rate() < allowed {
					t.Errorf("%.0f an hour, of which %.1f %% were used: %.2f/s with %.0f left, want %.2f/s at least", limit, 100*began, l.Rate(), left, allowed)
					break
				}
			}
			if float64(used) > limit {
				t.Errorf("%.0f an hour, of which %.1f %% were used: %d in all", limit, 100*began, used)
			}
		}
	}
}

// TestUsageThatFlips: what leaves the window and what comes in may hold what is told between two percents. That it rises
// again is no percent that was used.
func TestUsageThatFlips(t *testing.T) {
	l, err := law.New(law.Plateau, 10, 10, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Second
	for n := range 1000 {
		at, _ := l.Next(now)
		now = max(now, at)
		d := l.OnSend(now, 1)
		now += 50 * ms
		l.OnResult(d, share(granted(true), 50+n/10%2, 100), now)
	}
	if got := l.Rate(); got < 10 {
		t.Errorf("%.2f/s with half of it left, want 10", got)
	}
}

// TestUsageNeverMakesFaster: whatever is told to be used, the pace is at most that
// of a twin who is told nothing.
func TestUsageNeverMakesFaster(t *testing.T) {
	for _, ceiling := range []float64{0, 5, 100} {
		var laws [2]law.Law
		for i := range laws {
			laws[i], _ = law.New(law.Plateau, 1, ceiling, func() float64 { return 0.5 })
		}
		slower := 0
		for now, n := time.Hour, 0; n < 3000; n++ {
			used := n / 30 % 101
			o := granted(true)
			for i, l := range laws {
				at, _ := l.Next(now)
				d := l.OnSend(max(at, now), 1)
				if i == 1 {
					o = share(o, used, 100)
				}
				l.OnResult(d, o, max(at, now)+50*ms)
			}
			now += 300 * ms
			bare, told := laws[0].Rate(), laws[1].Rate()
			if told > bare*(1+1e-9) {
				t.Fatalf("after %d answers, with %d %% used: %v/s, and %v/s without", n, used, told, bare)
			}
			if told < bare {
				slower++
			}
		}
		if slower == 0 {
			t.Errorf("a ceiling of %v: it was never slower", ceiling)
		}
	}
}

// TestUsageLearnsNoPace: who runs into the last percent was not too fast before it.
func TestUsageLearnsNoPace(t *testing.T) {
	l, err := law.New(law.Plateau, 4, 20, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Hour
	answer := func(o law.Outcome) {
		at, _ := l.Next(now)
		now = max(now, at)
		d := l.OnSend(now, 1)
		now += 100 * ms
		l.OnResult(d, o, now)
	}
	for used := range 99 {
		answer(share(granted(true), used, 100))
	}
	spared := l.Rate()
	answer(share(granted(false), 100, 100))
	for range 2 {
		answer(share(granted(true), 5, 100))
	}
	if free := l.Rate(); spared > 0.1 || free < 0.15 {
		t.Errorf("%v/s at the end of the limit, and %v/s when it was there again", spared, free)
	}
}
