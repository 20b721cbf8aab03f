package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
)

// TestPagesThatSayThatSomethingFailed: an envelope that says so is no whole page
// unless a rule explains it, and the rule that the message names is one that
// does.
func TestPagesThatSayThatSomethingFailed(t *testing.T) {
	const records = `"items":[{"id":1},{"id":2}]`
	const none = `"items":[]`
	const bad, warns, fine = "bad", "warns", "fine"
	tests := []struct{ body, want string }{
		{`{` + records + `,"errors":[{"message":"two of four could not be read"}]}`, bad},
		{`{"errors":{"3":"gone"},` + records + `}`, bad},
		{`{` + none + `,"errors":"no"}`, bad},
		{`{` + records + `,"errors":[]}`, fine},
		{`{` + records + `,"errors":null}`, fine},
		{`{` + records + `,"errors":{}}`, fine},
		{`{` + records + `,"errors":2}`, fine},
		{`{` + records + `,"error":{"code":7}}`, bad},
		{`{` + none + `,"error":"invalid filter"}`, bad},
		{`{` + none + `,"error":true}`, bad},
		{`{` + none + `,"error":29}`, bad},
		{`{` + records + `,"error":null}`, fine},
		{`{` + records + `,"error":""}`, fine},
		{`{` + records + `,"error":false}`, fine},
		{`{` + records + `,"error":0}`, fine},
		{`{` + records + `,"error":"OK"}`, fine},
		{`{` + records + `,"error":[]}`, fine},
		{`{"ok":false,` + none + `}`, bad},
		{`{"ok":true,` + none + `}`, fine},
		{`{"success":false,` + records + `}`, bad},
		{`{"success":true,` + records + `}`, fine},
		{`{"status":"error",` + none + `}`, bad},
		{`{"status":"FAIL",` + none + `}`, bad},
		{`{"status":"error",` + records + `}`, warns},
		{`{"status":"error","error":"x",` + records + `}`, bad},
		{`{"status":"success",` + none + `}`, fine},
		{`{"status":"failed",` + none + `}`, fine},
		{`{"status":"open",` + records + `}`, fine},
		// A resource with its parts: what failed is its own matter.
		{`{"id":7,"status":"error",` + none + `}`, warns},
		{`{"id":7,"error":"the build timed out",` + records + `}`, warns},
		// What is said of a record.
		{`{"items":[{"id":1,"error":"x","status":"error","ok":false,"errors":[1]}]}`, fine},
		{`{"meta":{"errors":[1]},` + records + `}`, fine},
	}
	for _, test := range tests {
		slice, err := first(t, answer(200, test.body), "records: items, page: {none: true}")
		stop, _ := errors.AsType[*collection.Stop](err)
		got, said := fine, ""
		switch {
		case err != nil && stop != nil && stop.Reason == collection.BadPage:
			got, said = bad, stop.Detail
		case err != nil:
			t.Errorf("%s: %v", test.body, err)
		case len(slice.Warnings) == 1 && slice.Warnings[0].Code == collection.RefusedBeside:
			got, said = warns, slice.Warnings[0].Text
		}
		if got != test.want {
			t.Errorf("%s: %s %s, want %s", test.body, got, said, test.want)
		}
		_, rule, found := strings.Cut(said, "If that is normal for this API: ")
		if found != (test.want != fine) {
			t.Errorf("%s: the message names no rule: %q", test.body, said)
		}
		if found {
			slice, err = first(t, answer(200, test.body), "records: items, page: {none: true}, "+rule)
			if err != nil || len(slice.Warnings) > 0 {
				t.Errorf("%s: with %s: %v, warnings %v, want a whole page", test.body, rule, err, slice.Warnings)
			}
		}
	}
	// In a body that is a list, or one record, all of these are ordinary.
	for _, body := range []string{`[{"id":1,"status":"error","errors":[1]}]`} {
		if slice, err := first(t, answer(200, body), "page: {none: true}"); err != nil || len(slice.Warnings) > 0 {
			t.Errorf("%s: %v, warnings %v", body, err, slice.Warnings)
		}
	}
	// A list of errors is a list.
	if slice, err := first(t, answer(200, `{"errors":[{"id":1}]}`), "records: errors, page: {none: true}"); err != nil || len(slice.Records) != 1 {
		t.Errorf("a list of errors: %d records and %v", len(slice.Records), err)
	}
}

// TestMarkThatIsIgnored: a provider that sends what is older than it was asked
// for is told of, once a walk, and one that rounds the mark is not.
func TestMarkThatIsIgnored(t *testing.T) {
	const stream = "records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: changed_after, lookback: 1s}"
	for _, test := range []struct {
		name, since string
		pages       [][]string // the marks of each
		warns       int
	}{
		{"numbers", "580", [][]string{{"98", "600"}, {"99", "601"}}, 1},
		{"in order", "580", [][]string{{"579", "600"}}, 0},
		{"days before", `"2026-05-14T10:00:00Z"`, [][]string{{`"2026-05-14T11:00:00Z"`}, {`"2026-05-01T00:00:00Z"`}}, 1},
		{"rounded to the day", `"2026-05-14T10:00:00Z"`, [][]string{{`"2026-05-14T00:00:01Z"`, `"2026-05-14T11:00:00Z"`}}, 0},
		{"a whole page of the same day", `"2026-05-14T10:00:00Z"`, [][]string{{`"2026-05-14T09:00:01Z"`, `"2026-05-14T09:30:00Z"`}}, 1},
	} {
		n := 0
		c := open(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			var items []string
			for i, mark := range test.pages[n] {
				items = append(items, fmt.Sprintf(`{"id":"%d-%d","at":%s}`, n, i, mark))
			}
			next := "null"
			if n++; n < len(test.pages) {
				next = fmt.Sprintf(`"%d"`, n)
			}
			fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
		}), file(stream))
		var got []collection.Warning
		for slice, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{Since: strings.Trim(test.since, `"`), Done: true}) {
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			got = append(got, slice.Warnings...)
		}
		if len(got) != test.warns {
			t.Errorf("%s: warnings %v, want %d", test.name, got, test.warns)
		}
		for _, w := range got {
			if w.Code != collection.MarkIgnored || !strings.Contains(w.Text, "`changed_after`") {
				t.Errorf("%s: %v does not name the parameter", test.name, w)
			}
		}
	}
}
