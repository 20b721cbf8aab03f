package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Informed is a client that nobody can be: once it was refused it is told the
// limit, at each moment, and keeps 2 % below it, or as many in flight as may be.
// Before, it starts as our own law does, and when a block ends it has to find out
// by asking, as everybody has. So it shows what a limit costs that has to be met
// once, and how much of a gate that leaves to those who have to learn the limit as
// well. It reads nothing but Retry-After, and no latencies.
func Informed() Client {
	return Client{"informed", func(p *Provider, state *[]byte) ([]http.RoundTripper, func()) {
		i := &informed{p: p, pace: 1, met: string(*state) == "met", paths: map[string]*informedPath{}}
		if pace, err := strconv.ParseFloat(string(*state), 64); err == nil {
			i.pace = pace
		}
		if i.cost = 1; p.cost != nil {
			const draws = 4096
			rng, sum := rand.New(rand.NewPCG(1, 1)), 0.0
			for range draws {
				sum += p.cost(rng)
			}
			i.cost = sum / draws
		}
		switch m := p.model.(type) {
		case *crowded:
			i.places, i.crowd = make(chan struct{}, m.most), true
		case *crowdedBucket:
			i.places = make(chan struct{}, m.most)
		}
		return []http.RoundTripper{i}, func() {
			if *state = []byte("met"); !i.met {
				*state = strconv.AppendFloat(nil, i.pace, 'g', -1, 64)
			}
		}
	}}
}

const (
	informedShare = 0.98                   // of the limit
	informedPause = 250 * time.Millisecond // before it asks whether a block is over, twice as long each time,
	informedMost  = time.Minute            // and at most, or a quarter of the block so far
	informedLeast = 1.0                    // requests per second, while there is no limit because the provider is away
)

type informed struct {
	p      *Provider
	places chan struct{} // in flight, where they are counted; nil: they are not
	crowd  bool          // and nothing else is
	cost   float64       // of a request, in the mean

	mu    sync.Mutex
	pace  float64 // of the start
	met   bool    // a limit was met once
	paths map[string]*informedPath
}

// An informedPath is what is asked of one path, which may have its own limit.
type informedPath struct {
	door    chan struct{} // whoever is in it leaves next
	latest  time.Time     // request that left, or end of a block
	blocked bool
	since   time.Time // of the block
	asks    time.Time // whether it is over: not before
	tries   int
}

func (i *informed) RoundTrip(r *http.Request) (*http.Response, error) {
	path, from := r.URL.Path, placeOf(r.Context())
	if i.places != nil {
		if err := enter(r.Context(), from, i.places); err != nil {
			return nil, err
		}
		defer func() { <-i.places }()
	}
	s := i.path(path)
	if err := enter(r.Context(), from, s.door); err != nil {
		return nil, err
	}
	for wait := i.wait(path); wait > 0; wait = i.wait(path) {
		timer := time.NewTimer(from.next(wait))
		select {
		case <-timer.C:
			from.turn()
		case <-r.Context().Done():
			timer.Stop()
			<-s.door
			return nil, context.Cause(r.Context())
		}
	}
	sent, asks := i.leave(path)
	if !asks {
		<-s.door
	}
	resp, err := patient{i.p, time.Minute}.RoundTrip(r)
	after := 0.0
	if resp != nil {
		after = silence(resp.Header)
	}
	i.learn(path, sent, i.p.refusedLast(from), seconds(after), err == nil)
	if asks {
		<-s.door
	}
	return resp, err
}

// enter waits for a place in room.
func enter(ctx context.Context, from place, room chan struct{}) error {
	select {
	case room <- struct{}{}:
		from.turn()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (i *informed) path(path string) *informedPath {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.paths[path]
	if s == nil {
		s = &informedPath{door: make(chan struct{}, 1)}
		i.paths[path] = s
	}
	return s
}

// wait returns how long the next request for path has to: a second at most, after
// which the limit may be another.
func (i *informed) wait(path string) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.paths[path]
	at := s.latest.Add(seconds(1 / i.rate(path)))
	if s.blocked {
		at = s.asks
	}
	return min(time.Second, time.Until(at))
}

// leave notes a request that leaves, and whether it asks if a block is over.
func (i *informed) leave(path string) (now time.Time, asks bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.paths[path]
	s.latest = time.Now()
	return s.latest, s.blocked
}

// rate returns the requests per second that may leave for path.
func (i *informed) rate(path string) float64 {
	rate := i.pace
	switch {
	case i.met && i.crowd:
		rate = Ceiling
	case i.met:
		if rate = informedShare * i.p.judge(path).capacity(i.p.now()) / i.cost; rate == 0 {
			rate = informedLeast
		}
	}
	for _, c := range i.p.owner.Ceilings {
		rate = min(rate, float64(c.Count)/c.Per.Seconds())
	}
	return rate
}

// learn takes what became of a request.
func (i *informed) learn(path string, sent time.Time, refused bool, after time.Duration, answered bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, now := i.paths[path], time.Now()
	asked := s.blocked && sent.After(s.since)
	switch {
	case refused && (asked || !s.blocked):
		if i.met = true; !asked {
			s.blocked, s.since, s.tries = true, now, -1
		}
		s.tries++
		pause := min(informedPause<<min(s.tries, 20), max(informedMost, now.Sub(s.since)/4))
		s.asks = now.Add(max(pause, after))
	case refused: // with the one that began the block
		if until := now.Add(after); s.asks.Before(until) {
			s.asks = until
		}
	case asked && answered:
		s.blocked, s.latest = false, now
	case answered && !i.met:
		i.pace *= math.Exp2(min(1.0/8, 1/(2*i.pace)))
	}
}

// refusedLast reports whether the latest request of a worker was refused by a
// limit.
func (p *Provider) refusedLast(from place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := len(p.log) - 1; k >= 0; k-- {
		if p.log[k].from == from {
			return p.log[k].refused
		}
	}
	return false
}
