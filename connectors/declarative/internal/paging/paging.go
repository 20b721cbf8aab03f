// Package paging reads the pages of a list: where the next one is, and what each
// says of the end and of the whole.
//
// A [Kind] is a way in which providers cut lists into pages. What a page says is
// read from its bytes, its headers and the paths of the connector file alone. It
// is accepted whole or refused with [BadPage].
package paging

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/internal/yamlfile"
)

// A Kind is how a provider cuts a list into pages. The token of a page is
// what the provider sent, byte for byte; it is "" for the first page.
type Kind interface {
	// Ask returns the query parameters of the page at token. A token that is
	// the URL of the page has none: see [Linked].
	Ask(token string) []Field

	// Next returns the token of the page after p, which is at token; "" if p
	// is the last one.
	Next(p *Page, token string) (string, error)

	// End says how it is known that p, which leads nowhere, is the last page.
	End(p *Page) collection.End

	// Reads returns where it looks for something in the body of a page, besides the
	// records. Paths that are not set count for nothing.
	Reads() []notation.Path
}

// A Linked paging has tokens that are URLs.
type Linked interface{ linked() }

// A Bare paging needs no body: a response without one may lead on, too.
type Bare interface{ bare() }

// A Counted paging has tokens that we count, so that the server may be asked
// for a page that does not exist.
type Counted interface {
	Kind

	// Ahead returns the token that follows token if its page is full.
	Ahead(token string) (string, error)

	// Before returns the token that token then follows; false for the first.
	Before(token string) (string, bool)

	// Most returns how many records a page has at most; 0 if that is not known.
	Most() int

	// Seen returns how many records there are up to the end of a page of n
	// records at token; ok is false if that is not known.
	Seen(token string, n int) (records int, ok bool)
}

// An Overlapping paging may ask for records of the page before once more.
type Overlapping interface {
	// Overlap returns how many records of the page at token were on the page
	// before it.
	Overlap(token string) int
}

// A Field is a parameter of a query, not escaped. Without a name it stands where
// the file has ${page}.
type Field struct {
	Name, Value string
	Number      bool // it is one, and no text
}

// Place returns what stands for ${page} in a request that is asked for with
// fields, and whether that is a number; "" if nothing does.
func Place(fields []Field) (value string, number bool) {
	for _, f := range fields {
		if f.Name == "" {
			return f.Value, f.Number
		}
	}
	return "", false
}

// placed returns the field for a token, which as JSON has kept its quotes if it
// was a text.
func placed(param, token string, asJSON bool) []Field {
	f := Field{Name: param, Value: token}
	if asJSON {
		value := gjson.Parse(token)
		f.Number = value.Type == gjson.Number
		if value.Type == gjson.String {
			f.Value = value.Str
		}
	}
	return []Field{f}
}

// OnePage is a list that is not cut into pages, or one detail.
type OnePage struct{ Detail bool }

func (OnePage) Ask(string) []Field       { return nil }
func (OnePage) End(*Page) collection.End { return collection.EndOne }
func (OnePage) bare()                    {}
func (OnePage) Reads() []notation.Path   { return nil }

// Next refuses a list that says that there is more of it: a file that says
// there is none, or a provider that began to cut, would cost all the rest.
func (o OnePage) Next(p *Page, _ string) (string, error) {
	if o.Detail {
		return "", nil
	}
	if isPart(p.Header.Get("Content-Range")) {
		return "", BadPage("the Content-Range header says that there is more than this page, but `page` says that the list is one page: say with `page` how to read the next one")
	}
	return "", nil
}

