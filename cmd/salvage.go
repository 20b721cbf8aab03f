package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"collect/engine/registry"
	"collect/engine/storage"
	"collect/export"
	"collect/internal/words"
	"collect/report/problem"
)

// salvage exports what a damaged database still holds. It is no success unless
// everything came out.
func (a *app) salvage(ctx context.Context, o exportOptions, format export.Format) (err error) {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	name, err := registry.NameOf(o.name)
	if err != nil {
		return err
	}
	sc := problem.Scene{Connector: name, Stream: o.stream, State: settings.State}
	file, ok := storage.FileOf(settings.State)
	if !ok {
		return a.exit(&problem.ServedError{Command: "collect export --salvage", Tool: storage.Dump(settings.State)}, sc)
	}
	s, err := file.Salvage(ctx)
	if err != nil {
		return a.exit(err, sc)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.stream == "" {
		which := &problem.WhichStreamError{Connector: o.name}
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
		return &problem.NothingFoundError{Streams: s.Streams()}
	}
	err = a.writeTo(o.output, func(w io.Writer) error {
		_, err := export.Write(ctx, w, s, name, o.stream, format, o.Options)
		return err
	})
	if err != nil {
		return err
	}
	found, had := s.Count(name, o.stream)
	if found != had {
		return a.exit(&problem.LostError{Found: found, Had: had}, sc)
	}
	fmt.Fprintf(a.err, "salvaged: all %s of %s/%s\n", words.Counted(found, "record", "records"), name, o.stream)
	return nil
}
