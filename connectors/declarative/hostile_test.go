package declarative_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// answer is a server that gives the same answer to everything.
func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// first returns the first slice of the stream things.
func first(t *testing.T, handler http.HandlerFunc, stream string) (collection.Slice, error) {
	t.Helper()
	c := open(t, serve(t, handler), file(stream))
	for slice, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{}) {
		return slice, err
	}
	t.Fatal("neither a slice nor an error")
	return collection.Slice{}, nil
}

// file is a connector with one stream, things.
func file(stream string) string {
	return "connector: test\nprovider: {base_url: \"https://api.test\", limits: {body: 4KB, record: 64B, cursor: 100B}}\nstreams:\n  things: {get: /things, key: id, " + stream + "}\n"
}

func TestPagesThatAreNone(t *testing.T) {
	const array, under = "page: {none: true}", "records: data.items, page: {none: true}"
	const secret = "s3cr3t"
	tests := []struct {
		name, stream string
		status       int
		body         string
		reason       collection.Reason
		detail       string
	}{
		{"html", array, 200, "<!DOCTYPE html><p>" + secret, collection.BadPage, "the page is HTML, not JSON"},
		{"html after a blank", array, 200, "\n <html>", collection.BadPage, "the page is HTML, not JSON"},
		{"cut off", array, 200, `[{"id":1},{"id":"` + secret, collection.BadPage, "the page is not valid JSON"},
		{"two documents", array, 200, `[{"id":1}][{"id":2}]`, collection.BadPage, "the page is not valid JSON"},
		{"garbage behind", array, 200, `[] x`, collection.BadPage, "the page is not valid JSON"},
		{"a comma too many", array, 200, `[{"id":1},]`, collection.BadPage, "the page is not valid JSON"},
		{"NaN", array, 200, `[{"id":NaN}]`, collection.BadPage, "the page is not valid JSON"},
		{"not UTF-8", array, 200, "[{\"id\":\"\xff\"}]", collection.BadPage, "the page is not UTF-8 text"},
		{"UTF-16", array, 200, "[\x00]\x00", collection.BadPage, "the page is not valid JSON"},
		{"nothing", array, 200, "", collection.BadPage, "the answer has no body"},
		{"too deep", array, 200, strings.Repeat("[", 1500) + "{}" + strings.Repeat("]", 1500), "", ""}, // quarantined
		{"an object", array, 200, `{"items":[]}`, collection.BadPage, "the page is an object, not an array: say with `records` where its records are"},
		{"a text", array, 200, `"` + secret + `"`, collection.BadPage, "the page is not an array"},
		{"null", array, 200, `null`, collection.BadPage, "the page is not an array"},
		{"no records", under, 200, `{"data":{}}`, collection.BadPage, "the page has no `data.items`"},
		{"records are null", under, 200, `{"data":{"items":null}}`, collection.BadPage, "`data.items` is not an array"},
		{"records are an object", under, 200, `{"data":{"items":{"1":2}}}`, collection.BadPage, "`data.items` is an object, not an array: if it is one record, records: {at: data.items, one: true}; if each of its members is one, records: {at: data.items, map: NAME}"},
		{"records of another case", under, 200, `{"data":{"Items":[]}}`, collection.BadPage, "the page has no `data.items`"},
		{"too large", array, 200, "[" + strings.Repeat(" ", 5000) + "]", collection.TooLarge, "the page is larger than `body` under `limits` allows"},
		{"an error", array, 500, secret, collection.BadPage, "an answer with this status is not a page"},
		{"not modified", array, 304, "", collection.BadPage, "an answer with this status is not a page"},
		{"not ready", array, 202, `[]`, collection.UpstreamPressure, "the answer is not ready yet"},
		{"a part", array, 206, `[{"id":1}]`, collection.BadPage, "the answer is a part of the list (206), but `page` says that the list is one page; if it is the whole list: on: [{status: [206], verdict: ok}]"},
		{"records twice", under, 200, `{"data":{"items":[],"items":[{"id":1}]}}`, collection.BadPage, "the page has `data.items` twice"},
		{"records twice, once escaped", under, 200, `{"data":{"items":[],"it\u0065ms":[{"id":1}]}}`, collection.BadPage, "the page has `data.items` twice"},
		{"what holds the records twice", under, 200, `{"data":{"items":[]},"data":{"items":[{"id":1}]}}`, collection.BadPage, "the page has `data.items` twice"},
		{"a cursor twice", "page: {cursor: {from: next, param: c}}, records: items", 200, `{"items":[],"next":null,"next":1}`, collection.BadPage, "the page has `next` twice"},
		{"a cursor twice, an object", "page: {cursor: {from: next, param: c}}, records: items", 200, `{"items":[],"next":{"after":"x"},"next":{"after":"y"}}`, collection.BadPage, "the page has `next` twice"},
		{"more twice", "page: {cursor: {from: next, param: c, more: more}}, records: items", 200, `{"items":[],"more":false,"more":true}`, collection.BadPage, "the page has `more` twice"},
		{"a total twice", "page: {offset: {param: o, total: n}}, records: items", 200, `{"items":[],"n":0,"n":9}`, collection.BadPage, "the page has `n` twice"},
		{"no total", "page: {number: {param: page, total_pages: pages}}, records: items", 200, `{"items":[]}`, collection.BadPage, "there is no whole number at `pages`, where `page` looks for the total"},
		{"no total in the header", "page: {number: {param: page, total_pages: {header: X-Pages}}}", 200, `[]`, collection.BadPage, "there is no whole number at `X-Pages`, where `page` looks for the total"},
		{"a negative total", "page: {offset: {param: o, total: n}}, records: items", 200, `{"items":[],"n":-1}`, collection.BadPage, "there is no whole number at `n`, where `page` looks for the total"},
		{"an endless promise", "page: {offset: {param: o, total: n}}, records: items", 200, `{"items":[],"n":9}`, collection.BadPage, "`n` says that there are more records, but the page is empty"},
		{"a cursor that is an object", "page: {cursor: {from: next, param: c}}, records: items", 200, `{"items":[],"next":{}}`, collection.BadPage, "the value at `next` is neither text nor a number"},
		{"more without a cursor", "page: {cursor: {from: next, param: c, more: more}}, records: items", 200, `{"items":[],"more":true}`, collection.BadPage, "`more` says that there is more, but there is no cursor at `next`"},
		{"more is a text", "page: {cursor: {from: next, param: c, more: more}}, records: items", 200, `{"items":[],"more":"no"}`, collection.BadPage, "the value at `more` is neither true nor false"},
		{"last id is missing", "page: {last_id: {param: a, field: no}}", 200, `[{"id":1}]`, collection.BadPage, "the last record has no text or number at `no`, by which the next page is asked for"},
		{"a cursor too long", "page: {next_url: next}, records: items", 200, `{"items":[],"next":"/` + strings.Repeat("x", 200) + `"}`, collection.TooLarge, "the cursor of the next page is longer than 100 bytes"},
		{"a link to a file", "page: {next_url: next}, records: items", 200, `{"items":[],"next":"file:///etc/passwd"}`, collection.BadPage, "the link to the next page is not a plain HTTP address"},
		{"a link with a user", "page: {next_url: next}, records: items", 200, `{"items":[],"next":"https://a:` + secret + `@b.test/"}`, collection.BadPage, "the link to the next page is not a plain HTTP address"},
		{"a link that is none", "page: {next_url: next}, records: items", 200, `{"items":[],"next":"https://[` + secret + `"}`, collection.BadPage, "the link to the next page is not a valid URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			slice, err := first(t, answer(test.status, test.body), test.stream)
			if test.reason == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != test.reason || stop.Detail != test.detail {
				t.Errorf("got %d records and %v, want %s: %s", len(slice.Records), err, test.reason, test.detail)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "://")) {
				t.Errorf("the error shows what was sent: %v", err)
			}
		})
	}
}

