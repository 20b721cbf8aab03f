package declarative

import (
	"net/http"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/windows"
)

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
	page.Until, _ = windows.Time(w.st.Windows.Until.Expand(w.scope)) // "now" is none
	s.Next, s.Else, s.Told.Cut = w.st.Windows.Advance(window, s.From, page)
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
