package gate_test

import (
	"cmp"
	"math"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// A scene is a provider and a run that works with it, until something limits
// the pace.
type scene struct {
	name     string
	provider collection.Provider
	saved    string                                                            // by the runs before
	workers  int                                                               // 1 if it is 0
	slots    int                                                               // in flight; as many as workers if it is 0
	think    time.Duration                                                     // of a worker, between an answer and its next request
	requests int                                                               // until it is over
	answer   func(i, inFlight int, at time.Time) (gate.Outcome, time.Duration) // to the i-th; nil: a quick success
	want     gate.Bound
}

// play has the workers send all requests, and returns when the last was answered.
func (sc scene) play(t *testing.T) (*gate.Gate, time.Time) {
	t.Helper()
	type worker struct {
		asks, ends time.Time // one of them is zero
		pass       gate.Pass
		outcome    gate.Outcome
	}
	g, err := gate.New(sc.provider, "", time.Minute, cmp.Or(sc.slots, sc.workers))
	if err != nil {
		t.Fatal(err)
	}
	g.Draw(func() float64 { return 0.5 })
	now, sent, flying := t0, 0, 0
	if err := g.Restore([]byte(sc.saved), now); err != nil {
		t.Fatal(err)
	}
	workers := make([]worker, max(1, sc.workers))
	for i := range workers {
		workers[i].asks = now
	}
	for ended := 0; ended < sc.requests; now = now.Add(10 * ms) {
		if now.Sub(t0) > 24*time.Hour {
			t.Fatalf("%s: a day is over after %d requests", sc.name, sent)
		}
		for i := range workers {
			w := &workers[i]
			switch {
			case !w.ends.IsZero() && !w.ends.After(now):
				g.Settle(now, w.pass, &w.outcome)
				ended++
				flying--
				w.asks, w.ends = now.Add(sc.think), time.Time{}
			case w.ends.IsZero() && !w.asks.After(now) && sent < sc.requests && g.Plan(&gate.Request{}, now).Ready:
				w.pass = g.Leave(&gate.Request{}, now)
				sent++
				flying++
				took := 20 * ms
				if w.outcome = good; sc.answer != nil {
					w.outcome, took = sc.answer(sent, flying, now)
				}
				w.ends = now.Add(took)
			}
		}
	}
	return g, now
}

// a bucket that fills at a rate.
func bucket(rate, size float64) func(i, inFlight int, at time.Time) (gate.Outcome, time.Duration) {
	tokens, filled := size, t0
	return func(_, _ int, at time.Time) (gate.Outcome, time.Duration) {
		tokens = min(size, tokens+rate*at.Sub(filled).Seconds())
		if filled = at; tokens < 1 {
			return gate.Outcome{Signal: law.Throttled, Hold: -1}, 20 * ms
		}
		tokens--
		return good, 20 * ms
	}
}

// a server that works one by one, and lets all others wait.
func queue(perSecond float64) func(i, inFlight int, at time.Time) (gate.Outcome, time.Duration) {
	free := t0
	return func(_, _ int, at time.Time) (gate.Outcome, time.Duration) {
		if free.Before(at) {
			free = at
		}
		free = free.Add(time.Duration(float64(time.Second) / perSecond))
		return good, free.Sub(at)
	}
}

// TestEachBoundBinds where it is what limits the pace, with its figures; and who
// reads the saved state a moment later is told the same.
func TestEachBoundBinds(t *testing.T) {
	ceiling := func(count int) collection.Provider {
		return collection.Provider{Ceilings: []collection.Ceiling{{Count: count, Per: time.Second}}}
	}
	last := func(n int, o gate.Outcome) func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
		return func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i == n {
				return o, 20 * ms
			}
			return good, 20 * ms
		}
	}
	few := bucket(2, 2)
	slowly := func(int, int, time.Time) (gate.Outcome, time.Duration) { return good, 500 * ms }
	reserve := ceiling(20)
	reserve.Reserve = 0.5
	reached := map[gate.Bound]bool{}
	for _, sc := range []scene{
		{name: "a young run", provider: ceiling(20), requests: 10, want: gate.Rising},
		{name: "no ceiling is declared", requests: 60, want: gate.Undeclared},
		{name: "a low ceiling", provider: ceiling(2), requests: 60, want: gate.CeilingOf},
		{name: "a ceiling of a minute", provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 60, Per: time.Minute}}}, requests: 40, want: gate.CeilingOf},
		{name: "too much was refused under the ceiling", provider: ceiling(4), requests: 60, want: gate.ClampOf,
			saved: `{"version":1,"recorded_at":"2026-11-21T09:59:50Z","clamp":{"share":0.5,"since":"2026-11-21T09:59:50Z"}}`},
		{name: "a bucket", provider: ceiling(20), requests: 300, answer: bucket(3, 3), want: gate.Learned},
		{name: "a queue", provider: ceiling(20), workers: 8, requests: 600, answer: queue(3), want: gate.Slow},
		{name: "headers", provider: ceiling(20), requests: 60, want: gate.Announced, answer: func(i, _ int, at time.Time) (gate.Outcome, time.Duration) {
			o := good
			reset := time.Minute - at.Sub(t0)%time.Minute
			o.Windows = []response.Quota{{Name: "m", Limit: 180, Remaining: max(0, 180-3*(time.Minute-reset).Seconds()), Reset: reset, Window: time.Minute}}
			return o, 20 * ms
		}},
		{name: "a pace that is told", provider: ceiling(20), requests: 60, want: gate.Announced, answer: func(int, int, time.Time) (gate.Outcome, time.Duration) {
			o := good
			o.MaxRate = 2
			return o, 20 * ms
		}},
		{name: "three at once", provider: ceiling(20), workers: 8, requests: 3000, want: gate.Places, answer: func(_, inFlight int, _ time.Time) (gate.Outcome, time.Duration) {
			if inFlight > 3 {
				return gate.Outcome{Signal: law.Throttled, Hold: -1}, 40 * ms
			}
			return good, 700 * ms
		}},
		{name: "three at once, and then few as well", provider: ceiling(20), workers: 8, requests: 4000, want: gate.Learned, answer: func(i, inFlight int, at time.Time) (gate.Outcome, time.Duration) {
			switch {
			case inFlight > 3:
				return gate.Outcome{Signal: law.Throttled, Hold: -1}, 40 * ms
			case i > 3000:
				return few(i, inFlight, at)
			}
			return good, 700 * ms
		}},
		{name: "two that are slow", provider: ceiling(50), workers: 2, requests: 100, answer: slowly, want: gate.InFlightMax},
		{name: "eight that are slower than the pace", provider: ceiling(8), workers: 8, requests: 200, want: gate.InFlightMax, answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			return good, 1300*ms + time.Duration(i*7%5)*100*ms
		}},
		{name: "one in eight is given up", provider: ceiling(10), workers: 8, requests: 600, want: gate.InFlightMax, answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i%8 == 3 {
				return gate.Outcome{Signal: law.Silent, Hold: -1, Why: "no answer in time"}, 30 * time.Second
			}
			return good, 50 * ms
		}},
		{name: "a list that waits for a page", provider: ceiling(10), requests: 6, want: gate.Unused, answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i == 3 {
				return gate.Outcome{Signal: law.Silent, Hold: -1, Why: "no answer in time"}, 30 * time.Second
			}
			return good, 50 * ms
		}},
		{name: "a list that began slowly and waits for pages", requests: 14, want: gate.Unused, answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i > 10 {
				return good, 30 * time.Second
			}
			return good, 50 * ms
		}},
		{name: "a run that thinks", provider: ceiling(50), workers: 2, think: time.Second, requests: 100, answer: slowly, want: gate.Unused},
		{name: "one after the other", provider: ceiling(50), slots: 4, requests: 100, answer: slowly, want: gate.Unused},
		{name: "a silence", provider: ceiling(20), requests: 10, answer: last(10, gate.Outcome{Signal: law.Throttled, Hold: 20 * time.Second}), want: gate.HoldOf},
		{name: "half is for people", provider: reserve, requests: 10, want: gate.ReserveOf, answer: last(10, gate.Outcome{
			Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{{Name: "h", Limit: 100, Remaining: 40, Reset: 30 * time.Minute, Window: time.Hour}}})},
		{name: "an outage", provider: ceiling(20), requests: 30, want: gate.BreakerOf, answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i > 10 {
				return failing, 20 * ms
			}
			return good, 20 * ms
		}},
		{name: "a 403", provider: ceiling(20), requests: 10, answer: last(10, gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"}), want: gate.FreezeOf},
	} {
		if sc.want == gate.BreakerOf {
			sc.requests = 24 // then it is open
		}
		g, now := sc.play(t)
		check(t, sc.name, g, now, sc.want)
		reached[sc.want] = true
		if sc.want != gate.FreezeOf {
			continue
		}
		// One test request is answered, and the work goes on below what was refused.
		now = now.Add(16 * time.Minute)
		for range 60 {
			var stop *collection.Stop
			if now, stop = attempt(t, g, now, good); stop != nil {
				t.Fatal(stop)
			}
		}
		check(t, "after a 403", g, now, gate.Forbidden)
		reached[gate.Forbidden] = true
	}
	for _, bound := range gate.Bounds() {
		if !reached[bound] {
			t.Errorf("no scene is limited by %s", bound)
		}
	}
}

