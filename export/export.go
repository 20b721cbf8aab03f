// Package export writes the records of a stream for other programs.
//
// Records of a store come in the bytewise order of their keys, so that two exports of the
// same records are equal. They are written one by one: memory does not grow
// with their number, and a reader that stops reading stops the export. An
// export runs beside a run that collects. Each record is then in the newest
// version that was stored when it was read.
package export

import (
	"context"
	"fmt"
	"io"
	"iter"

	"collect/store"
)

// A Format is a way to write records.
type Format string

// The formats.
const (
	// JSONL is one JSON object a line: the bytes of the provider. Only where a
	// record has line breaks is the white space between its tokens removed;
	// numbers and strings are never touched.
	JSONL Format = "jsonl"

	// CSV is RFC 4180 with \n at the end of lines. The columns are the
	// top-level fields seen in the stream, in the order first seen, so that a
	// later export has the same columns first. Numbers are spelled as the
	// provider did, objects and arrays are JSON text, and null is empty, like
	// a field that is missing.
	//
	// Text that a spreadsheet would run as a formula, because it begins with
	// =, +, -, @, one of their fullwidth forms, a tab or a line break, gets an
	// apostrophe in front. Numbers do not. A carriage return becomes a line
	// feed, and characters that turn the direction of writing are left out.
	CSV Format = "csv"
)

// A Source is where records come from.
type Source interface {
	// Fields returns the top-level fields of the records of a stream.
	Fields(ctx context.Context, connector, stream string) ([]string, error)

	// Records yields the records of a stream.
	Records(ctx context.Context, connector, stream string) iter.Seq2[store.Stored, error]
}

// Formats returns the names of all formats.
func Formats() []string { return []string{string(JSONL), string(CSV)} }

// Options say what is written beside the records.
type Options struct {
	Meta    bool // _key, _committed_at and _run: its key, when its version was stored, in RFC 3339, and by which run
	Deleted bool // the records that the provider deleted, too, and of each _deleted_at: when it was marked so, or null
}

// Write writes the records of a stream to w and returns their number. What the
// options add stands in front of the fields of a record.
//
// The records written before an error are whole lines, unless w itself failed.
func Write(ctx context.Context, w io.Writer, r Source, connector, stream string, format Format, o Options) (n int64, err error) {
	var write func(store.Stored) error
	switch format {
	case JSONL:
		write = (&lines{w: w, Options: o}).write
	case CSV:
		fields, err := r.Fields(ctx, connector, stream)
		if err != nil {
			return 0, err
		}
		c, err := newTable(w, fields, o)
		if err != nil {
			return 0, err
		}
		defer func() {
			if flushed := c.flush(); err == nil {
				err = flushed
			}
		}()
		write = c.write
	default:
		return 0, fmt.Errorf("export: no format %q", format)
	}
	for record, err := range r.Records(ctx, connector, stream) {
		if err != nil {
			return n, err
		}
		if record.Deleted && !o.Deleted {
			continue
		}
		if err := write(record); err != nil {
			return n, fmt.Errorf("export: record %d: %w", n+1, err)
		}
		n++
	}
	return n, nil
}
