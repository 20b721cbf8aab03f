package picture

import (
	"fmt"
	"strings"
)

// A Stack shows what a whole was spent on, as one bar.
type Stack struct {
	Title string // what the whole is: where the 83 min went
	Parts []Part // in their order; those of nothing are left out
}

// A Part is a part of a whole.
type Part struct {
	Name  string
	Value float64 // in any unit, the same for all
	Text  string  // the value for people: 41 min
}

// partLooks are how the parts are shown, in their order, and again from the first.
var partLooks = []string{
	`class="pic-full"`, `class="pic-half"`, `class="pic-edge" fill="url(#pic-hatch)"`, `class="pic-edge" fill="url(#pic-bars)"`,
	`class="pic-edge" fill="url(#pic-rows)"`, `class="pic-alarm" fill="url(#pic-cross)"`, `class="pic-edge" fill="url(#pic-grid)"`,
}

const partFull, partPlain = "█▓▒░▚╳▤", "#=+:%x-"

// shown returns the parts that are something, and their sum.
func (s Stack) shown() (parts []Part, sum float64) {
	for _, p := range s.Parts {
		if p.Value > 0 {
			parts = append(parts, p)
			sum += p.Value
		}
	}
	return parts, sum
}

// Sentence says the parts and their shares: where the 83 min went: fetching 41 min (49 %).
func (s Stack) Sentence() string {
	parts, sum := s.shown()
	var said []string
	for _, p := range parts {
		said = append(said, fmt.Sprintf("%s %s (%s)", p.Name, p.Text, share(p.Value, sum)))
	}
	return s.Title + ": " + strings.Join(said, ", ")
}

// share returns a part in percent, rounded down: 99.97 % is not all.
func share(value, sum float64) string {
	percent := int(value / sum * 100)
	if percent == 0 {
		return "<1 %"
	}
	return fmt.Sprintf("%d %%", percent)
}

// cells divides n cells among the parts: one at least for each.
func cells(parts []Part, sum float64, n int) []int {
	of := make([]int, len(parts))
	if len(parts) == 0 {
		return of
	}
	left := n
	for i, p := range parts {
		of[i] = max(1, int(p.Value/sum*float64(n)))
		left -= of[i]
	}
	for left != 0 {
		at := 0 // the largest part gives, or takes
		for i := range of {
			if of[i] > of[at] {
				at = i
			}
		}
		if left > 0 {
			of[at], left = of[at]+left, 0
			continue
		}
		of[at], left = of[at]-1, left+1
	}
	return of
}

// Text draws the bar in at most columns, with a line for each part below; "" if the
// whole is nothing.
func (s Stack) Text(columns int, utf8 bool) string {
	parts, sum := s.shown()
	if len(parts) == 0 {
		return ""
	}
	marks, name, text := glyphs(utf8, partFull, partPlain), 0, 0
	for _, p := range parts {
		name, text = max(name, len([]rune(p.Name))), max(text, len([]rune(p.Text)))
	}
	var b strings.Builder
	for i, n := range cells(parts, sum, max(len(parts), min(columns, 60))) {
		b.WriteString(strings.Repeat(string(marks[i%len(marks)]), n))
	}
	b.WriteByte('\n')
	for i, p := range parts {
		fmt.Fprintf(&b, "%c %-*s  %*s  %5s\n", marks[i%len(marks)], name, p.Name, text, p.Text, share(p.Value, sum))
	}
	return b.String()
}

// SVG draws the bar, with what each part is below.
func (s Stack) SVG(size Size) string {
	parts, sum := s.shown()
	pic := &canvas{width: int(size)}
	var keys []key
	x := 0.0
	for i, n := range cells(parts, sum, int(size)/4) {
		look, wide := partLooks[i%len(partLooks)], float64(n*4)
		pic.box(x+0.5, 0.5, wide-1, 27, look, fmt.Sprintf("%s %s, %s", parts[i].Name, parts[i].Text, share(parts[i].Value, sum)))
		keys = append(keys, key{look: look, word: parts[i].Name + " " + parts[i].Text})
		x += wide
	}
	pic.height = int(pic.legend(0, 38, keys)) + 2
	return pic.svg(s.Sentence())
}
