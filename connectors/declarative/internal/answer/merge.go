package answer

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
)

// deepestMerge is how many objects inside each other are merged; a record that is
// deeper is put in quarantine.
const deepestMerge = 1000

// Merge returns the JSON object a with the members of b added to it: of a member of
// both, objects are merged, arrays are appended, and of anything else that of b
// stands. Values stay as they were sent, byte for byte.
func Merge(a, b []byte) []byte { return merge(a, b, 0) }

func merge(a, b []byte, depth int) []byte {
	type member struct {
		name       string
		raw, value []byte
		ofB        bool
	}
	var members []member
	read := func(doc []byte, of bool) {
		notation.Parse(doc).ForEach(func(name, value gjson.Result) bool {
			m := member{name.Str, []byte(name.Raw), []byte(value.Raw), of}
			i := slices.IndexFunc(members, func(had member) bool { return had.name == m.name && had.ofB != of })
			if i < 0 {
				members = append(members, m)
				return true
			}
			switch had := members[i].value; {
			case had[0] == '{' && m.value[0] == '{' && depth < deepestMerge:
				members[i].value = merge(had, m.value, depth+1)
			case had[0] == '[' && m.value[0] == '[':
				members[i].value = appended(had, m.value)
			default:
				members[i].value = m.value
			}
			return true
		})
	}
	read(a, false)
	read(b, true)
	merged := make([]byte, 0, len(a)+len(b))
	for i, m := range members {
		merged = append(append(append(append(merged, "{,"[min(i, 1)]), m.raw...), ':'), m.value...)
	}
	if len(members) == 0 {
		merged = append(merged, '{')
	}
	return append(merged, '}')
}

// appended returns two arrays as one.
func appended(a, b []byte) []byte {
	inA, inB := bytes.TrimSpace(a[1:len(a)-1]), bytes.TrimSpace(b[1:len(b)-1])
	if len(inA) == 0 {
		return b
	}
	if len(inB) == 0 {
		return a
	}
	return slices.Concat([]byte{'['}, inA, []byte{','}, inB, []byte{']'})
}