func TestPagesThatAreUnusual(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a byte order mark":  answer(200, "\xef\xbb\xbf[{\"id\":1}]\r\n"),
		"blanks":             answer(200, "\n\t [ {\"id\":1} ] "),
		"unknown length":     func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); fmt.Fprint(w, `[{"id":1}]`) },
		"an escaped name":    answer(200, `[{"\u0069d":1}]`),
		"created, not found": answer(201, `[{"id":1}]`),
	} {
		slice, err := first(t, handler, "page: {none: true}")
		if err != nil || len(slice.Records) != 1 || slice.Records[0].Key != "1" {
			t.Errorf("%s: %d records and %v, want one", name, len(slice.Records), err)
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"no content":     answer(204, ""),
		"declared as ok": answer(409, "Git Repository is empty."),
		"an empty array": answer(200, `[]`),
	} {
		slice, err := first(t, handler, "page: {link_header: next}, on: [{status: [409], verdict: ok}]")
		if err != nil || len(slice.Records) != 0 || !slice.Next.Done {
			t.Errorf("%s: %d records, next %+v and %v, want none and done", name, len(slice.Records), slice.Next, err)
		}
	}
}

// TestMoreThanOnePage: a list that is declared as one page and says itself that
// it has another is not taken for the whole; a detail may have a next one.
func TestMoreThanOnePage(t *testing.T) {
	const link = `</things?page=2>; rel="next"`
	_, err := first(t, answer(200, `[{"id":1}]`, "Link", link), "page: {none: true}")
	if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Detail != "the answer has a Link to the next page (rel=next), but `page` in the connector file does not find one: use page: {link_header: next}, or correct `page`" {
		t.Errorf("a list: %v, want bad_page", err)
	}
	c := open(t, serve(t, answer(200, `{"id":1}`, "Link", link)), file("page: {none: true}")+"  one: {each: {id: things.id}, get: \"/things/${id}\", key: id, role: detail}\n")
	place := collection.Place{Stream: "one", Partition: `{"id":1}`, Lane: collection.Incremental}
	for slice, err := range c.Slices(t.Context(), http.DefaultClient, place, collection.Cursor{}) {
		if err != nil || len(slice.Records) != 1 || !slice.Next.Done {
			t.Errorf("a detail: %d records and %v, want one", len(slice.Records), err)
		}
	}
}

