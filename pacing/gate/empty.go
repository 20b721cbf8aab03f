package gate

import (
	"slices"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// The constants of limits that are announced as used up.
const (
	emptyDoubted = 4  // announcements in a row that are believed no more,
	emptyProven  = 8  // and that no refusal makes believed again
	emptyTrusted = 32 // announcements that are believed longer after such a refusal
)

// An empty is the announcement that nothing is left of a limit. A request that
// waited for the end of the window and is told again that nothing is left finds
// it contradicted, for its limit allows more than one. After some in a row, the
// field means something else or is broken, and nothing waits for it any more
// until it says that something is left.
type empty struct {
	ends law.Moment // of the window
	told int8       // announcements in a row, not counting those before its end; negative: believed longer
}

// suppose returns what o, the outcome of a request that left at a moment, means
// after what is known of the announcement.
func (e *empty) suppose(o *Outcome, left, now law.Moment) *Outcome {
	switch o.Signal {
	case law.Succeeded, law.Answered:
	case law.Throttled:
		if e.doubted() && e.told < emptyProven {
			e.told = -emptyTrusted
		}
		return o
	default:
		return o
	}
	if len(o.Windows) == 0 {
		return o
	}
	reset := time.Duration(-1)
	for i := range o.Windows {
		if q := &o.Windows[i]; isEmpty(q) {
			reset = max(reset, q.Reset)
		}
	}
	if reset < 0 {
		*e = empty{}
		return o
	}
	if e.ends == 0 || left >= e.ends || e.doubted() {
		e.told = min(e.told+1, emptyProven)
	}
	e.ends = now + reset
	if !e.doubted() {
		return o
	}
	c := *o
	c.Windows = slices.DeleteFunc(slices.Clone(o.Windows), func(q response.Quota) bool { return isEmpty(&q) })
	if c.Hold <= reset {
		c.Hold = -1
	}
	return &c
}

func (e *empty) doubted() bool { return e.told >= emptyDoubted }

// isEmpty reports whether q says that nothing is left, though it should not after
// the first request since it last was granted. Of a limit that is granted one by
// one, so that its reset is that of one request, nothing may be left all the time.
func isEmpty(q *response.Quota) bool {
	if q.Unit != "" || q.Remaining != 0 || q.Reset < 0 {
		return false
	}
	each := max(q.Window, q.Reset).Seconds() / max(1, q.Limit)
	return q.Limit <= 0 || (q.Reset-time.Second).Seconds() > response.AboveAverage*each && q.Limit > 1
}
