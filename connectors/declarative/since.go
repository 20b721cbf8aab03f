package declarative

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"collect/collection"
)

// since asks only for what changed after a mark.
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
// An anchor only ever grows in a walk, so that an ordered walk ends; the mark
// that the next walk begins with never goes back. Should the records
// show that the provider does not sort, or ignores what it is asked, the rest
// of the walk is unordered.
type since struct {
	field    path
	param    string
	start    template
	ordered  bool
	counted  bool // pages have numbers: that there is a next one is no promise
	lookback time.Duration
	format   string
}

// The formats in which a mark can be sent. "" sends it as received.
const (
	asRFC3339   = "rfc3339"
	asDate      = "date"
	asUnix      = "unix"
	asUnixMilli = "unix_ms"
)

// A window is what the pages from one anchor are asked with.
type window struct {
	since  string // the mark to begin the next walk with, so far
	anchor string // the mark that pages of this walk moved to; "" before the first did
	high   string // the highest mark of an unordered walk; in an ordered one, not empty once it gave up order
	bound  bound
	tie    tie
	all    bool // the walk asked for everything at its start
	shorts shorts
	promise
	had   string // the tie that the walk before ended with
	left  string // the tie that ends with the page
	asked string // what is sent; "" asks for everything
}

// A footing is what the High of a cursor inside a walk holds, as JSON. (It was
// the plain highest mark of an unordered walk once; that walk has no bound, and
// the next one asks from the same mark as it did.)
//
// At the end of a walk it holds what the next one goes by: Had, the tie that the
// walk ended with, and Short, the walks that a short page ended (see shorts).
type footing struct {
	From string `json:"from,omitempty"`
	High string `json:"high,omitempty"`
	bound
	tie
	shorts
	promise
	All bool   `json:"all,omitempty"` // the walk asked for everything at its start
	Had string `json:"had,omitempty"`
}

// A promise is what a page with more behind it said before the walk was anchored
// anew at its marks. If the page from there ends the list and has no later mark,
// the provider may not mean by the mark what the file says (it compares for
// equality, or reads it in another time zone), and the page that was promised is
// asked for. If that one has later marks, the walk stops.
type promise struct {
	Then  string `json:"then,omitempty"`  // the token of the page behind
	Under string `json:"under,omitempty"` // the anchor that the token was given under
	UpTo  string `json:"up_to,omitempty"` // the highest mark of the page
	Owed  bool   `json:"owed,omitempty"`  // it was broken: pages are asked for under that anchor
}

// broken reports whether the page with the marks m, the last one, broke p.
func (p promise) broken(m marks, token string) bool {
	markless := m.high == "" && len(m.records) > 0
	return p.Then != "" && token == "" && !markless && !later(m.high, p.UpTo)
}

// footingOf reads a footing. High may be what it was before there were any.
func footingOf(high string) (footing, error) {
	var f footing
	if !strings.HasPrefix(high, "{") {
		return footing{High: high}, nil
	}
	if err := json.Unmarshal([]byte(high), &f); err != nil {
		return f, badPage("the cursor was not made by this connector")
	}
	return f, nil
}

// text returns f as the High of a cursor.
func (f footing) text() string {
	if f == (footing{}) {
		return ""
	}
	text, _ := json.Marshal(f) // strings, numbers and times always marshal
	return string(text)
}

func (w window) cursorHigh() string {
	return footing{w.anchor, w.high, w.bound, w.tie, w.shorts, w.promise, w.all, w.had}.text()
}

// done returns the High of a cursor at the end of the walk.
func (w window) done() string {
	return footing{Had: cmp.Or(w.left, w.had), shorts: shorts{Short: w.shorts.Short}}.text()
}

