package gate_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/law"
	"collect/pacing/response"
)

// TestPromisesOfEveryLaw plays arbitrary histories of two streams and their
// answers under each law: late, out of order, with headers, holds, refusals,
// and processes that end, or are killed and go on with what was saved last.
//
//   - I10: no ceiling is exceeded, and no window that outlives a process is
//     forgotten by the next.
//   - I11: no error raises a pace, nor lets the next request leave earlier than
//     if the attempt had been given up without an answer; and no start is faster
//     than the ceiling.
//   - I12: nothing leaves before the end of a silence, of a freeze, or of an open
//     breaker, in this process or the next.
func TestPromisesOfEveryLaw(t *testing.T) {
	branches := []string{"left", "refused", "failed", "later than without it", "kept waiting by a ceiling", "kept silent",
		"silent in the next process", "frozen", "frozen in the next process", "open", "open in the next process",
		"window in the next process", "asks in a silence", "a silence is over", "slower", "faster", "out of order", "another route"}
	for _, name := range law.Laws() {
		t.Run(name, func(t *testing.T) {
			reached := map[string]int{}
			rare := func() string { // a branch that was not reached often enough
				for _, branch := range branches {
					if reached[branch] < 5 {
						return branch
					}
				}
				return ""
			}
			for round := 0; round < 3 || round < 20 && rare() != ""; round++ {
				rapid.Check(t, func(t *rapid.T) {
					h := begin(t, name, reached)
					for range rapid.IntRange(20, 250).Draw(t, "steps") {
						h.step()
					}
				})
			}
			t.Log(reached)
			if branch := rare(); branch != "" && !testing.Short() {
				t.Errorf("%q happened %d times: the histories do not reach what they are to test", branch, reached[branch])
			}
		})
	}
}

// A promise is a history, and what the provider may rely on in it.
type promise struct {
	*rapid.T
	reached  map[string]int
	weather  string // what the provider is like for now
	law      string
	provider collection.Provider
	gate     *gate.Gate
	saved    []byte // what is durable
	now      time.Time
	process  int

	flying []underway
	left   []departure
	silent map[string]time.Time // by the key of an answer; "": all
	frozen time.Time            // the end of the freeze; zero: none
	person bool                 // only a person ends it
	open   time.Time            // the end of the open breaker; zero: it is not open
	asked  time.Time            // when the latest request left
	trips  int                  // of the breaker, since it last was closed for as long as it had been open
	closed time.Time            // when it closed; zero: not in this process
	since  map[string]int       // the process in which each of them began
}

type underway struct {
	gate.Pass
	stream string
	lifts  []string // the keys of the silences that are over if it is answered well, because it asks
}

type departure struct {
	at      time.Time
	process int
}

var promiseStreams = []string{"a", "b"}

func begin(t *rapid.T, name string, reached map[string]int) *promise {
	h := &promise{T: t, weather: "mixed", law: name, reached: reached, now: t0, silent: map[string]time.Time{}, since: map[string]int{}}
	count := rapid.IntRange(1, 30)
	for _, per := range rapid.SliceOfNDistinct(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, 3 * time.Hour}), 0, 2, rapid.ID).Draw(t, "windows") {
		h.provider.Ceilings = append(h.provider.Ceilings, collection.Ceiling{Count: count.Draw(t, "ceiling"), Per: per})
	}
	h.provider.StartPerSecond = rapid.Float64Range(0.05, 5).Draw(t, "start")
	h.provider.Clamp = collection.Clamp{Cooldown: 10 * time.Second, Burn: 0.3}
	if rapid.IntRange(0, 3).Draw(t, "reserve") == 0 {
		h.provider.Reserve = 0.2
	}
	h.gate = h.fresh()
	return h
}

func (h *promise) fresh() *gate.Gate {
	g, err := gate.New(h.provider, h.law, time.Hour, 4)
	if err != nil {
		h.Fatal(err)
	}
	return g
}

