package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

// Log returns what p saw, a line for each request.
func (p *Provider) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := make([]string, len(p.log))
	for i, a := range p.log {
		lines[i] = fmt.Sprintf("%.9f s, from %d: %d after %.9f s, cost %v, refused %t, early %t",
			a.at, a.from-first, a.status, a.latency, a.cost, a.refused, a.early)
	}
	return lines
}

// Turn returns at the next turn of a worker.
func Turn(worker int) { (first + place(worker)).turn() }

// FirstTurn is when in each microsecond it is the first worker's.
const FirstTurn = time.Duration(first)

// Paths returns what p is asked for.
func (p *Provider) Paths() []string { return p.paths }

// Capacity returns the work per second that the best client gets of path.
func (p *Provider) Capacity(path string, at float64) float64 { return p.judge(path).capacity(at) }

// CapacityOfAll is what the score takes for the best.
func (p *Provider) CapacityOfAll(at float64) float64 { return p.model.capacity(at) }

// PageByPage makes p be asked for lists, each page by page, one request at a time.
func (p *Provider) PageByPage() { p.paged = true }

// An Answer is what a model says to one request, without noise.
type Answer struct {
	Status  int // 0: none comes
	Header  http.Header
	Body    string
	Cost    float64
	Latency float64 // seconds
	Refused bool    // by a limit
}

// Ask asks the model of p for path, the inFlight-th at this moment.
func (p *Provider) Ask(path string, at float64, inFlight int) Answer {
	cost := 1.0
	if p.cost != nil {
		cost = p.cost(p.rng)
	}
	r := p.judge(path).answer(at, cost, inFlight)
	return Answer{r.status, r.header, r.body, cost, r.latency, r.refused || r.status != 200 && !r.absent}
}

// A Taker is how a limiter judges; see limiter.
type Taker = func(now, cost float64) (wait float64)

// Weighed returns how a window of n in w judges that weighs the one before.
func Weighed(n, w float64) Taker { return (&weighedWindow{n: n, w: w}).take }

// Interval returns how a strict interval judges.
func Interval(length float64) Taker { return (&interval{length: length}).take }

// Unforgiving returns how a window of n in w judges that counts its refusals.
func Unforgiving(n, w float64) Taker { return (&unforgiving{slidingWindow{n: n, w: w}}).take }

// Debt returns how a bucket judges that may be owed.
func Debt(rate, burst float64) Taker {
	return (&debt{bucket{rate: steady(rate), burst: burst, tokens: burst}}).take
}

// Spy is a client that does not listen, and shows what it sends.
func Spy(seen func(*http.Request)) Client {
	return Client{"spy", func(p *Provider, _ *[]byte) ([]http.RoundTripper, func()) {
		return []http.RoundTripper{spy{p, seen}}, func() {}
	}}
}

type spy struct {
	base http.RoundTripper
	seen func(*http.Request)
}

func (s spy) RoundTrip(r *http.Request) (*http.Response, error) {
	s.seen(r)
	return s.base.RoundTrip(r)
}

// Plain returns a provider where nothing goes wrong for no reason. It grants
// what fits in limit, if that is not nil, and answers after latency.
func Plain(limit Limiter, latency func(*rand.Rand) float64) *Provider {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &counting{rng: rng, best: steady(1), tell: func(r *reply, _, _ float64) { r.latency = latency(rng) }}
	if limit != nil {
		c.limits = []limiter{limit}
	} else {
		c.limits = []limiter{&bucket{rate: steady(1e9), burst: 1e9, tokens: 1e9}}
	}
	return &Provider{Family: "plain", model: c, paths: []string{"/records"}, idle: 0.1, start: time.Now(), sound: true,
		rng: rng, luck: rand.New(rand.NewPCG(3, 4))}
}

// A Limiter counts what a [Plain] provider grants.
type Limiter = limiter

// Bucket, Moving and Window grant a rate, one that changes, or n in each span of w seconds by the clock.
func Bucket(rate, burst float64) Limiter {
	return &bucket{rate: steady(rate), burst: burst, tokens: burst}
}
func Moving(rate func(at float64) float64, burst float64) Limiter {
	return &bucket{rate: rate, burst: burst, tokens: burst}
}
func Window(n, w float64) Limiter { return &fixedWindow{n: n, w: w} }

