package declarative_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"collect/connectors/declarative"
)

// TestFilter: what the file leaves out is in no record and nothing rejected, and
// every other byte is as it came.
func TestFilter(t *testing.T) {
	tests := []struct {
		stream, body string
		want         []string
	}{
		{"drop: [email]", `[{"id": 1, "email": "SECRET", "n": 1.10 }]`, []string{`1 {"id": 1, "n": 1.10 }`}},
		{"drop: [email]", `[{ "email":"SECRET" , "id":1}]`, []string{`1 { "id":1}`}},
		{"drop: [email]", `[{"id":1,"email":{"a":["SECRET"]}}]`, []string{`1 {"id":1}`}},
		{"drop: [email]", `[{"id":1,"e\u006dail":"SECRET","email":"SECRET","x":"a\"}"}]`, []string{`1 {"id":1,"x":"a\"}"}`}},
		{"drop: [user.email]", `[{"id":1,"user":{"email":"SECRET"}},{"id":2,"user":"x"},{"id":3,"user":[{"email":"SECRET","n":[1, 2]},[{"email":"SECRET"}],7]}]`,
			[]string{`1 {"id":1,"user":{}}`, `2 {"id":2,"user":"x"}`, `3 {"id":3,"user":[{"n":[1, 2]},[{}],7]}`}},
		{"drop: ['users[].email']", `[{"id":1,"users":[{"email":"SECRET"}]}]`, []string{`1 {"id":1,"users":[{}]}`}},
		{"fields: [id, user.login]", `[{"x":"SECRET","id": 1e400,"user":{"email":"SECRET","login":"a"}},{"id":2,"user":"SECRET"},{"id":3,"user":[1234,{"login":1}]}]`,
			[]string{`1e400 {"id": 1e400,"user":{"login":"a"}}`, `2 {"id":2}`, `3 {"id":3,"user":[null,{"login":1}]}`}},
		{"fields: [id, user], drop: [user.email]", `[{"id":1,"user":{"n":1,"email":"SECRET"},"z":"SECRET"}]`, []string{`1 {"id":1,"user":{"n":1}}`}},
		{"drop: [email]", `[{"email":"SECRET"},{"id":1,"n":1,"email":"SECRET"},{"id":1,"email":"SECRET"},["SECRET"]]`,
			[]string{`1 {"id":1}`, `no_key {}`, `key_collision {"id":1,"n":1}`, `not_an_object "10 bytes that are no object, left out by fields and drop"`}},
		{"format: csv, drop: [email]", "id,email\n1,SECRET\n2,SECRET,3\n", []string{`1 {"id":"1"}`, `not_an_object "18 bytes that are no object, left out by fields and drop"`}},
	}
	for _, test := range tests {
		slice, err := read(t, "key: id, page: {none: true}, "+test.stream, test.body)
		if err != nil || !slices.Equal(data(slice), test.want) {
			t.Errorf("%s with %s: %v\n got %q\nwant %q", test.stream, test.body, err, data(slice), test.want)
		}
		if all := fmt.Sprintf("%+v %s", slice, data(slice)); strings.Contains(all, "SECRET") {
			t.Errorf("%s with %s: it is still there: %s", test.stream, test.body, all)
		}
	}
	large := `{"id":1,"email":"SECRET` + strings.Repeat("x", 9<<20) + `"}`
	if slice, err := read(t, "key: id, page: {none: true}, drop: [email]", "["+large+"]"); err != nil || len(slice.Records) != 1 {
		t.Errorf("a large record without what made it large: %v, %d records", err, len(slice.Records))
	}
	for text, want := range map[string]string{
		"fields: [title]": "take away `id`, which `key` needs and stores",
		"drop: [id]":      "take away `id`, which `key` needs and stores",
		"drop: [at], since: {field: at.x, param: s, order: asc}": "take away `at.x`, which `since` needs and stores",
		"drop: [a.0.b]": "leave out the number",
	} {
		_, err := declarative.Parse("f", []byte(stream("key: id, page: {none: true}, "+text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	child := "drop: [name]}\n  more: {get: \"/m/${n}\", key: id, each: {n: things.name}"
	if _, err := declarative.Parse("f", []byte(stream("key: id, page: {none: true}, "+child+", page: {none: true}"))); err == nil || !strings.Contains(err.Error(), "`each` of `more` needs") {
		t.Errorf("a child that is bound to what is dropped: %v", err)
	}
}

// FuzzFilter: whatever a record is, what is left of it is JSON without the member.
func FuzzFilter(f *testing.F) {
	f.Add([]byte(`{ "a" : {"b":[1,{"c":2}], "d":""} , "e":[[{"b":1}]] }`))
	f.Add([]byte(`{"a":{"b":1},"a":[{"b":{}},"x",true]}`))
	drop, keep := declarative.Filter("", "a.b"), declarative.Filter("a.b", "")
	f.Fuzz(func(t *testing.T, src []byte) {
		if !json.Valid(src) || len(src) == 0 || src[0] != '{' {
			return
		}
		for name, filter := range map[string]func([]byte) []byte{"drop": drop, "keep": keep} {
			out := filter(slices.Clone(src))
			var v map[string]any
			if err := json.Unmarshal(out, &v); err != nil {
				t.Fatalf("%s: %q became %q: %v", name, src, out, err)
			}
			if a, ok := v["a"].(map[string]any); ok && name == "drop" && a["b"] != nil {
				t.Fatalf("%q became %q, which still has a.b", src, out)
			}
			for other := range v {
				if name == "keep" && other != "a" {
					t.Fatalf("%q became %q, which has more than a.b", src, out)
				}
			}
		}
	})
}
