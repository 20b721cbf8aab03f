package declarative_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
)

const relayed = `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: "https://api.test", auth: {bearer: "${secrets.key}"}}
streams:
  things:
    post: /graphql
    graphql:
      query: "query($after: String) { repo { things(first: 5, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } } } }"
      variables: {after: "${page}", first: 5}
    records: data.repo.things.nodes
    page: {relay: data.repo.things}
    key: id
`

// TestRelay: a connection of GraphQL is walked by its pageInfo. A cursor that the
// last page has, too, leads nowhere.
func TestRelay(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Query     string
			Variables map[string]json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(sent.Query, "query($after") {
			t.Errorf("asked with %+v as %q, %v", sent, r.Header.Get("Content-Type"), err)
		}
		after := 0
		if cursor, ok := sent.Variables["after"]; ok {
			after, _ = strconv.Atoi(strings.Trim(string(cursor), `"c`))
		}
		records, more := pages(after)
		fmt.Fprintf(w, `{"data":{"repo":{"things":{"nodes":%s,"pageInfo":{"hasNextPage":%t,"endCursor":"c%d"}}}}}`, records, more, after+5)
	})
	spec, err := declarative.Parse("test.yaml", []byte(relayed))
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Build(declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3t-key"}}, Provider: declarative.Overrides{BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	connectortest.Test(t, c, server.Client())
	records := 0
	for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		records += len(slice.Records)
	}
	if records != total {
		t.Errorf("%d records, want %d", records, total)
	}
}

// TestRelayTellsATotal: the totalCount of a connection, if the query asks for it, is held
// against what came.
func TestRelayTellsATotal(t *testing.T) {
	for count, want := range map[string]string{`"totalCount":7,`: "`data.repo.things.totalCount`", `"totalCount":1,`: "", "": ""} {
		body := `{"data":{"repo":{"things":{` + count + `"nodes":[{"id":1}],"pageInfo":{"hasNextPage":false,"endCursor":null}}}}}`
		c, err := build(t, relayed, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3t-key"}}})
		if err != nil {
			t.Fatal(err)
		}
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{answer(200, body)}}, things0, collection.Cursor{}) {
			if err != nil || slice.Told.By != want || want != "" && slice.Told.Total != 7 {
				t.Errorf("%s: %+v, %v, want a total by %q", count, slice.Told, err, want)
			}
		}
	}
}

// TestGraphQLPagesThatAreNone: an answer with errors is no page, whatever else it
// has, and its words are told if they can be.
func TestGraphQLPagesThatAreNone(t *testing.T) {
	const nodes = `"nodes":[{"id":1}]`
	for body, want := range map[string]string{
		`{"errors":[{"message":"Field 'nmae' does\u0007 n't\n exist"}]}`:                                                                       "it said: Field 'nmae' does n't exist;",
		`{"data":null,"errors":[{"message":"Could not resolve"}]}`:                                                                             "it said: Could not resolve;",
		`{"data":{"repo":{"things":{` + nodes + `,"pageInfo":{"hasNextPage":false,"endCursor":null}}}},"errors":[{"message":"one was lost"}]}`: "it said: one was lost; the page has 1 record",
		`{"errors":[{"message":"bad key s3cr3t-k***"}]}`:                                                                                       "although the status is 200; the page",
		`{"errors":[{"message":"bad cursor after-this"}]}`:                                                                                     "although the status is 200; the page",
		`{"errors":[{"path":["a"]}]}`:                                                                                                          "although the status is 200; the page",
		`{"errors":[{"message":"` + strings.Repeat("ä", 400) + `"}]}`:                                                                          "ä…; the page",
		`{"data":null}`:                                "the page has no `data.repo.things.nodes`",
		`{"data":{"repo":null}}`:                       "the page has no `data.repo.things.nodes`",
		`{"data":{"repo":{"things":{` + nodes + `}}}}`: "`data.repo.things.pageInfo.hasNextPage` is neither true nor false",
		`{"data":{"repo":{"things":{` + nodes + `,"pageInfo":{"hasNextPage":true,"endCursor":null}}}}}`:                "there is no cursor at `data.repo.things.pageInfo.endCursor`",
		`{"data":{"repo":{"things":{` + nodes + `,"pageInfo":{"hasNextPage":true,"endCursor":"s3cr3t\u002dkey"}}}}}`:   "contains the credential",
		`{"data":{"repo":{"things":{` + nodes + `,"pageInfo":{"hasNextPage":true,"endCursor":"after-this"}}}}}`:        "the page names itself as the next one",
		`{"data":{"repo":{"things":{` + nodes + `,"pageInfo":{"hasNextPage":true,"endCursor":"x","endCursor":"y"}}}}}`: "`data.repo.things.pageInfo.endCursor` twice",
		`{"data":{"repo":{"things":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":{"id":1}}}}}}`:               "is neither text nor a number",
		`{"data":{"repo":{"things":{"nodes":{"id":1},"pageInfo":{"hasNextPage":false}}}}}`:                             "`data.repo.things.nodes` is an object, not an array",
	} {
		c, err := build(t, relayed, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3t-key"}}})
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: direct{answer(200, body)}}, things0, collection.Cursor{Token: `"after-this"`}) {
			last = err
		}
		stop, ok := errors.AsType[*collection.Stop](last)
		if !ok || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, want) || strings.Contains(stop.Detail, "s3cr3t") || len(stop.Detail) > 700 {
			t.Errorf("%s:\ngot  %v\nwant a bad_page with %q", body, last, want)
		}
	}
}

