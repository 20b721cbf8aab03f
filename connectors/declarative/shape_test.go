package declarative_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// stream is a connector with one stream, things, and the usual limits.
func stream(text string) string {
	return "connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams:\n  things: {get: /things, " + text + "}\n"
}

// read returns the first slice of a stream whose server gives that answer.
func read(t *testing.T, text, body string, header ...string) (collection.Slice, error) {
	t.Helper()
	c := open(t, serve(t, answer(200, body, header...)), stream(text))
	for slice, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{}) {
		return slice, err
	}
	t.Fatal("neither a slice nor an error")
	return collection.Slice{}, nil
}

// data returns the records of a slice, and behind each that was rejected why.
func data(s collection.Slice) (all []string) {
	for _, r := range s.Records {
		all = append(all, r.Key+" "+string(r.Data))
	}
	for _, r := range s.Rejected {
		all = append(all, r.Reason+" "+string(r.Data))
	}
	return all
}

// TestShapes: a list in another shape than an array of objects becomes records,
// of the bytes that came.
func TestShapes(t *testing.T) {
	const none = ", page: {none: true}"
	const fx = `{"amount":1.0,"base":"EUR","date":"2024-01-02","rates":{"USD":1.10,"JPY":1.6e2}}`
	tests := []struct {
		stream, body string
		want         []string // keys and records, then the rejected
		detail       string   // of a bad page
	}{
		{"key: id, records: {one: true}", `{"id": 7, "n": 1.10}`, []string{`7 {"id": 7, "n": 1.10}`}, ""},
		{"key: id, records: {at: user, one: true}", `{"user":{"id":7,"total":9}}`, []string{`7 {"id":7,"total":9}`}, ""},
		{"key: id, records: {at: user, one: true}", `{"user":[{"id":7}]}`, nil, "`user` is not an object, but `records` says that it is one record: leave out `one`"},
		{"key: id, records: {at: user, one: true}", `{"user":null}`, nil, "`user` is not an object, but `records` says that it is one record: leave out `one`"},
		{"key: id, records: {one: true, with: [meta.at]}", `{"id":7,"meta":{"at":"x"}}`, []string{`7 {"at":"x","id":7,"meta":{"at":"x"}}`}, ""},

		{"key: currency, records: {at: rates, map: currency, value: rate, with: [base, date]}" + none, fx,
			[]string{`USD {"currency":"USD","base":"EUR","date":"2024-01-02","rate":1.10}`, `JPY {"currency":"JPY","base":"EUR","date":"2024-01-02","rate":1.6e2}`}, ""},
		{"key: currency, records: {at: rates, map: currency}" + none, fx, nil, "`rates` has numbers, not objects: name the field that gets it, with `value`"},
		{"key: currency, records: {at: rates, map: currency, value: rate, with: [day]}" + none, fx, nil, "there is no `day` beside the records, where `with` looks for it"},
		{"key: id, records: {at: users, map: id}" + none, `{"users":{"a\u0062":{"n":1},"c":{ }}}`, []string{`ab {"id":"a\u0062","n":1}`, `c {"id":"c"}`}, ""},
		{"key: id, records: {at: users, map: id}" + none, `{"users":{"a":{"n":1,"id":3}}}`, nil, "the records have a field `id` of their own: choose another name in `records`"},
		{"key: id, records: {at: users, map: id}" + none, `{"users":{"a":{"n":1},"a":{"n":2}}}`, []string{`a {"id":"a","n":2}`, `key_collision {"id":"a","n":1}`}, ""},
		{"key: id, records: {at: users, map: id}" + none, `{"users":{}}`, nil, ""},
		{"key: id, records: {at: users, map: id}" + none, `{"users":[ ]}`, nil, ""}, // PHP
		{"key: id, records: {at: users, map: id}" + none, `{"users":[{"id":1}]}`, nil, "`users` is not an object, but `map` says so"},
		{"key: id, records: {map: id}" + none, `{"a":{"n":[{"x":1}]}}`, []string{`a {"id":"a","n":[{"x":1}]}`}, ""},
		{"key: day, records: {at: rates, map: day, value: all}" + none, `{"rates":{"2024-01-02":{"USD":1.1}}}`, []string{`2024-01-02 {"day":"2024-01-02","all":{"USD":1.1}}`}, ""},

		{"key: time, records: {at: rows, columns: [time, 'o\"p']}" + none, `{"rows":[[1, 7.250],[2,null]]}`, []string{`1 {"time":1,"o\"p":7.250}`, `2 {"time":2,"o\"p":null}`}, ""},
		{"key: time, records: {at: rows, columns: [time, open]}" + none, `{"rows":[[1,2],[3],[4,5,6],7,[8,9]]}`, []string{`1 {"time":1,"open":2}`, `8 {"time":8,"open":9}`, `not_an_object [3]`, `not_an_object [4,5,6]`, `not_an_object 7`}, ""},
		{"key: time, records: {at: rows, columns: [time, open]}" + none, `{"rows":[{"time":1}]}`, nil, "`rows` has objects, not arrays: leave out `columns`"},
		{"key: time, records: {columns: first}" + none, `[["time","open"],[1,2]]`, []string{`1 {"time":1,"open":2}`}, ""},
		{"key: time, records: {columns: first}" + none, `[]`, nil, ""},
		{"key: time, records: {columns: first}" + none, `[["time","time"],[1,2]]`, nil, "the first row of the page does not name the columns: it is no array of different texts"},
		{"key: time, records: {columns: first}" + none, `[[1,2],[1,2]]`, nil, "the first row of the page does not name the columns: it is no array of different texts"},
		{"key: time, records: {at: rows, columns: meta.fields, with: [s]}" + none, `{"s":"X","meta":{"fields":["time","open"]},"rows":[[1,2]]}`, []string{`1 {"s":"X","time":1,"open":2}`}, ""},
		{"key: time, records: {at: rows, columns: fields}" + none, `{"fields":["time"],"rows":[["a",1]]}`, []string{`not_an_object ["a",1]`}, ""},
		{"key: time, records: {at: rows, columns: fields}" + none, `{"rows":[[1,2]]}`, nil, "there is no array of different texts at `fields`, where `columns` looks for the names"},

		{"key: name, records: {at: tags, value: name}" + none, `{"tags":["v\"1",2,null]}`, []string{`v"1 {"name":"v\"1"}`, `2 {"name":2}`, `no_key {"name":null}`}, ""},
		{"key: name, records: {value: name}" + none, `[{"name":1}]`, nil, "the page has objects, which need no name: leave out `value`"},

		{"key: id, records: 'pages[].revs'" + none, `{"pages":[{"revs":[{"id": 1},{"id":2}]},{},{"revs":null},{"revs":[]},{"revs":[{"id":3}]}]}`, []string{`1 {"id": 1}`, `2 {"id":2}`, `3 {"id":3}`}, ""},
		{"key: id, records: 'pages[].revs[]'" + none, `{"pages":[{"revs":[{"id":1}]}]}`, []string{`1 {"id":1}`}, ""},
		{"key: id, records: '[].a.b'" + none, `[{"a":{"b":[{"id":1}]}}]`, []string{`1 {"id":1}`}, ""},
		{"key: id, records: 'a[].b[].c'" + none, `{"a":[{"b":[{"c":[{"id":1}]},{"c":[{"id":2}]}]}]}`, []string{`1 {"id":1}`, `2 {"id":2}`}, ""},
		{"key: [title, id], records: {at: 'q.pages[].revs', with: [title, q.site]}" + none, `{"q":{"site":"s","pages":[{"title":"A","revs":[{"id":1}]},{"title":"B","revs":[{"id":1}]}]}}`,
			[]string{`["A",1] {"title":"A","site":"s","id":1}`, `["B",1] {"title":"B","site":"s","id":1}`}, ""},
		{"key: id, records: 'pages[].revs'" + none, `{"pages":[{"revisions":[{"id":1}]},{}]}`, nil, "none of the elements on the way to `pages[].revs` has `revs`: correct `records`"},
		{"key: id, records: 'pages[].revs'" + none, `{"pages":[]}`, nil, ""},
		{"key: id, records: 'pages[].revs'" + none, `{"pages":{"a":{}}}`, nil, "`pages` is an object, not an array, so that `pages[].revs` leads into no element; if each of its members is a record: records: {at: pages, map: NAME}"},
		{"key: id, records: 'results[].doc'" + none, `{"results":[{"doc":{"id":1}}]}`, nil, "`results[].doc` is an object in each element, and no list: take the elements as they are, with records: results and paths below `doc`, such as key: doc.id"},
		{"key: doc.id, records: results" + none, `{"results":[{"doc":{"id":1}}]}`, []string{`1 {"doc":{"id":1}}`}, ""},
		{"key: id, records: 'a[].b[].c'" + none, `{"a":[{"b":[{"c":{"id":1}}]}]}`, nil, "`a[].b[].c` is an object in each element, and no list: take the elements as they are, with records: a[].b and paths below `c`, such as key: c.id"},
		{"key: id, records: 'pages[].revs'" + none, `{"pages":[{"revs":[],"revs":[{"id":1}]}]}`, nil, "an element on the way to `pages[].revs` has `revs` twice"},
		{"key: id, records: 'pages[].revs'" + none, `{"pages":[{"revs":7}]}`, nil, "`pages[].revs` is not an array"},
		{"key: id, records: {at: null, one: true}", `{"id":1}`, []string{`1 {"id":1}`}, ""},
	}
	for _, test := range tests {
		slice, err := read(t, test.stream, test.body)
		stop, _ := errors.AsType[*collection.Stop](err)
		switch {
		case test.detail != "" && (stop == nil || stop.Reason != collection.BadPage || !strings.HasPrefix(stop.Detail, test.detail)):
			t.Errorf("%s with %s: %v, want bad_page: %s", test.stream, test.body, err, test.detail)
		case test.detail == "" && err != nil:
			t.Errorf("%s with %s: %v", test.stream, test.body, err)
		case test.detail == "" && !slices.Equal(data(slice), test.want):
			t.Errorf("%s with %s:\n got %q\nwant %q", test.stream, test.body, data(slice), test.want)
		}
	}
}