// Owned is a governed client whose owner declared what d says.
func Owned(d collection.Provider, concurrency int) Client {
	return governed(d, law.Plateau, concurrency, func(*pacing.Governor) {})
}

// Refused returns how many requests were refused so far, and how many arrived.
func (p *Provider) Refused() (refused, requests int) {
	s := p.Score(0, time.Since(p.start)+time.Second)
	return s.Refusals, s.Requests
}

// Routes returns a provider that grants a rate for each of its streams, if they
// are more than one, or all of them one together.
func Routes(rates ...float64) *Provider {
	p := Plain(nil, nil)
	var models routed
	p.paths = p.paths[:0]
	for i, rate := range rates {
		p.paths = append(p.paths, fmt.Sprintf("/stream%d", i))
		c := &counting{rng: p.rng, best: steady(rate), limits: []limiter{Bucket(rate, max(1, rate))}, idle: 0.1}
		models = append(models, c)
	}
	p.model = models
	return p
}

// OneWindow makes p grant n in each w seconds, from now on, of all its streams
// together.
func (p *Provider) OneWindow(n, w float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model = &counting{rng: p.rng, best: steady(n / w), limits: []limiter{Window(n, w)}, idle: 0.1}
}

// Streams makes p be asked for n streams, of which the first has as many requests
// as all others together. They share what they shared as one.
func (p *Provider) Streams(n int) {
	first := p.paths[0]
	p.paths = nil
	for i := range max(1, 2*(n-1)) {
		if i < n-1 || n == 1 {
			p.paths = append(p.paths, first)
		} else {
			p.paths = append(p.paths, fmt.Sprint(first, i))
		}
	}
}

// JobOf lets c ask for so many records of each of p's streams, and returns how
// long that took: at most d.
func JobOf(p *Provider, c Client, d time.Duration, state *[]byte, records ...int) time.Duration {
	begun := time.Now()
	left := map[string]*atomic.Int64{}
	for i, n := range records {
		left[p.paths[i]] = &atomic.Int64{}
		left[p.paths[i]].Store(int64(n))
	}
	play(p, c, d, func(path string) bool { return left[path].Add(-1) >= 0 }, state)
	return time.Since(begun)
}

// Away makes p refuse everything with a status from one moment to another, or
// answer nothing if that is 0.
func (p *Provider) Away(status int, from, to time.Duration) {
	c := p.model.(*counting)
	up := c.tell
	c.tell = func(r *reply, now, wait float64) {
		up(r, now, wait)
		if now >= from.Seconds() && now < to.Seconds() {
			*r = reply{status: status, latency: p.idle, hang: status == 0}
		}
	}
}

// Slow makes p answer after so many seconds from one moment to another.
func (p *Provider) Slow(latency float64, from, to time.Duration) {
	c := p.model.(*counting)
	tell := c.tell
	c.tell = func(r *reply, now, wait float64) {
		if tell(r, now, wait); now >= from.Seconds() && now < to.Seconds() {
			r.latency = latency
		}
	}
}

// Partly makes p answer one request in n with a status from one moment to another, whatever
// the pace is.
func (p *Provider) Partly(n float64, status int, from, to time.Duration) {
	c := p.model.(*counting)
	tell := c.tell
	c.tell = func(r *reply, now, wait float64) {
		if tell(r, now, wait); wait == 0 && now >= from.Seconds() && now < to.Seconds() && p.rng.Float64()*n < 1 {
			r.status = status
		}
	}
}

// Faulty makes p answer one request in n with a status after so many seconds,
// whatever the pace is.
func (p *Provider) Faulty(n float64, status int, latency float64) {
	c := p.model.(*counting)
	tell := c.tell
	c.tell = func(r *reply, now, wait float64) {
		if tell(r, now, wait); wait == 0 && p.rng.Float64()*n < 1 {
			r.status, r.latency = status, latency
		}
	}
}

// Gateway returns a server of one thread that answers so many requests a second,
// behind a gateway that waits so many seconds for it.
func Gateway(rate, patience float64) *Provider {
	p := Plain(nil, nil)
	p.model = &gateway{rate: rate, patience: patience, rng: p.rng, idle: 0.02}
	return p
}

// Queue returns a server that works off requests one after the other, so many a
// second, and never refuses.
func Queue(rate float64) *Provider {
	p := Plain(nil, nil)
	p.idle = 0.1 + 1/rate
	p.model = &serving{rate: rate, rng: p.rng, idle: p.idle}
	return p
}
