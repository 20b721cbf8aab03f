// Package sim plays providers of many kinds, in virtual time, and scores what
// a client makes of them.
//
// A [Family] is a kind of provider: one that counts in fixed windows, one that
// slows down, one that bans. [Family.New] draws an instance from a seed. An
// instance is an [http.RoundTripper] that a client sends to; [Play] lets a
// client work at it, and [Provider.Score] reads from its log, never from the
// client, how well the client did:
//
//	Family ──seed──→ Provider ←──requests── client ←── 32 workers of Play
//	                    └── log ──→ Score
//
// Time is that of the standard library, so everything here is used inside of
// [testing/synctest], where an hour passes in a second. One seed is one
// history: what a client does at an instance is the same each time, request by
// request, on any number of processors and however busy they are.
//
// The clients to compare are the governed client of package pacing under its
// laws, and clients that others publish: see [Contenders].
package sim

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"collect/collection"
)

// These hold for all instances. Every provider on the internet has some noise. The
// owner allows more than these providers do, because he does not know their limits.
const (
	Ceiling = 20 // requests per second that the owner allows
	Workers = 32 // requests in flight at most

	noise500     = 0.002
	noise503     = 0.002
	noiseTimeout = 0.0005
)

// A reply is what a model says to a request.
type reply struct {
	status  int
	header  http.Header
	body    string  // "": an empty object
	latency float64 // seconds
	hang    bool    // there is no answer
	dead    bool    // there is no connection
	absent  bool    // the provider is away, so that this is no refusal by a limit
	refused bool    // by a limit, though the status says otherwise
	ban     bool    // from here on, nothing is answered any more
}

// A model is the judgement of a provider. Times are seconds since its start.
type model interface {
	// answer judges a request of some cost, the inFlight-th at this moment.
	answer(now, cost float64, inFlight int) reply

	// capacity returns the work per second that the best client gets at now.
	capacity(now float64) float64
}

// An arrival is a request as the provider saw it.
type arrival struct {
	at      float64
	from    place
	status  int
	cost    float64
	latency float64
	refused bool // by the model, and not by chance
	early   bool // the provider had asked for silence
}

// A Provider is one instance of a family.
type Provider struct {
	Family string
	Seed   uint64

	// Cut is when its limit falls, and Back when an outage of it ends, since its
	// start; 0: never.
	Cut, Back time.Duration

	// Long is how long a client works at it to be judged.
	Long time.Duration

	// Job is what it is asked for instead, if that is not the most there is; zero:
	// the most.
	Job Schedule

	owner collection.Provider // what its owner allows
	model model
	paths []string                 // that it is asked for
	cost  func(*rand.Rand) float64 // of a request; nil: 1
	idle  float64                  // latency of the best client, in seconds
	start time.Time
	sound bool // nothing goes wrong for no reason
	paged bool // its paths are lists: each is asked for page after page, one request at a time

	mu       sync.Mutex
	rng      *rand.Rand
	luck     *rand.Rand // of its clients
	log      []arrival
	inFlight int
	silent   float64 // asked for until then
	banned   bool
	rises    int // of the client's pace, on an error
}

