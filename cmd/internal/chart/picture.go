package chart

import (
	"fmt"
	"math"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/pacing/sim"
)

// A picture is a trial drawn: what was answered, the limit it was answered
// under, and where the provider refused. It is drawn as text and as SVG.
type picture struct {
	Title, About string
	Moments      []sim.Moment
}

// Moments is how many moments of a trial its picture is drawn from.
const Moments = 120

// rows is the height of the picture in a terminal.
const rows = 8

// most returns the highest rate in the picture; at least 0.1 a second.
func (p picture) most() float64 {
	most := 0.1
	for _, m := range p.Moments {
		most = max(most, m.Answered, m.Capacity)
	}
	return most
}

// length returns the time that the picture shows.
func (p picture) length() time.Duration {
	n := len(p.Moments)
	if n < 2 {
		return 0
	}
	return p.Moments[1].From * time.Duration(n)
}

// refused counts the refusals.
func (p picture) refused() int {
	n := 0
	for _, m := range p.Moments {
		n += m.Refused
	}
	return n
}

// cells gathers the moments into at most n.
func (p picture) cells(n int) []sim.Moment {
	n = min(n, len(p.Moments))
	cells := make([]sim.Moment, n)
	for i := range cells {
		part := p.Moments[i*len(p.Moments)/n : (i+1)*len(p.Moments)/n]
		cells[i].From = part[0].From
		for _, m := range part {
			cells[i].Sent += m.Sent / float64(len(part))
			cells[i].Answered += m.Answered / float64(len(part))
			cells[i].Capacity += m.Capacity / float64(len(part))
			cells[i].Refused += m.Refused
			cells[i].Pace = m.Pace
		}
	}
	return cells
}

// An alphabet holds the glyphs of a picture in a terminal.
type alphabet struct {
	levels               []rune // a part of a row, the last is a whole one
	limit, axis, corner  string
	baseline, none, many string
}

func alphabetOf(c term.Caps) alphabet {
	if c.UTF8 {
		return alphabet{[]rune(term.Eighths), "─", "│", "└", "─", "·", "×"}
	}
	return alphabet{[]rune(".:#"), "-", "|", "+", "-", ".", "x"}
}

// text draws p in at most columns: a bar for what was answered, a line for the
// limit where there is room above the bar, and how often the provider refused
// below it.
func (p picture) text(columns int, can term.Caps) string {
	const margin = 11
	g, cells, most := alphabetOf(can), p.cells(max(10, columns-margin-1)), p.most()
	lines := term.Wrap(" ", p.Title+" ("+p.About+")", columns)
	for row := rows - 1; row >= 0; row-- {
		label := ""
		switch row {
		case rows - 1:
			label = words.Rate(most)
		case rows/2 - 1:
			label = words.Rate(most / 2)
		}
		var b strings.Builder
		fmt.Fprintf(&b, " %*s %s", margin-3, label, g.axis)
		for _, m := range cells {
			b.WriteString(g.cell(row, m, most))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	lines = append(lines, fmt.Sprintf(" %*s %s%s", margin-3, "0", g.corner, strings.Repeat(g.baseline, len(cells))))
	var refusals strings.Builder
	for _, m := range cells {
		switch {
		case m.Refused == 0:
			refusals.WriteString(g.none)
		case m.Refused > 9:
			refusals.WriteString(g.many)
		default:
			fmt.Fprint(&refusals, m.Refused)
		}
	}
	lines = append(lines, fmt.Sprintf(" %*s %s", margin-2, "refused", refusals.String()))
	end := words.Span(p.length())
	lines = append(lines, fmt.Sprintf(" %*s 0%*s", margin-2, "", len(cells)-1, end))
	lines = append(lines, term.Wrap(" ", fmt.Sprintf("bars: answered. %s: the limit. refused: a digit for each time, %s for ten or more.",
		strings.Repeat(g.limit, 2), g.many), columns)...)
	return strings.Join(lines, "\n")
}

// cell returns what stands in a row of the picture, counted from the bottom.
func (g alphabet) cell(row int, m sim.Moment, most float64) string {
	parts := len(g.levels)
	level := int(math.Round(m.Answered/most*rows*float64(parts))) - row*parts
	if level > 0 {
		return string(g.levels[min(level, parts)-1])
	}
	if limit := min(rows-1, int(m.Capacity/most*rows)); limit == row {
		return g.limit
	}
	return " "
}
