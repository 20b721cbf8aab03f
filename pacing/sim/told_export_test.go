package sim

import (
	"net/http"
	"strconv"
)

// Tell makes p, which is a [Plain] one, tell with each answer what is left of
// the limits, as header does.
func (p *Provider) Tell(header func(h http.Header, left ...Left), limits ...Limiter) *Provider {
	c := p.model.(*counting)
	quiet := c.tell
	c.tell = func(r *reply, now, wait float64) {
		quiet(r, now, wait)
		all := make([]Left, len(limits))
		for i, l := range limits {
			all[i] = Left{Now: now, Wait: wait}
			all[i].Limit, all[i].Remaining, all[i].Reset, _ = l.left(now)
		}
		header(r.header, all...)
	}
	return p
}

// Left is what is left of a limit in requests, and the seconds until there is
// more. Wait are the seconds that a refused request has to wait; 0: it is not.
type Left struct{ Limit, Remaining, Reset, Now, Wait float64 }

// Sliding grants n in any span of w seconds.
func Sliding(n, w float64) Limiter { return &slidingWindow{n: n, w: w} }

// Both grants what fits in each.
type Both []Limiter

func (b Both) take(now, cost float64) (wait float64) {
	for _, l := range b {
		if wait = l.take(now, cost); wait > 0 {
			return wait
		}
	}
	return 0
}

func (b Both) left(now float64) (limit, remaining, reset, window float64) { return b[0].left(now) }

// AnsweredBy returns how many requests were answered before a moment.
func (p *Provider) AnsweredBy(seconds float64) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.log {
		if a.status == http.StatusOK && a.at < seconds {
			n++
		}
	}
	return n
}

// Refuse makes p, which is a [Plain] one, refuse with a status and a body, and
// ask for silence of some seconds unless that is 0.
func (p *Provider) Refuse(status int, body string, silence float64) *Provider {
	c := p.model.(*counting)
	quiet := c.tell
	c.tell = func(r *reply, now, wait float64) {
		quiet(r, now, wait)
		if wait > 0 {
			r.status, r.body = status, body
			if silence > 0 {
				r.header.Set("Retry-After", strconv.FormatFloat(silence, 'f', -1, 64))
			}
		}
	}
	return p
}