// TestNoContentBehindAPage: a page said that there is more, and 204 is not it,
// unless pages are counted or a rule says so.
func TestNoContentBehindAPage(t *testing.T) {
	for _, test := range []struct{ stream, detail string }{
		{"page: {cursor: {from: next, param: c}}", "the answer is empty (204), and the page before it led here; if this API ends its lists like this: on: [{status: [204], verdict: ok}]"},
		{"page: {cursor: {from: next, param: c}}, on: [{status: [204], verdict: ok}]", ""},
		{"page: {number: {param: page}}", ""},
	} {
		n := 0
		records, stop := walkAll(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n > 1 {
				w.WriteHeader(204)
				return
			}
			fmt.Fprint(w, list(1, 10, `,"next":"x"`))
		}, file("records: items, "+test.stream))
		ends(t, records, 10, stop, test.detail)
	}
}

// TestCredentialIsNoCursor: what a provider sends back of the credential is
// left out of a link, and is no cursor otherwise.
func TestCredentialIsNoCursor(t *testing.T) {
	const key = "s3cr3t/key+value"
	const refused = "the cursor of the next page contains the credential, so it is not stored"
	for _, test := range []struct{ page, next, token, detail string }{
		{"{next_url: next}", "/things?a=1&access_token=s3cr3t%2Fkey%2Bvalue&c=2", "/things?a=1&c=2", ""},
		{"{next_url: next}", "/things?a=1&access_token=s3cr3t/key+value", "/things?a=1", ""},
		{"{next_url: next}", "/things/s3cr3t%2Fkey+value/2", "", refused},
		{"{next_url: next}", "/things?q=not-s3cr3t%2Fkey%2Bvalue", "", refused},
		{"{cursor: {from: next, param: c}}", "s3cr3t/key+value", "", refused},
		{"{cursor: {from: next, param: c}}", "s3cr3t", "s3cr3t", ""},
	} {
		c, err := build(t, `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: "https://api.test", auth: {bearer: "${secrets.key}"}}
streams: {things: {get: /things, key: id, records: items, page: `+test.page+`}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: key}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: fmt.Sprintf(`{"items":[],"next":%q}`, test.next)}
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			stop, _ := errors.AsType[*collection.Stop](err)
			if test.detail == "" && (err != nil || slice.Next.Token != test.token) || test.detail != "" && (stop == nil || stop.Detail != test.detail) {
				t.Errorf("%s: token %q, %v, want %q %s", test.next, slice.Next.Token, err, test.token, test.detail)
			}
			break
		}
	}
}

func TestRecordsThatCannotBeStored(t *testing.T) {
	tests := []struct{ data, key, reason string }{
		{`{"id": 1}`, "1", ""},
		{`{"id": 1.0}`, "1.0", ""},
		{`{"id": 12345678901234567890123}`, "12345678901234567890123", ""},
		{`{"id": "a\u00e9\/\n"}`, "aé/\n", ""},
		{`{"id": "\ud83d\ude00"}`, "😀", ""},
		{`{"id": false}`, "false", ""},
		{`{"x": {"id": 3}, "id": 4}`, "4", ""},
		{`{"ID": 1}`, "", "no_key"},
		{`{"id": null}`, "", "no_key"},
		{`{}`, "", "no_key"},
		{`{"id": ""}`, "", "bad_key"},
		{`{"id": 5, "id": 6}`, "", "bad_key"},
		{`{"id": 7, "\u0069d": 8}`, "", "bad_key"},
		{`{"id": 9, "x": {"id": 1, "id": 2}}`, "9", ""},
		{`{"id": {}}`, "", "bad_key"},
		{`{"id": [1]}`, "", "bad_key"},
		{`{"id": "\u0000"}`, "", "bad_key"},
		{`{"id": "\ud83d"}`, "", "bad_key"},
		{`7`, "", "not_an_object"},
		{`null`, "", "not_an_object"},
		{`[{"id": 1}]`, "", "not_an_object"},
		{`{"id": 1, "text": "` + strings.Repeat("x", 64) + `"}`, "", "too_large"},
	}
	var all []string
	for _, test := range tests {
		all = append(all, test.data)
	}
	slice, err := first(t, answer(200, "["+strings.Join(all, " ,\n")+"]"), "page: {none: true}")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		var key, data, reason string
		if test.reason == "" {
			key, data = slice.Records[0].Key, string(slice.Records[0].Data)
			slice.Records = slice.Records[1:]
		} else {
			data, reason = string(slice.Rejected[0].Data), slice.Rejected[0].Reason
			slice.Rejected = slice.Rejected[1:]
		}
		if key != test.key || data != test.data || reason != test.reason {
			t.Errorf("%s: got key %q, reason %q of %s; want key %q, reason %q", test.data, key, reason, data, test.key, test.reason)
		}
	}
}

// TestRecordsTooDeep: SQLite reads 1000 objects and arrays inside each other.
func TestRecordsTooDeep(t *testing.T) {
	nested := func(depth int) string {
		return `{"id":` + fmt.Sprint(depth) + `,"x":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
	}
	wide := `{"id":1,"x":[` + strings.Repeat(`[],"[\\\"[",`, 2000) + `{}]}`
	c := open(t, serve(t, answer(200, "["+nested(1000)+","+nested(1001)+","+wide+"]")),
		"connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams:\n  things: {get: /things, key: id, page: {none: true}}\n")
	for slice, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(slice.Records) != 2 || string(slice.Records[0].Data) != nested(1000) || string(slice.Records[1].Data) != wide {
			t.Errorf("%d records, want the one of depth 1000 and the wide one", len(slice.Records))
		}
		if len(slice.Rejected) != 1 || slice.Rejected[0].Reason != "too_deep" || string(slice.Rejected[0].Data) != nested(1001) {
			t.Errorf("%d rejected, want the one of depth 1001", len(slice.Rejected))
		}
	}
}

// TestTwoVersionsOnOnePage: the later one is the record, and the other is kept
// in quarantine, in case that it is another record.
func TestTwoVersionsOnOnePage(t *testing.T) {
	const older, newer = `{"id":1,"at":"2026-01-01T00:00:00Z"}`, `{"id":1,"at":"2026-01-01T00:00:00.5+00:00"}`
	const numbered, unmarked = `{"id":1,"at":5}`, `{"id":1,"at":"soon"}`
	for _, test := range []struct{ first, second, stays string }{
		{older, newer, newer},
		{newer, older, newer},
		{newer, numbered, numbered}, // marks of two kinds do not compare
		{newer, unmarked, unmarked},
		{unmarked, newer, newer},
	} {
		slice, err := first(t, answer(200, "["+test.first+","+test.second+"]"), "since: {field: at, param: since, lookback: 1m}, page: {none: true}")
		if err != nil || len(slice.Records) != 1 || len(slice.Rejected) != 1 {
			t.Fatalf("%s, %s: %+v, %v, want a record and one rejected", test.first, test.second, slice, err)
		}
		if got := string(slice.Records[0].Data); got != test.stays || slice.Rejected[0].Reason != collection.KeyCollision {
			t.Errorf("%s, %s: %s stays, want %s", test.first, test.second, got, test.stays)
		}
	}
}

// TestWalksEnd plays providers that never say that it is over.
func TestWalksEnd(t *testing.T) {
	n := 0
	tests := []struct {
		name, page string
		handler    http.HandlerFunc
		requests   int
		detail     string // "" for a good end
	}{
		{"the same cursor", "{cursor: {from: next, param: c}}", answer(200, `{"items":[{"id":1}],"next":"x"}`), 2, "the same cursor came twice, so that the walk would go in circles: this API may not know the parameter `c`"},
		{"a circle", "{cursor: {from: next, param: c}}", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"items":[{"id":%d}],"next":%d}`, n, (number(r, "c", 0)+1)%5)
		}, 6, "the same cursor came twice, so that the walk would go in circles"},
		{"empty pages", "{cursor: {from: next, param: c}}", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"items":[],"next":%d}`, number(r, "c", 0)+1)
		}, 3, "3 pages in a row have no records, and each leads to another one"},
		{"one page again and again", "{cursor: {from: next, param: c}}", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"items":[{"id":1}],"next":%d}`, number(r, "c", 0)+1)
		}, 4, "the same page came 4 times in a row"},
		{"the page is ignored", "{number: {param: page, size: 10}}", answer(200, `{"items":`+things(1, 10)+`}`), 2,
			"two pages in a row are the same: this API may not know the parameter `page`, or may repeat its last page after the end"},
		{"the last page again and again", "{number: {param: page, size: 10}}", func(w http.ResponseWriter, r *http.Request) {
			at := 10 * (min(number(r, "page", 1), 3) - 1)
			fmt.Fprintf(w, `{"items":%s}`, things(at+1, at+10))
		}, 4, "two pages in a row are the same: this API may not know the parameter `page`, or may repeat its last page after the end"},
		{"a total that grows", "{number: {param: page, total_pages: n}}", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"items":[],"n":%d}`, number(r, "page", 1)+5)
		}, 3, "3 pages in a row have no records, and each leads to another one"},
		{"the last id stays", "{last_id: {param: a, field: id}}", answer(200, `{"items":[{"id":7}]}`), 2, "the same cursor came twice, so that the walk would go in circles: this API may not know the parameter `a`"},
		{"the last id stays, in the body", "{last_id: {field: id}}, query: {where: 'id > ${page}'}", answer(200, `{"items":[{"id":7}]}`), 2, "the same cursor came twice, so that the walk would go in circles: this API may not look for the page where the request has ${page}"},
		{"a relative link to itself", "{next_url: next}", answer(200, `{"items":[{"id":7}],"next":"?a"}`), 2, "the same link to the next page came twice, so that the walk would go in circles"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n = 0
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n++
				test.handler(w, r)
			})
			c := open(t, server, strings.Replace(file("records: items, page: "+test.page), "body: 4KB, ", "", 1))
			var last error
			for _, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
				if last = err; n > 50 {
					break // no end
				}
			}
			if n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			stop, _ := errors.AsType[*collection.Stop](last)
			switch {
			case test.detail == "" && last != nil:
				t.Errorf("error %v, want a good end", last)
			case test.detail != "" && (stop == nil || stop.Reason != collection.BadPage || stop.Detail != test.detail):
				t.Errorf("error %v, want bad_page: %s", last, test.detail)
			}
		})
	}
}

