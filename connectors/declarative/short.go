package declarative

import (
	"sync"

	"collect/collection"
)

// Whether a page that is shorter than it may be is the last one, some providers
// tell by its length, and others do not: they cut a list first and leave out
// then what the caller may not see. So it is learned, for each stream: the page
// behind a short one is asked for until it was empty trusted times, and once in
// recheck walks after that. A page behind a short one that has records ends the
// belief for good.
const (
	trusted = 3
	recheck = 100
)

// A shorts is what is known of the short pages of a stream. It is kept in the
// cursor of a stream without partitions; the partitions of a stream, which may
// be a hundred thousand, share one for as long as a run lasts.
type shorts struct {
	Short  int  `json:"short,omitempty"`  // walks that ended with a short page; -1: one did not
	Behind bool `json:"behind,omitempty"` // the page before was short, and more was asked for
}

// believed reports whether a short page is the last one.
func (s shorts) believed() bool { return s.Short >= trusted && s.Short%recheck != 0 }

// after returns s behind a page with records or none, that is short or not, and
// is the last one of its walk or not.
func (s shorts) after(empty, short, last bool) shorts {
	switch ended := last && (short || s.Behind); {
	case s.Behind && !empty:
		s.Short = -1
	case ended && s.Short >= 0:
		s.Short++
	}
	s.Behind = short && !last
	return s
}

// ofPartitions holds the shorts of the streams with partitions, by name. It is
// safe for concurrent use.
type ofPartitions struct {
	mu     sync.Mutex
	shorts map[string]int
}

func (o *ofPartitions) get(stream string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shorts[stream]
}

// note adds what changed from before to after.
func (o *ofPartitions) note(stream string, before, after int) {
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

// shortsAt returns what is known of short pages where a page is asked for.
func (w *walk) shortsAt(f footing) shorts {
	if w.at.Partition != "" {
		f.Short = w.c.ofPartitions.get(w.st.Name)
	}
	return f.shorts
}

// reached reports whether the total that the provider tells ends with p, which
// is at token.
func (w *walk) reached(p *page, token string) bool {
	pg, ok := w.st.page.(counted)
	if !ok {
		return false
	}
	told := w.total(p)
	seen, ok := pg.seen(token, len(p.elements))
	return ok && told.By != "" && !told.Pages && told.Total == int64(seen)
}

// noteShort returns what is known of short pages behind p, which leads to next.
func (w *walk) noteShort(p *page, next string, known shorts) shorts {
	size := 0
	if pg, ok := w.st.page.(counted); ok {
		size = pg.most()
	}
	after := known.after(len(p.elements) == 0, p.isShort(size), next == "")
	if w.at.Partition != "" {
		w.c.ofPartitions.note(w.st.Name, known.Short, after.Short)
		after.Short = 0
	}
	return after
}

// startOver returns the High of a cursor from which a walk begins again: what
// it knew before.
func (f footing) startOver() string {
	return footing{Had: f.Had, shorts: shorts{Short: f.Short}}.text()
}

// restart returns the cursor from which the pass that the page at from belongs
// to is made again. At its end, a walk that asked for everything is: what it was
// told of the whole concerns all of it.
func (w *walk) restart(win window, f footing, from collection.Cursor, end bool) *collection.Cursor {
	again := collection.Cursor{Since: from.Since, Version: from.Version, High: f.startOver()}
	switch {
	case w.st.since == nil || !w.st.since.ordered:
	case end && win.all:
		again.Since = ""
	case win.high == "":
		win.tie = tie{}
		again.High = win.cursorHigh()
	}
	return &again
}
