package author_test

import (
	"fmt"
	"strings"
	"testing"

	"collect/connectors/declarative"
	"collect/engine/author"
)

// kinds are connectors of several kinds of paging, each with the answers of a
// provider with six records on three pages.
var kinds = map[string]struct{ stream, urls, header, body string }{
	"cursor":      {"{get: /x, records: items, key: id, page: {cursor: {from: next, param: c}}}", "/x|/x?c=1|/x?c=2", "", `{"items": [%s], "next": %s}`},
	"next_url":    {"{get: /x, records: items, key: id, page: {next_url: {path: next, optional: true}}}", "/x|/x?c=1|/x?c=2", "", `{"items": [%s], "next": %s}`},
	"number":      {"{get: /x, key: id, page: {number: {param: p}}}", "/x?p=1|/x?p=2|/x?p=3|/x?p=4", "", `[%s]`},
	"last_id":     {"{get: /x, key: id, page: {last_id: {param: after, field: id}}}", "/x|/x?after=2|/x?after=4|/x?after=6", "", `[%s]`},
	"link_header": {"{get: /x, key: id, page: {link_header: next}}", "/x|/x?c=1|/x?c=2", "Link: <https://a.test%s>; rel=\"next\"\n", `[%s]`},
}

// tapeOf returns the tape of a kind.
func tapeOf(t *testing.T, kind string) (*declarative.Spec, *author.Tape) {
	t.Helper()
	k := kinds[kind]
	spec, err := declarative.Parse("a.yaml", []byte("connector: a\nsecrets: {t: {env: T}}\nprovider: {base_url: \"https://a.test\", ceiling: {per_hour: 1}, auth: {bearer: \"${secrets.t}\"}}\nstreams: {x: "+k.stream+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# made up\nrecords x 6\n\n")
	urls := strings.Split(k.urls, "|")
	for i, url := range urls {
		items, next, header := "", "null", ""
		if i < 3 {
			items = fmt.Sprintf(`{"id": %d}, {"id": %d}`, 2*i+1, 2*i+2)
		}
		if i+1 < len(urls) {
			next = fmt.Sprintf(`"%s"`, urls[i+1])
			if kind == "cursor" {
				next = fmt.Sprintf(`"%d"`, i+1)
			}
			if k.header != "" {
				header = fmt.Sprintf(k.header, urls[i+1])
			}
		}
		body := k.body
		if strings.Count(body, "%s") == 2 {
			body = fmt.Sprintf(body, items, next)
		} else {
			body = fmt.Sprintf(body, items)
		}
		fmt.Fprintf(&b, "-- GET https://a.test%s --\n-- 200 --\nContent-Type: application/json\n%s\n%s\n", url, header, body)
	}
	tape, err := author.ParseTape([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return spec, tape
}

// TestRehearse: whatever goes wrong, the same records come out in the end, by
// every way of paging; and each fault is met.
func TestRehearse(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			spec, tape := tapeOf(t, kind)
			got, err := author.Rehearse(t.Context(), spec, tape, t.TempDir(), true)
			if err != nil {
				t.Fatal(err)
			}
			if got.Failed() || got.Plain.Records != 6 || len(got.Missing) > 0 {
				t.Errorf("%+v", got)
			}
			owed := 0
			for _, p := range got.Faults {
				if p.Places != 1 {
					t.Errorf("%s was not tried", p.Name)
				}
				owed += p.Owed
			}
			if owed < 2 {
				t.Errorf("%d gaps: the faults did nothing, which proves nothing", owed)
			}
		})
	}
}

// TestRehearseFindsHarm: what is lost without a word is told, and so is a tape that
// gives something else than it says.
func TestRehearseFindsHarm(t *testing.T) {
	spec, tape := tapeOf(t, "cursor")
	tape.Records["x"] = 7
	got, err := author.Rehearse(t.Context(), spec, tape, t.TempDir(), true)
	if err != nil || !got.Failed() || got.Plain.Wrong != "x has 6 records, and the tape says 7" || got.Faults != nil {
		t.Errorf("%+v, %v", got, err)
	}
	author.Plant(t, "losing", func() {
		spec, tape := tapeOf(t, "cursor")
		got, err := author.Rehearse(t.Context(), spec, tape, t.TempDir(), true)
		if err != nil || !got.Failed() || got.Faults[0].Wrong == "" {
			t.Errorf("a run that ends early, and calls itself complete, passes: %+v, %v", got, err)
		}
	})
}

// TestTapeGivesBackWhatWasWritten: its lines, too.
func TestTapeGivesBackWhatWasWritten(t *testing.T) {
	_, tape := tapeOf(t, "link_header")
	tape.Params["org"] = "acme=1"
	text, err := tape.Format()
	if err != nil {
		t.Fatal(err)
	}
	again, err := author.ParseTape(text)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Format(); err != nil || string(second) != string(text) || again.Params["org"] != "acme=1" || again.Records["x"] != 6 {
		t.Errorf("%v\n%s\n%s", err, text, second)
	}
	if _, err := author.ParseTape([]byte("recods x 6\n-- GET https://a.test --\n-- 200 --\n")); err == nil {
		t.Error("a misspelt line is no mistake")
	}
}

// TestRehearseWithoutCredentials: a tape that somebody wrote may leave out what a
// credential adds to the exchanges.
func TestRehearseWithoutCredentials(t *testing.T) {
	for _, auth := range []string{
		`{api_key: {query: key, value: "${secrets.t}"}}`,
		`{oauth2: {token_url: "https://a.test/token", client_id: c, refresh_token: "${secrets.t}"}}`,
	} {
		spec, err := declarative.Parse("a.yaml", []byte("connector: a\nsecrets: {t: {file: /nowhere, rotate: "+fmt.Sprint(strings.Contains(auth, "oauth2"))+"}}\nprovider: {base_url: \"https://a.test\", auth: "+auth+"}\nstreams: {x: "+kinds["cursor"].stream+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, tape := tapeOf(t, "cursor")
		got, err := author.Rehearse(t.Context(), spec, tape, t.TempDir(), true)
		if err != nil || got.Failed() || got.Plain.Records != 6 || len(got.Missing) > 0 {
			t.Errorf("%s: %+v, %v", auth, got, err)
		}
	}
}
