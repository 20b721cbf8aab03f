// Package connectors is the port between the run and what knows one provider.
//
// A connector receives an *http.Client and nothing else that can send. The
// client paces, retries, budgets and authorizes every request, so that
// pagination is a plain for loop and pacing is not a connector's business.
// What the client refuses comes back as an error that wraps a
// *[collection.Stop]; a connector passes it on, and returns one of its own for
// a page it cannot read.
package connectors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"collect/collection"
)

// A Connector collects the streams of one provider.
type Connector interface {
	// Provider describes whom the connector talks to. It is constant.
	Provider() collection.Provider

	// Streams lists what can be collected, parents before their children.
	Streams() []collection.Stream

	// Partition returns the partition of stream that parent stands for, and
	// the version of it to collect: what changes when the partition must be
	// collected again (it is "" unless the stream is refreshed when changed).
	// ok is false if the stream does not want this parent.
	//
	// parent.Partition is the partition of the parent's own stream that the
	// record was found in.
	Partition(stream string, parent collection.Parent) (p collection.Partition, version string, ok bool, err error)

	// Slices yields the slices of a place that follow from, each fetched with
	// client only when it is asked for. The From of the first slice is from,
	// and the From of each later one is the Next of the slice before it. A slice that
	// was yielded is not changed any more: it is stored while the next one is fetched.
	//
	// It ends after a slice whose Next is Done, or after yielding an error.
	// An error of the client is wrapped, never replaced. It may be called for
	// several places at once, and with the cursor of any slice it yielded,
	// also by an earlier process; where a provider keeps the place of a walk itself,
	// and gives no page twice, the error is then a stop for [collection.CursorExpired].
	Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error]
}

// A Restarter is a connector that may have been edited since it made a cursor,
// and that knows the cursors that say something else now, or nothing.
type Restarter interface {
	// Restart returns the cursor at which the walk of a place begins anew, if
	// from lost its meaning: with a high-water mark if that one still holds.
	// lost is false if the walk goes on from where it is.
	Restart(at collection.Place, from collection.Cursor) (anew collection.Cursor, lost bool)
}

// A Resumer is a connector some of whose walks end with a token of the provider, with
// which the next one has only what changed since.
type Resumer interface {
	Resumes(stream string) bool
}

// A Reminder is a connector that knows what its author may have forgotten: that partitions
// which are collected once are not collected again when their parents change.
type Reminder interface {
	// WithChanged returns what to write, so that they are, for parents such as this one,
	// which may be nil. known is false if nothing is known to tell when such a parent
	// changed. It returns "" for a stream whose partitions are not collected once.
	WithChanged(stream string, parent []byte) (write string, known bool)
}

// An Aheader is a connector that can name cursors before the slices in front
// of them are fetched, as with page numbers and offsets, so that slices of
// one partition can be fetched side by side.
type Aheader interface {
	// Ahead returns up to n cursors that would follow from if every slice
	// between were full. It returns none where the provider alone knows.
	Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor

	// Before returns the cursor that from would follow if the slice between
	// were full; ok is false for the first one, and where Ahead returns none.
	Before(at collection.Place, from collection.Cursor) (before collection.Cursor, ok bool)
}

// A Cutter is a connector that cuts some lists into pieces that are lists of their own, such
// as windows of time, so that a walk can go on behind one that cannot be had.
type Cutter interface {
	// Alone returns the cursor of a walk of the piece alone that from stands in, from there
	// on: its Slices end with the piece. ok is false if the list is not cut.
	Alone(at collection.Place, from collection.Cursor) (alone collection.Cursor, ok bool)

	// Behind returns the cursor behind the piece that from stands in; ok is false if the
	// list is not cut, or if nothing is behind it yet.
	Behind(at collection.Place, from collection.Cursor) (next collection.Cursor, ok bool)
}

// A Prober can ask whether the provider takes the account for the right one, by
// something that only that one may see.
type Prober interface {
	// Probe asks, and returns nil if the provider does, or if there is nothing to
	// ask. It is asked once in a run, before the first slice. An error of the
	// client is wrapped; if the answer says that the account is another one, the
	// error is a stop for [collection.Auth] that wraps [ErrProbe].
	Probe(ctx context.Context, client *http.Client) error
}

// ErrProbe: the provider does not take the account for the right one.
var ErrProbe = errors.New("the probe of the account failed")

// An UnknownStreamError says that a stream was asked for that the connector
// does not have.
type UnknownStreamError struct {
	Stream string
	Known  []string
}

func (e *UnknownStreamError) Error() string { return fmt.Sprintf("no stream named %q", e.Stream) }