// isPart reports whether a Content-Range is of less than the whole, in any unit:
// APIs use it for records as well, "items 0-24/112" (RFC 9110, section 14.4).
func isPart(contentRange string) bool {
	_, span, _ := strings.Cut(contentRange, " ")
	span, total, _ := strings.Cut(span, "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	whole, err3 := strconv.Atoi(total)
	return errors.Join(err1, err2, err3) == nil && last-first+1 < whole // some count from 1
}

// ByHeader follows the Link header of that relation.
type ByHeader struct{ Rel string }

func (ByHeader) linked()                  {}
func (ByHeader) Ask(string) []Field       { return nil }
func (ByHeader) End(*Page) collection.End { return collection.EndMark }
func (ByHeader) bare()                    {}
func (ByHeader) Reads() []notation.Path   { return nil }
func (b ByHeader) Next(p *Page, _ string) (string, error) {
	links := p.Header.Values("Link")
	target, ok := LinkTarget(links, b.Rel)
	if !ok {
		return "", BadPage("the Link header is cut off or malformed")
	}
	// Only on the first page: backwards, by prev, the last page has a next.
	if next, _ := LinkTarget(links, "next"); target == "" && p.First && next != "" {
		return "", BadPage("the Link header has rel=next and no rel=%s: correct `link_header`", b.Rel)
	}
	if target == "" && b.Forward() && p.noLinks() {
		return "", p.astray("the answer has no Link to another page", "")
	}
	return target, nil
}

// Forward reports whether it follows the links to the next pages; others may lead backwards.
func (b ByHeader) Forward() bool { return strings.EqualFold(b.Rel, "next") }

// ByURL follows the URL in the body, or in a header of its own.
type ByURL struct {
	At       notation.Path
	Header   string // that has the URL; "" for the body
	Optional bool   // the last page may have nothing there
}

func (ByURL) linked()                  {}
func (ByURL) Ask(string) []Field       { return nil }
func (ByURL) End(*Page) collection.End { return collection.EndMark }
func (b ByURL) Reads() []notation.Path { return []notation.Path{b.At} }
func (b ByURL) Next(p *Page, _ string) (string, error) {
	if b.Header != "" {
		return ByCursor{Header: b.Header, Optional: b.Optional}.fromHeader(p)
	}
	token, err := tokenAt(b.At, p.Body)
	if err != nil {
		return "", p.inObject(err, b.At, "")
	}
	if token == "" {
		err = p.ends(b.At, b.Optional, "next_url: "+yamlfile.Flow(yamlfile.Map{{Key: "path", Value: b.At.Text}, {Key: "optional", Value: true}}), "")
	}
	return token, err
}

// ByCursor hands back the token in the body, or in a header.
type ByCursor struct {
	From     notation.Path
	Header   string // that has the token; "" for the body
	Param    string
	More     notation.Path
	Optional bool   // the last page may have nothing at from
	First    string // what the first page is asked for with; "": nothing
	AsJSON   bool   // the token is kept as JSON wrote it, so that a number is sent as one
}

func (b ByCursor) Ask(token string) []Field {
	if token = cmp.Or(token, b.First); token == "" {
		return nil
	}
	return placed(b.Param, token, b.AsJSON)
}

func (ByCursor) End(*Page) collection.End { return collection.EndMark }

func (b ByCursor) Reads() []notation.Path { return []notation.Path{b.From, b.More} }

func (b ByCursor) Next(p *Page, _ string) (string, error) {
	if more, err := moreAt(b.More, p.Body, true); err != nil || !more {
		return "", err
	}
	if b.Header != "" {
		return b.fromHeader(p)
	}
	token, err := tokenAt(b.From, p.Body)
	switch {
	case err != nil:
		return "", p.inObject(err, b.From, cmp.Or(b.Param, inPlace))
	case token != "":
	case b.More.Set:
		err = BadPage("`%s` says that there is more, but there is no cursor at `%s`", b.More.Text, b.From.Text)
	default:
		err = p.ends(b.From, b.Optional, "optional: true", cmp.Or(b.Param, inPlace))
	}
	if b.AsJSON && token != "" {
		token = b.From.In(p.Body).Raw
	}
	return token, err
}

// fromHeader returns the token of a header. One that is not there ends the walk,
// unless the first page looks full: its name may be wrong.
func (b ByCursor) fromHeader(p *Page) (string, error) {
	values := p.Header.Values(b.Header)
	token := strings.TrimSpace(p.Header.Get(b.Header))
	if token == "null" { // as in a body: Salesforce's Sforce-Locator ends so
		token = ""
	}
	switch {
	case len(values) > 1:
		return "", BadPage("the answer has the header %s %d times", b.Header, len(values))
	case !utf8.ValidString(token):
		return "", BadPage("the header %s is not UTF-8 text", b.Header)
	case token == "" && b.More.Set:
		return "", BadPage("`%s` says that there is more, but there is no cursor in the header %s", b.More.Text, b.Header)
	case len(values) > 0:
		return token, nil
	}
	if err := p.astray("the answer has no header "+b.Header, b.Param); err != nil {
		return "", err
	}
	if p.First && isRound(len(p.Elements)) && !b.Optional {
		return "", BadPage("the answer has no header %s, but the page looks full (%d records)%s; if this API leaves it out on the last page: optional: true", b.Header, len(p.Elements), headersLeadingOn(p.Header))
	}
	return "", nil
}

// tokenAt returns the token at a path: the text of a string or the digits of
// a number. What is missing, null, false or empty means that there is none.
func tokenAt(at notation.Path, body []byte) (string, error) {
	if at.Twice(body) {
		return "", BadPage("the page has `%s` twice", at.Text)
	}
	found := at.In(body)
	switch found.Type {
	case gjson.JSON, gjson.True:
		return "", BadPage("the value at `%s` is neither text nor a number", at.Text)
	case gjson.False:
		return "", nil
	}
	text, ok := notation.TextOf(found)
	if !ok && found.Type == gjson.String {
		return "", BadPage("the value at `%s` is not valid text", at.Text)
	}
	return text, nil
}

// moreAt returns the answer to "is there more" at a path, or def where the
// file does not name one.
func moreAt(at notation.Path, body []byte, def bool) (bool, error) {
	if !at.Set || body == nil {
		return def && body != nil, nil
	}
	if at.Twice(body) {
		return false, BadPage("the page has `%s` twice", at.Text)
	}
	switch more := at.In(body); {
	case more.Type == gjson.True, more.Str == "true": // XML has texts only
		return true, nil
	case more.Type == gjson.False, more.Str == "false":
		return false, nil
	}
	return false, BadPage("the value at `%s` is neither true nor false%s", at.Text, besides(at, body))
}

// ByLastID asks for what follows the last record.
type ByLastID struct {
	Param  string
	Field  notation.Path
	More   notation.Path
	AsJSON bool // as with a cursor
}

func (b ByLastID) Ask(token string) []Field {
	if token == "" {
		return nil
	}
	return placed(b.Param, token, b.AsJSON)
}

func (b ByLastID) End(*Page) collection.End {
	if b.More.Set {
		return collection.EndMark
	}
	return collection.EndEmpty
}

func (b ByLastID) Reads() []notation.Path { return []notation.Path{b.More} }

func (b ByLastID) Next(p *Page, _ string) (string, error) {
	if more, err := moreAt(b.More, p.Body, len(p.Elements) > 0); err != nil || !more {
		return "", err
	}
	if len(p.Elements) == 0 {
		if !b.More.Set {
			return "", nil
		}
		return "", BadPage("`%s` says that there is more, but the page is empty", b.More.Text)
	}
	text, ok := "", false
	if p.Last != nil {
		text, ok = notation.TextOf(b.Field.In(p.Last))
	}
	if !ok || text == "" {
		return "", BadPage("the last record has no text or number at `%s`, by which the next page is asked for", b.Field.Text)
	}
	if b.AsJSON {
		text = b.Field.In(p.Last).Raw
	}
	return text, nil
}

// ByNumber counts pages.
type ByNumber struct {
	Param     string
	Start     int
	SizeParam string
	Size      int    // 0: not known
	Total     Source // of how many pages there are
	Short     bool   // a short page is the last one
}

func (b ByNumber) Ask(token string) []Field {
	if token == "" {
		token = strconv.Itoa(b.Start)
	}
	fields := []Field{{b.Param, token, true}}
	if b.SizeParam != "" {
		fields = append(fields, Field{b.SizeParam, strconv.Itoa(b.Size), true})
	}
	return fields
}

func (b ByNumber) Next(p *Page, token string) (string, error) {
	following, err := b.Ahead(token)
	if err != nil {
		return "", err
	}
	return p.following(following, b.Total, b.Size, b.Short, func(n, total int) (more bool, err error) {
		if full := p.Had() >= max(b.Size, 1) && (b.Size > 0 || isRound(p.Had())); full && p.First && total == 1 {
			return true, nil // it may be the number of this page
		}
		seen := n - b.Start
		return seen < total || seen > total && len(p.Elements) > 0, nil // a total that is less than what was seen is of something else
	})
}

func (b ByNumber) Ahead(token string) (string, error) {
	return count64(token, b.Start, 1)
}

func (b ByNumber) End(p *Page) collection.End { return endOf(p, b.Total.Set) }

func (b ByNumber) Reads() []notation.Path { return b.Total.inBody() }

func (b ByNumber) Most() int { return b.Size }

func (b ByNumber) Seen(token string, n int) (int, bool) {
	number, err := count64(token, b.Start, 0)
	at, _ := strconv.Atoi(number)
	return (at-b.Start)*b.Size + n, err == nil && (b.Size > 0 || at == b.Start)
}

func (b ByNumber) Before(token string) (string, bool) { return countBack(token, b.Start, 1) }

// ByOffset counts records. The next offset is where the page really ended:
// a provider that grants fewer records than asked for must not cost any.
type ByOffset struct {
	Param      string
	LimitParam string
	Limit      int // 0: not known
	Total      Source
	Short      bool // a short page is the last one
	Apart      bool // a page does not begin with the last record of the page before
}

func (b ByOffset) Ask(token string) []Field {
	if token == "" {
		token = "0"
	}
	if n, err := strconv.Atoi(token); err == nil {
		token = strconv.Itoa(n - b.Overlap(token))
	}
	fields := []Field{{b.Param, token, true}}
	if b.LimitParam != "" {
		fields = append(fields, Field{b.LimitParam, strconv.Itoa(b.Limit), true})
	}
	return fields
}

func (b ByOffset) Next(p *Page, token string) (string, error) {
	following, err := count64(token, 0, len(p.Elements))
	if err != nil {
		return "", err
	}
	return p.following(following, b.Total, b.Limit, b.Short, func(n, total int) (more bool, err error) {
		switch empty := len(p.Elements) == 0; {
		case n < total && empty:
			return false, BadPage("`%s` says that there are more records, but the page is empty", b.Total.Text)
		case n > total:
			return !empty, nil // it is the total of something else
		case n == total:
			return p.First && !empty && !b.Short && !p.ShortIsLast, nil // it may be how many there are on this page
		}
		return true, nil
	})
}

func (b ByOffset) Ahead(token string) (string, error) {
	if b.Limit == 0 {
		return "", BadPage("the size of a page is not known")
	}
	return count64(token, 0, b.Limit-b.Overlap(token))
}

func (b ByOffset) Before(token string) (string, bool) {
	before, ok := countBack(token, 0, b.Limit)
	if n, _ := strconv.Atoi(before); ok && n > 0 {
		return strconv.Itoa(n + b.Overlap(before)), true // a page that overlaps has one less that is new
	}
	return before, ok
}

func (b ByOffset) End(p *Page) collection.End { return endOf(p, b.Total.Set) }

func (b ByOffset) Reads() []notation.Path { return b.Total.inBody() }

func (b ByOffset) Most() int { return b.Limit }

func (b ByOffset) Seen(token string, n int) (int, bool) {
	to, err := count64(token, 0, n)
	records, _ := strconv.Atoi(to)
	return records, err == nil
}

// Overlap is one for each page but the first: that it begins with the record
// which the page before ended with shows, at no request more, that nothing in
// front of it was deleted or moved in between.
func (b ByOffset) Overlap(token string) int {
	if b.Apart || b.Limit < 2 || token == "" || token == "0" {
		return 0
	}
	return 1
}

// following returns token, of the next page, if there is one: more says so of
// the token and the total, if the page has a total, or else how long the page is.
func (p *Page) following(token string, at Source, size int, short bool, more func(n, total int) (bool, error)) (string, error) {
	is := !p.isLast(size, short)
	if at.Set {
		total, err := p.totalAt(at)
		if err != nil {
			return "", err
		}
		n, _ := strconv.Atoi(token)
		if is, err = more(n, total); err != nil {
			return "", err
		}
	}
	if !is {
		return "", nil
	}
	return token, nil
}

// endOf returns the end of a list whose pages are counted.
func endOf(p *Page, total bool) collection.End {
	switch {
	case total:
		return collection.EndTotal
	case len(p.Elements) == 0:
		return collection.EndEmpty
	}
	return collection.EndShort
}

// countBack returns the decimal of token less step; false if step is none, or
// that is before start.
func countBack(token string, start, step int) (string, bool) {
	n, err := strconv.Atoi(token)
	return strconv.Itoa(n - step), err == nil && step > 0 && n-step >= start
}

// count64 returns the decimal of token, or of start if it is empty, plus step.
func count64(token string, start, step int) (string, error) {
	n := start
	if token != "" {
		var err error
		if n, err = strconv.Atoi(token); err != nil || n < 0 || strings.HasPrefix(token, "+") {
			return "", BadPage("the stored cursor is not the number of a page")
		}
	}
	const most = 1 << 52 // a JSON number that every provider reads exactly
	if n > most {
		return "", BadPage("the number of the page is out of range")
	}
	return strconv.Itoa(n + step), nil
}

// TokensOf says what the tokens of a paging stand for. An offset counts records,
// whatever the size of a page.
func TokensOf(pg Kind) string {
	switch pg := pg.(type) {
	case ByHeader:
		return "link_header " + pg.Rel
	case ByURL:
		if pg.Header != "" {
			return "next_url in the header " + pg.Header
		}
		return "next_url " + pg.At.Text
	case ByCursor:
		if pg.Header != "" {
			return "cursor in the header " + pg.Header
		}
		return "cursor " + pg.From.Text + asJSON(pg.AsJSON)
	case ByLastID:
		return "last_id " + pg.Field.Text + asJSON(pg.AsJSON)
	case ByJob:
		return "job " + pg.ID.Text + ", " + TokensOf(pg.Kind)
	case ByScroll:
		return "scroll " + pg.From.Text
	case ByContinue:
		return "continue " + pg.From.Text + ", " + pg.Complete.Text
	case ByDelta:
		return "delta " + pg.From.Text + ", " + pg.To.Text
	case ByDeltaURL:
		return "delta " + pg.From.Text + ", " + pg.To.Text
	case ByNumber:
		return fmt.Sprintf("number from %d of %d", pg.Start, pg.Size)
	case BySize:
		return fmt.Sprintf("number from %d", pg.Start)
	case ByOffset:
		return "offset"
	}
	return "none"
}

func asJSON(is bool) string {
	if is {
		return " as JSON"
	}
	return ""
}
