package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"collect/export"
	"collect/internal/words"
	"collect/store/sqlite/salvage"
)

// salvage exports what a damaged database still holds. It is no success unless
// everything came out.
func (a *app) salvage(ctx context.Context, o exportOptions, format export.Format) (err error) {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	name, err := a.nameOf(o.name)
	if err != nil {
		return err
	}
	sc := scene{Connector: name, Stream: o.stream, State: settings.State}
	s, err := salvage.Open(ctx, settings.State)
	if err != nil {
		return a.exit(err, sc)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.stream == "" {
		which := &whichStreamError{Connector: o.name}
		for _, stream := range s.Streams() {
			if stream[0] == name {
				which.Known = append(which.Known, stream[1])
			}
		}
		if len(which.Known) > 0 {
			return which
		}
	}
	if !slices.Contains(s.Streams(), [2]string{name, o.stream}) {
		return &nothingFoundError{s.Streams()}
	}
	err = a.writeTo(o.output, func(w io.Writer) error {
		_, err := export.Write(ctx, w, s, name, o.stream, format, o.withMeta)
		return err
	})
	if err != nil {
		return err
	}
	found, had := s.Count(name, o.stream)
	if found != had {
		return a.exit(&lostError{found, had}, sc)
	}
	fmt.Fprintf(a.err, "salvaged: all %s of %s/%s\n", words.Counted(found, "record", "records"), name, o.stream)
	return nil
}

// A lostError says that a salvage did not find all records.
type lostError struct{ Found, Had int64 } // Had is -1 if it is not known

func (e *lostError) Error() string {
	if e.Had < 0 {
		return fmt.Sprintf("%s could be read; how many there were is damaged, too", words.Counted(e.Found, "record", "records"))
	}
	return fmt.Sprintf("%s of %s could be read", words.Count(e.Found), words.Counted(e.Had, "record", "records"))
}

// A nothingFoundError says that a salvage found no record of a stream.
type nothingFoundError struct{ Streams [][2]string } // of which it found some

func (e *nothingFoundError) Error() string {
	if len(e.Streams) == 0 {
		return "no record could be read"
	}
	var names []string
	for _, stream := range e.Streams {
		names = append(names, strings.Join(stream[:], " "))
	}
	return "no record of that stream could be read; there are some of: " + strings.Join(names, ", ")
}
