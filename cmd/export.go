package cmd

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/connectors"
	"collect/export"
	"collect/internal/atomicfile"
	"collect/report/problem"
	"collect/store"
)

type exportOptions struct {
	name, stream string
	format       string
	output       string
	export.Options
	salvage bool
}

func (a *app) exportCommand() *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export <name | file.yaml> <stream>",
		Short: "Print the collected records, exactly as the provider sent them",
		Long: `Export prints the records of a stream in the order of their keys: one JSON
object a line, with numbers and strings as the provider sent them, or CSV.
It changes nothing, and may run while a run collects.

Records that the provider deleted are left out. With --deleted they come, too, with
the data that they had: _deleted_at says of each record when it was marked so, null
if it was not. One that was deleted before it was ever seen has no data.

With --salvage it reads what a damaged database still holds, page by page, in
no particular order, and says how many records it could not read. No record
comes out that was not stored.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil // the answer is which streams there are
			}
			return exactArgs("<name | file.yaml>", "<stream>")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.name = args[0]; len(args) > 1 {
				o.stream = args[1]
			}
			return a.export(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.format, "format", "jsonl", "the `format`: "+strings.Join(export.Formats(), " or "))
	c.Flags().StringVarP(&o.output, "output", "o", "", "write to this `file` instead of standard output")
	c.Flags().BoolVar(&o.salvage, "salvage", false, "take what can be read out of a damaged database")
	c.Flags().BoolVar(&o.Meta, "with-meta", false, "add _key, _committed_at and _run")
	c.Flags().BoolVar(&o.Deleted, "deleted", false, "the records that the provider deleted, too, with _deleted_at")
	return c
}

func (a *app) export(ctx context.Context, o exportOptions) error {
	format := export.Format(o.format)
	if !slices.Contains(export.Formats(), o.format) {
		return problem.Usage("--format: %q is not %s", o.format, strings.Join(export.Formats(), " or "))
	}
	if o.salvage {
		return a.salvage(ctx, o, format)
	}
	return a.look(ctx, []string{o.name}, func(v looked) error {
		if o.stream == "" {
			streams, err := v.db.Streams(ctx, v.name)
			if err != nil {
				return err
			}
			return &problem.WhichStreamError{Connector: o.name, Known: namesOf(streams)}
		}
		if _, err := findStream(ctx, v.db, v.name, o.stream); err != nil {
			return err
		}
		return a.writeTo(o.output, func(w io.Writer) error {
			_, err := export.Write(ctx, w, v.db, v.name, o.stream, format, o.Options)
			return err
		})
	})
}

// writeTo calls write with a buffered writer to path, or to standard output if
// path is "". A file is 0600 and is there as a whole or not at all, see package
// atomicfile; a terminal is shown no control characters.
func (a *app) writeTo(path string, write func(io.Writer) error) error {
	if path == "" {
		out := a.out
		if a.shown {
			out = harmless{out}
		}
		w := bufio.NewWriterSize(ownErrors{out}, 1<<16)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	var failed error // of what was to be written
	err := atomicfile.Write(path, func(to io.Writer) error {
		w := bufio.NewWriterSize(ownErrors{to}, 1<<16)
		if failed = write(w); failed == nil {
			failed = w.Flush()
		}
		return failed
	})
	if err != nil && failed == nil {
		return &problem.OutputError{Err: err}
	}
	return err
}

// harmless is a writer to a terminal. Records are exported as they came, and
// may hold what a terminal acts on (ECMA-48): each of its bytes becomes a
// question mark.
type harmless struct{ io.Writer }

func (h harmless) Write(p []byte) (int, error) {
	shown := bytes.Clone(p)
	for i, b := range shown {
		second := b >= 0x80 && b < 0xa0 && i > 0 && p[i-1] == 0xc2 // U+0080 to U+009F
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f || second || b == 0xc2 && i == len(p)-1 {
			shown[i] = '?'
		}
	}
	if _, err := h.Writer.Write(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ownErrors is a writer whose errors are known to be those of the output.
type ownErrors struct{ io.Writer }

func (o ownErrors) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		err = &problem.OutputError{Err: err}
	}
	return n, err
}

// findStream returns a stream of a connector, or the error that says which there are.
func findStream(ctx context.Context, db store.Reader, connector, stream string) (store.StreamState, error) {
	streams, err := db.Streams(ctx, connector)
	if err != nil {
		return store.StreamState{}, err
	}
	for _, s := range streams {
		if s.Name == stream {
			return s, nil
		}
	}
	return store.StreamState{}, &connectors.UnknownStreamError{Stream: stream, Known: namesOf(streams)}
}

func namesOf(streams []store.StreamState) []string {
	names := make([]string, len(streams))
	for i, s := range streams {
		names[i] = s.Name
	}
	return names
}
