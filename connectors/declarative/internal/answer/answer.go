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
		return nil, paging.BadPage("the page is not valid JSON")
	}
	return body, nil
}
