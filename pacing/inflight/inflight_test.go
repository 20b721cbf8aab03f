package inflight_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/pacing/inflight"
)

func limiter(tb testing.TB, law string, most int) *inflight.Limiter {
	tb.Helper()
	l, err := inflight.New(law, most)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// one sends one request alone and settles it.
func one(tb testing.TB, l *inflight.Limiter, o inflight.Outcome) {
	tb.Helper()
	if !l.Room() {
		tb.Fatal("no room for the only request")
	}
	l.Release(l.Take(), o, time.Millisecond)
}

// TestRefusalsHalve: the vectors of promptfoo's scheduler.
func TestRefusalsHalve(t *testing.T) {
	for _, law := range []string{inflight.AIMD, inflight.MIMD} {
		for _, tc := range []struct {
			most int
			want []int
		}{
			{10, []int{5, 2, 1, 1}},
			{9, []int{4, 2, 1}},
			{100, []int{50, 25, 12, 6, 3, 1}},
		} {
			l := limiter(t, law, tc.most)
			var got []int
			for range tc.want {
				one(t, l, inflight.Refused)
				got = append(got, l.Limit())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s from %d: %v, want %v", law, tc.most, got, tc.want)
			}
		}
	}
}

// TestRecovery: from 1 to 10 in 25 answers by half as much again, in 45 by one.
func TestRecovery(t *testing.T) {
	for _, tc := range []struct {
		law  string
		want []int
	}{
		{inflight.MIMD, []int{2, 3, 5, 8, 10}},
		{inflight.AIMD, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		l := limiter(t, tc.law, 10)
		for l.Limit() > 1 {
			one(t, l, inflight.Refused)
		}
		var got []int
		for range tc.want {
			for range 5 {
				one(t, l, inflight.Answered)
			}
			got = append(got, l.Limit())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v after each 5 answers, want %v", tc.law, got, tc.want)
		}
		one(t, l, inflight.Refused)
		for range 4 {
			one(t, l, inflight.Answered)
		}
		one(t, l, inflight.Refused)
		for range 4 {
			one(t, l, inflight.Answered)
		}
		if got := l.Limit(); got != 2 {
			t.Errorf("%s: 4 answers twice, with a refusal between them, make %d, want 2", tc.law, got)
		}
	}
}

// TestScarceLeft shrinks the limit while a provider says that little is left,
// from 10: the vectors of promptfoo's scheduler.
func TestScarceLeft(t *testing.T) {
	for _, tc := range []struct {
		share float64
		want  int
	}{
		{.099, 5}, {.075, 5}, {.05, 4}, {.01, 2}, {0, 2}, {-.01, 2}, {.1, 10}, {1, 10}, {math.NaN(), 10}, {math.Inf(1), 10},
	} {
		l := limiter(t, inflight.AIMD, 10)
		l.Left(tc.share)
		if got := l.Limit(); got != tc.want {
			t.Errorf("with %v left the limit is %d, want %d", tc.share, got, tc.want)
		}
		l.Left(0.5)
		if got := l.Limit(); got != 10 {
			t.Errorf("with half of it left again the limit is %d, want 10", got)
		}
	}
}

// TestOneDecreaseForWhatFlewTogether, however much of it is refused.
func TestOneDecreaseForWhatFlewTogether(t *testing.T) {
	for _, law := range []string{inflight.AIMD, inflight.MIMD, inflight.Gradient, inflight.LatencyAIMD} {
		l := limiter(t, law, 64)
		for l.Limit() < 16 {
			one(t, l, inflight.Answered)
			for range 2000 { // the gradient grows only when it is used
				s := fill(l)
				for _, slot := range s {
					l.Release(slot, inflight.Answered, time.Millisecond)
				}
			}
		}
		slots := fill(l)
		l.Release(slots[0], inflight.Refused, 0)
		once := l.Limit()
		for _, s := range slots[1:] {
			l.Release(s, inflight.Refused, 0)
		}
		if got := l.Limit(); got != once || once >= len(slots) {
			t.Errorf("%s: from %d, %d after one refusal and %d after all of them", law, len(slots), once, got)
		}
		one(t, l, inflight.Refused)
		if got := l.Limit(); got >= once {
			t.Errorf("%s: %d after a refusal of a later request, want less than %d", law, got, once)
		}
	}
}

func fill(l *inflight.Limiter) []inflight.Slot {
	var slots []inflight.Slot
	for l.Room() {
		slots = append(slots, l.Take())
	}
	return slots
}

// TestGradient: the vectors of throttlekit.
func TestGradient(t *testing.T) {
	g := inflight.NewGradient(4, 512)
	var got []float64
	for range 7 {
		g.Answered(time.Millisecond, 1000)
		got = append(got, math.Round(g.Estimate()*100)/100)
	}
	if want := []float64{4.4, 4.82, 5.26, 5.72, 6.20, 6.69, 7.21}; !slices.Equal(got, want) {
		t.Errorf("from 4 it grows to %v, want %v", got, want)
	}
	for n, want := range map[int]float64{81: 100, 208: 512} {
		g := inflight.NewGradient(4, 512)
		samples := 0
		for ; g.Estimate() < want; samples++ {
			g.Answered(time.Millisecond, 1000)
		}
		if samples != n {
			t.Errorf("it is at %v after %d samples, want %d", want, samples, n)
		}
	}

	g = inflight.NewGradient(100, 512)
	got = got[:0]
	for range 5 {
		g.Refused()
		got = append(got, math.Round(g.Estimate()*100)/100)
	}
	if want := []float64{92, 84.72, 78.09, 72.05, 66.54}; !slices.Equal(got, want) {
		t.Errorf("refused from 100 it falls to %v, want %v", got, want)
	}

	g = inflight.NewGradient(100, 512)
	for range 2000 { // shortest 1 ms, so that 2.5 ms is a gradient of 0.8
		g.Answered(time.Millisecond, 0)
		for range 98 {
			g.Answered(2500*time.Microsecond, 1000)
		}
	}
	if got := g.Estimate(); math.Abs(got-25) > 1 {
		t.Errorf("at a gradient of 0.8 it rests at %v, want 25", got)
	}

	g = inflight.NewGradient(100, 512)
	g.Answered(time.Millisecond, 49)
	if got := g.Estimate(); got != 100 {
		t.Errorf("less than half used it moves to %v", got)
	}
	g.Answered(0, 50)
	if got := g.Estimate(); got != 102 {
		t.Errorf("a time of 0 with half in use moves it to %v, want 102", got)
	}
}

// TestLatencyAIMD: the vectors of throttlekit.
func TestLatencyAIMD(t *testing.T) {
	l := limiter(t, inflight.LatencyAIMD, 100)
	if got := l.Limit(); got != 4 {
		t.Errorf("it begins at %d, want 4", got)
	}
	one(t, l, inflight.Answered)
	if got := l.Limit(); got != 4 {
		t.Errorf("less than half used it moves to %d", got)
	}
	for l.Limit() < 10 {
		l.Take()
		s := l.Take() // half are in use
		l.Release(s, inflight.Answered, time.Millisecond)
	}
	for l.InFlight() < 5 {
		l.Take()
	}
	if l.Release(l.Take(), inflight.Answered, 2*time.Millisecond); l.Limit() != 11 {
		t.Errorf("an answer that takes twice the shortest moves 10 to %d, want 11", l.Limit())
	}
	for l.Limit() < 100 {
		l.Release(l.Take(), inflight.Answered, time.Millisecond)
		l.Take()
	}
	if l.Release(l.Take(), inflight.Refused, 0); l.Limit() != 90 {
		t.Errorf("a refusal moves 100 to %d, want 90", l.Limit())
	}
	if l.Release(l.Take(), inflight.Answered, 2*time.Millisecond+1); l.Limit() != 81 {
		t.Errorf("a slow answer moves 90 to %d, want 81", l.Limit())
	}
	for range 100 {
		l.Release(l.Take(), inflight.Answered, time.Second)
		l.Release(l.Take(), inflight.Answered, time.Millisecond)
	}
	l.Bound(7)
	if l.Limit() > 7 {
		t.Errorf("bound to 7 it allows %d", l.Limit())
	}
	l.Bound(2)
	for range 9 {
		l.Release(l.Take(), inflight.Refused, 0)
	}
	if l.Limit() != 2 {
		t.Errorf("bound to 2 it allows %d after refusals, want 2", l.Limit())
	}
}

// TestRecalibration: a queue that never drains raises the shortest time of the
// window, so that the limit grows without end; measured anew, it does not.
func TestRecalibration(t *testing.T) {
	l := limiter(t, inflight.Recalibrated, 512)
	// The backend serves 8 at once in 10 ms; the others wait.
	rtt := func(inFlight int) time.Duration { return time.Duration(max(8, inFlight)) * 10 * time.Millisecond / 8 }
	answers, lows, highest := 0, 0, 0
	for answers < 20_000 {
		limit := l.Limit()
		slots := fill(l)
		for _, s := range slots {
			l.Release(s, inflight.Answered, rtt(len(slots)))
		}
		answers += len(slots)
		if limit == 4 && highest > 8 {
			lows++
		}
		if answers > 2000 {
			highest = max(highest, limit)
		}
	}
	if highest > 64 {
		t.Errorf("measured anew it comes to %d in flight, of a backend that serves 8", highest)
	}
	if lows < 50 {
		t.Errorf("in %d answers the limit was the least %d times", answers, lows)
	}

	plain := limiter(t, inflight.Gradient, 512)
	for answers = 0; answers < 20_000; {
		slots := fill(plain)
		for _, s := range slots {
			plain.Release(s, inflight.Answered, rtt(len(slots)))
		}
		answers += len(slots)
	}
	if plain.Limit() < 2*highest {
		t.Errorf("without that it comes to %d, with it to %d: the test shows nothing", plain.Limit(), highest)
	}
}

// TestRecalibrationMeasuresWhatLeftAfter: requests that left before the limit
// was lowered met the queue.
func TestRecalibrationMeasuresWhatLeftAfter(t *testing.T) {
	l := limiter(t, inflight.Recalibrated, 100)
	var before []inflight.Slot
	for range 2000 {
		if before = fill(l); l.Limit() > 20 {
			break
		}
		for _, s := range before {
			l.Release(s, inflight.Answered, time.Millisecond)
		}
	}
	for n := 0; l.Limit() > 4; n++ { // until it recalibrates
		if n > 2000 {
			t.Fatal("it does not recalibrate")
		}
		l.Release(l.Take(), inflight.Answered, time.Millisecond)
	}
	for _, s := range before[4:] {
		l.Release(s, inflight.Answered, time.Microsecond)
	}
	for n := range 50 {
		if got := l.Limit(); got != 4 {
			t.Fatalf("after %d answers of 50 it allows %d, want 4", n, got)
		}
		for l.InFlight() > 3 {
			l.Release(before[0], inflight.Silent, 0)
			before = before[1:]
		}
		l.Release(l.Take(), inflight.Answered, time.Millisecond)
	}
	if got := l.Limit(); got <= 4 {
		t.Errorf("after 50 answers it allows %d, want what it was before", got)
	}
}

// TestShortestForgets: the shortest of the last 100, against a search. The
// times drift up, so that the shortest is often the oldest.
func TestShortestForgets(t *testing.T) {
	var checks, forgotten int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		var m inflight.Minimum
		var all []time.Duration
		rtt, last := 1000, time.Duration(0)
		for range rapid.IntRange(1, 400).Draw(t, "samples") {
			rtt = max(1, rtt+rapid.IntRange(-2, 20).Draw(t, "drift"))
			m.Add(time.Duration(rtt))
			all = append(all, time.Duration(rtt))
			got, want := m.Value(), slices.Min(all[max(0, len(all)-100):])
			if got != want {
				t.Fatalf("after %d samples the shortest is %v, want %v", len(all), got, want)
			}
			if got > last && last > 0 {
				forgotten++
			}
			last = got
		}
	})
	if forgotten < checks {
		t.Errorf("in %d checks the shortest was forgotten %d times", checks, forgotten)
	}
}