func (h *promise) step() {
	if rapid.IntRange(0, 19).Draw(h.T, "change") == 0 {
		h.weather = rapid.SampledFrom([]string{"fair", "mixed", "broken"}).Draw(h.T, "weather")
	}
	switch what := rapid.IntRange(0, 19).Draw(h.T, "step"); {
	case what < 4 && h.releases():
		h.release()
	case what < 9:
		h.send(gate.Request{Stream: rapid.SampledFrom(promiseStreams).Draw(h.T, "stream")})
	case what < 17:
		h.end()
	case what < 18:
		h.now = h.now.Add(time.Duration(rapid.SampledFrom([]int{10, 700, 20_000, 300_000, 2_000_000}).Draw(h.T, "ms")) * time.Millisecond)
	default:
		h.restart(rapid.Bool().Draw(h.T, "killed"))
	}
}

// send waits for as long as the gate says and lets r leave, unless the gate
// refuses, or waits for an answer.
func (h *promise) send(r gate.Request) {
	for range 50 {
		p := h.gate.Plan(&r, h.now)
		switch {
		case p.Ready:
			h.leave(r)
			return
		case p.Stop != nil:
			h.note(string(p.Stop.Reason))
			return
		case p.Until.IsZero():
			return
		}
		h.note("waits for " + string(p.Cause))
		if p.Cause == collection.WaitWindow {
			h.reached["kept waiting by a ceiling"]++
		}
		if rapid.IntRange(0, 9).Draw(h.T, "meanwhile") == 0 {
			h.restart(rapid.Bool().Draw(h.T, "killed"))
			return
		}
		h.now = p.Until
	}
	h.Fatal("told to wait 50 times in a row")
}

// note counts what kept a request, and whether an earlier process had heard it.
func (h *promise) note(why string) {
	for word, was := range map[string]string{
		"waits for " + string(collection.WaitRetryAfter): "silent", string(collection.RetryAfter): "silent",
		string(collection.Frozen):                     "frozen",
		"waits for " + string(collection.WaitBreaker): "open",
		"waits for " + string(collection.WaitWindow):  "window",
	} {
		if word != why {
			continue
		}
		if was == "silent" {
			h.reached["kept silent"]++
		}
		if began, ok := h.since[was]; ok && began < h.process {
			h.reached[was+" in the next process"]++
		}
	}
}

func (h *promise) leave(r gate.Request) {
	h.reached["left"]++
	for _, c := range h.provider.Ceilings {
		if c.Per >= time.Hour && h.provider.Reserve > 0 {
			c.Count = max(1, int(float64(c.Count)*(1-h.provider.Reserve)))
		}
		inside := 1
		for _, d := range h.left {
			if h.now.Sub(d.at) < c.Per && (c.Per >= time.Minute || d.process == h.process) {
				inside++
			}
		}
		if inside > c.Count {
			h.Errorf("I10: %d requests within %v, allowed are %d", inside, c.Per, c.Count)
		}
	}
	asking, silent := h.gate.Status(h.now).Asks, false
	for key, until := range h.silent {
		switch in := (key == "" || key == r.Stream) && h.now.Before(until); {
		case in && asking:
			silent = true
			h.reached["asks in a silence"]++
		case in:
			h.Errorf("I12: a request of %q leaves %v before the end of a silence of %q", r.Stream, until.Sub(h.now), key)
		}
	}
	if h.person || h.now.Before(h.frozen) {
		h.Errorf("I12: a request leaves while the account is frozen until %v (by a person: %v)", h.frozen, h.person)
	}
	if h.now.Before(h.open) {
		h.Errorf("I12: a request leaves %v before the open breaker lets one out", h.open.Sub(h.now))
	}
	h.since["window"] = h.process
	h.asked = h.now
	p := h.gate.Leave(&r, h.now)
	if p.Change != nil {
		h.changed(*p.Change)
	}
	if p.Save {
		h.saved = h.gate.Snapshot(h.now)
	}
	h.left = append(h.left, departure{h.now, h.process})
	asks := asking && !h.gate.Status(h.now).Asks
	if silent && !asks {
		h.Errorf("I12: after a request of %q in a silence another one may follow", r.Stream)
	}
	var lifts []string
	if asks {
		lifts = []string{""}
		for _, stream := range promiseStreams {
			if h.gate.SameRoute(stream, r.Stream) {
				lifts = append(lifts, stream)
			}
		}
	}
	h.flying = append(h.flying, underway{p, r.Stream, lifts})
}

