// Package windows asks for a list in windows of time, one after the other, and
// keeps in a cursor which one a walk is in.
package windows

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// Windows says how a walk is cut into windows of time. Each window is a list of
// its own, from its start up to its end, which is excluded.
//
// The last window ends when the walk began, by the clock of the provider, with the
// second in which the first page was answered: what is made later is asked for by the next
// walk, however long this one takes. That one begins at the end of the last finished
// window that was surely over, less the lookback.
//
// Where a provider cuts its answers, a window with as many records as the cap is
// halved and asked for again. Windows become wider again where there is room, so
// that a cursor needs to hold one window, and no list of what is left.
type Windows struct {
	Step     time.Duration // the width of a window
	Least    time.Duration // the width below which no window is halved
	Lookback time.Duration
	Cap      int // records of one answer at most; 0: no such bound
	Format   string
}

// The formats in which the ends of a window can be sent.
const (
	asRFC3339   = "rfc3339"
	asDate      = "date"
	asUnix      = "unix"
	asUnixMilli = "unix_ms"
)

// Formats are all of them; the first is the default.
var Formats = [...]string{asRFC3339, asDate, asUnix, asUnixMilli}

// Unit is the finest time that a window can begin or end at in a format.
func Unit(format string) time.Duration {
	if format == asDate {
		return 24 * time.Hour
	}
	return time.Second
}

// A Window is where a walk stands. It is the High of a cursor inside a walk, as
// JSON; at the end of one, only the facts about short pages are left of it.
type Window struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	End  time.Time `json:"end,omitzero"`      // of the walk; zero before its first answer
	Last time.Time `json:"last,omitzero"`     // where the last window ends
	Had  int       `json:"records,omitempty"` // on the pages before
	Lone bool      `json:"lone,omitempty"`    // the walk is of one window, which another walk went on behind
	paging.Shorts
}

// Text returns w as the High of a cursor.
func (w Window) Text() string {
	if w == (Window{}) {
		return ""
	}
	text, _ := json.Marshal(w) // times and numbers always marshal
	return string(text)
}

// Open returns the window that a page at from belongs to. A walk that begins there
// starts at start, and now, by our clock, bounds its first window; how late the
// provider has it is only known with its answer.
func (s *Windows) Open(from collection.Cursor, start, now time.Time) (w Window, err error) {
	if from.High != "" {
		if err := json.Unmarshal([]byte(from.High), &w); err != nil {
			return w, paging.BadPage("the cursor was not made by this connector")
		}
	}
	if !w.To.IsZero() {
		return w, nil
	}
	unit := Unit(s.Format)
	w.From = start
	if from.Since != "" {
		done, err := Time(from.Since)
		if err != nil {
			return w, paging.BadPage("the stored mark is no time, but `windows` need one")
		}
		if w.From = done.Add(-s.Lookback); w.From.Before(start) {
			w.From = start
		}
		if now.Before(done) {
			now = done // it was over by the provider's clock
		}
	}
	w.From = w.From.UTC().Truncate(unit)
	end := w.From.Add(s.Step)
	if limit := ceil(now.Add(time.Second), unit); w.From.Before(limit) && limit.Before(end) {
		end = limit
	}
	w.To = end
	return w, nil
}

// Ahead returns how many windows are in front of a walk at now that stands at the mark
// since, or begins anew from it if the walk before is complete. There is one at least.
func (s *Windows) Ahead(start time.Time, since string, complete bool, now time.Time) (int64, error) {
	from := start
	if since != "" {
		done, err := Time(since)
		if err != nil {
			return 0, err
		}
		if complete {
			done = done.Add(-s.Lookback)
		}
		if done.After(start) {
			from = done
		}
	}
	from = from.UTC().Truncate(Unit(s.Format))
	return max(1, int64((now.Sub(from)+s.Step-1)/s.Step)), nil
}

// upTo returns w with that end, before its first page.
func (w Window) upTo(end time.Time) Window {
	w.To, w.Had, w.Behind = end, 0, false
	return w
}

// Ends returns the start and the end of a window as they are sent.
func (s *Windows) Ends(w Window) (from, to string) { return s.form(w.From), s.form(w.To) }

