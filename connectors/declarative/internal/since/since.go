// Package since asks for changes only: it orders the marks of records, and keeps
// in a cursor from which mark a walk goes on.
package since

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// A Since asks only for what changed after a mark.
//
// An unordered walk asks for all its pages from the same mark, and promotes
// the highest mark it saw when it is complete, but none that is later than
// what the provider was giving out when the walk began; see [bound].
//
// An ordered walk (order: asc) is anchored anew after each page. Page numbers
// and cursors shift when a record is updated during a walk, because it moves
// to the end; a mark does not. The new anchor is the highest mark but one:
// whether the provider means "after" or "from" by it, and however many
// records share the highest mark and were cut off by the end of the page, the
// page from there misses none. Where a page has no such mark above the anchor
// (more records changed at one time than fit on it) the provider's own token
// is followed; where that is the number of a page, see [tie].
//
// A walk of a list that is sorted newest first asks for no mark. It ends at the first
// page that has nothing but what the walks before had, and moves the mark only then,
// or at the end of the list: one that is cut short leaves the mark where it was.
//
// An anchor only ever grows in a walk, so that an ordered walk ends; the mark
// that the next walk begins with never goes back. Should the records
// show that the provider does not sort, or ignores what it is asked, the rest
// of the walk is unordered.
type Since struct {
	Field    notation.Path
	Param    string
	Start    notation.Template
	Ordered  bool
	Newest   bool // the list is sorted by the marks, newest first
	Counted  bool // pages have numbers: that there is a next one is no promise
	Lookback time.Duration
	Format   string
}

// The formats in which a mark can be sent. "" sends it as received.
const (
	asRFC3339   = "rfc3339"
	asDate      = "date"
	asUnix      = "unix"
	asUnixMilli = "unix_ms"
)

// Formats are all of them.
var Formats = [...]string{asRFC3339, asDate, asUnix, asUnixMilli}

// Numeric reports whether a mark is sent as a number.
func (s *Since) Numeric() bool { return s.Format == asUnix || s.Format == asUnixMilli }

// Open reads the window from a cursor and its footing.
//
// The lookback belongs to the first anchor of a walk: applied at each, the
// walk would turn in circles inside it. It never reaches before the start.
func (s *Since) Open(from collection.Cursor, f Footing, start string) (Window, error) {
	w := Window{Since: from.Since, Anchor: f.From, high: f.High, bound: f.bound, tie: f.tie, had: f.Had, top: f.Top, Shorts: f.Shorts, promise: f.promise, all: f.All, Loose: f.Loose}
	asked := w.Anchor
	switch {
	case asked != "" || w.Owed:
	case w.Since == "":
		asked = start
	case s.Lookback > 0:
		earlier, ok := newMark(w.Since).before(s.Lookback)
		if !ok {
			return w, paging.BadPage("a `lookback` needs a time or a number, and `%s` is neither", s.Field.Text)
		}
		asked = latest(earlier.text, start)
	default:
		asked = w.Since
	}
	if s.Newest {
		w.Floor, asked = asked, ""
	}
	w.all = w.all || from.Token == "" && asked == ""
	var err error
	w.Asked, err = s.form(asked)
	return w, err
}

// form returns the mark text in the format that the provider wants.
func (s *Since) form(text string) (string, error) {
	if text == "" || s.Format == "" {
		return text, nil
	}
	m := newMark(text)
	if m.kind == numberMark {
		if s.Numeric() {
			return text, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", paging.BadPage("`%s` is no time that can be sent as %s", s.Field.Text, s.Format)
		}
		m = mark{time: time.Unix(n, 0).UTC(), kind: timeMark}
	}
	if m.kind != timeMark {
		return "", paging.BadPage("`%s` is no time that can be sent as %s", s.Field.Text, s.Format)
	}
	switch s.Format {
	case asDate:
		return m.time.UTC().Format(time.DateOnly), nil
	case asUnix:
		return strconv.FormatInt(m.time.Unix(), 10), nil
	case asUnixMilli:
		return strconv.FormatInt(m.time.UnixMilli(), 10), nil
	}
	if _, layout, ok := ParseTime(m.text); ok && layout == time.RFC3339 {
		return m.text, nil
	}
	return m.time.UTC().Format(time.RFC3339Nano), nil
}

// MarkOf returns the mark of a record; the zero one if it has none that
// compares.
func (s *Since) MarkOf(record []byte) collection.Mark {
	if text, ok := notation.TextOf(s.Field.In(record)); ok && text != "" {
		return newMark(text).of(s.Field)
	}
	return collection.Mark{}
}

