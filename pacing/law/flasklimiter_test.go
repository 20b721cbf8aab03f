package law_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// A flaskLimiter is a provider that announces its limits as flask-limiter does. It counts a
// request when it arrives, and tells what remains when the answer is ready: what arrived
// meanwhile is gone. The reset is the second after the one in which the window ends,
// and the Date is the one in which the request arrived. Of several limits it tells the one
// that refuses, or else the first.
type flaskLimiter struct {
	limits []*countedLimit
	chance *rand.Rand
}

// A countedLimit counts in windows that begin with their first request, or in one that moves.
type countedLimit struct {
	most   int
	window time.Duration
	moves  bool
	others int // requests of others at the beginning of each window
	hits   []law.Moment
}

func (l *countedLimit) String() string {
	if l.moves {
		return fmt.Sprint(l.most, " in a moving ", l.window)
	}
	if l.others > 0 {
		return fmt.Sprintf("%d in %v, %d of others", l.most, l.window, l.others)
	}
	return fmt.Sprint(l.most, " in ", l.window)
}

// expire forgets what no longer counts.
func (l *countedLimit) expire(now law.Moment) {
	switch {
	case len(l.hits) == 0:
	case l.moves:
		l.hits = slices.DeleteFunc(l.hits, func(hit law.Moment) bool { return now-hit >= l.window })
	case now-l.hits[0] >= l.window:
		l.hits = nil
	}
}

// answer judges a request. Its Reset is the Date, until tell says what the answer does.
func (f *flaskLimiter) answer(p *provider) (law.Outcome, time.Duration) {
	told := func(o law.Outcome, l *countedLimit) law.Outcome {
		o.Windows = []response.Quota{{Name: "q", Limit: float64(l.most), Reset: p.now.Truncate(s)}}
		return o
	}
	for _, l := range f.limits {
		if l.expire(p.now); len(l.hits) >= l.most {
			return told(granted(false), l), 3 * ms
		}
		if len(l.hits) == 0 {
			l.hits = slices.Repeat([]law.Moment{p.now}, l.others)
		}
		l.hits = append(l.hits, p.now)
	}
	return told(granted(true), f.limits[0]), 20*ms + time.Duration(f.chance.Int64N(int64(130*ms)))
}

func (f *flaskLimiter) tell(o *law.Outcome, now law.Moment) {
	q := &o.Windows[0]
	l := f.limits[slices.IndexFunc(f.limits, func(l *countedLimit) bool { return float64(l.most) == q.Limit })]
	ends := now
	if l.expire(now); len(l.hits) > 0 {
		ends = l.hits[0] + l.window
	}
	reset := ends.Truncate(s) + s
	q.Remaining, q.Reset = q.Limit-float64(len(l.hits)), reset-q.Reset
	if q.Remaining == 0 {
		o.Hold = (reset - now).Truncate(s)
	}
}

// TestFlaskLimiter: what flask-limiter announces is used up nearly, and is never
// exceeded where it tells the limit that binds, in a run of five minutes and in another
// one four seconds later.
func TestFlaskLimiter(t *testing.T) {
	const minute = time.Minute
	for _, tc := range []struct {
		limits []countedLimit
		least  float64 // share of what is there that is used
		most   int     // refusals
	}{
		{[]countedLimit{{most: 5, window: s}}, 0.79, 0},
		{[]countedLimit{{most: 10, window: s}}, 0.84, 0},
		{[]countedLimit{{most: 20, window: s}}, 0.87, 0},
		{[]countedLimit{{most: 10, window: 2 * s}}, 0.87, 0},
		{[]countedLimit{{most: 20, window: 2 * s}}, 0.89, 0},
		{[]countedLimit{{most: 10, window: 3 * s}}, 0.87, 0},
		{[]countedLimit{{most: 30, window: 3 * s}}, 0.91, 0},
		{[]countedLimit{{most: 20, window: 5 * s}}, 0.91, 0},
		{[]countedLimit{{most: 100, window: minute}}, 0.95, 0},
		{[]countedLimit{{most: 10, window: s}, {most: 300, window: minute}}, 0.95, 10},
		{[]countedLimit{{most: 100, window: 10 * s, others: 30}}, 0.61, 0},
		{[]countedLimit{{most: 100, window: 10 * s, moves: true}}, 0.87, 0},
		{[]countedLimit{{most: 100, window: minute, moves: true}}, 0.95, 0},
		{[]countedLimit{{most: 1000, window: 5 * minute, moves: true}}, 0.97, 0},
	} {
		for seed := range uint64(3) {
			f, name, rate := &flaskLimiter{chance: rand.New(rand.NewPCG(seed, 2))}, "", 1e9
			for _, l := range tc.limits {
				name += l.String() + "; "
				rate = min(rate, float64(l.most)/l.window.Seconds())
				f.limits = append(f.limits, &l)
			}
			now, memory := time.Hour+300*ms, law.Memory{}
			for range 2 {
				r := begin(t, &provider{}, memory, now)
				r.world = world{workers: 32, answer: f.answer, tell: f.tell}
				share := float64(r.until(now+5*minute)) / (300 * rate)
				if share < tc.least || r.refused > tc.most {
					t.Errorf("%sseed %d: %.0f %% used, %d refused, want %.0f %% at least, and %d at most",
						name, seed, 100*share, r.refused, 100*tc.least, tc.most)
				}
				now, memory = r.now+4*s, r.law.Keep()
			}
		}
	}
}
