package transfer

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A page of rows is read, and written, at once: at most this many rows, and no more once they
// take this many bytes.
const (
	pageRows  = 5000
	pageBytes = 8 << 20
)

// A reader reads the rows of a table in the order of their keys. It asks for a page
// behind the last key, so that no query is open for long, and memory is bounded by a page.
type reader struct {
	side    Side
	table   Table
	columns []string // sorted: those of both stores come in the same order
	after   []any    // the key of the last row that was read; nil: none was
	ended   bool
}

// newReader returns a reader of the rows behind a key; nil: of all.
func newReader(s Side, t Table, after []any) *reader { return &reader{side: s, table: t, after: after} }

// page returns the next rows; none at the end.
func (r *reader) page(ctx context.Context) (rows [][]any, err error) {
	if r.ended {
		return nil, nil
	}
	if err := r.describe(ctx); err != nil {
		return nil, err
	}
	found, err := r.side.Rows.QueryContext(ctx, r.query(), r.after...)
	if err != nil {
		return nil, r.side.Classify(err)
	}
	defer found.Close() // Err tells
	for size := 0; size < pageBytes && found.Next(); {
		row, dest := scanned(len(r.columns))
		if err := found.Scan(dest...); err != nil {
			return nil, r.side.Unreadable(err)
		}
		for i, value := range row {
			switch v := value.(type) {
			case []byte:
				row[i] = append([]byte{}, v...) // one without bytes is no NULL
				size += len(v)
			case string:
				size += len(v)
			}
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		return nil, r.side.Classify(err)
	}
	if len(rows) == 0 {
		r.ended = true
		return nil, r.side.Whole()
	}
	last := rows[len(rows)-1]
	r.after = make([]any, len(r.table.key))
	for i, column := range r.table.key {
		r.after[i] = last[slices.Index(r.columns, column)]
	}
	return rows, nil
}

// query asks for the rows behind the last key.
func (r *reader) query() string {
	var behind []string
	if r.after != nil {
		arguments := strings.Repeat(", ?", len(r.after))[2:]
		behind = []string{fmt.Sprintf("(%s) > (%s)", strings.Join(r.table.key, ", "), arguments)}
	}
	return fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s LIMIT %d`,
		strings.Join(r.columns, ", "), r.table.Name, r.table.where(behind...), strings.Join(r.table.key, ", "), pageRows)
}

// describe learns the columns of the table.
func (r *reader) describe(ctx context.Context) error {
	if r.columns != nil {
		return nil
	}
	rows, err := r.side.Rows.QueryContext(ctx, `SELECT * FROM `+r.table.Name+` LIMIT 0`)
	if err != nil {
		return r.side.Classify(err)
	}
	defer rows.Close() // it has none
	columns, err := rows.Columns()
	if err != nil {
		return r.side.Classify(err)
	}
	r.columns = slices.DeleteFunc(columns, func(c string) bool { return c == r.table.except })
	slices.Sort(r.columns)
	return r.side.Classify(rows.Err())
}
