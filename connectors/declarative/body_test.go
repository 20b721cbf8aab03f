package declarative_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
)

// TestBodiesAreWrittenAsTheFileSays: the digits of a number stay, what stands
// alone keeps its type, and what lacks a value is left out.
func TestBodiesAreWrittenAsTheFileSays(t *testing.T) {
	for _, test := range []struct{ stream, method, kind, body string }{
		{`post: /x`, "POST", "", ""},
		{`put: /x, json: []`, "PUT", "application/json", `[]`},
		{`post: /x, json: {a: 1.50, b: 12345678901234567890, c: "1", d: true, e: null, f: {}, g: [[], x], "h i": "<&\"ä"}`, "POST", "application/json",
			`{"a":1.50,"b":12345678901234567890,"c":"1","d":true,"e":null,"f":{},"g":[[],"x"],"h i":"<&\"ä"}`},
		{`post: /x, json: {a: "${params.int}", b: "${params.text}", c: "n ${params.int}", d: "${params.flag}", e: "${params.number}"}`, "POST", "application/json",
			`{"a":7,"b":"8","c":"n +7","d":true,"e":1e400}`},
		{`post: /x, json: {a: {b: {c: "${params.unset}"}}, d: ["${params.unset}"], e: ["${params.unset}", 1], f: {}}`, "POST", "application/json",
			`{"e":[1],"f":{}}`},
		{`post: /x, json: {a: "${params.unset}"}`, "POST", "application/json", `{}`},
		{`post: /x, json: {a: "${n}", b: "${s}", c: "${t}"}`, "POST", "application/json", `{"a":1.50,"b":"2","c":true}`},
		{`post: /x, json: {a: "${since}"}, since: {field: at, start: "2024-01-01", order: asc, format: unix}`, "POST", "application/json", `{"a":1704067200}`},
		{`post: /x, json: {a: "${since}"}, since: {field: at, start: "1704067200", order: asc, format: rfc3339}`, "POST", "application/json", `{"a":"2024-01-01T00:00:00Z"}`},
		{`post: /x, form: {a: "1 2+&=", b: [x, "${params.text}", "${params.unset}"], c: "${params.unset}"}`, "POST", "application/x-www-form-urlencoded", `a=1%202%2B%26%3D&b=x&b=8`},
		{`post: /x, headers: {Content-Type: application/vnd.api+json}, json: {}`, "POST", "application/vnd.api+json", `{}`},
		{`post: /x, graphql: {query: "query($n: Int) { a(n: $n) }", variables: {n: "${params.int}", m: "${params.unset}"}}, records: data`, "POST", "application/json",
			`{"query":"query($n: Int) { a(n: $n) }","variables":{"n":7}}`},
		{`post: /x, graphql: {query: "{ a }"}, records: data`, "POST", "application/json", `{"query":"{ a }"}`},
	} {
		c, err := build(t, `
connector: test
params: {int: {type: int}, text: {}, flag: {type: bool}, number: {type: number}, unset: {type: int}}
provider: {base_url: "https://api.test"}
defaults: {key: id, page: {none: true}}
streams:
  parents: {get: /p}
  things: {each: {n: parents.n, s: parents.s, t: parents.t}, `+test.stream+`}
`, declarative.Options{Params: map[string]string{"int": "+7", "text": "8", "flag": "true", "number": "1e400"}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{body: "[]"}
		if strings.Contains(test.stream, "records") {
			r.body = `{"data":[]}`
		}
		at := collection.Place{Stream: "things", Partition: `{"n":1.50,"s":"2","t":true}`}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, at, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		req := r.seen[0]
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		if req.Method != test.method || req.Header.Get("Content-Type") != test.kind || string(body) != test.body {
			t.Errorf("%s:\ngot  %s %q %s\nwant %s %q %s", test.stream, req.Method, req.Header.Get("Content-Type"), body, test.method, test.kind, test.body)
		}
		if key, marked := req.Header["Idempotency-Key"]; marked != (req.Method == "POST") || key != nil {
			t.Errorf("%s: the header that lets a POST be repeated is %q, %t", test.stream, key, marked)
		}
		again, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(again); string(body) != test.body {
			t.Errorf("%s: repeated with %s", test.stream, body)
		}
	}
}

// TestParametersThatRepeat: a list is one parameter several times, and takes the
// place of a default.
func TestParametersThatRepeat(t *testing.T) {
	c, err := build(t, `
connector: test
params: {label: {}, unset: {}}
provider: {base_url: "https://api.test"}
defaults: {query: {label: [x, y], state: all}}
streams:
  things: {get: "/things?a=b c", key: id, page: {none: true}, query: {label: [a, "${params.label}", "${params.unset}"], "ids[]": [1, 2]}}
`, declarative.Options{Params: map[string]string{"label": "b c"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{body: "[]"}
	for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.seen[0].URL.RequestURI(), "/things?a=b%20c&state=all&label=a&label=b%20c&ids%5B%5D=1&ids%5B%5D=2"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// TestPagesInABody: the place of a page keeps the type that the provider sent,
// also where a walk is resumed.
func TestPagesInABody(t *testing.T) {
	for _, test := range []struct {
		stream string
		next   func(n int) string // of the page from n, as the provider sends it
		want   []string           // the place on the first pages
	}{
		{`json: {after: "${page}", limit: 5}, page: {cursor: {from: next}}`, strconv.Itoa, []string{"", "5", "10"}},
		{`json: {after: "${page}", limit: 5}, page: {cursor: {from: next}}`, func(n int) string { return fmt.Sprintf(`"%d"`, n) }, []string{"", `"5"`, `"10"`}},
		{`json: {after: "${page}", limit: 5}, page: {cursor: {from: next}}`, func(n int) string { // a number, a text, and so on
			if n%10 == 0 {
				return fmt.Sprintf(`"\u003%d%d"`, n/10, n%10)
			}
			return strconv.Itoa(n)
		}, []string{"", `5`, `"10"`, `15`}},
		{`json: {after: "${page}"}, page: {last_id: {field: id}}`, strconv.Itoa, []string{"", "5", "10"}},
		{`json: {after: "${page}"}, page: {offset: {limit: 5, apart: true}}`, strconv.Itoa, []string{"0", "5", "10"}},
		{`json: {where: {after: "id ${page}"}}, page: {last_id: {field: id}}`, strconv.Itoa, []string{"", `"id 5"`, `"id 10"`}},
		{`form: {after: "${page}"}, page: {cursor: {from: next}}`, strconv.Itoa, []string{"", "5", "10"}},
	} {
		var asked []string
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			place := ""
			if body, _ := io.ReadAll(r.Body); strings.HasPrefix(string(body), "after=") {
				place = strings.TrimPrefix(string(body), "after=")
			} else if len(body) > 0 {
				var sent struct {
					After json.RawMessage
					Where struct{ After json.RawMessage }
				}
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Errorf("%s: %v", body, err)
				}
				place = string(sent.After) + string(sent.Where.After)
			}
			asked = append(asked, place)
			n, _ := strconv.Atoi(strings.TrimPrefix(strings.Trim(place, `"`), "id "))
			records, more := pages(n)
			next := "null"
			if more {
				next = test.next(n + 5)
			}
			fmt.Fprintf(w, `{"items":%s,"next":%s}`, records, next)
		})
		c := open(t, server, "connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams:\n  things: {post: /things, "+test.stream+", key: id, records: items}\n")
		connectortest.Test(t, c, server.Client())
		asked = nil
		records := 0
		for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if err != nil {
				t.Fatalf("%s: %v", test.stream, err)
			}
			records += len(slice.Records)
		}
		if records != total || !slices.Equal(asked[:len(test.want)], test.want) {
			t.Errorf("%s: %d records, want %d; asked %q, want %q", test.stream, records, total, asked, test.want)
		}
	}
}
