package cmd

import (
	"slices"
	"strings"
)

// A table is rows of text in columns as wide as their widest cell.
type table struct {
	Head  []string
	Rows  [][]string
	Right []int // columns of numbers, which line up on the right
	Give  []int // columns that are cut, the widest first, when the table is too wide
	// Paint colors a cell, given its row and column; nil for no color. A color
	// only adds to a word.
	Paint func(row, column int) string
}

// render returns the table in at most width columns, one line per row, each
// with its newline. A width of 0 means no limit. It is "" without rows.
func (t table) render(limit int, c caps) string {
	if len(t.Rows) == 0 {
		return ""
	}
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	if limit > 0 {
		t.narrow(widths, limit)
	}
	var b strings.Builder
	t.line(&b, t.Head, widths, c, nil)
	for i, row := range t.Rows {
		t.line(&b, row, widths, c, func(column int) string {
			if t.Paint == nil {
				return ""
			}
			return t.Paint(i, column)
		})
	}
	return b.String()
}

// cutTo is the width below which a column says nothing any more.
const cutTo = 8

// narrow takes columns from the widest column that gives, one by one, until
// the table fits or no column can give.
func (t table) narrow(widths []int, limit int) {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > limit; total-- {
		widest := -1
		for _, i := range t.Give {
			if widths[i] > cutTo && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func (t table) line(b *strings.Builder, row []string, widths []int, c caps, paint func(int) string) {
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString("  ")
		}
		cell = fit(cell, widths[i])
		padding := strings.Repeat(" ", widths[i]-width(cell))
		cell = c.text(cell)
		if paint != nil {
			cell = c.paint(paint(i), cell)
		}
		if slices.Contains(t.Right, i) {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}