// TestAStartThatMeetsACeiling: if a user declares a ceiling after a first run, the ceiling
// is named as the limit, and not the rising start.
func TestAStartThatMeetsACeiling(t *testing.T) {
	first, now := scene{requests: 10}.play(t)
	if b := first.Status(now).Binding(); b != string(gate.Rising) {
		t.Fatalf("the first run is limited by %s", b)
	}
	g := resume(t, collection.Provider{Ceilings: []collection.Ceiling{{Count: 3, Per: time.Minute}}}, first.Snapshot(now), now)
	check(t, "a ceiling from now on", g, now, gate.CeilingOf)
	g.Leave(&gate.Request{}, now)
	check(t, "and one request is on its way", g, now, gate.CeilingOf)
}

// check compares what limits g with what is wanted, and with what a reader of its
// saved state is told.
func check(t *testing.T, name string, g *gate.Gate, now time.Time, want gate.Bound) {
	t.Helper()
	live := g.Status(now)
	limit := live.Limit()
	if limit == nil || limit.Name != want {
		t.Errorf("%s: limited by %q, want %s, of %v", name, live.Binding(), want, lines(live.Constraints, now))
		return
	}
	saved := g.Snapshot(now)
	kept, err := gate.Inspect(saved, now)
	if err != nil {
		t.Fatal(err)
	}
	read := kept.Limit()
	if read == nil {
		t.Errorf("%s: of %s nothing is known to limit", name, saved)
		return
	}
	same := func(a, b time.Time) bool { return a.Sub(b).Abs() < ms }
	if read.Name != limit.Name || math.Abs(read.PerSecond-limit.PerSecond) > 1e-6*limit.PerSecond || read.Count != limit.Count ||
		read.Latency != limit.Latency || !same(read.Until, limit.Until) || !same(read.Since, limit.Since) || !same(read.Again, limit.Again) {
		t.Errorf("%s: saved as\n%+v\nlive it is\n%+v", name, *read, *limit)
	}
	if kept.Ended != live.Ended || kept.Failed != live.Failed {
		t.Errorf("%s: saved are %d failures of %d, live %d of %d", name, kept.Failed, kept.Ended, live.Failed, live.Ended)
	}
	if math.Abs(kept.Learned-live.Learned) > 1e-6*live.Learned {
		t.Errorf("%s: saved are %v/s, live %v/s are learned", name, kept.Learned, live.Learned)
	}
	if again, err := gate.Inspect(resume(t, collection.Provider{Ceilings: nil}, saved, now).Snapshot(now), now); err != nil || again.Binding() == "" {
		t.Errorf("%s: the next process knows nothing: %v", name, err)
	}
}

