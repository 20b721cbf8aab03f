package declarative

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Meaning returns what gives the records of each stream, and where their walks
// stand, their meaning. Its names are those of a stream and a key of the file,
// such as issues.key. Where a value in the file may be anything, such as text of
// a query, only a digest of it is returned.
//
// What was stored under other values of get, key and each are other records.
// After a change of the rest the walk begins anew, wherever that is needed: see
// [connectors.Restarter].
func (s *Spec) Meaning() map[string]string {
	meaning := map[string]string{}
	for _, st := range s.streams {
		for name, text := range st.meaning() {
			meaning[st.Name+"."+name] = text
		}
	}
	return meaning
}

func (st *stream) meaning() map[string]string {
	meaning := map[string]string{"get": digestOf(st.get.text)}
	var key []string
	for _, part := range st.key {
		key = append(key, part.path.text)
	}
	meaning["key"] = strings.Join(key, ", ")
	var query, each []string
	for _, q := range st.query {
		query = append(query, q.name+"="+q.value.text)
	}
	for _, b := range st.each {
		each = append(each, b.name+": "+b.path.text)
	}
	if st.when != nil {
		meaning["when"] = digestOf(st.when.text)
	}
	if st.since != nil {
		meaning["since"] = st.since.field.text
		meaning["start"] = digestOf(st.since.start.text)
	}
	slices.Sort(query)
	slices.Sort(each)
	meaning["records"] = st.records.text
	meaning["page"] = st.means.paging
	meaning["query"] = digestOf(strings.Join(query, "\n"))
	meaning["each"] = strings.Join(each, ", ")
	return meaning
}

// digestOf returns eight digits that tell one text from another.
func digestOf(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
