package declarative_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// TestMistakesNameWhatIsThere: who wrote the wrong name is told which names the
// page has, at the first page.
func TestMistakesNameWhatIsThere(t *testing.T) {
	const url, one = "records: items, page: {next_url: next}", "page: {none: true}"
	tests := []struct{ stream, body, want string }{
		{"records: columns, " + one, `{"columns":["id"],"rows":[{"id":1}]}`, "`columns` is a list of text, not of records: correct `records`; the page has a list of objects at `rows`"},
		{"records: columns, " + one, `{"columns":["id"]}`, "`columns` is a list of text, not of records: correct `records`, or name the field that each becomes: records: {at: columns, value: NAME}"},
		{"records: data, " + one, `{"data":{"items":[{"id":1}],"more":[{"id":1}]},"a b":[{"id":1}]}`, "`data` is not an array; the page has lists of objects at `data.items`, `data.more`"},
		{"records: items, " + one, `{"v1.items":[{"id":1}]}`, "the page has no `items`; the page has a list of objects at `v1\\.items`"},
		{one, `{"rows":[{"id":1}]}`, "the page is an object, not an array: say with `records` where its records are; the page has a list of objects at `rows`"},
		{url, `{"items":[{"ID":1,"a b":2,"n":3},{"ID":2}],"next":"/things?p=2"}`, "no record has `id`, the key; the records have: ID, n"},
		{"records: items, " + one, `{"items":[]}`, ""},
		{"records: items, " + one, `{"items":[{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1}]}`, "no record has `id`, the key; the records have: 1, 2, 3, 4, 5, 6, 7, 8, …"},
		{url, `{"items":[{"ID":1},{"id":2}]}`, ""},    // the file is right of some
		{url, `{"items":[{"id":null}]}`, ""},          // the field is there
		{url, `{"items":[{"ID":1},"no record"]}`, ""}, // and others are in quarantine for another reason
	}
	for _, test := range tests {
		_, err := first(t, answer(200, test.body), test.stream)
		got := ""
		if stop, ok := errors.AsType[*collection.Stop](err); ok {
			got = stop.Detail
		} else if err != nil {
			t.Errorf("%s: %v", test.body, err)
		}
		if got != test.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", test.stream, test.body, got, test.want)
		}
	}
}

// TestKeylessPageOfLater: a stream that has a mark goes on with what a person is
// to look at in quarantine; one record without a key must not hold it up.
func TestKeylessPageOfLater(t *testing.T) {
	c := open(t, serve(t, answer(200, `{"items":[{"ID":1,"at":"2026-01-02T00:00:00Z"}]}`)),
		file("records: items, page: {none: true}, since: {field: at, param: s, order: asc}"))
	for slice, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{Since: "2026-01-01T00:00:00Z", Done: true}) {
		if err != nil || len(slice.Rejected) != 1 {
			t.Errorf("%d in quarantine and %v, want 1 and no error", len(slice.Rejected), err)
		}
	}
}

// TestTheCredentialIsNoName: what stands beside a mistake may be the credential.
func TestTheCredentialIsNoName(t *testing.T) {
	const key = "s3cr3t-0123456789"
	for _, body := range []string{`{"` + key + `":[{"id":1}]}`, `{"items":[{"` + key + `":1}]}`, `{"items":{},"x":{"` + key + `":[{}]}}`} {
		c, err := build(t, `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: "https://api.test", auth: {bearer: "${secrets.key}"}}
streams: {things: {get: /things, key: id, records: items, page: {none: true}}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: key}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: body}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != collection.BadPage || strings.Contains(stop.Error(), key) {
				t.Errorf("%s: %v, want a bad page that does not name it", body, err)
			}
		}
	}
}
