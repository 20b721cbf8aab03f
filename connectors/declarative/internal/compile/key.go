package compile

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
)

// The reasons why an element has no key.
const (
	NoKey  = "no_key"
	badKey = "bad_key"
)

// longestKey bounds the key of a record, in bytes. Identifiers, and even URLs, are
// shorter; a longer value is no key but a document.
const longestKey = 4096

// KeyOf returns the key of a record: the text of a string, the digits of a
// number as sent, true or false; and for a composite key the JSON array of its
// components, which no two different lists of components share. Where there is
// none it returns the reason why.
func (st *Stream) KeyOf(record []byte, vars map[string]json.RawMessage) (key, reason string) {
	var composite bytes.Buffer
	for i, part := range st.Key {
		var value gjson.Result
		if part.Binding != "" {
			value = notation.Parse(vars[part.Binding])
		} else {
			value = part.Path.In(record)
			if part.Path.Twice(record) {
				return "", badKey
			}
		}
		if !value.Exists() || value.Type == gjson.Null {
			return "", NoKey
		}
		text, ok := notation.TextOf(value)
		if !ok || text == "" || len(text) > longestKey || strings.ContainsRune(text, 0) {
			return "", badKey
		}
		if len(st.Key) == 1 {
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

// writeString writes s as a JSON string, the same for every way in which it
// may have been escaped.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}
