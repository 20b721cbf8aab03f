package sim

import (
	"math"
	"net/http"
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
		i := &informed{p: p, pace: 1, met: *state != nil, paths: map[string]*informedPath{}}
		switch m := p.model.(type) {
		case *crowded:
			i.places = make(chan struct{}, m.most)
		case *crowdedBucket:
			i.places = make(chan struct{}, m.most)
		}
		return []http.RoundTripper{i}, func() {
			if i.met {
				*state = []byte("met")
			}
		}
	}}
}

const (
	informedShare = 0.98                   // of the limit
	informedPause = 250 * time.Millisecond // before it asks whether a block is over, twice as long each time,
	informedMost  = time.Minute            // and at most, or a quarter of the block so far
	informedLeast = 1.0 / 60               // requests per second, where nothing at all is allowed
)

type informed struct {
	p      *Provider
	places chan struct{} // in flight, where they are counted; nil: they are not

	mu    sync.Mutex
	pace  float64 // of the start
	met   bool    // a limit was met once
	paths map[string]*informedPath
}

// An informedPath is what is asked of one path, which may have its own limit.
type informedPath struct {
	next    time.Time // a request leaves
	turns   int       // of blocks that began or ended: what was booked before is void
	blocked bool
	since   time.Time // of the block
	asks    time.Time // whether it is over: then
	asking  bool
	tries   int
}

func (i *informed) RoundTrip(r *http.Request) (*http.Response, error) {
	path, from := r.URL.Path, placeOf(r.Context())
	if i.places != nil {
		select {
		case i.places <- struct{}{}:
			defer func() { <-i.places }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		from.turn()
	}
	for {
		at, turns := i.book(path)
		timer := time.NewTimer(from.next(time.Until(at)))
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return nil, r.Context().Err()
		}
		from.turn()
		if i.leaves(path, turns) {
			break
		}
	}
	sent := time.Now()
	resp, err := patient{i.p, time.Minute}.RoundTrip(r)
	after := 0.0
	if resp != nil {
		after = silence(resp.Header)
	}
	i.learn(path, sent, i.p.refusedLast(from), seconds(after), err == nil)
	return resp, err
}

// book returns when the next request for path may leave, and the turns so far.
func (i *informed) book(path string) (at time.Time, turns int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.paths[path]
	if s == nil {
		s = &informedPath{}
		i.paths[path] = s
	}
	now := time.Now()
	if s.blocked {
		if at = s.asks; s.asking || at.Before(now) {
			at = now.Add(time.Second)
		}
		return at, s.turns
	}
	pace := i.pace
	if i.met {
		pace = max(informedLeast, informedShare*i.p.judge(path).capacity(i.p.now()))
		if i.places != nil {
			pace = Ceiling
		}
	}
	for _, c := range i.p.owner.Ceilings {
		pace = min(pace, float64(c.Count)/c.Per.Seconds())
	}
	if at = s.next; at.Before(now) {
		at = now
	}
	s.next = at.Add(seconds(1 / pace))
	return at, s.turns
}

// leaves reports whether what was booked may leave: not if a block began or ended
// meanwhile. In a block, one at a time asks whether it is over.
func (i *informed) leaves(path string, turns int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.paths[path]
	if !s.blocked {
		return turns == s.turns
	}
	if s.asking || time.Now().Before(s.asks) {
		return false
	}
	s.asking = true
	return true
}

// learn takes what became of a request.
func (i *informed) learn(path string, sent time.Time, refused bool, after time.Duration, answered bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, now := i.paths[path], time.Now()
	asked := s.blocked && s.asking && sent.After(s.since)
	switch {
	case refused && (asked || !s.blocked):
		if i.met = true; !asked {
			s.blocked, s.since, s.tries = true, now, -1
			s.turns++
		}
		s.tries++
		pause := min(informedPause<<min(s.tries, 20), max(informedMost, now.Sub(s.since)/4))
		s.asks, s.asking = now.Add(max(pause, after)), false
	case refused: // with the one that began the block
		s.asks = later(s.asks, now.Add(after))
	case asked:
		s.asking = false
		if s.asks = now.Add(time.Second); answered {
			s.blocked, s.next = false, now
			s.turns++
		}
	case answered && !i.met:
		i.pace *= math.Exp2(min(1.0/8, 1/(2*i.pace)))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