// end ends one attempt in flight.
func (h *promise) end() {
	if len(h.flying) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.flying)-1).Draw(h.T, "which")
	if i > 0 {
		h.reached["out of order"]++
	}
	a := h.flying[i]
	h.flying = slices.Delete(h.flying, i, i+1)
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(h.T, "took")) * time.Millisecond)
	o := h.outcome(a.stream)
	trouble := o.Signal != law.Succeeded && o.Signal != law.Answered
	if trouble {
		h.neverFaster(a, o)
	}
	before, routes := h.rates(), h.gate.Routes()
	changes, save := h.gate.Settle(h.now, a.Pass, &o)
	after := h.rates()
	for i := range after {
		switch {
		case after[i] > before[i] && trouble:
			h.Errorf("I11: %+v raised a pace: %v, then %v", o, before, after)
		case after[i] > before[i]:
			h.reached["faster"]++
		case after[i] < before[i]:
			h.reached["slower"]++
		}
	}
	if h.gate.Routes() > routes {
		h.reached["another route"]++
	}
	if a.lifts != nil && o.Refused == "" && (o.Signal == law.Succeeded || o.Signal == law.Answered) {
		for _, key := range a.lifts {
			delete(h.silent, key)
		}
		h.reached["a silence is over"]++
	}
	h.heard(o)
	for _, c := range changes {
		h.changed(c)
	}
	if save {
		h.saved = h.gate.Snapshot(h.now)
	}
}

func (h *promise) rates() []float64 {
	rates := []float64{h.gate.Rate()}
	for _, stream := range promiseStreams {
		rates = append(rates, h.gate.RateOf(stream))
	}
	return rates
}

// outcome draws what becomes of a request of stream.
func (h *promise) outcome(stream string) gate.Outcome {
	o := gate.Outcome{Hold: -1}
	signals := map[string][]law.Signal{
		"fair":   {law.Succeeded, law.Succeeded, law.Succeeded, law.Succeeded, law.Succeeded, law.Answered},
		"mixed":  {law.Succeeded, law.Succeeded, law.Succeeded, law.Answered, law.Throttled, law.Throttled, law.Failed, law.Silent},
		"broken": {law.Failed, law.Failed, law.Throttled, law.Silent},
	}[h.weather]
	o.Signal = rapid.SampledFrom(signals).Draw(h.T, "signal")
	one := func(in int, what string) bool { return rapid.IntRange(1, in).Draw(h.T, what) == 1 }
	switch o.Signal {
	case law.Throttled:
		h.reached["refused"]++
		o.Weak = one(3, "weak")
		if one(3, "hold") {
			o.Hold = time.Duration(rapid.IntRange(0, 600).Draw(h.T, "seconds")) * time.Second
		}
	case law.Failed:
		h.reached["failed"]++
	case law.Silent:
		if one(12, "account refused") {
			o.Refused, o.Operator = "forbidden", one(8, "person")
		}
	}
	if one(3, "key") {
		o.Key, o.Wide = stream, one(2, "wide")
	}
	if one(4, "announced") {
		o.Windows = []response.Quota{{Name: "q", Limit: 100, Remaining: float64(rapid.IntRange(0, 100).Draw(h.T, "remaining")),
			Reset: time.Duration(rapid.IntRange(1, 90).Draw(h.T, "reset")) * time.Second, Window: time.Minute}}
	}
	if one(8, "rate") {
		o.MaxRate = rapid.Float64Range(0.01, 10).Draw(h.T, "per second")
	}
	return o
}

