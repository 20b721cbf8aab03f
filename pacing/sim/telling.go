package sim

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// always asks for a silence of this many seconds, however long the wait is.
func always(seconds int) func(*reply, float64, float64) {
	return func(r *reply, _, wait float64) {
		if wait > 0 {
			r.header.Set("Retry-After", strconv.Itoa(seconds))
		}
	}
}

// tooShort asks for less silence than is needed.
func tooShort(by float64) func(*reply, float64, float64) {
	return func(r *reply, _, wait float64) {
		if wait > 0 {
			r.header.Set("Retry-After", strconv.Itoa(int(max(1, wait-by))))
		}
	}
}

// unavailable says 503 instead of 429.
func unavailable(r *reply, _, wait float64) {
	if wait > 0 {
		r.status = http.StatusServiceUnavailable
	}
}

// forbidden says 403, and why in the body, as Google's APIs do: "Resolve
// errors" of the Gmail and Calendar APIs, 403 userRateLimitExceeded.
func forbidden(r *reply, _, wait float64) {
	if wait > 0 {
		r.status = http.StatusForbidden
		r.body = `{"error":{"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}],"code":403}}`
	}
}

// noAnswer is how a firewall refuses.
func noAnswer(r *reply, _, wait float64) {
	if wait > 0 {
		*r = reply{hang: true}
	}
}

// scattered draws latencies of the same mean as before from a log-normal
// distribution with so wide a tail: of sigma 1, one in forty takes more than
// four times the mean.
func (d *draw) scattered(sigma float64) func(*reply, float64, float64) {
	return func(r *reply, _, _ float64) {
		r.latency = d.idle * math.Exp(sigma*d.rng.NormFloat64()-sigma*sigma/2)
	}
}

// A clock is what a provider goes by, which need not be right.
type clock struct{ began time.Time }

// clock draws one that is up to five minutes off.
func (d *draw) clock() clock {
	off := time.Duration((600*d.rng.Float64() - 300) * float64(time.Second))
	return clock{time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC).Add(off)}
}

func (c clock) at(now float64) time.Time {
	return c.began.Add(time.Duration(now * float64(time.Second)))
}

// roundUp returns the first whole second that is not before t.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Second - 1).Truncate(time.Second)
}

// asDate asks for silence until a point in time.
func (c clock) asDate(r *reply, now, wait float64) {
	r.header.Set("Date", c.at(now).Format(http.TimeFormat))
	if wait > 0 {
		r.header.Set("Retry-After", roundUp(c.at(now+wait)).Format(http.TimeFormat))
	}
}

// asEpoch tells how much of l is left, and until when, as GitHub does.
func (c clock) asEpoch(l limiter) func(*reply, float64, float64) {
	return func(r *reply, now, _ float64) {
		limit, remaining, reset, _ := l.left(now)
		r.header.Set("Date", c.at(now).Format(http.TimeFormat))
		r.header.Set("X-RateLimit-Limit", strconv.Itoa(int(limit)))
		r.header.Set("X-RateLimit-Remaining", strconv.Itoa(int(remaining)))
		r.header.Set("X-RateLimit-Reset", strconv.FormatInt(roundUp(c.at(now+reset)).Unix(), 10))
	}
}

// A growing provider asks for silence after a refusal, twice as long each time
// until there was none for ten minutes, and refuses everything meanwhile.
type growing struct {
	counting
	least float64 // seconds of silence at first

	wait, until float64
}

func (g *growing) answer(now, cost float64, inFlight int) reply {
	var r reply
	if now >= g.until {
		if r = g.counting.answer(now, cost, inFlight); r.status == 200 {
			return r
		}
		if now-g.until > 600 {
			g.wait = 0
		}
		g.wait = min(300, max(g.least, 2*g.wait))
		g.until = now + g.wait
	}
	r = reply{status: 429, header: http.Header{}, latency: g.idle / 2}
	r.header.Set("Retry-After", strconv.Itoa(int(math.Ceil(g.until-now))))
	return r
}

// A visited window is announced, and others take a part of it: much of it when
// it begins, because their jobs are at the full minute, and twice a little at
// any time. The client cannot prevent their visits.
type visited struct {
	counting
	window *fixedWindow
	early  float64 // the most that others take at the beginning, in parts of it

	index  float64
	visits []visit // still to come in this window
}

type visit struct{ at, cost float64 }

// visited draws one.
func (d *draw) visited() *visited {
	w := []float64{60, 60, 300}[d.rng.IntN(3)]
	window := &fixedWindow{n: max(20, math.Round(w*d.limit())), w: w}
	v := &visited{window: window, early: 0.2 + 0.4*d.rng.Float64(), index: -1}
	v.counting = *d.counting(announced, nil, window)
	return v
}

// first returns what others take at the beginning of a window. It is the same for
// every call, in any order.
func (v *visited) first(index float64) float64 {
	return math.Floor(v.window.n * v.early * (0.5 + 0.5*math.Sin(2.4*index)))
}

// capacity is the part of the window that the first visitors leave. A client that is
// quicker than the later visitors gets all of it.
func (v *visited) capacity(now float64) float64 {
	return (v.window.n - v.first(math.Floor(now/v.window.w))) / v.window.w
}

func (v *visited) answer(now, cost float64, inFlight int) reply {
	if index := math.Floor(now / v.window.w); index != v.index {
		v.index = index
		v.window.take(now, v.first(index))
		a, b := v.rng.Float64(), v.rng.Float64()
		little := math.Floor(0.04 * v.window.n)
		v.visits = []visit{{(index + min(a, b)) * v.window.w, little}, {(index + max(a, b)) * v.window.w, little}}
	}
	for len(v.visits) > 0 && v.visits[0].at <= now {
		v.window.take(now, v.visits[0].cost)
		v.visits = v.visits[1:]
	}
	return v.counting.answer(now, cost, inFlight)
}
