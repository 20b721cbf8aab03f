package law_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/pacing/law"
)

// TestRamp plays successes back to back and reads the interval after each.
func TestRamp(t *testing.T) {
	for _, tc := range []struct {
		name  string
		floor time.Duration
		first time.Duration // the interval after the first success
		want  []int         // milliseconds
	}{
		{"1000 ms, first step to 900 ms, floor 250 ms", 250 * ms, 900 * ms, []int{
			1000, 900, 818, 750, 692, 643, 600, 563, 530, 501, 475, 451, 429, 409, 391, 375, 360, 346, 333, 321, 310,
			300, 290, 281, 272, 264, 256, 250, 250}},
		{"first step to 800 ms, floor 100 ms", 100 * ms, 800 * ms, []int{1000, 800, 667, 572, 500, 444}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := law.NewPacer(time.Second, tc.floor)
			p.SetStep(tc.first)
			now := t0
			got := []int{int(p.Interval().Milliseconds())}
			for range len(tc.want) - 1 {
				now = p.At(now)
				id, bound := p.Send(now)
				p.Result(id, bound, law.Succeeded, now)
				got = append(got, int(p.Interval().Milliseconds()))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("intervals\n got %v\nwant %v", got, tc.want)
			}
		})
	}
}

// TestGCRA checks arrivals against the algorithm's definition: a request that
// conforms leaves, another is told how long it is early.
func TestGCRA(t *testing.T) {
	for _, tc := range []struct {
		name     string
		burst    time.Duration
		arrivals []int // milliseconds
		early    []int // milliseconds; 0 conforms
	}{
		{"no burst", 0, []int{0, 500, 1000, 1999, 2000, 10000, 10000}, []int{0, 500, 0, 1, 0, 0, 1000}},
		{"burst of two intervals", 2 * time.Second,
			[]int{0, 0, 0, 0, 999, 1000, 1000}, []int{0, 0, 0, 1000, 1, 0, 1000}},
		{"idle time earns no more than the burst", 2 * time.Second,
			[]int{0, 60000, 60000, 60000, 60000}, []int{0, 0, 0, 0, 1000}},
		{"idle time earns nothing", 0, []int{0, 100000, 100000}, []int{0, 0, 1000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := law.NewPacer(time.Second, time.Second)
			p.SetBurst(tc.burst)
			p.At(t0.Add(-time.Second)) // so that the first request is due at t0
			var early []int
			for _, at := range tc.arrivals {
				now := t0.Add(time.Duration(at) * ms)
				wait := max(0, p.At(now).Sub(now))
				if wait == 0 {
					p.Send(now)
				}
				early = append(early, int(wait.Milliseconds()))
			}
			if !slices.Equal(early, tc.early) {
				t.Errorf("arrivals %v are early by %v, want %v", tc.arrivals, early, tc.early)
			}
		})
	}
}

// TestOneDecreasePerEpisode refuses everything that is in flight, and what
// follows until something is answered.
func TestOneDecreasePerEpisode(t *testing.T) {
	p := law.NewPacer(250*ms, 250*ms)
	now := t0
	type sent struct {
		id    uint64
		bound bool
	}
	send := func() sent {
		now = p.At(now)
		id, bound := p.Send(now)
		return sent{id, bound}
	}
	flight := []sent{send(), send(), send(), send(), send()}
	for _, s := range flight {
		p.Result(s.id, s.bound, law.Throttled, now)
	}
	if got, want := p.Interval(), 500*ms; got != want {
		t.Fatalf("after 5 refusals in flight the interval is %v, want %v", got, want)
	}
	for range 3 { // retries, refused again
		s := send()
		p.Result(s.id, s.bound, law.Throttled, now)
	}
	if got, want := p.Interval(), 500*ms; got != want {
		t.Fatalf("after 3 refused retries the interval is %v, want %v", got, want)
	}
	s := send()
	p.Result(s.id, s.bound, law.Answered, now)
	s = send()
	p.Result(s.id, s.bound, law.Throttled, now)
	if got, want := p.Interval(), time.Second; got != want {
		t.Errorf("in the second episode the interval is %v, want %v", got, want)
	}
}

