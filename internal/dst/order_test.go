package dst_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"collect/collection"
)

// An order makes a history the same each time it is played. Where several
// goroutines go on at the same moment of virtual time, the scheduler would
// decide whose step comes first. So each step that others can see is taken a
// little later, and how much depends on the seed and on the step.
type order struct {
	plan plan

	mu    sync.Mutex
	times map[sum]int                 // how often a step was taken
	names map[collection.Place]string // of places, which take long to be told
}

// longestStep is how much later a step is taken at most. A killed process is gone
// after as long: which of its steps had begun when it was killed at the same
// moment is for the scheduler to say, and must not move what follows.
const longestStep = time.Millisecond

// name returns what a place is called in a step.
func (o *order) name(at collection.Place) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, known := o.names[at]
	if !known {
		name = place(at)
		o.names[at] = name
	}
	return name
}

// wait returns when it is the turn of a step.
func (o *order) wait(step sum) {
	o.mu.Lock()
	o.times[step]++
	n := o.times[step]
	o.mu.Unlock()
	time.Sleep(1 + time.Duration(o.plan.drawn(step, n)*float64(longestStep)))
}

// wait returns when it is the turn of a step of p. What the dead do is seen by
// no one.
func (p *process) wait(step ...string) {
	p.awake(step...)
	if !p.isDead() {
		p.h.order.wait(sumOf("order ", p.name, " ").with(step...))
	}
}

// dice returns what the jitter of a process is drawn from.
func (p plan) dice(process int) func() float64 {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(p.seed, uint64(process)))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64()
	}
}

// An orderly client asks in the order of its history.
type orderly struct {
	next http.RoundTripper
	p    *process
}

func (o orderly) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.URL.Path + "?" + req.URL.RawQuery
	o.p.wait("asks ", what)
	return o.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), pageKey{}, what)))
}

// pageKey is the key of what the connector asks for. The client asks for a witness in the
// course of that.
type pageKey struct{}
