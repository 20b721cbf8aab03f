package pacing

import (
	"collect/pacing/law"
)

// What the tests of the parts need to see.

var (
	Backoff    = backoff
	Repeatable = repeatable
	Describe   = describe
	OriginOf   = originOf
	IsPrivate  = isPrivate
)

func (b *Budget) Reserve() bool       { return b.reserve(false) }
func (b *Budget) TakeToken() bool     { return b.takeToken() }
func (b *Budget) Record(s law.Signal) { b.record(s, false) }
func (b *Budget) Capacity() int64     { return b.capacity / tokenParts }

func (g *Governor) SetProbe(f func(waits int)) { g.probe = f }
