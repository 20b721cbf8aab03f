package cmd

import (
	"bufio"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/store"
)

type resetOptions struct {
	name, stream string
	from         string
	lane         string
	why          string
	yes          bool
}

func (a *app) resetCommand() *cobra.Command {
	var o resetOptions
	c := &cobra.Command{
		Use:   "reset <name | file.yaml> --stream S",
		Short: "Start a stream over, or from a date or cursor",
		Long: `Reset moves the checkpoints of a stream, so that the next run collects it
again. No record is deleted: what comes again replaces what is stored under
the same key. Who did it, when and why is kept.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.reset(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.stream, "stream", "", "the `stream` to reset")
	c.Flags().StringVar(&o.from, "from", "", "go on from this `cursor or date` instead of the start")
	c.Flags().StringVar(&o.lane, "lane", string(collection.Incremental), "the `lane`: incremental or backfill")
	c.Flags().StringVar(&o.why, "reason", "", "why, for the record")
	c.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return c
}

func (a *app) reset(ctx context.Context, o resetOptions) error {
	if o.stream == "" {
		return &usageError{"collect reset: missing --stream"}
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		streams, err := db.Streams(ctx, name)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(streams, func(s store.StreamState) bool { return s.Name == o.stream })
		if i < 0 {
			return unknownStream(o.stream, streams)
		}
		if !o.yes {
			if err := a.confirm(fmt.Sprintf("%s %s", name, o.stream), streams[i]); err != nil {
				return err
			}
		}
		at := collection.Place{Stream: o.stream, Lane: collection.Lane(o.lane)}
		audit := store.Audit{Who: whoami(), Why: o.why, Holder: thisProcess()}
		if err := db.Reset(ctx, name, at, cursorFrom(o.from), audit); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "reset: %s/%s. The next run collects it again; %s records stay until they are replaced\n",
			name, o.stream, count(streams[i].Records))
		return nil
	})
}

// cursorFrom returns the cursor that a person means by from: where a walk
// begins that asks for what is new since from. "" is the very start.
func cursorFrom(from string) collection.Cursor {
	return collection.Cursor{Since: from, Done: from != ""}
}

// confirm asks for the name to be typed.
func (a *app) confirm(name string, stream store.StreamState) error {
	fmt.Fprintf(a.err, "%s has %s records. To collect it again from the start, type its name (%s): ",
		stream.Name, count(stream.Records), name)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if strings.TrimSpace(line) != name {
		if err != nil {
			fmt.Fprintln(a.err)
		}
		return &usageError{"not confirmed; nothing was changed (--yes skips the question)"}
	}
	return nil
}

// whoami names the person at the keyboard, for the record.
func whoami() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