// TestGraphQLErrorsThatAreAccepted: the rule that the message suggests accepts a page
// with errors beside data, and none without data, whose errors may mean "slow down".
// Where a rule accepts that, too, the words of the error are told.
func TestGraphQLErrorsThatAreAccepted(t *testing.T) {
	const (
		partial   = `{"data":{"repo":{"things":{"nodes":[{"id":1}],"pageInfo":{"hasNextPage":false,"endCursor":null}}}},"errors":[{"message":"one was lost"}]}`
		throttled = `{"data":null,"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}`
		failed    = `{"data":{"repo":null},"errors":[{"message":"Internal error"}]}`
		empty     = `{"data":{"repo":{"things":{"nodes":null}}},"errors":[{"message":"Internal error"}]}`
	)
	stopOf := func(body, rule string) string {
		c, err := build(t, strings.Replace(relayed, "    key: id\n", "    key: id\n    "+rule+"\n", 1), declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3t-key"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: direct{answer(200, body)}}, things0, collection.Cursor{}) {
			if stop, ok := errors.AsType[*collection.Stop](err); ok {
				return stop.Detail
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return ""
	}
	const want = "on: [{status: [200], body: 'body.errors != nil && body.data.repo.things.nodes != nil', verdict: ok}]"
	_, rule, _ := strings.Cut(stopOf(partial, ""), "If that is normal for this API: ")
	if rule != want {
		t.Errorf("the rule for a page with errors is %q, want %q", rule, want)
	}
	if said := stopOf(partial, want); said != "" {
		t.Errorf("with the rule: %s, want a page", said)
	}
	for _, body := range []string{throttled, failed, empty} {
		if said := stopOf(body, want); !strings.Contains(said, "says that something failed") || strings.Contains(said, "on: [") {
			t.Errorf("with the rule, %s: %q, want a refusal that suggests no rule", body, said)
		}
	}
	const all = "on: [{status: [200], body: 'body.errors != nil', verdict: ok}]"
	for _, body := range []string{throttled, failed} {
		if said := stopOf(body, all); !strings.HasPrefix(said, "the page has no `data.repo.things.nodes`") || !strings.Contains(said, ", it said: ") || strings.Contains(said, "`errors`") {
			t.Errorf("with a rule for all errors, %s: %q, want that the list is missing, and what it said", body, said)
		}
	}
}

// TestCursorInAHeader: it may be left out on the last page, but a first page that
// looks full and has none may have it under another name.
func TestCursorInAHeader(t *testing.T) {
	const file = "connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams: {things: {get: /things, key: id, page: {cursor: {header: x-next, param: after%s}}}}\n"
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "after", 0))
		if more {
			w.Header().Set("X-Next", strconv.Itoa(number(r, "after", 0)+5))
		}
		fmt.Fprint(w, records)
	})
	connectortest.Test(t, open(t, server, fmt.Sprintf(file, "")), server.Client())

	for _, test := range []struct {
		more   string
		n      int
		header []string
		detail string
	}{
		{"", 7, nil, ""},
		{"", 10, nil, "the answer has no header x-next, but the page looks full (10 records); if this API leaves it out on the last page: optional: true"},
		{"", 10, []string{"X-Next-Page", "2", "X-Cursor-After", "b", "X-Next-Sync", "c", "X-Previous", "d"}, "looks full (10 records) and has X-Cursor-After, X-Next-Page; if"},
		{", optional: true", 10, nil, ""},
		{"", 10, []string{"X-Next", ""}, ""},
		{"", 7, []string{"X-Next", "a", "X-Next", "b"}, "the answer has the header x-next 2 times"},
		{"", 7, []string{"X-Next", "\xff"}, "the header x-next is not UTF-8 text"},
		{"", 7, []string{"X-Next", "a"}, "the same cursor came twice"},
	} {
		records, stop := walkAll(t, answer(200, things(1, test.n), test.header...), fmt.Sprintf(file, test.more))
		switch {
		case test.detail == "" && (stop != nil || records != test.n):
			t.Errorf("%v: %d records, %v, want %d", test, records, stop, test.n)
		case test.detail != "" && (stop == nil || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, test.detail)):
			t.Errorf("%v: %v, want a bad_page with %q", test, stop, test.detail)
		}
	}
}

// TestURLInAHeader: the address of the next page stands in a header of its own, as
// Kinto's does.
func TestURLInAHeader(t *testing.T) {
	const file = `
connector: test
provider: {base_url: "https://api.test"}
streams:
  things: {get: /things, key: id, page: {next_url: {header: next-page%s}}}
`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		at := number(r, "after", 0)
		records, more := pages(at)
		if more {
			w.Header().Set("Next-Page", fmt.Sprintf("/things?after=%d", at+5))
		}
		fmt.Fprint(w, records)
	})
	connectortest.Test(t, open(t, server, fmt.Sprintf(file, "")), server.Client())
	for more, detail := range map[string]string{"": "the answer has no header next-page, but the page looks full (10 records)", ", optional: true": ""} {
		records, stop := walkAll(t, answer(200, things(1, 10)), fmt.Sprintf(file, more))
		if detail == "" && (stop != nil || records != 10) || detail != "" && (stop == nil || !strings.Contains(stop.Detail, detail)) {
			t.Errorf("next_url%s: %d records, %v", more, records, stop)
		}
	}
}