// TestFewerThanAskedFor: a provider that grants fewer records than asked for
// loses none, whatever its maximum is.
func TestFewerThanAskedFor(t *testing.T) {
	for _, most := range []int{10, 20, 25, 50} {
		for _, page := range []string{"{number: {param: page, size_param: n, size: 1000}}", "{offset: {param: o, limit_param: n, limit: 1000}}"} {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				from := number(r, "o", most*(number(r, "page", 1)-1))
				fmt.Fprint(w, things(from+1, min(from+most, 137)))
			})
			c := open(t, server, strings.Replace(file("page: "+page), "body: 4KB, ", "", 1))
			got := 0
			for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
				if err != nil {
					t.Fatal(err)
				}
				got += len(slice.Records)
			}
			if got != 137 {
				t.Errorf("at most %d a page, %s: %d records, want 137", most, page, got)
			}
		}
	}
}

func TestErrorsShowNoURL(t *testing.T) {
	server := serve(t, answer(200, "[]"))
	c := open(t, server, file(`page: {none: true}, query: {token: s3cr3t}`))
	server.Close()
	for _, err := range c.Slices(context.Background(), http.DefaultClient, things0, collection.Cursor{}) {
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "http") {
			t.Errorf("error %v, want one that shows no URL", err)
		}
	}
}

