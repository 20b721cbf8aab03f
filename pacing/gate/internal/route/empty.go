package route

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

// Empty is the announcement that nothing is left of a limit. A request that
// waited for the end of the window and is told again that nothing is left finds
// it contradicted, for its limit allows more than one. After some in a row, the
// field means something else or is broken, and nothing waits for it any more
// until it says that something is left.
type Empty struct {
	ends law.Moment // of the window
	told int8       // announcements in a row, not counting those before its end; negative: believed longer
}

// Believe returns those of the windows that an answer with the signal s announced
// which are to be believed, and until when the others reset; a negative time if
// there are none. The answer is to a request that left at a moment.
func (e *Empty) Believe(s law.Signal, windows []response.Quota, left, now law.Moment) ([]response.Quota, time.Duration) {
	reset := time.Duration(-1)
	switch {
	case s == law.Throttled && e.doubted() && e.told < emptyProven:
		e.told = -emptyTrusted
		return windows, -1
	case s != law.Succeeded && s != law.Answered || len(windows) == 0:
		return windows, -1
	}
	for i := range windows {
		if q := &windows[i]; isEmpty(q) {
			reset = max(reset, q.Reset)
		}
	}
	if reset < 0 {
		*e = Empty{}
		return windows, -1
	}
	if e.ends == 0 || left >= e.ends || e.doubted() {
		e.told = min(e.told+1, emptyProven)
	}
	e.ends = now + reset
	if !e.doubted() {
		return windows, -1
	}
	return slices.DeleteFunc(slices.Clone(windows), func(q response.Quota) bool { return isEmpty(&q) }), reset
}

func (e *Empty) doubted() bool { return e.told >= emptyDoubted }

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
