package declarative

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/windows"
)

// Alone returns the cursor of a walk of the window of time alone in which from stands, as
// [connectors.Cutter] says.
func (c *connector) Alone(at collection.Place, from collection.Cursor) (alone collection.Cursor, ok bool) {
	w, window, err := c.windowAt(at, from)
	if err != nil {
		return from, false
	}
	alone = w.st.Windows.Alone(window, from)
	alone.Meaning = w.st.Means.String()
	return alone, true
}

// Behind returns the cursor behind the window of time in which from stands, as
// [connectors.Cutter] says.
func (c *connector) Behind(at collection.Place, from collection.Cursor) (next collection.Cursor, ok bool) {
	w, window, err := c.windowAt(at, from)
	if err != nil {
		return from, false
	}
	if next, ok = w.st.Windows.Behind(window, from, time.Now(), w.until()); ok {
		next.Meaning = w.st.Means.String()
	}
	return next, ok
}

// errNoWindow: the stream is not walked in windows of time.
var errNoWindow = errors.New("no windows")

// windowAt returns the window of time in which from stands, and a walk that asks nothing.
func (c *connector) windowAt(at collection.Place, from collection.Cursor) (w *walk, window windows.Window, err error) {
	if st := c.spec.Stream(at.Stream); st == nil || st.Windows == nil {
		return nil, window, errNoWindow
	}
	if w, err = c.walk(nil, at); err == nil {
		window, err = w.openWindow(from)
	}
	return w, window, err
}

// until returns where the last window ends; zero: when the walk begins.
func (w *walk) until() time.Time {
	until, _ := windows.Time(w.st.Windows.Until.Expand(w.scope)) // "now" is none
	return until
}

// inWindow adds the window of time that could not be had to err, if it is a stop that
// costs the window alone.
func (w *walk) inWindow(err error) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok || w.st.Windows == nil || w.scope.From == "" || stop.EndsRun() {
		return err
	}
	named := *stop
	named.Err, named.Detail = err, "the window from "+w.scope.From+" to "+w.scope.To
	if stop.Detail != "" {
		named.Detail += ": " + stop.Detail
	}
	return &named
}

// openWindow puts the window that the page at from belongs to into the request.
func (w *walk) openWindow(from collection.Cursor) (window windows.Window, err error) {
	s := w.st.Windows
	start, err := windows.Time(s.From.Expand(w.scope))
	if err != nil {
		return window, paging.BadPage("`from` of `windows` is no time")
	}
	w.asked = time.Now()
	if window, err = s.Open(from, start, w.asked); err == nil {
		w.scope.From, w.scope.To = s.Ends(window)
		w.scope.Type("window.from", w.scope.From, s.Numeric())
		w.scope.Type("window.to", w.scope.To, s.Numeric())
	}
	return window, err
}

// leaveWindow completes the slice of p, a page of a window that leads to token.
func (w *walk) leaveWindow(window windows.Window, p *paging.Page, token string, s *collection.Slice) {
	page := windows.Page{Records: len(p.Elements), Token: token, Asked: p.Clock}
	var err error
	if page.Answered, err = http.ParseTime(p.Header.Get("Date")); err != nil {
		page.Asked, page.Answered = w.asked, time.Now()
	}
	if told := w.total(p); told.By != "" && !told.Pages {
		page.Total = told.Total
	}
	page.Until = w.until()
	s.Next, s.Else, s.Told.Cut = w.st.Windows.Advance(window, s.From, page)
	if s.Else != nil { // the window ends with this page
		s.Span = &collection.Span{From: window.From, To: window.To, Records: window.Had + page.Records}
	}
	if s.Next.Token != "" {
		return
	}
	if digest := w.guard.digest; s.From.Token == "" && token == "" {
		w.sameWindow(digest, p, s)
	}
	w.guard.reset("")
}

// sameWindow warns, once in a walk, of two windows in a row with the same records.
func (w *walk) sameWindow(digest uint64, p *paging.Page, s *collection.Slice) {
	if !w.warned && p.Had() > 1 && digest == w.window {
		w.warned = true
		s.Warnings = append(s.Warnings, collection.Warning{Code: collection.MarkIgnored,
			Text: "two windows of time in a row have the same records: the provider may ignore ${window.from} and ${window.to}"})
	}
	w.window = digest
}

// A TimeAxis is the time that a stream covers which is walked in windows.
type TimeAxis struct {
	From  time.Time
	Until time.Time // excluded; zero: when a walk begins
}

// TimeAxis returns the time that a stream covers under these parameters; ok is false for
// one that is not walked in windows of time, or in those of each parent.
func (s *Spec) TimeAxis(stream string, params map[string]string) (axis TimeAxis, ok bool) {
	st := s.file.Stream(stream)
	if st == nil || st.Windows == nil || len(st.Each) > 0 {
		return axis, false
	}
	c := &connector{spec: s.file}
	var err error
	if c.params, err = c.resolveParams(params); err != nil {
		return axis, false
	}
	w, err := c.walk(nil, collection.Place{Stream: stream})
	if err != nil {
		return axis, false
	}
	if axis.From, err = windows.Time(st.Windows.From.Expand(w.scope)); err != nil {
		return axis, false
	}
	axis.Until, _ = windows.Time(st.Windows.Until.Expand(w.scope)) // "now" is none
	return axis, true
}

// WindowAt returns the window of time that a cursor of such a stream stands in; ok is
// false for the start of a walk.
func WindowAt(c collection.Cursor) (from, to time.Time, ok bool) {
	var w windows.Window
	if json.Unmarshal([]byte(c.High), &w) != nil || w.To.IsZero() {
		return from, to, false
	}
	return w.From, w.To, true
}

// MarkTime returns the time that a mark of a stream stands for; ok is false for one
// that is no time.
func (s *Spec) MarkTime(stream, mark string) (at time.Time, ok bool) {
	st := s.file.Stream(stream)
	if st == nil || mark == "" || st.Since == nil && st.Windows == nil {
		return at, false
	}
	at, err := windows.Time(mark)
	return at, err == nil
}
