package law_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/pacing/law"
)

// A limited is a provider of a Learner: a token bucket without burst to speak
// of, asked with nothing else in flight.
type limited struct {
	law.Learner
	now    time.Time
	rate   float64
	burst  float64 // 2 if it is 0
	weight float64 // of a request, 1 if it is 0
	tokens float64
	at     time.Time

	forNothing func() bool // refuses, whatever the pace; may be nil
}

// run asks until a time has passed, and returns what was answered and refused.
func (l *limited) run(d time.Duration) (answered, refused int) {
	burst, weight := cmp.Or(l.burst, 2), cmp.Or(l.weight, 1)
	for end := l.now.Add(d); l.now.Before(end); {
		at, _ := l.Next(l.now)
		l.now = later(l.now, at)
		s := l.SendCost(l.now, weight)
		l.tokens = min(burst, l.tokens+l.now.Sub(l.at).Seconds()*l.rate)
		l.at = l.now
		l.now = l.now.Add(ms)
		if l.tokens < weight || l.forNothing != nil && l.forNothing() {
			refused++
			l.Result(s, law.Result{Signal: law.Throttled}, l.now)
			continue
		}
		l.tokens -= weight
		answered++
		l.Result(s, law.Result{Signal: law.Succeeded}, l.now)
	}
	return answered, refused
}

// TestPlateauFindsTheLimit, stays just below it, and probes it ever more
// rarely.
func TestPlateauFindsTheLimit(t *testing.T) {
	for _, limit := range []float64{0.25, 1, 4, 12} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: limit}
		l.run(time.Hour)
		answered, refused := l.run(time.Hour)
		if share := float64(answered) / (3600 * limit); share < 0.9 || refused > max(15, answered/500) {
			t.Errorf("limit %v/s: in the second hour %.0f %% of it was used, and %d were refused, want at least 90 %% and at most 15, or one in 500", limit, 100*share, refused)
		}
		l.rate /= 4
		l.run(5 * time.Minute)
		answered, refused = l.run(15 * time.Minute)
		if share := float64(answered) / (900 * l.rate); share < 0.75 || refused > 12 {
			t.Errorf("limit %v/s, then a quarter: after five minutes %.0f %% was used, and %d were refused", limit, 100*share, refused)
		}
	}
}

// TestEpisodeSlowsDownOnce, lets one probe out at a time, at growing intervals,
// and ends when one is answered.
func TestEpisodeSlowsDownOnce(t *testing.T) {
	l, now := law.NewLearner(4, 20), t0
	var flight []law.Sent
	for range 5 {
		at, open := l.Next(now)
		if !open {
			t.Fatal("held back before anything was refused")
		}
		now = later(now, at)
		flight = append(flight, l.Send(now))
	}
	for _, s := range flight {
		l.Result(s, law.Result{Signal: law.Throttled}, now)
	}
	if got, want := l.Rate(), 2.0; got != want {
		t.Fatalf("after 5 refusals in flight the pace is %v, want %v", got, want)
	}
	var pauses []time.Duration
	for range 4 {
		refused := now
		at, _ := l.Next(now)
		pauses = append(pauses, at.Sub(refused))
		now = later(now, at)
		probe := l.Send(now)
		if second, open := l.Next(now); open && second.Sub(now) < 2*time.Second {
			t.Errorf("a second probe may leave %v after the first", second.Sub(now))
		}
		l.Result(probe, law.Result{Signal: law.Throttled}, now)
	}
	for i := 1; i < len(pauses); i++ {
		if pauses[i] < pauses[i-1]*5/4 {
			t.Errorf("pauses %v, want them to grow", pauses)
		}
	}
	if got, want := l.Rate(), 2.0; got != want {
		t.Errorf("after 4 refused probes the pace is %v, want %v", got, want)
	}
	at, _ := l.Next(now)
	now = later(now, at)
	l.Result(l.Send(now), law.Result{Signal: law.Succeeded}, now)
	if at, open := l.Next(now); !open || at.Sub(now) > time.Second {
		t.Errorf("after an answer the next leaves in %v (%t), want at once", at.Sub(now), open)
	}
}

// TestLone503LowersNothing but the pace, and that for a moment.
func TestLone503LowersNothing(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 4}
	l.run(20 * time.Minute)
	before, plateau := l.Rate(), l.Plateau()
	at, _ := l.Next(l.now)
	l.now = at
	l.Result(l.Send(l.now), law.Result{Signal: law.Throttled, Weak: true}, l.now)
	if got := l.Rate(); math.Abs(got-before/2) > 0.01 {
		t.Errorf("the pace went from %v to %v, want half", before, got)
	}
	l.Send(l.now)
	if at, open := l.Next(l.now); !open || at.Sub(l.now) > 1500*ms { // three slots, and no wait for the answer
		t.Errorf("with a request in flight the next one leaves in %v (%t), want it not to wait", at.Sub(l.now), open)
	}
	l.tokens = 2
	l.run(15 * time.Second)
	if got := l.Rate(); l.Plateau() != plateau || got < 0.97*plateau {
		t.Errorf("15 s later the pace is %v and the plateau %v, want %v", got, l.Plateau(), plateau)
	}
}

