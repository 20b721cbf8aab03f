package pacing

import (
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// What the tests of the parts need to see.

var (
	Backoff      = backoff
	Repeatable   = repeatable
	Describe     = describe
	NewTransport = newTransport
	Wide         = wide
)

func (b *Budget) Reserve() bool       { return b.reserve(false) }
func (b *Budget) TakeToken() bool     { return b.takeToken() }
func (b *Budget) Record(s law.Signal) { b.record(s, false) }
func (b *Budget) Capacity() int64     { return b.capacity / tokenParts }

func (b *Budget) Spent(now time.Time) (time.Duration, int64, float64) { return b.spent(now) }
func (b *Budget) Limit(of collection.Reason) (float64, bool)          { return b.limit(of) }

func (g *Governor) SetProbe(f func(waits int)) { g.probe = f }