// Numeric reports whether they are sent as numbers.
func (s *Windows) Numeric() bool { return s.Format == asUnix || s.Format == asUnixMilli }

func (s *Windows) form(t time.Time) string {
	switch s.Format {
	case asDate:
		return t.Format(time.DateOnly)
	case asUnix:
		return strconv.FormatInt(t.Unix(), 10)
	case asUnixMilli:
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.Format(time.RFC3339)
}

// Full reports whether a window with n records has as many as an answer may have.
func (s *Windows) Full(n int) bool { return s.Cap > 0 && n >= s.Cap }

// A Page is what matters of a page to the window that it belongs to.
type Page struct {
	Records int
	Total   int64  // of the window, as the provider tells it; 0: it does not
	Token   string // of the page behind it; "" if the window ends with it

	// By the clock of the provider, a second that was over when the page was asked
	// for, and the one in which it was answered.
	Asked, Answered time.Time

	Until time.Time // where the last window ends at the latest; zero: when the walk begins
}

// Advance returns the cursor behind a page of a window. again is the cursor at
// which the window begins anew; nil unless the page ends it. cut says why the
// window lacks records, if that seems so and it is too narrow to be halved.
func (s *Windows) Advance(w Window, from collection.Cursor, p Page) (next collection.Cursor, again *collection.Cursor, cut string) {
	if w.End.IsZero() {
		w.End, w.Last = p.Asked.UTC().Truncate(time.Second), p.Answered.UTC().Truncate(time.Second).Add(time.Second)
		if !p.Until.IsZero() {
			w.End, w.Last = earlier(w.End, p.Until.UTC()), earlier(w.Last, p.Until.UTC())
		}
	}
	w.Had += p.Records
	next = collection.Cursor{Token: p.Token, Since: from.Since, Version: from.Version}
	full := s.Full(w.Had) || s.Cap > 0 && p.Total > int64(s.Cap)
	half := (w.To.Sub(w.From) / 2).Truncate(Unit(s.Format))
	switch {
	case full && half >= s.Least:
		next.Token, next.High = "", w.upTo(w.From.Add(half)).Text()
		return next, nil, ""
	case p.Token != "":
		next.High = w.Text()
		return next, nil, ""
	case s.Full(w.Had):
		start, end := s.Ends(w)
		cut = fmt.Sprintf("the window from %s to %s has %d records, and `cap` says that an answer has no more than %d: others may have been left out, and it is too narrow to be halved", start, end, w.Had, s.Cap)
	}
	start := collection.Cursor{Since: from.Since, Version: from.Version, High: w.upTo(w.To).Text()}
	s.finish(w, &next)
	return next, &start, cut
}

// finish moves next behind the window w.
func (s *Windows) finish(w Window, next *collection.Cursor) {
	done := earlier(w.To, w.End)
	if mark, err := Time(next.Since); err != nil || mark.Before(done) {
		next.Since = done.Format(time.RFC3339)
	}
	if !w.To.Before(w.Last) {
		next.Done, next.High = true, Window{Shorts: paging.Shorts{Short: w.Short}}.Text()
		return
	}
	width := s.Step
	if narrow := w.To.Sub(w.From); s.Cap > 0 && narrow < s.Step {
		if 2*w.Had < s.Cap {
			narrow *= 2
		}
		width = min(narrow, s.Step)
	}
	w.From = w.To
	end := w.From.Add(width)
	if end.After(w.Last) {
		end = ceil(w.Last, Unit(s.Format))
	}
	next.High = w.upTo(end).Text()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// ceil returns the first multiple of unit that is not before t.
func ceil(t time.Time, unit time.Duration) time.Time {
	whole := t.UTC().Truncate(unit)
	if whole.Before(t) {
		whole = whole.Add(unit)
	}
	return whole
}

// Time reads a time as a connector file or a cursor has it.
func Time(text string) (time.Time, error) {
	t, _, ok := since.ParseTime(text)
	if !ok {
		return t, fmt.Errorf("%q is no time", text)
	}
	return t, nil
}
