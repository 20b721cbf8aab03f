package law

import (
	"time"

	"collect/pacing/response"
)

// The constants of what announced limits show of themselves.
const (
	mostGauges = 16   // limits that are told apart
	gaugeUses  = 0.9  // share of the announced pace: a slower look says nothing of what is left
	gaugeSpare = 0.05 // share of a limit that may be left unused
	gaugeStep  = 1.5  // times as fast at once
	gaugeLow   = 0.25 // share of a limit by which what remains goes up when a window begins, and below which it is low
	gaugeExact = 64   // requests in the windows in a row whose mean length is taken: it is as exact as one of them

	resetSlack  = 2 * time.Second // a reset is told too late by no more: it is rounded up, and the date down
	movingLeast = time.Minute     // a moving window of unknown length is taken for as long at least
)

// A gauge is a limit that is announced. The time until it resets is told in
// whole seconds, rounded up or more, by clocks that are off, and some tell what
// they call a window and count in something else. What remains says more. Where
// it rises to the whole limit, a window began, so the time from rise to rise is
// its length. Where it does not, and a part of the limit is there all the time
// although we use the pace that the limit and its window make, more is granted:
// the window is taken for shorter, a little each time, until what remains falls.
type gauge struct {
	name   string
	limit  float64
	told   time.Duration // the window that is named, or the longest reset that was seen
	length time.Duration // the time in which the limit is granted anew: at most told
	ends   Moment        // when the window that was told first ends, at the latest
	latest Moment        // departure of the latest request whose answer was read,
	id     uint64        // its id,
	level  float64       // and what remained after it

	// A window that had begun before our first request, until judge knows what it is.
	entered   uint64 // id of our first request in it; 0: it is known
	enteredAt Moment // departure of that request
	near      uint64 // id of the first request that may have left after the reset
	moves     bool   // it did not begin anew at its reset

	began Moment // departure of the first request in the window that began last; 0: none showed
	from  Moment // departure of the last request before the first of some rises in a row
	rises int    // since then
	shown bool   // length is the mean of such a row

	exceeded bool // more was granted than it says

	emptied int    // windows in a row that were used up by others,
	empty   Moment // the last of them until then

	// The look at what remains that has begun.
	since   Moment
	answers int
	work    float64
	first   float64 // what remained after the first answer
	low     float64 // the least that remained
	raised  bool    // the look before made it faster

	others bool    // it counts something else than requests
	charge         // of a request
	most   float64 // the pace that it allows, if it is a budget,
	until  Moment  // until then
}

// measured reports whether the length of the window is known from the answer to
// d: it is named, or another one has begun. Before that, its last seconds look
// like a short window, and so does all of one that moves.
func (g *gauge) measured(d *Ticket, q *response.Quota) bool {
	return q.Window > 0 || d.at >= g.ends && g.entered == 0
}

// pace returns the pace that it grants in the long run.
func (g *gauge) pace() float64 { return margin * g.limit / g.length.Seconds() }

// left returns the time until the limit is granted anew, of which reset is told.
func (g *gauge) left(reset time.Duration, now Moment) time.Duration {
	left := scale(min(reset, g.told), float64(g.length)/float64(g.told))
	if ends := g.began + g.length - now; g.began > 0 && ends > 0 {
		left = min(left, ends)
	}
	return left
}

// see takes what the answer to d says. pace is the announced one that is
// followed; 0: none is.
func (g *gauge) see(d *Ticket, q *response.Quota, pace float64, sent uint64, now Moment) {
	if d.at < g.latest || q.Limit < 1 {
		return // it was overtaken
	}
	if g.id > 0 {
		g.rise(d, q.Remaining, sent)
	} else if q.Window <= 0 && g.limit-q.Remaining > float64(sent)*max(1, d.weight) {
		g.entered, g.enteredAt = d.ID, d.at
	}
	if g.entered > 0 {
		g.judge(d, q.Remaining, sent, now)
	}
	if g.answers == 0 {
		g.since, g.work, g.first, g.low = now, 0, q.Remaining, q.Remaining
	}
	g.latest, g.id, g.level, g.low = d.at, d.ID, q.Remaining, min(g.low, q.Remaining)
	g.answers++
	g.work += d.weight
	g.look(pace, now)
}

// judge finds out whether a window that had begun before our first request moves. If more is
// gone after its reset than left since, it did not begin anew: the reset was that of its
// oldest request, and says nothing of the length. That is taken for a minute at least,
// until the first of our own requests no longer count, which they did for just as long.
func (g *gauge) judge(d *Ticket, remaining float64, sent uint64, now Moment) {
	if g.near == 0 && d.at >= g.ends-resetSlack {
		g.near = d.ID
	}
	gone, weight := g.limit-remaining, max(1, d.weight)
	expired := gone < (1-gaugeSpare)*float64(d.ID-g.entered+1)*weight-1 // the first of our own
	switch {
	case g.moves && expired:
		g.take(now - g.enteredAt)
		g.entered, g.moves = 0, false
	case g.moves:
	case d.at < g.ends:
	case expired || gone <= float64(sent-g.near+1)*weight:
		g.entered = 0
	case d.at >= g.ends+time.Second:
		g.moves = true
		g.take(max(g.told, movingLeast))
	}
}

// take takes the window for as long as length.
func (g *gauge) take(length time.Duration) {
	g.told, g.length, g.answers = length, length, 0
}

// rise notes a window that began before d: no more is gone than left since the
// request before it, and that is much less than was gone then. What left after d counts
// too, because some providers tell what remains when they send the answer. If what remains
// of a few seconds rises by less, a window may have begun unnoticed, and the row ends.
func (g *gauge) rise(d *Ticket, remaining float64, sent uint64) {
	gone := g.limit - remaining
	if remaining-g.level < max(2, gaugeLow*g.limit) || gone > float64(sent-g.id)*max(1, d.weight) {
		if remaining > g.level && g.told <= shortWindow {
			g.from, g.rises = 0, 0
		}
		return
	}
	g.began = d.at
	g.answers = 0 // windows show, so how low it gets says nothing
	if g.rises == 0 || g.from == 0 {
		g.from = g.latest
	}
	if n := g.rises; n > 0 && float64(n)*g.limit >= gaugeExact {
		g.set((d.at - g.from).Seconds() / float64(n))
		g.from, g.rises, g.shown = 0, 0, true
		return
	}
	g.rises++
}

// look ends the look when there is enough of it, and learns from it.
func (g *gauge) look(pace float64, now Moment) {
	span := now - g.since
	drained := g.raised && g.low < gaugeLow*g.limit
	if g.answers < enough || span < g.told && !drained {
		return
	}
	work, drop, raised := g.work/span.Seconds(), g.first-g.level, g.raised
	g.answers, g.raised = 0, false
	switch {
	case work < gaugeUses*pace:
	case drop < 2 && g.low > max(1, gaugeSpare*g.limit): // is there all the time
		rate := max(g.limit/g.length.Seconds(), work)
		if pace > 0 {
			rate *= min(gaugeStep, 1+g.low/(g.told.Seconds()*rate))
			g.raised = true
		}
		g.set(g.limit / rate)
	case drop < 2 || raised && !drained: // which may come from being faster
	default: // what was granted meanwhile is exact
		granted := max(slowest, work-drop/span.Seconds())
		g.set(g.limit / granted)
	}
}

// set takes the window for so many seconds long, but no longer than was told.
func (g *gauge) set(seconds float64) {
	g.length = max(time.Millisecond, scale(g.told, min(1, seconds/g.told.Seconds())))
	g.exceeded = g.exceeded || g.length < g.told
}
