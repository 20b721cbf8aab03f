package runner

import (
	"context"
	"iter"

	"collect/collection"
	"collect/connectors"
)

// mostBehind is how many slices in all may be fetched behind one that is late, for each that may be in flight.
const mostBehind = 4

// An ask is one slice being fetched ahead of its turn.
type ask struct {
	from   collection.Cursor
	cancel context.CancelFunc
	slice  collection.Slice // once it has come
	err    error
	came   bool
}

// asks are the slices of a place that are fetched side by side, in their order.
type asks struct {
	*Runner
	ahead connectors.Aheader
	at    collection.Place
	line  []*ask
	width int       // how many may be in flight
	bytes int       // of the records of those that have come
	comes chan *ask // has room for the longest line
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
//
// One slice that is late, as its request is tried once more, holds up none behind it, up to
// four times Concurrency of them, and [mostBytes] of their records.
func (r *Runner) sideBySide(ctx context.Context, ahead connectors.Aheader, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		a := &asks{Runner: r, ahead: ahead, at: at, width: 1, comes: make(chan *ask, mostBehind*r.Concurrency)}
		defer a.drop()
		a.fill(ctx, from)
		for {
			head := a.line[0]
			for !head.came {
				if a.wait(); !head.came {
					a.overtake(ctx)
				}
			}
			a.line, a.bytes = a.line[1:], a.bytes-sizeOf(head.slice)
			if head.err != nil || head.slice.Next.Done {
				yield(head.slice, head.err)
				return
			}
			// Its place is free, also while the slice waits for the disk.
			from = head.slice.Next
			if len(a.line) > 0 && a.line[0].from != from {
				a.drop()
				a.width = 1
			} else {
				a.width = min(2*a.width, r.Concurrency)
			}
			a.fill(ctx, from)
			if !yield(head.slice, nil) {
				return
			}
		}
	}
}

// fill starts fetches until as many are asked for as may be in flight, the first of the line at from.
func (a *asks) fill(ctx context.Context, from collection.Cursor) {
	for len(a.line) < a.width && a.ask(ctx, from) {
	}
}

// overtake starts fetches behind the first of the line, which is late, in place of those that have come,
// unless one of these was the end.
func (a *asks) overtake(ctx context.Context) {
	flying := 0
	for _, one := range a.line {
		switch {
		case !one.came:
			flying++
		case one.err != nil || one.slice.Next.Done:
			return
		}
	}
	for flying < a.width && len(a.line) < cap(a.comes) && a.bytes < mostBytes && a.ask(ctx, collection.Cursor{}) {
		flying++
	}
}

// ask starts the fetch of the slice behind the line; at from if there is none. It reports whether there is such a slice.
func (a *asks) ask(ctx context.Context, from collection.Cursor) bool {
	if n := len(a.line); n > 0 {
		next := a.ahead.Ahead(a.at, a.line[n-1].from, 1)
		if len(next) == 0 {
			return false
		}
		from = next[0]
	}
	ctx, cancel := context.WithCancel(ctx)
	one := &ask{from: from, cancel: cancel}
	a.line = append(a.line, one)
	go func() {
		one.slice, one.err = a.one(ctx, a.at, from)
		a.comes <- one
	}()
	return true
}

// wait waits until one slice of the line has come, and takes all that have.
func (a *asks) wait() {
	a.take(<-a.comes)
	for len(a.comes) > 0 {
		a.take(<-a.comes)
	}
}

func (a *asks) take(one *ask) {
	one.cancel()
	one.came = true
	a.bytes += sizeOf(one.slice)
}

// drop gives up what is being fetched.
func (a *asks) drop() {
	for _, one := range a.line {
		one.cancel()
	}
	for _, one := range a.line {
		for !one.came {
			a.wait()
		}
	}
	a.line, a.bytes = nil, 0
}

// one fetches the slice at a cursor.
func (r *Runner) one(ctx context.Context, at collection.Place, from collection.Cursor) (collection.Slice, error) {
	for slice, err := range r.Connector.Slices(ctx, r.client, at, from) {
		return slice, err
	}
	return collection.Slice{}, errEnd
}