// TestRejectsAreShortened: of what is larger than a record may be, or is none,
// quarantine keeps the beginning, with the length and the digest of all of it.
// A record that has no key is kept whole.
func TestRejectsAreShortened(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, tc := range []struct {
		data, limit, reason string
		cut                 bool
	}{
		{`{"id":1,"a":"` + long + `"}`, "64KiB", "too_large", true},
		{`"` + long + `"`, "1MiB", "not_an_object", true},
		{`"short"`, "1MiB", "not_an_object", false},
		{`{"a":"` + long + `"}`, "1MiB", "no_key", false},
	} {
		c, err := build(t, "connector: test\nprovider: {base_url: \"https://api.test\", limits: {record: "+tc.limit+"}}\nstreams: {things: {get: things, key: id, page: {none: true}}}\n", declarative.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: "[" + tc.data + `,{"id":2}]`}
		var got []collection.Rejected
		for s, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.Rejected...)
		}
		want := tc.data
		if tc.cut {
			want = fmt.Sprintf("%d bytes with the SHA-256 %x, of which these are the first 65536:\n%s", len(tc.data), sha256.Sum256([]byte(tc.data)), tc.data[:64<<10])
		}
		if len(got) != 1 || got[0].Reason != tc.reason || string(got[0].Data) != want {
			t.Errorf("%.20s: %d rejects, want one for %s, shortened %t", tc.data, len(got), tc.reason, tc.cut)
		}
	}
}

