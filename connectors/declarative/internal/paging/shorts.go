package paging

import "sync"

// Whether a page that is shorter than it may be is the last one, some providers
// tell by its length, and others do not: they cut a list first and leave out
// then what the caller may not see. So it is learned, for each stream: the page
// behind a short one is asked for until it was empty trusted times, and once in
// recheck walks after that. A page behind a short one that has records ends the
// belief for good. So that what is left out anew is noticed at once, only a list that
// ends with as many records as it did before is believed.
const (
	trusted = 3
	recheck = 100
)

// A Shorts holds the facts about the short pages of a stream. It is kept in the
// cursor of a stream without partitions; the partitions of a stream, which may
// be a hundred thousand, share one for as long as a run lasts.
type Shorts struct {
	Short  int  `json:"short,omitempty"`       // walks that ended with a short page; -1: one did not
	Behind bool `json:"behind,omitempty"`      // the page before was short, and more was asked for
	Seen   int  `json:"short_seen,omitempty"`  // records that had come then
	Ended  int  `json:"short_ended,omitempty"` // records of the walk before that ended with a short page
}

// Believed reports whether a short page is the last one.
func (s Shorts) Believed() bool { return s.Short >= trusted && s.Short%recheck != 0 }

// BelievedAt reports whether a short page is the last one of a list of which so many records have come.
func (s Shorts) BelievedAt(seen int) bool { return s.Believed() && s.Ended > 0 && seen == s.Ended }

// Kept returns what the next walk should know of s.
func (s Shorts) Kept() Shorts { return Shorts{Short: s.Short, Ended: s.Ended} }

// After returns s behind a page with records or none, that is short or not, and
// is the last one of its walk or not. With it, so many records have come.
func (s Shorts) After(empty, short, last bool, seen int) Shorts {
	switch ended := last && (short || s.Behind); {
	case s.Behind && !empty:
		s.Short = -1
	case ended && s.Short >= 0:
		s.Short++
		if s.Ended = seen; s.Behind {
			s.Ended = s.Seen
		}
	}
	if s.Behind, s.Seen = short && !last, 0; s.Behind {
		s.Seen = seen
	}
	return s
}

// OfPartitions holds the shorts of the streams with partitions, by name. It is
// safe for concurrent use.
type OfPartitions struct {
	mu     sync.Mutex
	shorts map[string]int
}

// Get returns the facts about the short pages of a stream.
func (o *OfPartitions) Get(stream string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shorts[stream]
}

// Note adds what changed from before to after.
func (o *OfPartitions) Note(stream string, before, after int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shorts == nil {
		o.shorts = map[string]int{}
	}
	switch n := o.shorts[stream]; {
	case after < 0 || n < 0:
		o.shorts[stream] = -1
	default:
		o.shorts[stream] = n + after - before
	}
}
