package paging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// A Page is a response whose body was found to be JSON.
type Page struct {
	Header   http.Header
	Clock    time.Time // of the provider, when the page was asked for; zero: not known
	First    bool      // of a walk: no page before it led here
	Body     []byte    // nil if the response had none
	Elements [][]byte  // of the array of records, as they were sent; parts of Body
	Last     []byte    // the last element that is an object
	Single   bool      // the page is one object, the detail of a parent, and no list
	Warnings []collection.Warning

	Overlapped  [][]byte // elements of the page before, in front of Elements
	Seam        string   // names the element that the page begins with, if it overlaps
	LastName    string   // names the last element, as Seam would
	ShortIsLast bool     // nothing is known to follow a short page
	Reached     bool     // the total that the provider tells ends with the page

	total *collection.Told // what the page tells of it; nil: it was not looked for
}

// Had returns how many records the provider sent.
func (p *Page) Had() int { return len(p.Overlapped) + len(p.Elements) }

// BadPage is the error for a response that is not what the connector file
// says. Its text names what the file says, and nothing of what the provider sent
// but a few names of members, which mend the file.
func BadPage(format string, args ...any) error {
	return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf(format, args...)}
}

// byteOrderMark begins the bodies of some servers. RFC 8259, section 8.1,
// allows a reader to ignore it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// CheckJSON returns body if it is one JSON document in UTF-8 and nothing
// else, and nil if there is none.
func CheckJSON(body []byte) ([]byte, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	switch {
	case len(body) == 0:
		return nil, nil
	case body[0] == '<':
		return nil, BadPage("the page is HTML, not JSON")
	case !utf8.Valid(body):
		return nil, BadPage("the page is not UTF-8 text")
	case !json.Valid(body):
		return nil, BadPage("the page is not valid JSON")
	}
	return body, nil
}

// Elements finds the records of a page: at records or, where the file does not
// say, in the body itself. A detail may be one object instead of an array.
func Elements(body []byte, records notation.Path, detail bool, most int) ([][]byte, error) {
	if body == nil {
		return nil, nil
	}
	where, raw := "the page", body
	if records.Set {
		where = "`" + records.Text + "`"
		if records.Twice(body) {
			return nil, BadPage("the page has %s twice", where)
		}
		found := records.In(body)
		if !found.Exists() {
			return nil, BadPage("the page has no %s%s", where, ListNames(body, records))
		}
		raw = within(body, found)
	}
	switch raw[0] {
	case '[':
		parts := splitArray(raw, most)
		if len(parts) > most {
			return nil, &collection.Stop{Reason: collection.TooLarge, Detail: fmt.Sprintf("the page has more than %d elements; ask for fewer at once, or raise `body` under `limits`", most)}
		}
		return parts, nil
	case '{':
		if detail {
			return [][]byte{raw}, nil
		}
		if !records.Set {
			return nil, BadPage("the page is an object, not an array: say with `records` where its records are%s", ListNames(body, records))
		}
	}
	return nil, BadPage("%s is not an array%s", where, ListNames(body, records))
}

// IsObject reports whether there is an object where the records of a page are.
func IsObject(body []byte, records notation.Path) bool {
	if !records.Set {
		return len(body) > 0 && body[0] == '{'
	}
	return records.In(body).IsObject()
}

// ScalarsOnly returns an error for a list of nothing but text and numbers: in
// such a one no key can be found, whatever the file says.
func ScalarsOnly(body []byte, elements [][]byte, records notation.Path) error {
	for _, e := range elements {
		if e[0] != '"' && e[0] != '-' && (e[0] < '0' || e[0] > '9') {
			return nil
		}
	}
	if len(elements) == 0 {
		return nil
	}
	where, what := "the page", "numbers"
	if records.Set {
		where = "`" + records.Text + "`"
	}
	if elements[0][0] == '"' {
		what = "text"
	}
	return BadPage("%s is a list of %s, not of records: correct `records`%s", where, what, ListNames(body, records))
}

// within returns the bytes of doc that found was read from.
func within(doc []byte, found gjson.Result) []byte {
	end := found.Index + len(found.Raw)
	if found.Index > 0 && end <= len(doc) && string(doc[found.Index:end]) == found.Raw {
		return doc[found.Index:end:end]
	}
	return []byte(found.Raw)
}

// ElementCost is how many bytes of a body an element counts as at least, since
// each takes as much memory until it is stored. 64 MiB of `{"id":1},` would be
// seven million records, in two gigabytes.
const ElementCost = 256

// FewElements are allowed whatever the limit of a body.
const FewElements = 10_000

// splitArray returns the elements of a valid JSON array, as parts of it, up to
// one more than most.
func splitArray(array []byte, most int) [][]byte {
	var parts [][]byte
	notation.Parse(array).ForEach(func(_, value gjson.Result) bool {
		parts = append(parts, within(array, value))
		return len(parts) <= most
	})
	return parts
}

// isLast reports whether a page, of size records at most, is the last one where
// the file names no total: it is if it is empty, if it reaches a total that the
// provider tells, or if it is short where short pages are the last ones.
//
// A provider that grants fewer than asked for makes every page short, and one
// that leaves out what the caller may not see makes any: to take such a page
// for the last would lose the rest without a word.
func (p *Page) isLast(size int, short bool) bool {
	return len(p.Elements) == 0 || p.Reached || p.IsShort(size) && (short || p.ShortIsLast)
}

// IsShort reports whether a page that may have size records has fewer, but some.
func (p *Page) IsShort(size int) bool { return p.Had() > 0 && p.Had() < size }
