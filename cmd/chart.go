package cmd

import (
	"fmt"
	"math"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/pacing/sim"
)

// A chart is a picture of a trial: what was answered, the limit it was
// answered under, and where the provider refused. It is drawn once as text and
// once as SVG.
type chart struct {
	Title, About string
	Moments      []sim.Moment
}

// chartMoments is how fine a trial is looked at for its picture.
const chartMoments = 120

// chartRows is the height of the picture in a terminal.
const chartRows = 8

// most returns the highest rate in the picture; at least 0.1 a second.
func (c chart) most() float64 {
	most := 0.1
	for _, m := range c.Moments {
		most = max(most, m.Answered, m.Capacity)
	}
	return most
}

// length returns the time that the picture shows.
func (c chart) length() time.Duration {
	n := len(c.Moments)
	if n < 2 {
		return 0
	}
	return c.Moments[1].From * time.Duration(n)
}

// refused counts the refusals.
func (c chart) refused() int {
	n := 0
	for _, m := range c.Moments {
		n += m.Refused
	}
	return n
}

// cells gathers the moments into at most n.
func (c chart) cells(n int) []sim.Moment {
	n = min(n, len(c.Moments))
	cells := make([]sim.Moment, n)
	for i := range cells {
		part := c.Moments[i*len(c.Moments)/n : (i+1)*len(c.Moments)/n]
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

// glyphs of a chart in a terminal.
type chartGlyphs struct {
	levels               []rune // a part of a row, the last is a whole one
	limit, axis, corner  string
	baseline, none, many string
}

func chartGlyphsFor(c term.Caps) chartGlyphs {
	if c.UTF8 {
		return chartGlyphs{[]rune(term.Eighths), "─", "│", "└", "─", "·", "×"}
	}
	return chartGlyphs{[]rune(".:#"), "-", "|", "+", "-", ".", "x"}
}

// chartText draws c in at most columns: a bar for what was answered, a line
// for the limit where there is room above the bar, and how often the provider
// refused below it.
func chartText(c chart, columns int, can term.Caps) string {
	const margin = 11
	g, cells, most := chartGlyphsFor(can), c.cells(max(10, columns-margin-1)), c.most()
	lines := term.Wrap(" ", c.Title+" ("+c.About+")", columns)
	for row := chartRows - 1; row >= 0; row-- {
		label := ""
		switch row {
		case chartRows - 1:
			label = words.Rate(most)
		case chartRows/2 - 1:
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
	end := words.Span(c.length())
	lines = append(lines, fmt.Sprintf(" %*s 0%*s", margin-2, "", len(cells)-1, end))
	lines = append(lines, term.Wrap(" ", fmt.Sprintf("bars: answered. %s: the limit. refused: a digit for each time, %s for ten or more.",
		strings.Repeat(g.limit, 2), g.many), columns)...)
	return strings.Join(lines, "\n")
}

// cell returns what stands in a row of the picture, counted from the bottom.
func (g chartGlyphs) cell(row int, m sim.Moment, most float64) string {
	parts := len(g.levels)
	level := int(math.Round(m.Answered/most*chartRows*float64(parts))) - row*parts
	if level > 0 {
		return string(g.levels[min(level, parts)-1])
	}
	if limit := min(chartRows-1, int(m.Capacity/most*chartRows)); limit == row {
		return g.limit
	}
	return " "
}
