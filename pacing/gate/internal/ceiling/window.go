package ceiling

import (
	"fmt"
	"time"

	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// exactDepartures is how many departures a window remembers one by one. Beyond
// it departures are remembered in groups, each as if all of it had left with
// its last: the promise holds, at the price of 1/1024 of the window.
const exactDepartures = 1024

// keptGroups bounds what is saved of a window.
const keptGroups = 64

// longWindow is the length from which a window is kept across a crash. A
// shorter one is over before a new process has sent anything that counts.
const longWindow = time.Minute

// Transit is how much longer than its length a window counts a request. The provider counts requests when they arrive: of
// two that leave a window apart, the later one may take 50 ms less to arrive and is still in the next window there. A window
// shorter than a second stands for a rate that is not whole, and counts a request for a twentieth of its length longer: one
// request in 30 ms would otherwise become one in 80 ms.
const (
	Transit      = 50 * time.Millisecond
	transitShare = 20
)

// A departure is a group of requests that left at, or shortly before, at.
type departure struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}

// A Window is one ceiling: at most Count requests in any Per.
//
// So that a crash does not forget requests of a long window, a few are saved
// as spent before they are; see [Window.spend].
type Window struct {
	Count int
	Per   time.Duration

	declared int // what the owner declares, while an operator allows less; 0: it is Count

	log    groups     // all that count, and some that are not any more
	total  int        // requests in log
	latest law.Moment // of the requests in log
	ended  law.Moment // of those of the group before the newest
	credit int        // requests that may leave before the window is saved again
}

// fits reports whether a request that counts as n fits, even if nothing has
// expired. One that counts as more than the ceiling fits alone.
func (w *Window) fits(n int) bool { return w.total+n <= w.Count || w.total == 0 }

// counted returns how long a request counts.
func (w *Window) counted() time.Duration { return w.Per + min(Transit, w.Per/transitShare) }

// Next returns when a request fits that counts as n; now if it does.
func (w *Window) Next(now law.Moment, n int) law.Moment {
	if w.fits(n) {
		return now
	}
	w.expire(now)
	left, room := w.total, w.Count-min(n, w.Count)
	for i := w.log.oldest; left > room; i++ {
		g := w.log.at(i)
		if left -= g.n; left <= room {
			return g.at + w.counted()
		}
	}
	return now
}

// UsedUp says that nothing fits for a while.
func (w *Window) UsedUp() string {
	per := "in " + InWords(w.Per)
	switch w.Per {
	case time.Second:
		per = "a second"
	case time.Minute:
		per = "a minute"
	case time.Hour:
		per = "an hour"
	case 24 * time.Hour:
		per = "a day"
	}
	noun := "requests"
	if w.Count == 1 {
		noun = "request"
	}
	return fmt.Sprintf("the ceiling of %d %s %s is used up", w.Count, noun, per)
}

// InWords returns a length of time in the largest unit that counts it well.
func InWords(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.3g h", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.3g min", d.Minutes())
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// Used returns how many requests count.
func (w *Window) Used() int { return w.total }

func (w *Window) expire(now law.Moment) {
	for ; w.log.len() > 0 && now-w.log.at(w.log.oldest).at >= w.counted(); w.log.oldest++ {
		w.total -= w.log.at(w.log.oldest).n
	}
}

// add records that n requests leave. They are part of the newest group if that
// began less than a grain ago. A group keeps the time of its last request, so
// the group before it tells when it began.
func (w *Window) add(now law.Moment, n int) {
	w.total += n
	if now-w.ended < w.Per/exactDepartures && w.Count > exactDepartures && w.log.len() > 1 {
		newest := w.log.at(w.log.end - 1)
		newest.at = now
		newest.n += n
		w.latest = now
		return
	}
	if w.log.full() {
		w.expire(now) // rather than grow
		if w.log.full() {
			w.log.grow()
		}
	}
	w.log.push(group{now, n})
	w.ended, w.latest = w.latest, now
}

// spend takes n requests of the credit. It reports whether the credit was used
// up and was renewed: then the window must be saved before the request leaves.
// A hundredth of the window is reserved at a time, which bounds both the saves
// (a hundred in a window) and what a crash wastes.
func (w *Window) spend(n int) (renewed bool) {
	if w.Per < longWindow {
		return false
	}
	if w.credit -= n; w.credit >= 0 {
		return false
	}
	w.credit = max(0, w.Count/100-n)
	return true
}

// A Kept is the saved form of a window. The history belongs to the
// length of the window: how many requests fit may change between runs.
type Kept struct {
	Per   time.Duration `json:"per"`
	Count int           `json:"count,omitempty"` // what it was, for people
	Log   []departure   `json:"log,omitempty"`
	Ahead int           `json:"ahead,omitempty"` // may have left since it was saved
}

func (w *Window) keep(clock *timeline.Timeline, now law.Moment) Kept {
	w.expire(now)
	k := Kept{Per: w.Per, Count: w.Declared(), Ahead: w.credit}
	for i := w.log.oldest; i < w.log.end; i++ {
		g := w.log.at(i)
		d := departure{clock.Kept(g.at), g.n}
		if n := len(k.Log); n > 1 && d.At.Sub(k.Log[n-2].At) < w.Per/keptGroups {
			k.Log[n-1] = departure{d.At, k.Log[n-1].N + d.N}
			continue
		}
		k.Log = append(k.Log, d)
	}
	return k
}

// restore continues a saved window. Requests that may have left after it was
// saved count as leaving now, which is the latest they can have. So do
// requests of the future: the clock was set back.
func (w *Window) restore(k Kept, clock *timeline.Timeline, now law.Moment) {
	for _, d := range k.Log {
		if d.N <= 0 || d.N > exactDepartures*keptGroups*keptGroups {
			continue
		}
		w.add(min(clock.Of(d.At), now), d.N)
	}
	if k.Ahead > 0 && k.Ahead <= max(1, w.Count) {
		w.add(now, k.Ahead)
	}
	w.expire(now)
}