// TestNumbersStayAsTheyCame: no number of a record, and no id, is ever made into
// one of the machine and written again.
func TestNumbersStayAsTheyCame(t *testing.T) {
	for _, n := range []string{"123456789012345678", "9007199254740993", "1e400", "-0", "1.10", "1E5", "0.1000000000000000055511151231257827"} {
		for shape, body := range map[string]string{
			"key: id":                                                   `[{"id":` + n + `}]`,
			"key: id, records: {columns: [id]}":                         `[[` + n + `]]`,
			"key: id, records: {value: id}":                             `[` + n + `]`,
			"key: id, records: {map: k, value: id}":                     `{"a":` + n + `}`,
			"key: id, records: {at: l, with: [id]}":                     `{"id":` + n + `,"l":[{}]}`,
			"key: id, records: {at: 'l[].m', with: [id], columns: [k]}": `{"l":[{"id":` + n + `,"m":[[1]]}]}`,
		} {
			slice, err := read(t, shape+", page: {none: true}", body)
			if err != nil || len(slice.Records) != 1 || slice.Records[0].Key != n || !strings.Contains(string(slice.Records[0].Data), `"id":`+n) {
				t.Errorf("%s with %s: %v %q, want the key %s", shape, body, err, data(slice), n)
			}
		}
	}
}