// RoundTrip answers r as the model does, after its latency.
func (p *Provider) RoundTrip(r *http.Request) (*http.Response, error) {
	from := placeOf(r.Context())
	a := p.arrive(from, r.URL.Path)
	if a.hang {
		<-r.Context().Done()
	} else {
		timer := time.NewTimer(from.next(time.Duration(a.latency * float64(time.Second))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	from.turn()
	if r.Context().Err() != nil {
		p.leave(0)
		return nil, context.Cause(r.Context())
	}
	p.leave(silence(a.header))
	if a.dead {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header, Request: r,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// silence returns for how many seconds h asks for it: a number of them, or a
// point in time by the clock of the provider, which tells its own, too.
func silence(h http.Header) float64 {
	s := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n
	}
	until, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return until.Sub(now).Seconds()
}

// arrive logs a request for path and judges it.
func (p *Provider) arrive(from place, path string) (a reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.inFlight++
	in := arrival{at: now, from: from, cost: 1, early: now < p.silent}
	if p.cost != nil {
		in.cost = p.cost(p.rng)
	}
	u := p.rng.Float64()
	if p.sound {
		u = 1
	}
	switch {
	case p.banned:
		a = reply{status: 403, latency: p.idle}
	case u < noise500:
		a = reply{status: 500, latency: p.idle}
	case u < noise500+noise503:
		a = reply{status: 503, latency: p.idle}
	case u < noise500+noise503+noiseTimeout:
		a.hang = true
	default:
		a = p.judge(path).answer(now, in.cost, p.inFlight)
		in.refused = a.refused || a.status != 200 && !a.absent
		p.banned = p.banned || a.ban
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	if a.body == "" {
		a.body = "{}"
	}
	in.status, in.latency = a.status, a.latency
	p.log = append(p.log, in)
	return a
}

// judge returns who judges requests for path.
func (p *Provider) judge(path string) model {
	if m, ok := p.model.(routed); ok {
		return m[max(0, slices.Index(p.paths, path))]
	}
	return p.model
}

func (p *Provider) rose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rises++
}

func (p *Provider) leave(wait float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	if wait > 0 {
		p.silent = max(p.silent, p.now()+wait)
	}
}

// chance is what the clients of p draw theirs from, in [0, 1): it comes from the
// seed, too, and from its own part of it, so that all clients of one seed meet
// the same provider.
func (p *Provider) chance() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.luck.Float64()
}

func (p *Provider) now() float64 { return time.Since(p.start).Seconds() }

// A Score is how well a client did in a span of time.
type Score struct {
	Share    float64 // of the work that the best client could have done, at most 1
	Refused  float64 // refusals per 1000 requests
	Refusals int
	Requests int
	Early    int     // requests while the provider had asked for silence
	Rises    int     // of the client's pace on an error
	Banned   bool    // for good
	Latency  float64 // mean of what was answered, as a multiple of the best client's
	Reached  float64 // seconds until a minute held 90 % of the capacity; +Inf: never
}

// Score returns how well the requests in [from, to) since the start did.
func (p *Provider) Score(from, to time.Duration) Score {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, b := from.Seconds(), to.Seconds()
	s := Score{Banned: p.banned, Rises: p.rises, Reached: math.Inf(1)}
	var work, slow, answered float64
	done := make([]float64, int(b/10)+1) // work in each ten seconds
	for _, r := range p.log {
		if r.at < a || r.at >= b {
			continue
		}
		s.Requests++
		if r.early {
			s.Early++
		}
		if r.refused {
			s.Refusals++
		}
		if r.status == 200 && !r.refused {
			work += r.cost
			slow += r.latency
			answered++
			done[int(r.at/10)] += r.cost
		}
	}
	best := 0.0
	for t := a; t < b; t++ {
		best += p.capacity(t)
	}
	s.Share = min(1, work/best)
	s.Refused = 1000 * float64(s.Refusals) / max(1, float64(s.Requests))
	s.Latency = slow / max(1, answered) / p.idle
	for i := int(a / 10); i+6 <= int(b/10); i++ {
		sum, most := 0.0, 0.0
		for j := i; j < i+6; j++ {
			sum += done[j]
			most += 10 * p.capacity(float64(10*j))
		}
		if sum >= 0.9*math.Floor(most) {
			s.Reached = float64(10*i) - a
			break
		}
	}
	return s
}

// capacity returns the work per second that the best client gets at a time.
func (p *Provider) capacity(at float64) float64 {
	if !p.paged {
		return p.model.capacity(at)
	}
	sum := 0.0
	for _, path := range p.paths {
		sum += min(p.judge(path).capacity(at), 1/p.idle)
	}
	return min(p.model.capacity(at), sum)
}

// workers returns how many ask at the same time.
func (p *Provider) workers() int {
	if p.paged {
		return len(p.paths)
	}
	return Workers
}

// AskedAfter returns how long after a moment the first request arrived; the longest
// time there is if none did.
func (p *Provider) AskedAfter(at time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.log {
		if a.at >= at.Seconds() {
			return seconds(a.at) - at
		}
	}
	return math.MaxInt64
}

// Quiet returns how long after from it took until a minute began in which at
// most share of the requests were refused; +Inf seconds if none did before to.
func (p *Provider) Quiet(from, to time.Duration, share float64) (seconds float64) {
	for at := from; at+time.Minute <= to; at += time.Second {
		if s := p.Score(at, at+time.Minute); float64(s.Refusals) <= share*float64(s.Requests) {
			return (at - from).Seconds()
		}
	}
	return math.Inf(1)
}
