package declarative

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
)

// A paging is how a provider cuts a list into pages. The token of a page is
// what the provider sent, byte for byte; it is "" for the first page.
type paging interface {
	// ask returns the query parameters of the page at token. A token that is
	// the URL of the page has none: see linked.
	ask(token string) []field

	// next returns the token of the page after p, which is at token; "" if p
	// is the last one.
	next(p *page, token string) (string, error)

	// end says how it is known that p, which leads nowhere, is the last page.
	end(p *page) collection.End
}

// A linked paging has tokens that are URLs.
type linked interface{ linked() }

// A bare paging needs no body: a response without one may lead on, too.
type bare interface{ bare() }

// A counted paging has tokens that we count, so that the server may be asked
// for a page that does not exist.
type counted interface {
	paging

	// ahead returns the token that follows token if its page is full.
	ahead(token string) (string, error)

	// before returns the token that token then follows; false for the first.
	before(token string) (string, bool)

	// most returns how many records a page has at most; 0 if that is not known.
	most() int

	// seen returns how many records there are up to the end of a page of n
	// records at token; ok is false if that is not known.
	seen(token string, n int) (records int, ok bool)
}

// An overlapping paging may ask for records of the page before once more.
type overlapping interface {
	// overlap returns how many records of the page at token were on the page
	// before it.
	overlap(token string) int
}

// A field is a parameter of a query, not escaped.
type field struct{ name, value string }

// onePage is a list that is not cut into pages, or one detail.
type onePage struct{ detail bool }

func (onePage) ask(string) []field       { return nil }
func (onePage) end(*page) collection.End { return collection.EndOne }
func (onePage) bare()                    {}

