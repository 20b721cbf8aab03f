package law

import (
	"math"
	"slices"
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
	prior priorCharge   // of the runs before: it counts from the first answer that agrees
	id    uint64        // of the latest request whose answer was read,
	at    Moment        // its departure,
	level float64       // what remained after it,
	reset time.Duration // and the reset that was told
	grew  int           // answers in a row whose reset was no sooner
	first time.Duration // the one before them
	most  float64       // what remained at most since the first answer,
	ended time.Duration // and the reset that was told then
	told  bool          // an answer told what its request cost, and no difference is known yet
	bits  bool          // the reset grows with what is used: the limit is granted anew little by little
}

// A priorCharge is a charge as runs before knew it.
type priorCharge struct {
	Cost float64 `json:"cost"`
	Row  int     `json:"answers"`
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
	if !c.bits && gone < 0 && d.at < c.at+c.reset-resetSlack {
		c.prior = priorCharge{} // more is left before it is granted anew: several limits are told by one name
	}
	c.watch(q, gone, window)
	if c.bits && c.id > 0 {
		gone += q.Limit * float64(d.at-c.at) / float64(window)
	}
	cost := max(gone/float64(d.ID-c.id), told) / d.weight
	switch {
	case c.known() && !c.bits && c.level < c.cost*d.weight && gone >= 0: // it was granted all the same
		c.row, c.prior = 0, priorCharge{}
	case cost <= 0:
		if !c.bits || !c.known() {
			c.row = 0
		}
	case c.row == 0:
		if c.cost, c.row = cost, 1; !c.told && c.prior.Cost <= chargeRise*cost && cost <= chargeRise*c.prior.Cost {
			c.cost, c.row = max(cost, c.prior.Cost), c.prior.Row+1
		}
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
	if begins || q.Remaining >= c.most {
		c.most, c.ended = q.Remaining, q.Reset
	}
	switch {
	case c.told: // who tells costs has a bucket, unless the reset shows that it is none
		c.bits = begins || c.bits && (q.Reset > c.reset || gone/q.Limit*float64(window) < float64(resetSlack))
	case c.grew >= chargeSure && q.Reset > c.first+resetSlack:
		c.bits = true
	case q.Reset < c.ended-resetSlack: // less is left, and the reset is sooner
		c.bits = false
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

// A keptCharge is the saved form of a charge.
type keptCharge struct {
	priorCharge
	Name   string        `json:"name,omitempty"`
	Limit  float64       `json:"limit"`
	Window time.Duration `json:"window_ns"`
	Bits   bool          `json:"bit_by_bit,omitempty"`
	Others bool          `json:"other_unit,omitempty"` // it is not told in requests
}

// dearest returns the charge that a later run should know; nil if there is none. It takes the limit that allows the fewest
// requests.
func (b *bulletin) dearest() *keptCharge {
	var most *keptCharge
	for _, g := range b.gauges {
		c := keptCharge{g.prior, g.name, g.limit, g.told, g.bits, g.others}
		switch {
		case g.known():
			c.priorCharge = priorCharge{g.cost, chargeSure}
		case g.row > 1: // one may be the difference of two limits
			c.priorCharge = priorCharge{g.cost, g.row}
		}
		if c.sane() && (most == nil || c.Cost/c.Limit > most.Cost/most.Limit) {
			most = &c
		}
	}
	return most
}

// charges goes on with what was kept.
func (b *bulletin) charges(k *keptCharge) {
	if !k.sane() {
		return
	}
	i := slices.IndexFunc(b.gauges, func(g *gauge) bool { return g.name == k.Name && g.told == k.Window })
	if i < 0 {
		i = len(b.gauges)
		b.gauges = append(b.gauges, &gauge{name: k.Name, told: k.Window})
	}
	g := b.gauges[i]
	g.limit, g.length, g.others = k.Limit, g.told, k.Others
	g.prior, g.bits = k.priorCharge, k.Bits
}

// sane reports whether it can be one that is kept.
func (k *keptCharge) sane() bool {
	return k != nil && len(k.Name) <= nameMost && k.Limit >= 1 && !math.IsInf(k.Limit, 0) && k.Window >= response.BudgetFrom &&
		k.Cost >= chargeMore && k.Cost <= k.Limit && k.Row > 0 && k.Row <= chargeSure
}

// anew returns the time in which so much of q is granted anew, at most all of it. A limit that is granted in windows has it
// when the next one begins.
func (c *charge) anew(q *response.Quota, amount float64, window time.Duration) time.Duration {
	if q.Reset > 0 && (!c.bits || q.Limit < 1) {
		return q.Reset
	}
	return scale(window, min(1, amount/max(1, q.Limit)))
}
