package law

import (
	"math"
	"slices"
	"time"
)

// The constants of what is delivered.
const (
	recent    = 5 * time.Second // of which all answers are kept,
	keptLeast = 16              // and at least so many,
	keptMost  = 2048            // and at most: five seconds of 400 a second

	pastTimes = 1.35 // what was granted in a span before, beyond which the count is of another limit

	unaskedLeast = 30 * time.Second // in which nobody asks, though the pace allows it
)

// A delivered is what was answered: in all, in the count that is under way, and
// lately.
type delivered struct {
	work   float64  // of all answers in this run
	count           // that is under way
	past   past     // the counts before it
	latest []served // answers: a ring
	head   int      // its oldest, when it is full
}

// A count is of the answers since the last episode, also of the runs before.
type count struct {
	began   Moment
	before  float64       // work of the run before it began; less than nothing: work of earlier runs is in it
	answers int           // since then,
	earlier int           // of which so many in earlier runs,
	until   Moment        // that were heard until then
	unasked time.Duration // for so long nobody asked: between runs, or for half a minute and more in this one,
	pause   time.Duration // the last of these
	cut     bool          // it began with a run, and what was answered before that is not known
}

// A past is what was granted before the count that is under way.
type past struct {
	work float64
	span time.Duration
}

// A served is an answer and what it cost.
type served struct {
	at   Moment
	idle time.Duration // in all before it, in which nothing was in flight
	work float64
}

// observe notes an answer.
func (d *delivered) observe(work float64, idle time.Duration, now Moment) {
	d.answers++
	d.work += work
	if n := len(d.latest); n < keptLeast || n < keptMost && now-d.latest[d.head].at < recent {
		d.latest = slices.Insert(d.latest, d.head, served{now, idle, work})
		d.head = (d.head + 1) % len(d.latest)
		return
	}
	d.latest[d.head] = served{now, idle, work}
	if d.head++; d.head == len(d.latest) {
		d.head = 0
	}
}

// begin begins a new count.
func (d *delivered) begin(now Moment) {
	if d.past.span > longOutage { // what was granted lately counts more
		d.past.work, d.past.span = d.past.work/2, d.past.span/2
	}
	d.past.work += d.counted()
	d.past.span += now - d.began
	d.count = count{began: now, before: d.work}
}

// refutes reports whether more was granted before the count than it would leave room for, if the span until now were
// one of those in which the provider counts.
func (d *delivered) refutes(now Moment) bool {
	span := now - d.began
	return d.past.work*min(1, span.Seconds()/d.past.span.Seconds()) > pastTimes*d.counted()
}

// shorten makes the count that is under way begin at a moment when it was c, if enough was answered since.
func (d *delivered) shorten(c *count) {
	if c == nil || c.began <= d.began || d.answers-c.answers < enough {
		return
	}
	d.count = count{began: c.began, before: c.before, answers: d.answers - c.answers}
}

// goOn goes on with the count of an earlier run, which ended age ago. Its beginning counts
// from the first request that is asked for: see Next. While everything was refused,
// nothing was missed.
func (d *delivered) goOn(c *keptCount, age time.Duration, refused bool) {
	answers := max(0, min(c.Answers, countMost))
	d.count = count{began: -age - c.For, before: d.work - c.Work, answers: answers, earlier: answers, until: -age, unasked: max(0, c.Unasked), cut: c.Cut}
	if c.Past > 0 && !math.IsInf(c.Past, 0) && c.PastFor > 0 {
		d.past = past{c.Past, min(c.PastFor, longestCount)}
	}
	if !refused {
		d.unasked, d.pause = d.unasked+age, age
	}
}

// counted returns the work of the count.
func (d *delivered) counted() float64 { return d.work - d.before }

// within returns the work of the kept answers that came in [from, to).
func (d *delivered) within(from, to Moment) float64 {
	work := 0.0
	for i := range d.latest {
		s := d.latest[(d.head+len(d.latest)-1-i)%len(d.latest)]
		if s.at < from {
			break
		}
		if s.at < to {
			work += s.work
		}
	}
	return work
}

// lately returns the rate of the latest few answers: what a server does that has
// more to do than it can; 0 if there were too few.
func (d *delivered) lately() float64 {
	kept := len(d.latest)
	n := min(enough, kept)
	if n < enough/2 {
		return 0
	}
	work := 0.0
	for i := range n - 1 {
		work += d.latest[(d.head+kept-1-i)%kept].work
	}
	return work / max(1e-3, (d.latest[(d.head+kept-1)%kept].at-d.latest[(d.head+kept-n)%kept].at).Seconds())
}

// rates returns the rate of the answers of the last seconds, and the rate that
// they had while anything was in flight: a pause that something else than the
// provider made, like a ceiling, says nothing about how fast it is. Of fewer
// answers, one that was slow and the next that was not make any rate.
func (d *delivered) rates(idle time.Duration, now Moment) (rate, busy float64) {
	n := min(keptLeast, len(d.latest))
	if n < enough {
		return 0, 0
	}
	for n < len(d.latest) && now-d.latest[(d.head+len(d.latest)-n-1)%len(d.latest)].at <= recent {
		n++
	}
	work := 0.0
	for i := 1; i < n; i++ {
		work += d.latest[(d.head+len(d.latest)-i)%len(d.latest)].work
	}
	first := d.latest[(d.head+len(d.latest)-n)%len(d.latest)]
	span := now - first.at
	return work / max(span.Seconds(), 1e-3), work / max((span-(idle-first.idle)).Seconds(), 1e-3)
}
