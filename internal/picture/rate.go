package picture

import (
	"fmt"
	"strings"
	"time"

	"collect/internal/words"
)

// A Rate shows how fast an account was asked, what was learned that it bears, and when the
// pace was lowered for what it answered. Where there is no bar, nobody asked.
type Rate struct {
	From, To time.Time
	Sent     []Sent      // in the order of their beginning; they may overlap
	Learned  []Level     // in order; each holds until the next one
	Ceiling  []Level     // the same; 0: none is declared
	Lowered  []time.Time // in order
}

// A Sent is a time in which requests left.
type Sent struct {
	From, To  time.Time
	PerSecond float64 // in the mean
	Refused   int64   // of the requests
	Name      string  // of what sent them
}

// A Level is a rate since a time.
type Level struct {
	At        time.Time
	PerSecond float64
}

// Empty reports whether nothing is known of the time.
func (r Rate) Empty() bool { return len(r.Sent)+len(r.Learned)+len(r.Lowered) == 0 }

func last(levels []Level) float64 {
	if len(levels) == 0 {
		return 0
	}
	return levels[len(levels)-1].PerSecond
}

func highest(levels []Level) (most float64) {
	for _, l := range levels {
		most = max(most, l.PerSecond)
	}
	return most
}

func (r Rate) fastest() (most float64) {
	for _, s := range r.Sent {
		most = max(most, s.PerSecond)
	}
	return most
}

// Sentence says the numbers.
func (r Rate) Sentence() string {
	text := "rate, " + spanWords(r.From, r.To) + ": "
	if r.Empty() {
		return text + "not measured"
	}
	parts := []string{"nothing sent"}
	if most := r.fastest(); most > 0 {
		parts[0] = "sent " + words.Rate(most) + " at most, in the mean of a run"
	}
	if learned := last(r.Learned); learned > 0 {
		parts = append(parts, "learned "+words.Rate(learned)+" in the end")
	}
	if ceiling := last(r.Ceiling); ceiling > 0 {
		parts = append(parts, "ceiling "+words.Rate(ceiling))
	}
	refused := int64(0)
	for _, s := range r.Sent {
		refused += s.Refused
	}
	if len(r.Sent) > 0 {
		parts = append(parts, words.Counted(refused, "refusal", "refusals"))
	}
	return text + strings.Join(append(parts, "pace lowered "+words.Counted(int64(len(r.Lowered)), "time", "times")), "; ")
}

// Text draws bars of what was sent in at most n columns, crosses where the pace was lowered,
// and says the numbers.
func (r Rate) Text(n int, utf8 bool) string {
	n = min(n, 60)
	values, marks := make([]float64, n), make([]rune, n)
	alphabet := glyphs(utf8, "·×", ".x")
	columns(r.From, r.To, n, func(i int, from, to time.Time) {
		for _, s := range r.Sent {
			if s.From.Before(to) && s.To.After(from) {
				values[i] = max(values[i], s.PerSecond)
			}
		}
		marks[i] = alphabet[0]
		for _, at := range r.Lowered {
			if !at.Before(from) && at.Before(to) {
				marks[i] = alphabet[1]
			}
		}
	})
	return barLine(values, utf8) + "\n" + string(marks) + "\n" + r.Sentence() + "\n"
}

// farAbove is how many times what was sent and learned a ceiling is that is named, and not
// drawn: it would press everything else to the ground.
const farAbove = 4

// SVG draws bars of what was sent, a line of what was learned, a dashed one of the ceiling,
// and crosses where the pace was lowered.
func (r Rate) SVG(size Size) string {
	most, ceiling := max(r.fastest(), highest(r.Learned)), highest(r.Ceiling)
	above := most > 0 && ceiling > farAbove*most
	if !above {
		most = max(most, ceiling)
	}
	c := newChart(size, r.From, r.To, 18, 90) // the crosses are above it
	c.values(most, words.Rate(most))
	var keys []key
	for _, s := range r.Sent {
		left := c.x(s.From)
		wide := max(2, c.x(s.To)-left)
		told := fmt.Sprintf("%s: %s, %s", s.Name, words.Rate(s.PerSecond), words.Counted(s.Refused, "refusal", "refusals"))
		c.box(min(left, float64(size)-wide), c.y(s.PerSecond), wide, c.top+c.high-c.y(s.PerSecond), `class="pic-full"`, told)
	}
	if len(r.Sent) > 0 {
		keys = append(keys, key{look: `class="pic-full"`, word: "sent, mean of each run"})
	}
	if c.steps(r.Learned, "pic-step") {
		keys = append(keys, key{look: `class="pic-step"`, word: "learned", path: "m0 6h12"})
	}
	dashes := key{look: `class="pic-limit"`, word: "ceiling", path: "m0 6h12"}
	if above {
		dashes.word = "ceiling " + words.Rate(ceiling) + ", far above"
		keys = append(keys, dashes)
	} else if c.steps(r.Ceiling, "pic-limit") {
		keys = append(keys, dashes)
	}
	before := -10.0
	for _, at := range r.Lowered {
		if x := c.x(at); x-before >= 6 { // one cross for what would be one on another
			c.cross(min(max(x, c.left+2.5), float64(size)-2.5), c.top-9)
			before = x
		}
	}
	if len(r.Lowered) > 0 {
		keys = append(keys, key{look: `class="pic-alarm-line"`, word: "pace lowered", path: "m3 3l5 5m0 -5l-5 5"})
	}
	return c.end(c.axis(), keys, r.Sentence())
}

// steps draws a line that holds each level until the next one. It reports whether there
// was one to draw.
func (c *chart) steps(levels []Level, class string) bool {
	var path strings.Builder
	for _, l := range levels {
		switch x, y := c.x(l.At), c.y(l.PerSecond); {
		case l.PerSecond <= 0:
			continue
		case path.Len() == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", x, y)
		default:
			fmt.Fprintf(&path, "H%.1fV%.1f", x, y)
		}
	}
	if path.Len() == 0 {
		return false
	}
	c.draw(`<path class="%s" d="%sH%d"/>`, class, path.String(), c.width)
	return true
}
