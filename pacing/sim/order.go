package sim

import (
	"context"
	"testing/synctest"
	"time"
)

// A place is where somebody stands among those who act at one instant.
//
// Goroutines that wake at the same instant go on in any order, and a virtual
// clock makes such instants common: its times are exact, and models have round
// ones. Then the scheduler would decide which request came first, and one seed
// would have many histories. So each actor has a nanosecond of each microsecond to
// itself, and begins when all that others do at that instant is done. The line of
// the client puts in order what one act leads to at the same instant.
//
// A request that comes from elsewhere than [Play] has no place, and is answered
// without regard to others.
type place int

const (
	nowhere   place = iota
	conductor       // of Play, who begins and ends it
	watcher         // of Try
	first           // of the workers; the others follow

	turns = time.Microsecond // between two turns of the same place
)

type placeKey struct{}

// standing returns a context for the acts of the actor at s.
func (s place) standing(ctx context.Context) context.Context {
	return context.WithValue(ctx, placeKey{}, s)
}

// placeOf returns where the one stands who acts in ctx.
func placeOf(ctx context.Context) place {
	s, _ := ctx.Value(placeKey{}).(place)
	return s
}

// next returns how long it is until the first turn of s that is no sooner than
// in d.
func (s place) next(d time.Duration) time.Duration {
	if s == nowhere {
		return d
	}
	late := time.Duration(time.Now().Add(d).UnixNano()-int64(s)) % turns
	return d + (turns-late)%turns
}

// turn returns at the next turn of s, this instant if it is one, when everybody
// else waits.
func (s place) turn() {
	if s == nowhere {
		return
	}
	time.Sleep(s.next(0))
	synctest.Wait()
}
