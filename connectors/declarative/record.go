package declarative

import "bytes"

// The reasons why an element is quarantined instead of stored.
const (
	notAnObject = "not_an_object"
	tooLarge    = "too_large"
	tooDeep     = "too_deep"
)

// deepest is how many objects and arrays a record may have inside each other,
// itself included. The JSON functions of SQLite, with which people read stored
// records, refuse more (https://sqlite.org/json1.html: JSON_MAX_DEPTH is 1000).
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
