package picture

import (
	"fmt"
	"strings"
	"time"

	"collect/internal/words"
)

// A Burndown shows how much was owed over time.
type Burndown struct {
	From, To time.Time
	Counts   []Count // in order; the first is at From, and each holds until the next one

	Held      int       // of those owed now, that wait for a person: no pace closes them
	NotBefore time.Time // of the others, none can be closed before; zero: at any time
}

// A Count is how many gaps were owed since a time.
type Count struct {
	At   time.Time
	Owed int
}

// peak returns when the most was owed first.
func (b Burndown) peak() (most Count) {
	for i, c := range b.Counts {
		if i == 0 || c.Owed > most.Owed {
			most = c
		}
	}
	return most
}

// Peak returns the most that was owed.
func (b Burndown) Peak() int { return b.peak().Owed }

func (b Burndown) now() int {
	if len(b.Counts) == 0 {
		return 0
	}
	return b.Counts[len(b.Counts)-1].Owed
}

// How much must be known for a guess of when nothing is owed: that many falls since the most
// was owed, over that part of the time; and how many times the time it may lie ahead.
const (
	leastFalls  = 3
	leastPart   = 14
	furthestOff = 2
)

// Gone returns when nothing will be owed but what waits for a person, if it goes on falling as
// it did since the most was owed; late: only because a wait ends then. ok is false if that
// cannot be said.
func (b Burndown) Gone() (at time.Time, late, ok bool) {
	most, left := b.peak(), b.now()-b.Held
	falls := 0
	for i, c := range b.Counts {
		if i > 0 && c.At.After(most.At) && c.Owed < b.Counts[i-1].Owed {
			falls++
		}
	}
	took, whole := b.To.Sub(most.At), b.To.Sub(b.From)
	fell := most.Owed - b.now()
	if left <= 0 || fell <= 0 || falls < leastFalls || took < whole/leastPart {
		return at, false, false
	}
	ahead := float64(took) * float64(left) / float64(fell)
	if ahead > furthestOff*float64(whole) {
		return at, false, false
	}
	at = b.To.Add(time.Duration(ahead))
	if b.NotBefore.After(at) {
		return b.NotBefore, true, true
	}
	return at, false, true
}

// ahead says what comes; "" if that is not known.
func (b Burndown) ahead() string {
	text := ""
	if b.Held > 0 {
		text = "; " + words.Counted(int64(b.Held), "waits", "wait") + " for a person"
	}
	at, late, ok := b.Gone()
	switch {
	case !ok:
		return text
	case b.Held > 0:
		text += ", the others are closed "
	default:
		text += "; at this pace all are closed "
	}
	day := momentWords(at, b.From, b.To)
	if late {
		return text + "not before " + day + ", when the last wait ends"
	}
	if b.Held > 0 {
		return text + "about " + day + " at this pace"
	}
	return text + "about " + day
}

// Sentence says the numbers.
func (b Burndown) Sentence() string {
	text := "gaps owed, " + spanWords(b.From, b.To) + ": "
	if len(b.Counts) == 0 {
		return text + "not measured"
	}
	most := b.peak()
	return text + fmt.Sprintf("%s at first; %s at most, since %s; %s now", words.Count(int64(b.Counts[0].Owed)), words.Count(int64(most.Owed)),
		momentWords(most.At, b.From, b.To), words.Count(int64(b.now()))) + b.ahead()
}

// Text draws a bar for how much was owed in each of at most n columns, and says the numbers.
func (b Burndown) Text(n int, utf8 bool) string {
	n = min(n, 60)
	values := make([]float64, n)
	columns(b.From, b.To, n, func(i int, from, to time.Time) {
		for k, c := range b.Counts {
			if c.At.Before(to) && (k+1 == len(b.Counts) || b.Counts[k+1].At.After(from)) {
				values[i] = max(values[i], float64(c.Owed))
			}
		}
	})
	return barLine(values, utf8) + "\n" + b.Sentence() + "\n"
}

// SVG draws what was owed as a hatched field, as days that are owed are in a calendar, and a
// dashed line from the most to what is left, if it fell.
func (b Burndown) SVG(size Size) string {
	most := b.peak()
	c := newChart(size, b.From, b.To, 10, 80)
	c.values(float64(most.Owed), words.Count(int64(most.Owed)))
	bottom := c.top + c.high
	var path strings.Builder
	for i, n := range b.Counts {
		if i == 0 {
			fmt.Fprintf(&path, "M%.1f %.1fV%.1f", c.x(n.At), bottom, c.y(float64(n.Owed)))
			continue
		}
		fmt.Fprintf(&path, "H%.1fV%.1f", c.x(n.At), c.y(float64(n.Owed)))
	}
	keys := []key{{look: `class="pic-edge" fill="url(#pic-hatch)"`, word: "owed"}}
	if most.Owed > 0 {
		c.draw(`<path class="pic-edge" fill="url(#pic-hatch)" d="%sH%dV%.1fZ"/>`, path.String(), c.width-1, bottom)
	}
	if now := b.now(); now < most.Owed {
		c.draw(`<path class="pic-limit" d="M%.1f %.1fL%d %.1f"/>`, c.x(most.At), c.y(float64(most.Owed)), c.width-1, c.y(float64(now)))
		keys = append(keys, key{look: `class="pic-limit"`, word: "from the most to now", path: "m0 6h12"})
	}
	return c.end(c.axis(), keys, b.Sentence())
}
