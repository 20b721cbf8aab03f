package answer

import (
	"encoding/csv"
	"errors"
)

// mostColumns bounds a row. Each value takes as much memory as a record of a few
// bytes, until the row is one.
const mostColumns = 10_000

// faultOf says why a line is no CSV.
func faultOf(err error) string {
	if errors.Is(err, csv.ErrBareQuote) {
		return "a quote stands inside a value that has none around it"
	}
	return "a value in quotes does not end, or something stands behind it"
}
