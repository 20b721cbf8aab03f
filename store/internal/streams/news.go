package streams

import (
	"maps"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
)

// News is what the records of one transaction tell of their streams. It counts
// when the transaction is durable.
type News struct {
	fresh   map[*Stream]map[string]bool // fields seen for the first time, or with their first escape: true
	order   map[*Stream][]field         // the same in the order seen
	learned map[*Stream]collection.Learned
}

// NewNews returns no news.
func NewNews() *News {
	return &News{map[*Stream]map[string]bool{}, map[*Stream][]field{}, map[*Stream]collection.Learned{}}
}

// Begin begins a slice of a stream.
func (n *News) Begin(s *Stream) { s.sample.Reset() }

// Look looks at a record that the slice changed.
func (n *News) Look(s *Stream, data []byte) {
	seen := n.fresh[s]
	if seen == nil {
		seen = map[string]bool{}
	}
	if names := s.newFields(data, seen); len(names) > 0 {
		n.fresh[s] = seen
		n.order[s] = append(n.order[s], names...)
	}
}

// Learn ends a slice, of whose records some were changed. It returns a stop for
// [collection.SchemaDrift] if those are of another nature than the records before.
func (n *News) Learn(s *Stream, changed, records int) error {
	if changed == 0 {
		return nil
	}
	at, ok := n.learned[s]
	if !ok {
		at = s.learned
	}
	at, err := at.With(&s.sample, changed == records)
	n.learned[s] = at
	return err
}

// Save stores the news.
func (n *News) Save(t database.Tx) error {
	for s, names := range n.order {
		if err := addFields(t, s.ID, s.view, names); err != nil {
			return err
		}
	}
	for s, at := range n.learned {
		if !at.Changed {
			continue
		}
		if err := saveSchema(t, s.ID, at.Schema); err != nil {
			return err
		}
	}
	return nil
}

// Keep lets the streams know the news, which are durable.
func (n *News) Keep() {
	for s, names := range n.fresh {
		maps.Copy(s.fields, names)
	}
	for s, at := range n.learned {
		at.Changed = false
		s.learned = at
	}
}

// newFields returns the top-level fields of a record that s does not know, or
// not with an escape in their names. They are added to seen, and all fields to
// the sample of s.
func (s *Stream) newFields(data []byte, seen map[string]bool) (fresh []field) {
	s.sample.Begin()
	// The string shares the bytes of data, which no one changes meanwhile.
	// #nosec G103
	gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data))).ForEach(func(key, value gjson.Result) bool {
		s.sample.Saw(key.Str, kindOf(value))
		escaped, known := s.fields[key.Str]
		again, noted := seen[key.Str]
		spelled := strings.IndexByte(key.Raw, '\\') >= 0
		switch {
		case spelled && (known || noted) && !escaped && !again:
		case !known && !noted && len(s.fields)+len(seen) < store.MostFields:
		default:
			return true
		}
		name := strings.Clone(key.Str)
		seen[name] = spelled
		fresh = append(fresh, field{name, spelled})
		return true
	})
	return fresh
}

// kindOf returns the kind of a JSON value; 0 for null.
func kindOf(value gjson.Result) collection.JSONKind {
	switch value.Type {
	case gjson.String:
		return collection.JSONString
	case gjson.Number:
		return collection.JSONNumber
	case gjson.True, gjson.False:
		return collection.JSONBoolean
	case gjson.JSON:
		if strings.HasPrefix(value.Raw, "[") {
			return collection.JSONArray
		}
		return collection.JSONObject
	}
	return 0
}