// TestNeverMoreThanTheLimit plays arbitrary histories: what is in flight is
// never above the limit when a slot is granted, a slot counts once however
// often it is given back, and the limit stays within its bounds.
func TestNeverMoreThanTheLimit(t *testing.T) {
	var checks, full, twice, shrunk int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		most := rapid.IntRange(1, 40).Draw(t, "most")
		l, err := inflight.New(rapid.SampledFrom(append(inflight.Laws(), inflight.LatencyAIMD, inflight.Recalibrated)).Draw(t, "law"), most)
		if err != nil {
			t.Fatal(err)
		}
		var held, gone []inflight.Slot
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			before := l.Limit()
			switch rapid.IntRange(0, 8).Draw(t, "what") {
			case 0, 1, 2, 3:
				room := l.Room()
				if room != (len(held) < before) {
					t.Fatalf("%d of %d in flight, and there is room: %v", len(held), before, room)
				}
				if !room {
					full++
					break
				}
				held = append(held, l.Take())
			case 4, 5:
				if len(held) == 0 {
					break
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				o := inflight.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome"))
				l.Release(held[i], o, time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms"))*time.Millisecond)
				gone, held = append(gone, held[i]), slices.Delete(held, i, i+1)
			case 6:
				if len(gone) > 0 {
					twice++
					l.Release(rapid.SampledFrom(gone).Draw(t, "again"), inflight.Refused, 0)
				}
				l.Release(inflight.Slot{}, inflight.Refused, 0)
				if got := l.Limit(); got != before {
					t.Fatalf("a slot that was given back moved the limit from %d to %d", before, got)
				}
			case 7:
				most = rapid.IntRange(1, 60).Draw(t, "bound")
				l.Bound(most)
			case 8:
				l.Left(rapid.Float64().Draw(t, "left"))
			}
			if got := l.Limit(); got < 1 || got > most {
				t.Fatalf("the limit is %d of %d", got, most)
			} else if got < len(held) {
				shrunk++
			}
			if got := l.InFlight(); got != len(held) {
				t.Fatalf("it counts %d in flight, there are %d", got, len(held))
			}
		}
	})
	if min(full, twice, shrunk) < checks {
		t.Errorf("in %d checks no room %d times, given back twice %d times, over a limit that shrank %d times", checks, full, twice, shrunk)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		law  string
		most int
	}{{"", 0}, {inflight.AIMD, -1}, {"", inflight.Most + 1}, {"vegas", 4}} {
		if _, err := inflight.New(tc.law, tc.most); err == nil {
			t.Errorf("New(%q, %d) is accepted", tc.law, tc.most)
		}
	}
}

func BenchmarkTakeRelease(b *testing.B) {
	for _, law := range inflight.Laws() {
		b.Run(law, func(b *testing.B) {
			l := limiter(b, law, 16)
			b.ReportAllocs()
			for b.Loop() {
				l.Release(l.Take(), inflight.Answered, time.Millisecond)
			}
		})
	}
}
