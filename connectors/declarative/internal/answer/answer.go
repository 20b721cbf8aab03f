// Package answer reads the body of a response: from its bytes to the elements of
// the list that it holds, each as it was sent.
package answer

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

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
		return nil, paging.BadPage("the page is not valid JSON%s", otherFormat(body))
	}
	return body, nil
}

// otherFormat says what a body that is not JSON seems to be instead, behind a message.
func otherFormat(body []byte) string {
	first, rest, _ := bytes.Cut(body, []byte{'\n'})
	second, _, _ := bytes.Cut(rest, []byte{'\n'})
	if len(bytes.TrimSpace(second)) == 0 {
		return ""
	}
	if json.Valid(first) && json.Valid(second) {
		return "; it looks like lines of JSON: format: jsonl"
	}
	if first[0] == '{' || first[0] == '[' || bytes.Contains(first, []byte(", ")) { // a sentence has a blank there
		return ""
	}
	for _, s := range []struct{ separator, format string }{{",", "csv"}, {";", "{as: csv, separator: ';'}"}, {"\t", "{as: csv, separator: tab}"}} {
		if n := bytes.Count(first, []byte(s.separator)); n > 0 && n == bytes.Count(second, []byte(s.separator)) {
			return "; it looks like CSV: format: " + s.format
		}
	}
	return ""
}
