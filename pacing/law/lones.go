package law

import "math/bits"

// The constants of lone 503s: chosen, and judged together by docs/pacing-score.md.
const (
	lonesOf    = 32 // latest answers that are kept
	lonesLeast = 3  // lone 503s, at least, from which a share is estimated
)

// A lones counts lone 503s: bare ones that may be chance. A broken server among several answers its share of the
// requests with a 503, whatever the pace is.
type lones struct {
	Latest uint32  `json:"latest"`            // answers, the latest lowest; a set bit is a 503
	Known  int     `json:"known"`             // answers in Latest
	Top    float64 `json:"per_second"`        // the highest pace at one of these 503s
	Count  int     `json:"count,omitempty"`   // 503s since the last episode that was learned from
	Of     int     `json:"answers,omitempty"` // answers since then, with the 503s

	first *count // that was under way, at the first of these 503s; nil: that was in a run before
}

// answered counts an answer that is no 503.
func (l *lones) answered() {
	l.Latest, l.Known = l.Latest<<1, min(lonesOf, l.Known+1)
	l.Of++
}

// refused counts a lone 503 to a request at a pace.
func (l *lones) refused(pace float64, d *delivered, now Moment) {
	if l.Latest == 0 {
		l.Top, l.first = 0, &count{began: now, before: d.work, answers: d.answers}
	}
	l.answered()
	l.Latest |= 1
	l.Top = max(l.Top, pace)
	l.Count++
}

// share returns the share of lone 503s among the answers, or among the latest ones; 0 if there are too few.
func (l *lones) share() float64 {
	switch n := bits.OnesCount32(l.Latest); {
	case l.Count >= lonesLeast && l.Of >= lonesOf:
		return float64(l.Count) / float64(l.Of)
	case n >= lonesLeast && l.Known >= enough:
		return float64(n) / float64(l.Known)
	}
	return 0
}

// over begins the count, as an episode is over.
func (l *lones) over() { l.Count, l.Of = 0, 0 }

// sane reports whether it can be one that was kept.
func (l *lones) sane() bool {
	return l != nil && sane(l.Top) && l.Known >= 0 && l.Known <= lonesOf && l.Count >= 0 && l.Count <= l.Of && l.Of <= countMost
}