// Advance returns the cursor after a page that was asked for in w and has
// those marks; token leads to the page after it, and is "" if there is none.
// clock is the provider's when it was asked.
func (s *Since) Advance(w *Window, from collection.Cursor, m Marks, token string, clock time.Time) (collection.Cursor, error) {
	next := collection.Cursor{Token: token, Since: w.Since, Version: from.Version}
	first := from.Token == ""
	if first && w.Anchor == "" && w.tie == (tie{}) {
		w.bound = s.begin(m, clock, w.top)
	}
	if !s.Ordered && w.bound.First != "" && later(m.second, w.bound.First) {
		w.top = latest(w.top, m.second)
	}
	// A field that was seen in this walk exists, and a page may do without it.
	if m.absent && w.Anchor == "" && w.high == "" {
		return next, paging.BadPage("no record has `%s`, the field of `since`%s", s.Field.Text, paging.FieldNames(m.records[0].Data))
	}
	low, err := s.form(m.low)
	if err != nil {
		return next, err
	}
	switch {
	case first && w.promise.broken(m, token):
		ended := w.Anchor
		w.Anchor, w.high, next.Token = w.Under, w.UpTo, w.Then
		w.promise = promise{UpTo: w.UpTo, Owed: true, Ended: ended}
		next.High = w.cursorHigh()
		return next, nil
	case w.Doubted(m): // and the page from the mark has them by now: see Confirm
		*w, err = s.Again(*w)
		next.Token, next.High = "", w.cursorHigh()
		return next, err
	}
	ignored := m.low != "" && later(w.Asked, low)
	if !s.Ordered || w.high != "" || !m.sorted || ignored {
		w.high = latest(w.high, m.high)
		w.Loose = w.Loose || s.Newest && !m.falling
		known := s.Newest && w.knows(m)
		if known {
			next.Token = ""
		}
		if next.High = w.cursorHigh(); token == "" || known {
			next.Done, next.Since = true, latest(w.Since, s.until(w.bound, w.high))
			next.High = s.done(*w, next.Since)
		}
		return next, nil
	}
	// A first page with the mark that was asked for: "since" means "from". At
	// the end of a walk the more cautious mark costs no more than one page.
	inclusive := first && token != "" && low != "" && !later(low, w.Asked)
	anchor, err := s.anchor(*w, m, inclusive)
	if err != nil {
		return next, err
	}
	var again bool
	if again, w.Left = w.tie.pass(s.Field, m, first, anchor, token, w.had); again {
		next.Token, next.High = "", w.cursorHigh()
		return next, nil
	}
	switch {
	case token == "", w.Over.has(s, anchor):
		next.Done, next.Since = true, latest(w.Since, s.notAfter(anchor, clock))
		next.High = s.done(*w, next.Since)
	case anchor != "":
		if w.promise = (promise{}); !s.Counted {
			w.promise = promise{Then: token, Under: w.Anchor, UpTo: m.high}
		}
		w.Anchor = anchor
		next.Token, next.Since, next.High = "", latest(w.Since, s.notAfter(anchor, clock)), w.cursorHigh()
	default:
		next.High = w.cursorHigh()
	}
	return next, nil
}

// Sent is what the provider knows the mark by, for people.
func (s *Since) Sent() string { return cmp.Or(s.Param, "${since}") }

// Ignored reports whether a page that was asked for in w shows that the provider
// does not ask what the mark asks.
//
// A provider may round a mark to its day. What is less than a day too old is no
// sign, unless the whole page is too old.
func (s *Since) Ignored(w Window, m Marks) bool {
	low, err := s.form(m.low)
	if err != nil || low == "" || !later(w.Asked, low) {
		return false
	}
	asked, oldest := newMark(w.Asked), newMark(low)
	if asked.kind != timeMark || oldest.kind != timeMark || asked.time.Sub(oldest.time) > 24*time.Hour {
		return true
	}
	high, err := s.form(m.high)
	return err == nil && later(w.Asked, high)
}

// anchor returns the mark to go on from after a page, later than the one it
// was asked with; "" if the page has none that is safe. The highest mark itself
// is, where the provider is known to include it.
func (s *Since) anchor(w Window, m Marks, inclusive bool) (string, error) {
	safe := []string{m.second}
	if inclusive {
		safe = append(safe, m.high)
	}
	for _, text := range safe {
		sent, err := s.form(text)
		if err != nil {
			return "", err
		}
		if later(sent, w.Asked) {
			return text, nil
		}
	}
	return "", nil
}

// Check checks a mark that a person wants a stream to go on from: whether it has the
// form of its records' marks. sample is one of them; empty if there is none. It
// returns the time that the mark stands for; zero if it is no time.
func (s *Since) Check(stream, text string, sample []byte) (time.Time, error) {
	m, want := newMark(text), s.kindOf(sample)
	if m.kind != want && (s.Format == "" || m.kind == textMark) {
		return time.Time{}, fmt.Errorf("the marks of `%s` (`%s`) are %s, and %q is none", stream, s.Field.Text, want, text)
	}
	if _, err := s.form(text); err != nil {
		return time.Time{}, fmt.Errorf("%q cannot be sent as %s", text, s.Format)
	}
	if m.kind == timeMark {
		return m.time, nil
	}
	at, _ := s.moment(text)
	return at, nil
}

// Has reports whether a record has a mark.
func (s *Since) Has(record []byte) bool {
	text, ok := notation.TextOf(s.Field.In(record))
	return ok && text != ""
}

// kindOf returns the kind of the mark of a record. Without one it is that of
// most: a time.
func (s *Since) kindOf(record []byte) markKind {
	if text, ok := notation.TextOf(s.Field.In(record)); ok && text != "" {
		return newMark(text).kind
	}
	return timeMark
}

// Restart returns the cursor from which the pass that the page at from belongs
// to is made again. At its end, a walk that asked for everything is: what it was
// told of the whole concerns all of it.
func (f Footing) Restart(s *Since, win Window, from collection.Cursor, end bool) *collection.Cursor {
	again := collection.Cursor{Since: from.Since, Version: from.Version, High: f.startOver()}
	switch {
	case s == nil || !s.Ordered:
	case end && win.all:
		again.Since = ""
	case win.high == "":
		win.tie = tie{}
		again.High = win.cursorHigh()
	}
	return &again
}
