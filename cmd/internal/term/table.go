package term

import (
	"slices"
	"strings"
)

// A Table is rows of text in columns as wide as their widest cell. Columns are
// named by their index in Head.
type Table struct {
	Head  []string
	Rows  [][]string
	Right []int // columns of numbers, which line up on the right
	Give  []int // columns that are cut, the widest first, when the table is too wide
	Drop  []int // columns that are left out, in this order, when cutting is not enough
	// Prose are columns of sentences: where nothing is cut, they stand last, so that one long sentence does not
	// move all that follows it.
	Prose []int
	// Paint colors a cell, given its row and column; nil for no color. A color
	// only adds to a word.
	Paint func(row, column int) string
}

// cutTo is the width below which a column says nothing any more.
const cutTo = 12

// Render returns the table in at most limit columns, one line per row, each
// with its newline. A limit of 0 means none, and an output without a width has
// none. It is "" without rows.
func (t Table) Render(limit int, c Caps) string {
	if len(t.Rows) == 0 {
		return ""
	}
	if c.Wide {
		limit = 0
	}
	columns := t.shown(limit)
	var b strings.Builder
	t.line(&b, t.Head, columns, c, nil)
	for i, row := range t.Rows {
		t.line(&b, row, columns, c, func(column int) string {
			if t.Paint == nil {
				return ""
			}
			return t.Paint(i, column)
		})
	}
	return b.String()
}

// A column is one that is shown.
type column struct{ of, width int }

// shown returns the columns that are shown, in their order.
func (t Table) shown(limit int) (columns []column) {
	var last []column
	for i, width := range t.widths(limit) {
		switch {
		case width == 0:
		case limit <= 0 && slices.Contains(t.Prose, i):
			last = append(last, column{i, width})
		default:
			columns = append(columns, column{i, width})
		}
	}
	return append(columns, last...)
}

// widths returns the width of each column; a column that is left out has 0.
func (t Table) widths(limit int) []int {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	if limit <= 0 {
		return widths
	}
	natural := slices.Clone(widths)
	for _, drop := range t.Drop {
		if t.narrow(widths, limit) {
			return widths
		}
		copy(widths, natural)
		natural[drop], widths[drop] = 0, 0
	}
	t.narrow(widths, limit)
	return widths
}

// narrow takes columns from the widest column that gives, one by one, until
// the table fits. It reports whether it does.
func (t Table) narrow(widths []int, limit int) bool {
	total := -2 // the space between columns
	for _, w := range widths {
		if w > 0 {
			total += 2 + w
		}
	}
	for ; total > limit; total-- {
		widest := -1
		for _, i := range t.Give {
			if widths[i] > cutTo && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

func (t Table) line(b *strings.Builder, row []string, columns []column, c Caps, paint func(int) string) {
	var line strings.Builder
	for _, column := range columns {
		if line.Len() > 0 {
			line.WriteString("  ")
		}
		cell := Fit(row[column.of], column.width)
		padding := strings.Repeat(" ", column.width-Width(cell))
		cell = c.Text(cell)
		if paint != nil {
			cell = c.Paint(paint(column.of), cell)
		}
		if slices.Contains(t.Right, column.of) {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}
