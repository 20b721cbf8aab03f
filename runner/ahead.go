package runner

import (
	"context"
	"iter"

	"collect/collection"
	"collect/connectors"
)

// An ask is one slice being fetched ahead of its turn.
type ask struct {
	from   collection.Cursor
	cancel context.CancelFunc
	got    chan fetched
}

type fetched struct {
	slice collection.Slice
	err   error
}

// sideBySide yields the slices of a place in order while it fetches those
// behind them, at cursors that the connector foretells. They are yielded, and
// so committed, in order only: up to the checkpoint all slices are finished.
//
// What the provider says wins: if a slice names another next cursor than was
// foretold, everything fetched behind it is dropped. The number of slices in
// flight starts at one and doubles with each that came as foretold, so that a
// short list costs few requests beyond its end (at most Concurrency − 1). The next is
// asked for before a slice is yielded, which may then wait for those before it to be
// stored.
func (r *Runner) sideBySide(ctx context.Context, ahead connectors.Aheader, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		var asked []ask
		drop := func() {
			for _, a := range asked {
				a.cancel()
			}
			for _, a := range asked {
				<-a.got // it has ended when it answers
			}
			asked = nil
		}
		defer drop()

		asked = r.askAhead(ctx, ahead, at, from, asked, 1)
		for width := 1; ; {
			head := asked[0]
			asked = asked[1:]
			got := <-head.got
			head.cancel()
			if got.err != nil || got.slice.Next.Done {
				yield(got.slice, got.err)
				return
			}
			// Its place is free, also while the slice waits for the disk.
			from = got.slice.Next
			if len(asked) > 0 && asked[0].from != from {
				drop()
				width = 1
			} else {
				width = min(2*width, r.Concurrency)
			}
			asked = r.askAhead(ctx, ahead, at, from, asked, width)
			if !yield(got.slice, nil) {
				return
			}
		}
	}
}

// askAhead starts fetches until width of them are asked for, the first at from.
func (r *Runner) askAhead(ctx context.Context, ahead connectors.Aheader, at collection.Place, from collection.Cursor, asked []ask, width int) []ask {
	for len(asked) < width {
		cursor := from
		if n := len(asked); n > 0 {
			next := ahead.Ahead(at, asked[n-1].from, 1)
			if len(next) == 0 {
				break
			}
			cursor = next[0]
		}
		ctx, cancel := context.WithCancel(ctx)
		a := ask{from: cursor, cancel: cancel, got: make(chan fetched, 1)}
		go func() {
			slice, err := r.one(ctx, at, cursor)
			a.got <- fetched{slice, err}
		}()
		asked = append(asked, a)
	}
	return asked
}

// one fetches the slice at a cursor.
func (r *Runner) one(ctx context.Context, at collection.Place, from collection.Cursor) (collection.Slice, error) {
	for slice, err := range r.Connector.Slices(ctx, r.client, at, from) {
		return slice, err
	}
	return collection.Slice{}, errEnd
}
