package picture

import (
	"fmt"
	"strings"
	"time"

	"collect/internal/words"
)

// A Door says whether requests to an account may leave.
type Door int

// The doors, from the best to the worst. That it is not known is none of these.
const (
	DoorUnknown Door = iota
	DoorClosed       // the breaker is closed: requests leave
	DoorHalf         // one request leaves as a probe
	DoorOpen         // the breaker is open: none leaves
	DoorFrozen       // the account is frozen: none leaves before a person says so
)

// doorLooks say how each is shown.
var doorLooks = [...]struct{ word, full, plain, look string }{
	DoorUnknown: {"not measured", " ", " ", `class="pic-edge" fill="url(#pic-dots)"`},
	DoorClosed:  {"closed", "─", "=", `class="pic-half"`},
	DoorHalf:    {"half-open", "┄", "~", `class="pic-edge" fill="url(#pic-hatch)"`},
	DoorOpen:    {"open", "×", "X", `class="pic-alarm" fill="url(#pic-cross)"`},
	DoorFrozen:  {"frozen", "■", "#", `class="pic-alarm" fill="url(#pic-grid)"`},
}

// A Breaker shows when the breaker of an account was open, and when the account was frozen.
type Breaker struct {
	From, To time.Time
	Changes  []Change // in order; the first is at From, and each holds until the next one
}

// A Change is how the breaker is since a time.
type Change struct {
	At time.Time
	To Door
}

// ends returns until when a change held.
func (b Breaker) ends(i int) time.Time {
	if i+1 < len(b.Changes) {
		return b.Changes[i+1].At
	}
	return b.To
}

// Sentence says the numbers: how long it was what, and how often.
func (b Breaker) Sentence() string {
	var took [len(doorLooks)]time.Duration
	var times [len(doorLooks)]int64
	for i, c := range b.Changes {
		took[c.To] += b.ends(i).Sub(c.At)
		if i == 0 || b.Changes[i-1].To != c.To {
			times[c.To]++
		}
	}
	var parts []string
	for door, look := range doorLooks {
		if times[door] == 0 {
			continue
		}
		part := look.word + " " + words.Span(words.Tenth(took[door]))
		if times[door] > 1 {
			part += fmt.Sprintf(" (%s)", words.Counted(times[door], "time", "times"))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = []string{doorLooks[DoorUnknown].word}
	}
	return "breaker, " + spanWords(b.From, b.To) + ": " + strings.Join(parts, "; ")
}

// Text draws the worst of each of at most n columns, and says the numbers.
func (b Breaker) Text(n int, utf8 bool) string {
	n = min(n, 60)
	var line strings.Builder
	columns(b.From, b.To, n, func(_ int, from, to time.Time) {
		worst := DoorUnknown
		for i, c := range b.Changes {
			if c.At.Before(to) && b.ends(i).After(from) {
				worst = max(worst, c.To)
			}
		}
		mark := doorLooks[worst].plain
		if utf8 {
			mark = doorLooks[worst].full
		}
		line.WriteString(mark)
	})
	return strings.TrimRight(line.String(), " ") + "\n" + b.Sentence() + "\n"
}

// SVG draws a strip. Neighbours of one kind are one piece, and a short one can be seen.
func (b Breaker) SVG(size Size) string {
	c := newChart(size, b.From, b.To, 4, 22)
	var seen [len(doorLooks)]bool
	for i := 0; i < len(b.Changes); {
		end := i
		for end+1 < len(b.Changes) && b.Changes[end+1].To == b.Changes[i].To {
			end++
		}
		look := doorLooks[b.Changes[i].To]
		seen[b.Changes[i].To] = true
		left := c.x(b.Changes[i].At)
		wide := max(3, c.x(b.ends(end))-left)
		told := look.word + " " + words.Span(words.Tenth(b.ends(end).Sub(b.Changes[i].At))) + " from " + momentWords(b.Changes[i].At, b.From, b.To)
		c.box(min(left, float64(size)-wide)+0.5, c.top, wide-1, c.high-2, look.look, told)
		i = end + 1
	}
	var keys []key
	for door, look := range doorLooks {
		if seen[door] {
			keys = append(keys, key{look: look.look, word: look.word})
		}
	}
	return c.end(c.axis(), keys, b.Sentence())
}