// open reads the window from a cursor.
//
// The lookback belongs to the first anchor of a walk: applied at each, the
// walk would turn in circles inside it. It never reaches before the start.
func (s *since) open(from collection.Cursor, start string) (window, error) {
	f, err := footingOf(from.High)
	w := window{since: from.Since, anchor: f.From, high: f.High, bound: f.bound, tie: f.tie, had: f.Had, shorts: f.shorts, promise: f.promise, all: f.All}
	if err != nil {
		return w, err
	}
	asked := w.anchor
	switch {
	case asked != "" || w.Owed:
	case w.since == "":
		asked = start
	case s.lookback > 0:
		earlier, ok := newMark(w.since).before(s.lookback)
		if !ok {
			return w, badPage("`since` looks back, but `%s` is neither a time nor a number", s.field.text)
		}
		asked = latest(earlier.text, start)
	default:
		asked = w.since
	}
	w.all = w.all || from.Token == "" && asked == ""
	w.asked, err = s.form(asked)
	return w, err
}

// form returns the mark text in the format that the provider wants.
func (s *since) form(text string) (string, error) {
	if text == "" || s.format == "" {
		return text, nil
	}
	m := newMark(text)
	if m.kind == numberMark {
		if s.format == asUnix || s.format == asUnixMilli {
			return text, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", badPage("`%s` cannot be sent as %s", s.field.text, s.format)
		}
		m = mark{time: time.Unix(n, 0).UTC(), kind: timeMark}
	}
	if m.kind != timeMark {
		return "", badPage("`%s` cannot be sent as %s", s.field.text, s.format)
	}
	switch s.format {
	case asDate:
		return m.time.UTC().Format(time.DateOnly), nil
	case asUnix:
		return strconv.FormatInt(m.time.Unix(), 10), nil
	case asUnixMilli:
		return strconv.FormatInt(m.time.UnixMilli(), 10), nil
	}
	if _, layout, ok := parseTime(m.text); ok && layout == time.RFC3339 {
		return m.text, nil
	}
	return m.time.UTC().Format(time.RFC3339Nano), nil
}

// marks sums up the marks of a page.
type marks struct {
	low, high, second string // the lowest, the highest, and the highest below that; "" if there is none
	sorted            bool   // none is before the one in front of it
	absent            bool   // there are records, and none has the field, not even as null
	records           []collection.Record
}

// markOf returns the mark of a record; the zero one if it has none that
// compares.
func (s *since) markOf(record []byte) collection.Mark {
	if text, ok := scalarText(s.field.in(record)); ok && text != "" {
		return newMark(text).of(s.field)
	}
	return collection.Mark{}
}

func (s *since) marksOf(records []collection.Record) marks {
	sum := marks{sorted: true, absent: len(records) > 0, records: records}
	var low, high, second, last mark
	for _, r := range records {
		sum.absent = sum.absent && s.field.absent(r.Data)
		text, ok := scalarText(s.field.in(r.Data))
		if !ok || text == "" || text == last.text {
			continue
		}
		m := newMark(text)
		switch {
		case last.text == "":
			low, high = m, m
		case m.compare(high) > 0:
			second, high = high, m
		case m.compare(high) < 0 && (second.text == "" || m.compare(second) > 0):
			second = m
		}
		if last.text != "" {
			sum.sorted = sum.sorted && last.compare(m) <= 0
			if m.compare(low) < 0 {
				low = m
			}
		}
		last = m
	}
	sum.low, sum.high, sum.second = low.text, high.text, second.text
	return sum
}