// TestLatestFailuresAreCounted: what failed, and what got no answer, and not what was
// refused.
func TestLatestFailuresAreCounted(t *testing.T) {
	sc := scene{provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}}, requests: 64,
		answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			switch i % 16 {
			case 3:
				return gate.Outcome{Signal: law.Silent, Hold: -1, Why: "no answer in time"}, time.Second
			case 7:
				return failing, 20 * ms
			case 11:
				return gate.Outcome{Signal: law.Throttled, Hold: -1, Why: "answered 429"}, 20 * ms
			case 13:
				return gate.Outcome{Signal: law.Silent, QuotaUsed: true, Hold: 10 * ms, Why: "answered 403"}, 20 * ms
			}
			return good, 20 * ms
		}}
	g, now := sc.play(t)
	if s := g.Status(now); s.Failed != 4 || s.Ended != 32 {
		t.Errorf("%d of the latest %d failed, want 4 of 32", s.Failed, s.Ended)
	}
}

// TestWhatTheNextRunBeginsWith: what is said of it is what it does, though it is less
// than what was learned where few refusals confirmed that.
func TestWhatTheNextRunBeginsWith(t *testing.T) {
	ten := collection.Provider{Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}}
	less := 0
	for _, sc := range []scene{
		{name: "no ceiling is declared", requests: 60},
		{name: "a ceiling", provider: ten, requests: 60},
		{name: "a few refusals", provider: ten, requests: 60, answer: bucket(3, 3)},
		{name: "refusals", provider: ten, requests: 600, answer: bucket(3, 3)},
	} {
		g, now := sc.play(t)
		live, saved := g.Status(now), g.Snapshot(now)
		for _, later := range []time.Duration{0, 3 * time.Hour, 30 * time.Hour} {
			seen, err := gate.Inspect(saved, now.Add(later))
			if err != nil {
				t.Fatal(err)
			}
			begins := resume(t, sc.provider, saved, now.Add(later)).Rate()
			if math.Abs(seen.Begins-begins) > 1e-6*begins || later == 0 && math.Abs(live.Begins-begins) > 1e-6*begins {
				t.Errorf("%s: said are %v/s, live %v/s, %v later a run begins at %v/s", sc.name, seen.Begins, live.Begins, later, begins)
			}
			if later == 0 && begins < 0.9*live.Learned {
				less++
			}
		}
	}
	if less == 0 {
		t.Error("no run begins at less than what was learned")
	}
}