// next refuses a list that says that there is more of it: a file that says
// there is none, or a provider that began to cut, would cost all the rest.
func (o onePage) next(p *page, _ string) (string, error) {
	if o.detail {
		return "", nil
	}
	if isPart(p.header.Get("Content-Range")) {
		return "", badPage("the Content-Range header says that there is more, and `page` that there is one page")
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

// byHeader follows the Link header of that relation.
type byHeader struct{ rel string }

func (byHeader) linked()                  {}
func (byHeader) ask(string) []field       { return nil }
func (byHeader) end(*page) collection.End { return collection.EndMark }
func (byHeader) bare()                    {}
func (b byHeader) next(p *page, _ string) (string, error) {
	links := p.header.Values("Link")
	target, ok := linkTarget(links, b.rel)
	if !ok {
		return "", badPage("the Link header breaks off")
	}
	// Only on the first page: backwards, by prev, the last page has a next.
	if next, _ := linkTarget(links, "next"); target == "" && p.first && next != "" {
		return "", badPage("the Link header has rel next and not `%s`", b.rel)
	}
	return target, nil
}

// byURL follows the URL in the body.
type byURL struct {
	at       path
	optional bool // the last page may have nothing at the path
}

func (byURL) linked()                  {}
func (byURL) ask(string) []field       { return nil }
func (byURL) end(*page) collection.End { return collection.EndMark }
func (b byURL) next(p *page, _ string) (string, error) {
	token, err := tokenAt(b.at, p.body)
	if err == nil && token == "" {
		err = p.ends(b.at, b.optional, "next_url: {path: "+b.at.text+", optional: true}")
	}
	return token, err
}

// byCursor hands back the token in the body.
type byCursor struct {
	from     path
	param    string
	more     path
	optional bool // the last page may have nothing at from
}

func (b byCursor) ask(token string) []field {
	if token == "" {
		return nil
	}
	return []field{{b.param, token}}
}

func (byCursor) end(*page) collection.End { return collection.EndMark }

func (b byCursor) next(p *page, _ string) (string, error) {
	if more, err := moreAt(b.more, p.body, true); err != nil || !more {
		return "", err
	}
	token, err := tokenAt(b.from, p.body)
	switch {
	case err != nil || token != "":
	case b.more.set:
		err = badPage("`%s` promises more, but there is no cursor at `%s`", b.more.text, b.from.text)
	default:
		err = p.ends(b.from, b.optional, "optional: true")
	}
	return token, err
}

// tokenAt returns the token at a path: the text of a string or the digits of
// a number. What is missing, null, false or empty means that there is none.
func tokenAt(at path, body []byte) (string, error) {
	if at.twice(body) {
		return "", badPage("the page has `%s` twice", at.text)
	}
	found := at.in(body)
	switch found.Type {
	case gjson.JSON, gjson.True:
		return "", badPage("`%s` is neither text nor a number", at.text)
	case gjson.False:
		return "", nil
	}
	text, ok := scalarText(found)
	if !ok && found.Type == gjson.String {
		return "", badPage("`%s` is not valid text", at.text)
	}
	return text, nil
}

// moreAt returns the answer to "is there more" at a path, or def where the
// file does not name one.
func moreAt(at path, body []byte, def bool) (bool, error) {
	if !at.set || body == nil {
		return def && body != nil, nil
	}
	if at.twice(body) {
		return false, badPage("the page has `%s` twice", at.text)
	}
	switch at.in(body).Type {
	case gjson.True:
		return true, nil
	case gjson.False:
		return false, nil
	}
	return false, badPage("`%s` is neither true nor false", at.text)
}

// byLastID asks for what follows the last record.
type byLastID struct {
	param string
	field path
	more  path
}

func (b byLastID) ask(token string) []field {
	if token == "" {
		return nil
	}
	return []field{{b.param, token}}
}

func (b byLastID) end(*page) collection.End {
	if b.more.set {
		return collection.EndMark
	}
	return collection.EndEmpty
}

func (b byLastID) next(p *page, _ string) (string, error) {
	if more, err := moreAt(b.more, p.body, len(p.elements) > 0); err != nil || !more {
		return "", err
	}
	if len(p.elements) == 0 {
		if !b.more.set {
			return "", nil
		}
		return "", badPage("`%s` promises more, but the page is empty", b.more.text)
	}
	text, ok := "", false
	if p.last != nil {
		text, ok = scalarText(b.field.in(p.last))
	}
	if !ok || text == "" {
		return "", badPage("the last record has no text or number at `%s`, which names the next page", b.field.text)
	}
	return text, nil
}

// byNumber counts pages.
type byNumber struct {
	param     string
	start     int
	sizeParam string
	size      int // 0: not known
	total     path
	short     bool // a short page is the last one
}

func (b byNumber) ask(token string) []field {
	if token == "" {
		token = strconv.Itoa(b.start)
	}
	fields := []field{{b.param, token}}
	if b.sizeParam != "" {
		fields = append(fields, field{b.sizeParam, strconv.Itoa(b.size)})
	}
	return fields
}

func (b byNumber) next(p *page, token string) (string, error) {
	following, err := b.ahead(token)
	if err != nil {
		return "", err
	}
	if !b.total.set {
		if p.isLast(b.size, b.short) {
			return "", nil
		}
		return following, nil
	}
	total, err := totalAt(b.total, p.body)
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(following)
	if full := p.had() >= max(b.size, 1) && (b.size > 0 || isRound(p.had())); full && p.first && total == 1 {
		return following, nil // it may be the number of this page
	}
	if seen := n - b.start; seen < total || seen > total && len(p.elements) > 0 {
		return following, nil // a total that is less than what was seen is of something else
	}
	return "", nil
}

func (b byNumber) ahead(token string) (string, error) {
	return count64(token, b.start, 1)
}

func (b byNumber) end(p *page) collection.End { return endOf(p, b.total.set) }

func (b byNumber) most() int { return b.size }

func (b byNumber) seen(token string, n int) (int, bool) {
	number, err := count64(token, b.start, 0)
	at, _ := strconv.Atoi(number)
	return (at-b.start)*b.size + n, err == nil && (b.size > 0 || at == b.start)
}

func (b byNumber) before(token string) (string, bool) { return countBack(token, b.start, 1) }

// byOffset counts records. The next offset is where the page really ended:
// a provider that grants fewer records than asked for must not cost any.
type byOffset struct {
	param      string
	limitParam string
	limit      int // 0: not known
	total      path
	short      bool // a short page is the last one
	apart      bool // a page does not begin with the last record of the page before
}

func (b byOffset) ask(token string) []field {
	if token == "" {
		token = "0"
	}
	if n, err := strconv.Atoi(token); err == nil {
		token = strconv.Itoa(n - b.overlap(token))
	}
	fields := []field{{b.param, token}}
	if b.limitParam != "" {
		fields = append(fields, field{b.limitParam, strconv.Itoa(b.limit)})
	}
	return fields
}

func (b byOffset) next(p *page, token string) (string, error) {
	following, err := count64(token, 0, len(p.elements))
	if err != nil {
		return "", err
	}
	if !b.total.set {
		if p.isLast(b.limit, b.short) {
			return "", nil
		}
		return following, nil
	}
	total, err := totalAt(b.total, p.body)
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(following)
	switch empty := len(p.elements) == 0; {
	case n < total && empty:
		return "", badPage("`%s` promises more, but the page is empty", b.total.text)
	case n > total && !empty:
		return following, nil // it is the total of something else
	case n == total && p.first && !b.short && !p.shortIsLast:
		return following, nil // it may be how many there are on this page
	case n >= total:
		return "", nil
	}
	return following, nil
}

func (b byOffset) ahead(token string) (string, error) {
	if b.limit == 0 {
		return "", badPage("the size of a page is not known")
	}
	return count64(token, 0, b.limit-b.overlap(token))
}

func (b byOffset) before(token string) (string, bool) {
	before, ok := countBack(token, 0, b.limit)
	if n, _ := strconv.Atoi(before); ok && n > 0 {
		return strconv.Itoa(n + b.overlap(before)), true // a page that overlaps has one less that is new
	}
	return before, ok
}

func (b byOffset) end(p *page) collection.End { return endOf(p, b.total.set) }

func (b byOffset) most() int { return b.limit }

func (b byOffset) seen(token string, n int) (int, bool) {
	to, err := count64(token, 0, n)
	records, _ := strconv.Atoi(to)
	return records, err == nil
}

// overlap is one for each page but the first: that it begins with the record
// which the page before ended with shows, at no request more, that nothing in
// front of it was deleted or moved in between.
func (b byOffset) overlap(token string) int {
	if b.apart || b.limit < 2 || token == "" || token == "0" {
		return 0
	}
	return 1
}

// isLast reports whether a page, of size records at most, is the last one where
// the file names no total: it is if it is empty, if it reaches a total that the
// provider tells, or if it is short where short pages are the last ones.
//
// A provider that grants fewer than asked for makes every page short, and one
// that leaves out what the caller may not see makes any: to take such a page
// for the last would lose the rest without a word.
func (p *page) isLast(size int, short bool) bool {
	return len(p.elements) == 0 || p.reached || p.isShort(size) && (short || p.shortIsLast)
}

func (p *page) isShort(size int) bool { return p.had() > 0 && p.had() < size }

// endOf returns the end of a list whose pages are counted.
func endOf(p *page, total bool) collection.End {
	switch {
	case total:
		return collection.EndTotal
	case len(p.elements) == 0:
		return collection.EndEmpty
	}
	return collection.EndShort
}

// isRound reports whether a page of n records can be a full one: a number of
// tens or quarter hundreds, 15 (of Laravel), dozens for pages with columns, or a
// power of two.
func isRound(n int) bool {
	return n > 0 && (n%10 == 0 || n%25 == 0 || n == 15 || n%12 == 0 || n >= 16 && n&(n-1) == 0)
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
			return "", badPage("the cursor is not the number of a page")
		}
	}
	const most = 1 << 52 // a JSON number that every provider reads exactly
	if n > most {
		return "", badPage("the number of the page is out of range")
	}
	return strconv.Itoa(n + step), nil
}

// totalAt returns the total at a path. A total that is missing is an error:
// without it, whether something is missing cannot be known.
func totalAt(at path, body []byte) (int, error) {
	if at.twice(body) {
		return 0, badPage("the page has `%s` twice", at.text)
	}
	text, ok := scalarText(at.in(body))
	total, err := strconv.Atoi(text)
	if !ok || err != nil || total < 0 {
		return 0, badPage("there is no total at `%s`", at.text)
	}
	return total, nil
}
