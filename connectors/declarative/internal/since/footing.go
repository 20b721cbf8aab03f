package since

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// A Footing is what the High of a cursor inside a walk holds, as JSON. (It was
// the plain highest mark of an unordered walk once; that walk has no bound, and
// the next one asks from the same mark as it did.)
//
// At the end of a walk it holds what the next one goes by: Had, the tie that the
// walk ended with, Top, and Short, the walks that a short page ended (see [paging.Shorts]).
type Footing struct {
	From string `json:"from,omitempty"`
	High string `json:"high,omitempty"`
	bound
	tie
	paging.Shorts
	promise
	All   bool   `json:"all,omitempty"`   // the walk asked for everything at its start
	Loose bool   `json:"loose,omitempty"` // see Window
	Had   string `json:"had,omitempty"`
	Top   string `json:"top,omitempty"` // as in Window, of the walks before, if it is later than the mark they left
}

// A promise is what a page with more behind it said before the walk was anchored
// anew at its marks. If the page from there ends the list and has no later mark,
// the provider may not mean by the mark what the file says (it compares for
// equality, or reads it in another time zone), and the page that was promised is
// asked for. If that one has later marks, they may have come meanwhile: the page
// from the mark is asked for again, and if it lacks them, the walk stops.
type promise struct {
	Then  string `json:"then,omitempty"`  // the token of the page behind
	Under string `json:"under,omitempty"` // the anchor that the token was given under
	UpTo  string `json:"up_to,omitempty"` // the highest mark of the page
	Owed  bool   `json:"owed,omitempty"`  // it was broken: pages are asked for under that anchor
	Ended string `json:"ended,omitempty"` // the anchor whose page broke it; none in a cursor of an older version
}

// broken reports whether the page with the marks m, the last one, broke p.
func (p promise) broken(m Marks, token string) bool {
	markless := m.high == "" && len(m.records) > 0
	return p.Then != "" && token == "" && !markless && !later(m.high, p.UpTo)
}

// Doubted reports whether a page with the marks m, which was promised, has records
// that the page from the mark did not have.
func (w Window) Doubted(m Marks) bool { return w.Owed && later(m.high, w.UpTo) }

// Again returns the window that asks once more from the mark whose page broke the
// promise.
func (s *Since) Again(w Window) (Window, error) {
	w.Anchor, w.high, w.promise = cmp.Or(w.Ended, w.Since), "", promise{}
	var err error
	w.Asked, err = s.form(w.Anchor)
	return w, err
}

// Confirm returns why the provider may not mean by the mark what the file says: the
// page from it that was asked for after the promised one, with the marks again,
// lacks the first of the later marks m of that one. Before that mark, a page may end
// if more follow.
func (s *Since) Confirm(w Window, m, again Marks, more bool) error {
	first := ""
	for _, r := range m.records {
		if text, _ := notation.TextOf(s.Field.In(r.Data)); later(text, w.UpTo) && (first == "" || later(first, text)) {
			first = text
		}
	}
	has := func(r collection.Record) bool {
		text, _ := notation.TextOf(s.Field.In(r.Data))
		return CompareMarks(text, first) == 0
	}
	if slices.ContainsFunc(again.records, has) || more && later(first, again.high) {
		return nil
	}
	return paging.BadPage("asked for changes with `%s`, the provider left out later records, which it sends otherwise: `%s` may not mean \"from this time on\", or may read the time in another time zone", s.Sent(), s.Sent())
}

// FootingOf reads a footing. High may be what it was before there were any.
func FootingOf(high string) (Footing, error) {
	var f Footing
	if !strings.HasPrefix(high, "{") {
		return Footing{High: high}, nil
	}
	if err := json.Unmarshal([]byte(high), &f); err != nil {
		return f, paging.BadPage("the cursor was not made by this connector")
	}
	return f, nil
}

// Text returns f as the High of a cursor.
func (f Footing) Text() string {
	if f == (Footing{}) {
		return ""
	}
	text, _ := json.Marshal(f) // strings, numbers and times always marshal
	return string(text)
}

// startOver returns the High of a cursor from which a walk begins again: what
// it knew before.
func (f Footing) startOver() string {
	return Footing{Had: f.Had, Top: f.Top, Shorts: f.Shorts.Kept()}.Text()
}

// A bound is what was known when a walk began of the marks that the provider
// was giving out then. It is kept in the cursor, since a walk that is taken up
// again began when it began.
//
// A record that is updated behind the walk gets a mark that is later than the
// bound, however early it is beside the marks that the walk sees afterwards.
// So the walk after one that passed it by asks for it, if the mark was not
// moved past the bound.
type bound struct {
	// By is the second before the first page was asked for, by the clock of
	// the provider. Zero: it did not say.
	By time.Time `json:"by,omitzero"`

	// First is the highest mark on the first page, or of those before (see Window.top):
	// whatever was updated after that page was made has a later one, be it the
	// number of an update or a time without a zone. "" if there were no marks.
	First string `json:"first,omitempty"`
}