// TestAnnouncedLimitsAreKept as they were told last, by the gate and by who reads what
// it saved; and the pace that is in force under them.
func TestAnnouncedLimitsAreKept(t *testing.T) {
	sc := scene{provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}, StartPerSecond: 10}, requests: 100}
	sc.answer = func(i, _ int, at time.Time) (gate.Outcome, time.Duration) {
		o := good
		o.Windows = []response.Quota{{Name: "m", Limit: 120, Remaining: float64(119 - i%120), Reset: time.Minute - at.Sub(t0)%time.Minute}}
		return o, 20 * ms
	}
	g, now := sc.play(t)
	live := g.Status(now)
	kept, err := gate.Inspect(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []gate.Status{live, kept} {
		if len(s.Announced) != 1 {
			t.Fatalf("announced: %+v", s.Announced)
		}
		q := s.Announced[0]
		if q.Limit != 120 || q.Remaining != 19 || q.Window < 59*time.Second || q.Window > time.Minute || now.Sub(q.Told) > time.Second {
			t.Errorf("announced: %+v", q)
		}
		if q.Left(q.Ends.Add(-time.Second)) != 19 || q.Left(q.Ends) != 120 {
			t.Errorf("left are %v before the end of the window, and %v after it", q.Left(q.Ends.Add(-time.Second)), q.Left(q.Ends))
		}
		if limit := s.Limit(); limit.Name != gate.Announced || limit.PerSecond > 4 || math.Abs(s.PerSecond-limit.PerSecond) > 0.01 {
			t.Errorf("limited by %s: %v/s, with %v/s in force", limit.Name, limit.PerSecond, s.PerSecond)
		}
	}
}

// TestWindowIsNotWhatARefusalHasLeftOfIt: the reset of a refusal tells when it is granted
// anew, and not how long the window is.
func TestWindowIsNotWhatARefusalHasLeftOfIt(t *testing.T) {
	for _, told := range []gate.Outcome{{Signal: law.Throttled, Hold: 4 * time.Second}, {Signal: law.Silent, QuotaUsed: true, Hold: 4 * time.Second}} {
		g := open(t, collection.Provider{})
		told.Windows = []response.Quota{{Name: "m", Limit: 40, Remaining: 0, Reset: 4 * time.Second}}
		for i, o := range []gate.Outcome{told, {Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{{Name: "m", Limit: 40, Remaining: 39, Reset: 9 * time.Second}}}, told} {
			g.Settle(t0, g.Leave(&gate.Request{}, t0), &o)
			q, want := g.Status(t0).Announced[0], []time.Duration{0, 9 * time.Second, 9 * time.Second}[i]
			if q.Window != want || q.Ends.Sub(t0) != o.Windows[0].Reset {
				t.Errorf("answer %d: a window of %v that ends in %v, want %v and %v", i, q.Window, q.Ends.Sub(t0), want, o.Windows[0].Reset)
			}
		}
	}
}