// TestEpisodesDouble the interval they find, up to the slowest: also that of a
// warm start, which does not go back to the start.
func TestEpisodesDouble(t *testing.T) {
	for _, tc := range []struct {
		start time.Duration
		want  []int // milliseconds
	}{
		{time.Second, []int{1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}},
		{250 * ms, []int{250, 500, 1000, 2000}},
	} {
		p := law.NewPacer(tc.start, 250*ms)
		now := t0
		got := []int{int(p.Interval().Milliseconds())}
		for len(got) < len(tc.want) {
			for _, s := range []law.Signal{law.Throttled, law.Answered} { // an episode, and its end
				now = later(now, p.At(now))
				id, bound := p.Send(now)
				p.Result(id, bound, s, now)
			}
			got = append(got, int(p.Interval().Milliseconds()))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("intervals\n got %v\nwant %v", got, tc.want)
		}
	}
}

// TestLateResultsSayNothing: what left before the decrease neither ends the
// episode nor begins another one after it.
func TestLateResultsSayNothing(t *testing.T) {
	p := law.NewPacer(250*ms, 250*ms)
	now := t0
	type sent struct {
		id    uint64
		bound bool
	}
	send := func() sent {
		now = p.At(now)
		id, bound := p.Send(now)
		return sent{id, bound}
	}
	refused, answered, late := send(), send(), send()
	p.Result(refused.id, refused.bound, law.Throttled, now)
	p.Result(answered.id, answered.bound, law.Succeeded, now)
	if got, want := p.Interval(), 500*ms; got != want {
		t.Fatalf("a late success moved the interval to %v, want %v", got, want)
	}
	again := send()
	p.Result(again.id, again.bound, law.Throttled, now)
	if got, want := p.Interval(), 500*ms; got != want {
		t.Fatalf("the episode did not last: the interval is %v, want %v", got, want)
	}
	end := send()
	p.Result(end.id, end.bound, law.Answered, now)
	p.Result(late.id, late.bound, law.Throttled, now)
	if got, want := p.Interval(), 500*ms; got != want {
		t.Errorf("a late refusal moved the interval to %v, want %v", got, want)
	}
}

// TestIdleRunDoesNotSpeedUp: a run that does not use its pace learns nothing
// from its successes.
func TestIdleRunDoesNotSpeedUp(t *testing.T) {
	p := law.NewPacer(time.Second, 250*ms)
	now := p.At(t0)
	for range 20 {
		now = now.Add(5 * time.Second)
		id, bound := p.Send(now)
		p.Result(id, bound, law.Succeeded, now)
	}
	if got, want := p.Interval(), time.Second; got != want {
		t.Errorf("after a request every 5 s the interval is %v, want %v", got, want)
	}
}

// TestErrorNeverShortensTheInterval plays arbitrary histories, with results
// that come late and out of order.
func TestErrorNeverShortensTheInterval(t *testing.T) {
	var errorsSeen, decreases, increases, late int
	rapid.Check(t, func(t *rapid.T) {
		start := time.Duration(rapid.IntRange(1, 90_000).Draw(t, "start ms")) * ms
		floor := time.Duration(rapid.IntRange(1, 20_000).Draw(t, "floor ms")) * ms
		p := law.NewPacer(start, floor)
		now := t0
		type sent struct {
			id    uint64
			bound bool
		}
		var flight []sent
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause ms")) * ms)
			if len(flight) == 0 || rapid.Bool().Draw(t, "send") {
				now = later(now, p.At(now))
				id, bound := p.Send(now)
				flight = append(flight, sent{id, bound})
				continue
			}
			i := rapid.IntRange(0, len(flight)-1).Draw(t, "which")
			s := flight[i]
			flight = slices.Delete(flight, i, i+1)
			signal := law.Signal(rapid.IntRange(int(law.Silent), int(law.Failed)).Draw(t, "signal"))
			interval, next := p.Interval(), p.At(now)
			p.Result(s.id, s.bound, signal, now)
			switch got := p.Interval(); {
			case signal != law.Succeeded && (got < interval || p.At(now).Before(next)):
				t.Fatalf("signal %d moved the interval from %v to %v, the next request from %v to %v",
					signal, interval, got, next.Sub(now), p.At(now).Sub(now))
			case got < max(floor, 1) || got > max(time.Minute, start, floor):
				t.Fatalf("interval %v is outside of %v and %v", got, floor, time.Minute)
			case got > interval:
				decreases++
			case got < interval:
				increases++
			}
			if signal == law.Throttled || signal == law.Failed {
				errorsSeen++
			}
			if i > 0 {
				late++
			}
		}
	})
	t.Logf("%d errors, %d decreases, %d increases, %d results out of order", errorsSeen, decreases, increases, late)
	if !testing.Short() && min(errorsSeen, decreases, increases, late) < 100 {
		t.Error("the histories do not reach what they are to test")
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