// TestShapesAreBounded: what is made of a page is held against the limits of the
// page, whatever it is made of.
func TestShapesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct{ stream, body string }{
		"a field beside the list that each record gets": {"key: id, records: {at: l, with: [long]}", `{"long":"` + long + `","l":[{}` + strings.Repeat(",{}", 9_000) + `]}`},
		"a long name of a column":                       {"key: id, records: {columns: first}", `[["id","` + long + `"]` + strings.Repeat(",[1,2]", 9_000) + `]`},
		"more elements than fit":                        {"key: id, records: {value: id}", `[1` + strings.Repeat(",1", 300_000) + `]`},
		"more inner elements than fit":                  {"key: id, records: 'a[].b'", `{"a":[` + strings.Repeat(`{"b":[{},{},{},{}]},`, 80_000) + `{}]}`},
	} {
		_, err := read(t, test.stream+", page: {none: true}", test.body)
		if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.TooLarge {
			t.Errorf("%s: %v, want too_large", name, err)
		}
	}
}

// TestShapesOfAFile: what a block of records cannot say is a mistake at its place.
func TestShapesOfAFile(t *testing.T) {
	for text, want := range map[string]string{
		"records: {at: 'a[]..b'}":                          "test.yaml:4:49: this must be a path such as data.items",
		"records: {at: 'a[].'}":                            "test.yaml:4:49: this must be a path such as data.items",
		"records: {at: a, one: true, map: k}":              "`one` is a record as it stands, without `map`, `columns` and `value`",
		"records: {columns: [a], value: k}":                "`columns` is for arrays, without `map` and `value`",
		"records: {columns: [a, a]}":                       "`records` gives two fields the name `a`",
		"records: {map: a, with: [x.a]}":                   "`records` gives two fields the name `a`",
		"records: {columns: []}":                           "`columns` needs at least one name",
		"records: {map: ''}":                               "this must be the name of a field",
		"records: {maps: k}":                               "unknown key `maps`",
		"records: {one: true}, page: {number: {param: p}}": "`things` is one record (`one: true`), which is not cut into pages",
		"records: [a]":                                     "this must be a mapping: records",
		"records: {at: [a]}":                               "this must be a single value",
	} {
		_, err := declarative.Parse("test.yaml", []byte(stream("key: id, "+text+map[bool]string{true: "", false: ", page: {none: true}"}[strings.Contains(text, "page:")])))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
