package sim

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// A Client is how somebody sends: it makes a transport out of a provider, for
// each of its processes.
type Client struct {
	Name string
	make func(p *Provider, state *[]byte) ([]http.RoundTripper, func())
}

// Origin is where all providers are.
const Origin = "https://provider.test"

// lab is the provider of the score, as its owner describes it.
func lab() collection.Provider {
	return collection.Provider{Ceilings: []collection.Ceiling{{Count: Ceiling, Per: time.Second}}}
}

// Governed is the client of package pacing under one of its laws, for what the
// owner of a provider allows. Who declares nothing does not say how many may be in
// flight, either.
func Governed(law string) Client {
	return Client{law, func(p *Provider, state *[]byte) ([]http.RoundTripper, func()) {
		concurrency := Workers
		if len(p.owner.Ceilings) == 0 {
			concurrency = 0
		}
		return governed(p.owner, law, concurrency, func(*pacing.Governor) {}).make(p, state)
	}}
}

// governed is the client of package pacing for a provider that is described by
// d. It shows its governor to watch before it sends anything.
func governed(d collection.Provider, law string, concurrency int, watch func(*pacing.Governor)) Client {
	return Client{law, func(p *Provider, state *[]byte) ([]http.RoundTripper, func()) {
		save := func(_ context.Context, s []byte, _ ...collection.Event) error {
			*state = append([]byte(nil), s...)
			return nil
		}
		d.Name, d.Origins = p.Family, []string{Origin}
		config := pacing.Config{
			Provider: d, Law: law, Concurrency: concurrency, Base: p, Restore: *state, Save: save, Random: p.chance,
		}
		gate, err := pacing.NewGate(config)
		if err != nil {
			panic(err) // a law that is not there
		}
		config.Desk = witness{desk.New(gate), p}
		g, err := pacing.New(config)
		if err != nil {
			panic(err)
		}
		watch(g)
		return []http.RoundTripper{g.Client().Transport}, func() {
			g.Flush(context.Background())
			g.Close()
		}
	}}
}

// A witness counts how often an error makes the pace higher, which must never be.
type witness struct {
	*desk.Desk
	provider *Provider
}

func (w witness) Settle(pass gate.Pass, o gate.Outcome, next gate.Request) desk.Settled {
	if o.Signal == law.Succeeded || o.Signal == law.Answered {
		return w.Desk.Settle(pass, o, next)
	}
	before := w.Status().PerSecond
	settled := w.Desk.Settle(pass, o, next)
	if before > 0 && settled.Rate > before*(1+1e-9) {
		w.provider.rose()
	}
	return settled
}

// Play lets c work at p for d, with as many workers as it may have requests in
// flight. What the client wants to keep goes to state, and comes from there.
//
// A request that ends in a stop is begun anew when the stop allows it, as the
// next run would; a stop that only an operator ends is the end.
//
// The same client at the same instance sends the same requests at the same
// instants each time. There is one play at a time in a bubble of virtual time.
func Play(p *Provider, c Client, d time.Duration, state *[]byte) {
	play(p, c, d, func(string) bool { return true }, state)
}

// Job lets c ask for n records of p, one request each, as a scheduled run does,
// and returns how long that took: at most d.
func Job(p *Provider, c Client, n int, d time.Duration, state *[]byte) time.Duration {
	begun := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	play(p, c, d, func(string) bool { return left.Add(-1) >= 0 }, state)
	return time.Since(begun)
}

// play ends after d, or when no worker may ask for another record of its path.
func play(p *Provider, c Client, d time.Duration, another func(path string) bool, state *[]byte) {
	conductor.turn()
	transports, end := c.make(p, state)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var workers sync.WaitGroup
	for i := range p.workers() {
		from := first + place(i)
		workers.Go(func() {
			from.turn()
			path := p.paths[i%len(p.paths)]
			ctx := from.standing(ctx)
			if len(p.paths) > 1 {
				ctx = collection.WithPlace(ctx, collection.Place{Stream: path})
			}
			for ctx.Err() == nil && another(path) {
				if !ask(ctx, transports[i%len(transports)], path) {
					break
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		workers.Wait()
		close(over)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		conductor.turn()
		stop()
		<-over
	case <-over:
	}
	end()
}

// ask asks for path until it is answered, or ctx ends. It reports false if there
// is no use in another request.
func ask(ctx context.Context, t http.RoundTripper, path string) bool {
	for ctx.Err() == nil {
		if answered, useful := fetch(ctx, t, path); answered || !useful {
			return useful
		}
	}
	return true
}

// fetch asks for path once. It reports whether there was an answer, and whether
// there is any use in another request.
func fetch(ctx context.Context, t http.RoundTripper, path string) (answered, useful bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, Origin+path, nil)
	if err != nil {
		return false, false
	}
	resp, err := t.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		return true, true
	}
	stop, ok := errors.AsType[*collection.Stop](err)
	pause := time.Second
	switch {
	case !ok:
		pause = 0
	case stop.Reason == collection.Frozen && stop.NotBefore.IsZero():
		return false, false
	case !stop.NotBefore.IsZero():
		pause = time.Until(stop.NotBefore)
	}
	timer := time.NewTimer(max(pause, time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	placeOf(ctx).turn() // a stop ends for many at once
	return false, true
}