// advance returns the cursor after a page that was asked for in w and has
// those marks; token leads to the page after it, and is "" if there is none.
// clock is the provider's when it was asked.
func (s *since) advance(w *window, from collection.Cursor, m marks, token string, clock time.Time) (collection.Cursor, error) {
	next := collection.Cursor{Token: token, Since: w.since, Version: from.Version}
	first := from.Token == ""
	if first && w.anchor == "" && w.tie == (tie{}) {
		w.bound = s.begin(m, clock)
	}
	// A field that was seen in this walk exists, and a page may do without it.
	if m.absent && w.anchor == "" && w.high == "" {
		return next, badPage("no record has `%s`, the field of `since`", s.field.text)
	}
	low, err := s.form(m.low)
	if err != nil {
		return next, err
	}
	switch {
	case first && w.promise.broken(m, token):
		w.anchor, w.high, next.Token = w.Under, w.UpTo, w.Then
		w.promise = promise{UpTo: w.UpTo, Owed: true}
		next.High = w.cursorHigh()
		return next, nil
	case w.Owed && later(m.high, w.UpTo):
		return next, badPage("there are later records than a page that was asked for from their mark had: the provider may not mean by `%s` what `since` does", cmp.Or(s.param, "${since}"))
	}
	ignored := m.low != "" && later(w.asked, low)
	if !s.ordered || w.high != "" || !m.sorted || ignored {
		w.high = latest(w.high, m.high)
		if next.High = w.cursorHigh(); token == "" {
			next.Done, next.Since, next.High = true, latest(w.since, s.until(w.bound, w.high)), w.done()
		}
		return next, nil
	}
	// A first page with the mark that was asked for: "since" means "from". At
	// the end of a walk the more cautious mark costs no more than one page.
	inclusive := first && token != "" && low != "" && !later(low, w.asked)
	anchor, err := s.anchor(*w, m, inclusive)
	if err != nil {
		return next, err
	}
	var again bool
	if again, w.left = w.tie.pass(s, m, first, anchor, token, w.had); again {
		next.Token, next.High = "", w.cursorHigh()
		return next, nil
	}
	switch {
	case token == "":
		next.Done, next.High = true, w.done()
		next.Since = latest(w.since, s.notAfter(anchor, clock))
	case anchor != "":
		if w.promise = (promise{}); !s.counted {
			w.promise = promise{Then: token, Under: w.anchor, UpTo: m.high}
		}
		w.anchor = anchor
		next.Token, next.Since, next.High = "", latest(w.since, s.notAfter(anchor, clock)), w.cursorHigh()
	default:
		next.High = w.cursorHigh()
	}
	return next, nil
}

// ignored returns a warning, once in a walk, where a page shows that the provider
// does not ask what the mark asks: each run then reads everything again, and
// finds that nothing is new.
//
// A provider may round a mark to its day. What is less than a day too old is no
// sign, unless the whole page is too old.
func (w *walk) ignored(win window, m marks, token string) *collection.Warning {
	s := w.st.since
	low, err := s.form(m.low)
	if err != nil || w.warned || low == "" || !later(win.asked, low) {
		return nil
	}
	if token != "" && slices.ContainsFunc(w.st.page.ask(token), func(f field) bool { return f.name == s.param }) {
		return nil // asked for without the mark
	}
	asked, oldest := newMark(win.asked), newMark(low)
	if asked.kind == timeMark && oldest.kind == timeMark && asked.time.Sub(oldest.time) <= 24*time.Hour {
		if high, err := s.form(m.high); err != nil || !later(win.asked, high) {
			return nil
		}
	}
	w.warned = true
	by := "the query with ${since}"
	if s.param != "" {
		by = "`" + s.param + "`"
	}
	return &collection.Warning{Code: collection.MarkIgnored, Text: fmt.Sprintf(
		"records came whose `%s` is before the mark that was asked for: the provider may not know %s, and then each run reads everything again", s.field.text, by)}
}

// anchor returns the mark to go on from after a page, later than the one it
// was asked with; "" if the page has none that is safe. The highest mark itself
// is, where the provider is known to include it.
func (s *since) anchor(w window, m marks, inclusive bool) (string, error) {
	safe := []string{m.second}
	if inclusive {
		safe = append(safe, m.high)
	}
	for _, text := range safe {
		sent, err := s.form(text)
		if err != nil {
			return "", err
		}
		if later(sent, w.asked) {
			return text, nil
		}
	}
	return "", nil
}

// later reports whether a is a later mark than b; any mark is later than none.
func later(a, b string) bool {
	switch {
	case a == "" || b == "":
		return a != "" && b == ""
	}
	return newMark(a).compare(newMark(b)) > 0
}

func latest(a, b string) string {
	if later(b, a) {
		return b
	}
	return a
}