// TestPlateauAge: the age of a plateau lowers where a run begins, and not what is
// known. What a 403 taught is tried again: its bound rises a little for each day
// that it held, and an operator lifts it.
func TestPlateauAge(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 8}
	l.run(20 * time.Minute)
	k := l.Keep()
	plateau := l.Plateau()
	for _, tc := range []struct {
		age           time.Duration
		known, begins float64
	}{
		{30 * time.Minute, plateau, plateau}, {2 * time.Hour, plateau, plateau}, {2*time.Hour + ms, plateau, 0.8 * plateau},
		{24*time.Hour + ms, plateau, 0.5 * plateau}, {32 * 24 * time.Hour, plateau, 0.5 * plateau}, {32*24*time.Hour + ms, 0, 1},
	} {
		warm := law.NewLearner(1, 20)
		warm.Restore(k, tc.age)
		if got := warm.Plateau(); math.Abs(got-tc.known) > 0.01 {
			t.Errorf("after %v the plateau is %v, want %v", tc.age, got, tc.known)
		}
		if got := warm.Rate(); math.Abs(got-tc.begins) > 0.01 {
			t.Errorf("after %v it begins at %v, want %v", tc.age, got, tc.begins)
		}
		if kept, was := warm.Keep().Plateau, k.Plateau; tc.known > 0 && (kept.Limit != was.Limit || kept.Agreed != was.Agreed || kept.Every != was.Every) {
			t.Errorf("after %v it keeps %+v of %+v", tc.age, *kept, *was)
		}
		slow := law.NewLearner(1, 2)
		if slow.Restore(k, tc.age); slow.Plateau() > 2 || slow.Rate() > 2 {
			t.Errorf("after %v it is faster than the ceiling", tc.age)
		}
	}
	at, _ := l.Next(l.now)
	s := l.Send(at)
	l.Result(s, law.Result{Refused: true}, at)
	k = l.Keep()
	for age, want := range map[time.Duration]float64{time.Hour: 0.7, 25 * time.Hour: 0.7 * 1.25, 24 * 30 * time.Hour: 2} {
		banned := law.NewLearner(20, 20)
		banned.Restore(k, age)
		if got := banned.Bound() / plateau; math.Abs(got-want) > 0.15 && !(want == 2 && got > want) {
			t.Errorf("%v after a 403 at %v/s the bound is %v of it, want %v", age, plateau, got, want)
		}
		if again := banned.Keep(); again.Plateau.Held != k.Plateau.Held || again.Plateau.Banned != k.Plateau.Banned {
			t.Errorf("a run of no request keeps %v/s for %v, and was told %v/s for %v", again.Plateau.Banned, again.Plateau.Held, k.Plateau.Banned, k.Plateau.Held)
		}
	}
	k.Forgive()
	forgiven := law.NewLearner(20, 20)
	if forgiven.Restore(k, time.Hour); forgiven.Bound() != 20 {
		t.Errorf("after an operator released it the bound is %v/s, want that of the owner", forgiven.Bound())
	}
}

// TestAnnouncedPace: what remains until the reset, never more than half above
// the average of the window, and slower than that only for as long as it is so.
func TestAnnouncedPace(t *testing.T) {
	for _, tc := range []struct {
		name       string
		announced  law.Result
		most, want float64
	}{
		{"half of it is left for half of the time", law.Result{Limit: 600, Remaining: 300, Reset: 30 * time.Second, Per: time.Minute}, 10, 9.7},
		{"much is left at the end", law.Result{Limit: 60, Remaining: 60, Reset: time.Second, Per: time.Minute}, 1.5, 1.5},
		{"little is left", law.Result{Limit: 600, Remaining: 31, Reset: 30 * time.Second, Per: time.Minute}, 1.05, 0.9},
	} {
		l, now := law.NewLearner(1, 20), t0
		for range 40 {
			at, _ := l.Next(now)
			now = later(now, at)
			s := l.Send(now)
			tc.announced.Signal = law.Succeeded
			l.Result(s, tc.announced, now)
		}
		if got := l.Rate(); got > tc.most || got < tc.want {
			t.Errorf("%s: the pace is %v, want %v to %v", tc.name, got, tc.want, tc.most)
		}
	}
}

