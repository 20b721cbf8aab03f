package share

import (
	"time"

	"collect/internal/times"
	"collect/pacing/gate"
)

// A clock tells the times of one process in those of a directory, whose clock is
// another one. It is read once and then goes by the monotonic clock of the host:
// setting a clock changes no wait. A nil clock changes nothing.
type clock struct{ here, there time.Time } // the same moment

// out returns a copy of v with the times of the directory.
func (c *clock) out(v any) any {
	if c == nil {
		return v
	}
	return times.Moved(v, func(t time.Time) time.Time { return c.there.Add(t.Sub(c.here)) })
}

// in returns a copy of v, which came from another process, with the times of this one.
func (c *clock) in(v any) any {
	if c == nil {
		return v
	}
	return times.Moved(v, func(t time.Time) time.Time { return c.here.Add(t.Sub(c.there)) })
}

// ahead returns how far the clock of the directory is ahead of the one of this host.
func (c *clock) ahead() time.Duration {
	if c == nil {
		return 0
	}
	return c.there.Add(time.Since(c.here)).Sub(time.Now().Round(0))
}

// stateOut returns a state of a gate with the times of the directory, and stateIn
// one with those of this host. One that cannot be read stays as it is.
func (c *clock) stateOut(state []byte) []byte { return moved(state, c.ahead()) }
func (c *clock) stateIn(state []byte) []byte  { return moved(state, -c.ahead()) }

func moved(state []byte, ahead time.Duration) []byte {
	if m, err := gate.Moved(state, ahead); err == nil {
		return m
	}
	return state
}
