package pacing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// What the tests of the parts need to see.

var (
	Backoff    = backoff
	Repeatable = repeatable
	Describe   = describe
	Wide       = wide
	Transport  = newTransport
)

func (b *Budget) Reserve() bool       { return b.reserve(false) }
func (b *Budget) TakeToken() bool     { return b.takeToken() }
func (b *Budget) Record(s law.Signal) { b.record(s, false) }
func (b *Budget) Capacity() int64     { return b.capacity / tokenParts }

func (b *Budget) Spent(now time.Time) (time.Duration, int64, float64) { return b.spent(now) }
func (b *Budget) Limit(of collection.Reason) (float64, bool)          { return b.limit(of) }

func (g *Governor) SetProbe(f func(waits int)) { g.probe = f }

// A Room and its tenants, as the answers of a run have them.
type (
	Room   = room
	Tenant = tenant
)

const (
	MostHeld     = mostHeld
	RoomPatience = roomPatience
)

func (r *room) Enter() *tenant                            { return r.enter() }
func (t *tenant) Grow(n int64) bool                       { return t.grow(n, time.Now()) }
func (t *tenant) Wait(ctx context.Context, n int64) error { return t.wait(ctx, n) }
func (t *tenant) Read(body []byte)                        { t.read(body) }

// PlainProxy lets through what a transport with a client certificate may use.
var PlainProxy = plainProxy

// Once returns a transport that sends each request by next, once.
func Once(next http.RoundTripper) http.RoundTripper { return &once{next: next} }

// IsIdle reports whether err says that the server closed a connection which had not been used for a while.
func IsIdle(err error) bool {
	_, idle := errors.AsType[idleError](err)
	return idle
}

// Because is what a stop says whose attempt before got no answer.
var Because = because