// TestCredentialInANameIsNotShown: a member that seems to lead on is named, but
// not with the credential in it.
func TestCredentialInANameIsNotShown(t *testing.T) {
	for page, body := range map[string]string{
		"{cursor: {from: continue.a, param: c}}": `{"items":[{"id":1}],"continue":{"s3cr3tkey":"x"}}`,
		"{none: true}":                           `{"items":[{"id":1}],"next_s3cr3tkey":"x"}`,
	} {
		c, err := build(t, `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: "https://api.test", auth: {bearer: "${secrets.key}"}}
streams: {things: {get: /things, key: id, records: items, page: `+page+`}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3tkey"}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: body}
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			said := fmt.Sprint(err, slice.Warnings)
			if strings.Contains(said, "s3cr3tkey") || err == nil && len(slice.Warnings) == 0 {
				t.Errorf("%s: %s", page, said)
			}
			break
		}
	}
}

// TestElementsCount: an element takes memory, however short it is.
func TestElementsCount(t *testing.T) {
	for n, large := range map[int]bool{10_000: false, 10_001: true} {
		c, err := build(t, "connector: test\nprovider: {base_url: \"https://api.test\", limits: {body: 1MiB}}\nstreams: {things: {get: things, key: id, page: {none: true}}}\n", declarative.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: "[" + strings.Repeat("1,", n-1) + `{"id":1}]`}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			stop, _ := errors.AsType[*collection.Stop](err)
			if large != (stop != nil && stop.Reason == collection.TooLarge) {
				t.Errorf("%d elements: %v, too large %t", n, err, large)
			}
		}
	}
}