// TestHeadersOfAnErrorOnlyLower: what a refusal announces is not followed
// upwards, neither at once nor by the answers after it; downwards it is.
func TestHeadersOfAnErrorOnlyLower(t *testing.T) {
	for _, tc := range []struct {
		name            string
		before, refusal law.Result // what the answers before it announce, and it
		most            float64    // of the pace that was, soon after
	}{
		{"nothing was announced", law.Result{}, law.Result{Limit: 6000, Remaining: 6000, Reset: time.Minute, Per: time.Minute}, 1},
		{"less was announced", law.Result{Limit: 120, Remaining: 60, Reset: 30 * time.Second, Per: time.Minute},
			law.Result{Limit: 6000, Remaining: 6000, Reset: time.Minute, Per: time.Minute}, 1},
		{"and downwards", law.Result{}, law.Result{Limit: 6, Remaining: 6, Reset: time.Minute, Per: time.Minute}, 0.2},
	} {
		l, now := law.NewLearner(1, 50), t0
		ask := func(r law.Result) {
			at, _ := l.Next(now)
			now = later(now, at)
			l.Result(l.Send(now), r, now)
		}
		tc.before.Signal, tc.refusal.Signal = law.Succeeded, law.Throttled
		for range 20 {
			ask(tc.before)
		}
		before := l.Rate()
		ask(tc.refusal)
		for i := range 5 {
			ask(law.Result{Signal: law.Succeeded})
			if got := l.Rate(); got > tc.most*before && (i > 0 || got > before) { // the first one only ends the episode
				t.Errorf("%s: %d answers after a refusal at %v/s the pace is %v", tc.name, i+1, before, got)
			}
		}
	}
}

// TestErrorNeverQuickensThePlateau plays arbitrary histories, with results that
// come late and out of order, headers, holds and bans.
func TestErrorNeverQuickensThePlateau(t *testing.T) {
	var troubles, decreases, increases, late int
	rapid.Check(t, func(t *rapid.T) {
		ceiling := rapid.Float64Range(0.1, 50).Draw(t, "ceiling")
		l := law.NewLearner(rapid.Float64Range(0.1, 20).Draw(t, "start"), ceiling)
		now := t0
		var flight []law.Sent
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause ms")) * ms)
			if at, open := l.Next(now); open && (len(flight) == 0 || rapid.Bool().Draw(t, "send")) {
				now = later(now, at)
				flight = append(flight, l.Send(now))
				continue
			}
			if len(flight) == 0 {
				t.Fatal("it waits for a request in flight, and there is none")
			}
			i := rapid.IntRange(0, len(flight)-1).Draw(t, "which")
			s := flight[i]
			flight = slices.Delete(flight, i, i+1)
			r := law.Result{Signal: law.Signal(rapid.IntRange(int(law.Silent), int(law.Failed)).Draw(t, "signal"))}
			r.Weak = rapid.Bool().Draw(t, "weak")
			r.Refused = r.Signal == law.Silent && rapid.IntRange(0, 9).Draw(t, "ban") == 0
			if rapid.Bool().Draw(t, "headers") {
				r.Limit, r.Remaining = 100, float64(rapid.IntRange(0, 100).Draw(t, "remaining"))
				r.Reset, r.Per = time.Duration(rapid.IntRange(1, 60).Draw(t, "reset"))*time.Second, time.Minute
			}
			rate, due := l.Rate(), l.Due()
			l.Result(s, r, now)
			got := l.Rate()
			if trouble := r.Signal != law.Succeeded && r.Signal != law.Answered; trouble {
				troubles++
				if got > rate || l.Due().Before(due) {
					t.Fatalf("%+v moved the pace from %v to %v, the next request from %v to %v", r, rate, got, due.Sub(now), l.Due().Sub(now))
				}
			}
			switch {
			case got > ceiling || got <= 0 || math.IsNaN(got):
				t.Fatalf("the pace is %v, the ceiling %v", got, ceiling)
			case got < rate:
				decreases++
			case got > rate:
				increases++
			}
			if i > 0 {
				late++
			}
		}
	})
	t.Logf("%d troubles, %d decreases, %d increases, %d results out of order", troubles, decreases, increases, late)
	if !testing.Short() && min(troubles, decreases, increases, late) < 100 {
		t.Error("the histories do not reach what they are to test")
	}
}

// TestIntervalStep: each success takes 100 ms off, down to the floor.
func TestIntervalStep(t *testing.T) {
	p := law.NewPacer(time.Second, 250*ms)
	p.StepInTime()
	now := t0
	got := []int{int(p.Interval().Milliseconds())}
	for range 9 {
		now = p.At(now)
		id, bound := p.Send(now)
		p.Result(id, bound, law.Succeeded, now)
		got = append(got, int(p.Interval().Milliseconds()))
	}
	if want := []int{1000, 900, 800, 700, 600, 500, 400, 300, 250, 250}; !slices.Equal(got, want) {
		t.Errorf("intervals\n got %v\nwant %v", got, want)
	}
}