// TestWindowIsKnownOnceOneBegan: until an answer comes after a reset, a window that is not named may be longer
// than the time to that.
func TestWindowIsKnownOnceOneBegan(t *testing.T) {
	g, at := open(t, collection.Provider{}), t0
	for i, tc := range []struct {
		after, reset, named time.Duration
		limit               float64
		known               bool
	}{
		{0, 150 * time.Second, 0, 5000, false},
		{149 * time.Second, time.Second, 0, 5000, false},
		{2 * time.Second, time.Hour, 0, 5000, true},
		{time.Second, time.Hour, 0, 5000, true},
		{time.Second, 40 * time.Second, 0, 300, false},
		{time.Second, 39 * time.Second, time.Minute, 300, true},
	} {
		at = at.Add(tc.after)
		o := gate.Outcome{Signal: law.Succeeded, Hold: -1, Windows: []response.Quota{{Limit: tc.limit, Remaining: 200, Reset: tc.reset, Window: tc.named}}}
		g.Settle(at, g.Leave(&gate.Request{}, at), &o)
		if q := g.Status(at).Announced[0]; q.Known != tc.known {
			t.Errorf("answer %d: the window of %v is known: %v, want %v", i, q.Window, q.Known, tc.known)
		}
	}
}

// TestTroubleIsWhatBinds: while every request is refused, that is said, also as one is on
// its way to ask whether it is over, and not the pace before.
func TestTroubleIsWhatBinds(t *testing.T) {
	sc := scene{provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}, StartPerSecond: 10},
		answer: func(i, _ int, _ time.Time) (gate.Outcome, time.Duration) {
			if i > 100 {
				return gate.Outcome{Signal: law.Throttled, Hold: -1}, 20 * ms
			}
			return good, 20 * ms
		}}
	for _, refused := range []int{1, 6} {
		sc.requests = 100 + refused
		g, now := sc.play(t)
		saved := g.Snapshot(now)
		for _, later := range []time.Duration{0, 20 * time.Second, time.Hour} { // a probe may be on its way, or all is long over
			s, err := gate.Inspect(saved, now.Add(later))
			if err != nil {
				t.Fatal(err)
			}
			k, trouble := s.Limit(), refused == 6 && later < time.Hour
			if k.Name != gate.Learned || k.Blocks != trouble || k.Probes > 0 != trouble {
				t.Errorf("after %d refusals, and %v: limited by %+v", refused, later, *k)
			}
			if lasts := now.Sub(k.Since); trouble && (lasts < 5*time.Second || lasts > time.Minute) {
				t.Errorf("after %d refusals: %v of them", refused, lasts)
			}
		}
	}
}

// TestBeforeTheFirstAnswer: nothing was learned yet, and who reads the saved state is told of the pace that is in
// force, as the run itself is.
func TestBeforeTheFirstAnswer(t *testing.T) {
	for name, sc := range map[string]scene{
		"paced":               {},
		"not paced":           {provider: collection.Provider{Unpaced: true}},
		"one by one, of 4":    {slots: 4},
		"two at once, of 4":   {slots: 4, workers: 2},
		"four at once, paced": {slots: 4, workers: 4},
	} {
		sc.requests, sc.answer = 3, func(int, int, time.Time) (gate.Outcome, time.Duration) {
			return gate.Outcome{Signal: law.Failed, Hold: -1}, 10 * time.Second
		}
		g, now := sc.play(t)
		s, err := gate.Inspect(g.Snapshot(now), now)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Binding(), g.Status(now).Binding(); got != want || got == "" {
			t.Errorf("%s: limited by %q, want %q as for the run", name, got, want)
		}
	}
}