// neverFaster compares what o does to the next request of each stream with
// what the same attempt without any answer would have done.
func (h *promise) neverFaster(a underway, o gate.Outcome) {
	with, without := twin(h.gate), twin(h.gate)
	with.Settle(h.now, a.Pass, &o)
	without.Settle(h.now, a.Pass, &gate.Outcome{Signal: law.Silent, Hold: -1})
	for _, stream := range promiseStreams {
		got, want := h.next(twin(with), stream), h.next(twin(without), stream)
		waits := want.Sub(h.now) > 365*24*time.Hour && slices.ContainsFunc(h.flying, func(u underway) bool { return u.lifts != nil }) // for what another one brings
		if got.Before(want) && !waits {
			h.Errorf("I11: after %+v of %q the next request of %q leaves in %v, without it in %v", o, a.stream, stream, got.Sub(h.now), want.Sub(h.now))
		}
		if got.After(want) {
			h.reached["later than without it"]++
		}
	}
}

// next returns when a request of stream would leave through g, if nothing else
// happens. It changes g.
func (h *promise) next(g *gate.Gate, stream string) time.Time {
	never := h.now.Add(100 * 365 * 24 * time.Hour)
	now := h.now
	for range 50 {
		p := g.Plan(&gate.Request{Stream: stream}, now)
		switch {
		case p.Ready:
			return now
		case p.Stop != nil && p.Stop.NotBefore.After(now):
			now = p.Stop.NotBefore
		case p.Stop != nil || p.Until.IsZero():
			return never
		default:
			now = p.Until
		}
	}
	return never
}

// heard notes the silence that o asks for.
func (h *promise) heard(o gate.Outcome) {
	if o.Hold <= 0 {
		return
	}
	key := o.Key
	if o.Wide {
		key = ""
	}
	if until := h.now.Add(o.Hold); until.After(h.silent[key]) {
		h.silent[key] = until
		h.since["silent"] = h.process
	}
}

// changed notes a change of the breaker, whose times are 10 s, and twice as long from when each probe
// left that failed, up to a minute and a half, or of the freeze.
func (h *promise) changed(e collection.Event) {
	if b := e.Breaker; b != nil {
		switch b.State {
		case halt.Open:
			h.reached["open"]++
			lasts, from := func() time.Duration { return min(90*time.Second, 10*time.Second<<max(0, h.trips-1)) }, h.now
			switch {
			case b.Previous == halt.HalfOpen:
				from = h.asked
			case h.closed.IsZero() || h.now.Sub(h.closed) > lasts():
				h.trips = 0
			}
			h.trips++
			h.open = from.Add(lasts())
			h.since["open"] = h.process
		case halt.Closed:
			h.open, h.closed = time.Time{}, h.now
		}
	}
	if f := e.Freeze; f != nil {
		h.frozen, h.person = f.Until, f.Frozen && f.Until.IsZero()
		if f.Frozen {
			h.reached["frozen"]++
			h.since["frozen"] = h.process
		}
	}
}

// releases reports whether a person gives the order that lets a test request out: where only
// that ends a freeze, and now and then before the end of a silence.
func (h *promise) releases() bool {
	if h.person {
		return true
	}
	silent := false
	for _, until := range h.silent {
		silent = silent || h.now.Before(until)
	}
	return silent && rapid.IntRange(0, 9).Draw(h.T, "order") == 0
}

// release lets a test request out, as a person who was asked to.
func (h *promise) release() {
	state, events, err := gate.Release(h.gate.Snapshot(h.now), h.now)
	if err == nil {
		err = h.gate.Obey(state, h.now)
	}
	if err != nil || len(events) != 1 {
		h.Fatalf("released with %v, %v", events, err)
	}
	h.changed(events[0])
	h.saved = h.gate.Snapshot(h.now)
	h.reached["released"]++
}

// restart goes on in another process. Nobody hears of what was in flight.
func (h *promise) restart(killed bool) {
	h.process, h.closed = h.process+1, time.Time{}
	if !killed {
		h.gate.SettleUp()
		h.saved = h.gate.Snapshot(h.now)
	}
	h.gate, h.flying = h.fresh(), nil
	if err := h.gate.Restore(h.saved, h.now); err != nil {
		h.Fatalf("what was saved cannot be read: %v", err)
	}
	for _, stream := range promiseStreams {
		if rate, most := h.gate.RateOf(stream), h.gate.Most(); rate > most*(1+1e-9) {
			h.Errorf("I11: a start at %v/s is faster than the ceiling of %v/s", rate, most)
		}
	}
}
