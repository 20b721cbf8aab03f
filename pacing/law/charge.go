package law

import (
	"time"

	"collect/pacing/response"
)

// The constants of charges.
const (
	chargeSure = 8     // answers in a row that told less each time, from which on it is known
	chargeRise = 1.5   // times as much, at most, from one answer to the next: others may use the limit in bursts
	chargeFall = 0.998 // times as much, at least
	chargeMore = 2     // requests that one counts as, from which on it is told from what others use
)

// A charge is what one request takes of an announced limit that counts something else, such as points. It shows in what
// remains: the most that one of the latest requests took. Where requests are counted it is the least: one takes more than
// one only while others use the limit. Where several limits are told by one name, what remains goes up and down, and tells nothing.
type charge struct {
	cost  float64       // for each unit of weight
	row   int           // answers in a row that told less, until it is known
	id    uint64        // of the latest request whose answer was read,
	at    Moment        // its departure,
	level float64       // what remained after it,
	reset time.Duration // and the reset that was told
	grew  int           // answers in a row whose reset was no sooner
	first time.Duration // the one before them
	told  bool          // an answer told what its request cost, and no difference is known yet
	bits  bool          // the reset grows with what is used: the limit is granted anew little by little
}

// see takes what the answer to d says, and what it told that the request cost, or 0. One that was refused takes nothing.
func (c *charge) see(d *Ticket, q *response.Quota, told float64, refused bool, window time.Duration) {
	if d.ID <= c.id {
		return // it was overtaken
	}
	if refused && c.id > 0 {
		c.id = d.ID
		return
	}
	gone := 0.0
	if c.id > 0 {
		gone = c.level - q.Remaining
	}
	if c.told = told > 0 && q.Unit != "" && c.row < chargeSure; !c.told {
		told = 0
	}
	c.watch(q, gone, window)
	if c.bits && c.id > 0 {
		gone += q.Limit * float64(d.at-c.at) / float64(window)
	}
	cost := max(gone/float64(d.ID-c.id), told) / d.weight
	switch {
	case c.known() && !c.bits && c.level < c.cost*d.weight && gone >= 0: // it was granted all the same
		c.row = 0
	case cost <= 0:
		if !c.bits || !c.known() {
			c.row = 0
		}
	case c.row == 0:
		c.cost, c.row = cost, 1
	default:
		least := 0.0
		if q.Unit != "" {
			least = chargeFall * c.cost
		}
		c.cost, c.row = min(max(cost, least), chargeRise*c.cost), c.row+1
	}
	c.id, c.at, c.level, c.reset = d.ID, d.at, q.Remaining, q.Reset
}

// watch finds out whether the limit is granted anew little by little. gone is what the requests since the answer before
// took of it.
func (c *charge) watch(q *response.Quota, gone float64, window time.Duration) {
	begins := c.id == 0
	if c.grew++; begins || q.Reset < c.reset || q.Remaining > c.level {
		c.grew, c.first = 0, q.Reset
	}
	switch {
	case c.told: // who tells costs has a bucket, unless the reset shows that it is none
		c.bits = begins || c.bits && (q.Reset > c.reset || gone/q.Limit*float64(window) < float64(resetSlack))
	case c.grew >= chargeSure && q.Reset > c.first+resetSlack:
		c.bits = true
	}
}

// known reports whether it is.
func (c *charge) known() bool { return c.told || c.row >= chargeSure }

// each returns how much of q a unit of weight takes: 1 request, where nothing else is known.
func (c *charge) each(q *response.Quota) float64 {
	switch {
	case !c.known():
		return 1
	case q.Unit != "":
		return c.cost
	}
	return max(1, c.cost)
}

// anew returns the time in which so much of q is granted anew, at most all of it. A limit that is granted in windows has it
// when the next one begins.
func (c *charge) anew(q *response.Quota, amount float64, window time.Duration) time.Duration {
	if q.Reset > 0 && (!c.bits || q.Limit < 1) {
		return q.Reset
	}
	return scale(window, min(1, amount/max(1, q.Limit)))
}
