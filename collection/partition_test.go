package collection_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"collect/collection"
)

// FuzzPartition: what a parent binds comes back byte for byte, a number with
// the digits that the provider sent, and different values are different
// partitions.
func FuzzPartition(f *testing.F) {
	f.Add("repo", []byte(`"acme/api"`), "n", []byte(`12345678901234567890.10`))
	f.Add("a", []byte(`"\u00e9\u2028<"`), "a\"", []byte(`1e400`))
	f.Add("", []byte(`null`), "b", []byte(`true`))
	f.Fuzz(func(t *testing.T, name string, value []byte, other string, second []byte) {
		if !scalar(value) || !scalar(second) || !json.Valid(quoted(name)) || string(quoted(name)) == string(quoted(other)) {
			return
		}
		if plain(name) != name || plain(other) != other {
			return // no name of the connector language
		}
		vars := map[string]json.RawMessage{name: value, other: second}
		p := collection.NewPartition(vars)
		got, err := p.Vars()
		if err != nil || !maps.EqualFunc(got, vars, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%q came back as %q, %v", vars, got, err)
		}
		if again := collection.NewPartition(got); again != p {
			t.Errorf("%q, and made again %q", p, again)
		}
		if !bytes.Equal(value, second) {
			swapped := collection.NewPartition(map[string]json.RawMessage{name: second, other: value})
			if swapped == p {
				t.Errorf("%q and %q are one partition: %q", vars, swapped, p)
			}
		}
	})
}

// scalar reports whether value is a JSON scalar without white space around it.
func scalar(value []byte) bool {
	return json.Valid(value) && !bytes.ContainsAny(value[:1], "[{") && bytes.Equal(bytes.TrimSpace(value), value)
}

func quoted(s string) []byte { text, _ := json.Marshal(s); return text }

// plain is what is left of s after JSON.
func plain(s string) (out string) {
	_ = json.Unmarshal(quoted(s), &out)
	return out
}
