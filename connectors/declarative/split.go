package declarative

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
)

// A page is a response whose body was found to be JSON.
type page struct {
	header   http.Header
	clock    time.Time // of the provider, when the page was asked for; zero: not known
	first    bool      // of a walk: no page before it led here
	body     []byte    // nil if the response had none
	elements [][]byte  // of the array of records, as they were sent; parts of body
	last     []byte    // the last element that is an object
	single   bool      // the page is one object, the detail of a parent, and no list
	warnings []collection.Warning

	overlapped  [][]byte // elements of the page before, in front of elements
	seam        string   // names the element that the page begins with, if it overlaps
	lastName    string   // names the last element, as seam would
	shortIsLast bool     // nothing is known to follow a short page
	reached     bool     // the total that the provider tells ends with the page
}

// had returns how many records the provider sent.
func (p *page) had() int { return len(p.overlapped) + len(p.elements) }

// badPage is the error for a response that is not what the connector file
// says. Its text names what the file says, and nothing of what the provider sent
// but a few names of members, which mend the file.
func badPage(format string, args ...any) error {
	return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf(format, args...)}
}

// byteOrderMark begins the bodies of some servers. RFC 8259, section 8.1,
// allows a reader to ignore it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// checkJSON returns body if it is one JSON document in UTF-8 and nothing
// else, and nil if there is none.
func checkJSON(body []byte) ([]byte, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	switch {
	case len(body) == 0:
		return nil, nil
	case body[0] == '<':
		return nil, badPage("the page is HTML, not JSON")
	case !utf8.Valid(body):
		return nil, badPage("the page is not UTF-8 text")
	case !json.Valid(body):
		return nil, badPage("the page is not valid JSON")
	}
	return body, nil
}

// elements finds the records of a page: at records or, where the file does not
// say, in the body itself. A detail may be one object instead of an array.
func elements(body []byte, records path, detail bool, most int) ([][]byte, error) {
	if body == nil {
		return nil, nil
	}
	where, raw := "the page", body
	if records.set {
		where = "`" + records.text + "`"
		if records.twice(body) {
			return nil, badPage("the page has %s twice", where)
		}
		found := records.in(body)
		if !found.Exists() {
			return nil, badPage("the page has no %s", where)
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
		if !records.set {
			return nil, badPage("the page is an object, not an array: say with `records` where its records are")
		}
	}
	return nil, badPage("%s is not an array", where)
}

// isObject reports whether there is an object where the records of a page are.
func isObject(body []byte, records path) bool {
	if !records.set {
		return len(body) > 0 && body[0] == '{'
	}
	return records.in(body).IsObject()
}

// scalarsOnly returns an error for a list of nothing but text and numbers: in
// such a one no key can be found, whatever the file says.
func scalarsOnly(elements [][]byte, records path) error {
	for _, e := range elements {
		if e[0] != '"' && e[0] != '-' && (e[0] < '0' || e[0] > '9') {
			return nil
		}
	}
	if len(elements) == 0 {
		return nil
	}
	where, what := "the page", "numbers"
	if records.set {
		where = "`" + records.text + "`"
	}
	if elements[0][0] == '"' {
		what = "text"
	}
	return badPage("%s is a list of %s, and a record is an object with a key: correct `records`", where, what)
}

// within returns the bytes of doc that found was read from.
func within(doc []byte, found gjson.Result) []byte {
	end := found.Index + len(found.Raw)
	if found.Index > 0 && end <= len(doc) && string(doc[found.Index:end]) == found.Raw {
		return doc[found.Index:end:end]
	}
	return []byte(found.Raw)
}

// elementCost is how many bytes of a body an element counts as at least, since
// each takes as much memory until it is stored. 64 MiB of `{"id":1},` would be
// seven million records, in two gigabytes.
const elementCost = 256

// fewElements are allowed whatever the limit of a body.
const fewElements = 10_000

// splitArray returns the elements of a valid JSON array, as parts of it, up to
// one more than most.
func splitArray(array []byte, most int) [][]byte {
	var parts [][]byte
	parse(array).ForEach(func(_, value gjson.Result) bool {
		parts = append(parts, within(array, value))
		return len(parts) <= most
	})
	return parts
}

// The reasons why an element is quarantined instead of stored.
const (
	notAnObject = "not_an_object"
	tooLarge    = "too_large"
	noKey       = "no_key"
	badKey      = "bad_key"
	tooDeep     = "too_deep"
)

// deepest is how many objects and arrays a record may have inside each other,
// itself included. The JSON functions of SQLite, with which people read what is
// stored, refuse more (https://sqlite.org/json1.html: JSON_MAX_DEPTH is 1000).
const deepest = 1000

// nestsDeeper reports whether a JSON document has more than n objects and
// arrays inside each other.
func nestsDeeper(doc []byte, n int) bool {
	if bytes.Count(doc, []byte("{"))+bytes.Count(doc, []byte("[")) <= n {
		return false // most often: it is quick to see
	}
	depth, text := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > n {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// longestKey bounds the key of a record. Identifiers, and even URLs, are
// shorter; what is longer is not a key but a document.
const longestKey = 4096

// A keyPart is one component of a key: a binding of the partition, or a value
// of the record.
type keyPart struct {
	binding string // "" for a value of the record
	path    path
}

// keyOf returns the key of a record: the text of a string, the digits of a
// number as sent, true or false; and for a composite key the JSON array of its
// components, which no two different lists of components share. Where there is
// none it returns the reason why.
func (st *stream) keyOf(record []byte, vars map[string]json.RawMessage) (key, reason string) {
	var composite bytes.Buffer
	for i, part := range st.key {
		var value gjson.Result
		if part.binding != "" {
			value = parse(vars[part.binding])
		} else {
			value = part.path.in(record)
			if part.path.twice(record) {
				return "", badKey
			}
		}
		if !value.Exists() || value.Type == gjson.Null {
			return "", noKey
		}
		text, ok := scalarText(value)
		if !ok || text == "" || len(text) > longestKey || strings.ContainsRune(text, 0) {
			return "", badKey
		}
		if len(st.key) == 1 {
			return text, ""
		}
		composite.WriteByte("[,"[min(i, 1)])
		if value.Type == gjson.String {
			writeString(&composite, text)
		} else {
			composite.WriteString(text)
		}
	}
	composite.WriteByte(']')
	if composite.Len() > longestKey {
		return "", badKey
	}
	return composite.String(), ""
}

// scalarText returns a string without its quotes and escapes, and any other
// scalar as it was sent. ok is false for what is missing, null, an array or an
// object, and for a string with half of a surrogate pair, which has no text.
func scalarText(value gjson.Result) (text string, ok bool) {
	switch value.Type {
	case gjson.String:
		broken := strings.ContainsRune(value.Str, utf8.RuneError) && strings.Contains(value.Raw, `\u`)
		return value.Str, !broken
	case gjson.Number, gjson.True, gjson.False:
		return value.Raw, true
	}
	return "", false
}

// writeString writes s as a JSON string, the same for every way in which it
// may have been escaped.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}
