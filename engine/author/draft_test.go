package author_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"collect/connectors/declarative"
	"collect/engine/author"
)

// an api answers addresses below https://a.test by their path and query.
type api map[string]struct{ link, body string }

func (a api) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, ok := a[req.URL.RequestURI()]
	status := http.StatusOK
	if !ok {
		status, answer.body = http.StatusNotFound, "{}"
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Ratelimit-Limit": {"60"}, "X-Ratelimit-Remaining": {"59"}, "X-Ratelimit-Reset": {"3600"}}
	if answer.link != "" {
		header.Set("Link", answer.link)
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(strings.NewReader(answer.body)), ContentLength: int64(len(answer.body)), Request: req}, nil
}

func items(from, to int) string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprintf(`{"kind": "a", "id": %d, "updated_at": "2026-01-%02dT00:00:00Z"}`, i, i))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// drafted returns the draft for the list at address, which provider answers.
func drafted(t *testing.T, address string, provider http.RoundTripper) ([]byte, *author.Page) {
	t.Helper()
	d, err := author.NewDraft("a", address, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	trial, err := author.Begin(t.Context(), author.Config{Target: d.Target(), Requests: author.DraftRequests, Base: provider})
	if err != nil {
		t.Fatal(err)
	}
	return d.Write(t.Context(), trial)
}

// TestDraft: what each kind of API shows of itself is in the draft, which is sound;
// and nothing of a credential is.
func TestDraft(t *testing.T) {
	for _, tc := range []struct {
		name, url string
		api       api
		want      []string
	}{
		{"link", "https://a.test/v1/things", api{"/v1/things": {`<https://a.test/v1/things?page=2>; rel="next"`, items(1, 3)}},
			[]string{"  things:", "get: /v1/things", "key: id  # in all of the 3 records", "page: {link_header: next}", "# since: {field: updated_at,", "limit of 60 "}},
		{"next_url", "https://a.test/things", api{"/things": {"", `{"data": {"rows": ` + items(1, 3) + `}, "links": {"next": "/things?page=2"}}`}},
			[]string{"records: data.rows", "page: {next_url: {path: links.next, optional: true}}"}},
		{"a token and an address in one object", "https://a.test/things?limit=3", api{"/things?limit=3": {"", `{"results": ` + items(1, 3) + `, "paging": {"next": {"after": "100", "link": "https://a.test/things?limit=3&after=100"}}}`},
			"/things?after=100&limit=3": {"", `{"results": ` + items(4, 6) + `}`}},
			[]string{"page: {cursor: {from: paging.next.after, param: after, optional: true}}  # `paging.next.after` has a token; with `after` there came 3 other records"}},
		{"an address in an object", "https://a.test/things", api{"/things": {"", `{"results": ` + items(1, 3) + `, "paging": {"next": {"link": "https://a.test/things?after=100"}}}`}},
			[]string{"page: {next_url: {path: paging.next.link, optional: true}}  # `paging.next.link` is the address"}},
		{"an address in an object, of JSON:API", "https://a.test/things", api{"/things": {"", `{"data": ` + items(1, 3) + `, "links": {"next": {"href": "/things?page=2", "meta": {"of": "https://a.test/"}}}}`}},
			[]string{"page: {next_url: {path: links.next.href, optional: true}}"}},
		{"an object that leads nowhere", "https://a.test/things", api{"/things": {"", `{"data": ` + items(1, 3) + `, "next": {"title": "see https://a.test/"}}`}},
			[]string{"page: {none: true}"}},
		{"odata", "https://a.test/Things", api{"/Things": {"", `{"value": ` + items(1, 3) + `, "@odata.nextLink": "https://a.test/Things?$skip=3"}`}},
			[]string{"records: value", `next_url: {path: '@odata\.nextLink', optional: true}`}},
		{"cursor", "https://a.test/things?state=all", api{"/things?state=all": {"", `{"items": ` + items(1, 3) + `, "meta": {"next_cursor": "n"}}`}, "/things?cursor=n&state=all": {"", `{"items": ` + items(4, 5) + `}`}},
			[]string{"page: {cursor: {from: meta.next_cursor, param: cursor, optional: true}}", "there came 2 other records", "      state: all"}},
		{"records in objects of their own", "https://a.test/r/go/new", api{"/r/go/new": {"", `{"kind": "Listing", "data": {"after": "t3_b", "children": [{"kind": "t3", "data": {"title": "x", "id": "a"}}, {"kind": "t3", "data": {"title": "x", "id": "b"}}]}}`},
			"/r/go/new?after=t3_b": {"", `{"kind": "Listing", "data": {"after": null, "children": [{"kind": "t3", "data": {"title": "x", "id": "c"}}]}}`}},
			[]string{"records: data.children", "key: data.id  # in all of the 2 records", "page: {cursor: {from: data.after, param: after, optional: true}}", "there came 1 other records"}},
		{"a full page by offset", "https://a.test/things?limit=3", api{"/things?limit=3": {"", items(1, 3)}, "/things?limit=3&page=2": {"", items(1, 3)}, "/things?limit=3&offset=3": {"", items(4, 6)}},
			[]string{"page: {offset: {param: offset, limit_param: limit, limit: 3}}  # by offset; with `offset` there came 3 other records"}},
		{"a full page", "https://a.test/things?limit=3", api{"/things?limit=3": {"", items(1, 3)}, "/things?limit=3&page=2": {"", items(1, 3)}, "/things?limit=3&offset=3": {"", items(1, 3)}},
			[]string{"but `limit` is 3, and as many records came: look up how the next page is asked for"}},
		{"no key", "https://a.test/things", api{"/things": {"", `[{"a": 1}, {"a": 1}]`}}, []string{"key: id  # a guess: no field is in all records that came"}},
		{"unknown parameter", "https://a.test/things", api{"/things": {"", `{"items": ` + items(1, 3) + `, "nextPageToken": "n"}`}, "/things?pageToken=n": {"", `{"items": ` + items(1, 3) + `}`}},
			[]string{"the same records came again: look up the parameter"}},
		{"from page 0", "https://a.test/latest.json", api{"/latest.json": {"", items(1, 3)}, "/latest.json?page=1": {"", items(4, 6)}, "/latest.json?page=2": {"", items(7, 9)}},
			[]string{"page: {number: {param: page, start: 0}}  # by number; with `page` there came 3 other records"}},
		{"from page 1", "https://a.test/things", api{"/things": {"", items(1, 3)}, "/things?page=1": {"", items(1, 3)}, "/things?page=2": {"", items(4, 6)}},
			[]string{"page: {number: {param: page}}  # by number"}},
		{"page 0 in the address", "https://a.test/things?page=0", api{"/things?page=0": {"", items(1, 3)}, "/things?page=1": {"", items(4, 6)}},
			[]string{"page: {number: {param: page, start: 0}}  # by number"}},
		{"number", "https://a.test/things?per_page=3", api{"/things?per_page=3": {"", items(1, 3)}, "/things?page=2&per_page=3": {"", items(4, 6)}},
			[]string{"page: {number: {param: page, size_param: per_page, size: 3}}"}},
		{"offset", "https://a.test/things?limit=3&offset=0", api{"/things?limit=3&offset=0": {"", items(1, 3)}},
			[]string{"page: {offset: {param: offset, limit_param: limit, limit: 3}}"}},
		{"last id", "https://a.test/things", api{"/things": {"", `{"data": ` + items(1, 3) + `, "has_more": true, "total": 7}`}},
			[]string{"page: {last_id: {param: starting_after, field: id, more: has_more}}", "`total` tells a total of 7"}},
		{"one page", "https://a.test/things?api_key=s3cr3tX9s3cr3t", api{"/things?api_key=s3cr3tX9s3cr3t": {"", items(1, 3)}},
			[]string{"page: {none: true}", `auth: {api_key: {query: api_key, value: "${secrets.token}"}}`, "secrets: {token: {env: A_TOKEN}}"}},
		{"a total by offset", "https://a.test/things", api{"/things": {"", `{"items": ` + items(1, 3) + `, "total": 9}`}, "/things?page=2": {"", `{"items": ` + items(1, 3) + `, "total": 9}`}, "/things?offset=3": {"", `{"items": ` + items(4, 6) + `, "total": 9}`}},
			[]string{"page: {offset: {param: offset}}  # by offset; with `offset` there came 3 other records", "`total` tells a total of 9"}},
		{"a total by offset, and a limit", "https://a.test/things?limit=3", api{"/things?limit=3": {"", `{"items": ` + items(1, 3) + `, "total": 9}`}, "/things?limit=3&offset=3": {"", `{"items": ` + items(4, 6) + `}`}},
			[]string{"page: {offset: {param: offset, limit_param: limit, limit: 3}}  # by offset"}},
		{"a total that nothing leads to", "https://a.test/things", api{"/things": {"", `{"items": ` + items(1, 3) + `, "count": 9}`}},
			[]string{"page: {number: {param: page}}  # a guess that did not bring a second page, and neither did `offset`; but `count` says 9, and 3 records came: look up how the next page is asked for"}},
		{"a total that is there", "https://a.test/things", api{"/things": {"", `{"items": ` + items(1, 3) + `, "total": 3}`}},
			[]string{"page: {none: true}"}},
		{"hostile", "https://a.test/x's", api{"/x's": {"", `[{"a'\n: b": "1"}]`}},
			[]string{`key: "a'\n: b"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, failed := drafted(t, tc.url, tc.api)
			if failed != nil {
				t.Fatal(failed.Err)
			}
			if _, mistakes, doubts := declarative.Check("a.yaml", text); len(mistakes)+len(doubts) > 0 {
				t.Errorf("the draft is not sound: %v %v\n%s", mistakes, doubts, text)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if strings.Contains(string(text), "s3cr3t") {
				t.Errorf("the credential is in\n%s", text)
			}
		})
	}
	for name, body := range map[string]string{"no list": `{"a": 1}`, "no JSON": `<html>`, "empty": `[]`} {
		if _, failed := drafted(t, "https://a.test/x", api{"/x": {"", body}}); failed == nil || failed.Verdict != "bad_page" || failed.Status != 200 {
			t.Errorf("%s: a draft, or %+v", name, failed)
		}
	}
	if _, failed := drafted(t, "https://a.test/x?api_key=s3cr3tX9s3cr3t", api{}); failed == nil || failed.Status != 404 || failed.URL != "https://a.test/x?api_key=REDACTED" {
		t.Errorf("what is not there: %+v", failed)
	}
	if _, mistakes, doubts := declarative.Check("a.yaml", author.Skeleton("a")); len(mistakes)+len(doubts) > 0 {
		t.Errorf("the skeleton: %v %v", mistakes, doubts)
	}
}
