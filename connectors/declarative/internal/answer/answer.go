// Package answer reads the body of a response: from its bytes to the elements of
// the list that it holds, each as it was sent.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

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
		return nil, paging.BadPage("the page is HTML, not JSON")
	case !utf8.Valid(body):
		return nil, paging.BadPage("the page is not UTF-8 text")
	case !json.Valid(body):
		return nil, paging.BadPage("the page is not valid JSON")
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
			return nil, paging.BadPage("the page has %s twice", where)
		}
		found := records.In(body)
		if !found.Exists() {
			return nil, paging.BadPage("the page has no %s%s", where, paging.ListNames(body, records))
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
			return nil, paging.BadPage("the page is an object, not an array: say with `records` where its records are%s", paging.ListNames(body, records))
		}
	}
	return nil, paging.BadPage("%s is not an array%s", where, paging.ListNames(body, records))
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
	return paging.BadPage("%s is a list of %s, not of records: correct `records`%s", where, what, paging.ListNames(body, records))
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
