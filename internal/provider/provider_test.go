package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"collect/internal/provider"
)

// get asks s directly, without a network.
func get(t *testing.T, s *provider.Server, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:9"+target, nil))
	return w
}

// envelope has the members of all flavours of page.
type envelope struct {
	Items      []json.RawMessage
	TotalPages int    `json:"total_pages"`
	Total      int    `json:"total"`
	NextCursor string `json:"next_cursor"`
	Next       string
	HasMore    bool `json:"has_more"`
}

func decode(t *testing.T, body []byte) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("page is not JSON: %v", err)
	}
	return e
}

// walks has one naive client for each way to turn pages. Each yields the
// target of the next page, "" at the end.
var walks = map[string]func(t *testing.T, page int, target string, w *httptest.ResponseRecorder, e envelope) string{
	"/tickets": func(_ *testing.T, page int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		if page == e.TotalPages {
			return ""
		}
		return fmt.Sprintf("/tickets?page=%d", page+1)
	},
	"/offset/tickets": func(_ *testing.T, page int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		if page*100 >= e.Total {
			return ""
		}
		return fmt.Sprintf("/offset/tickets?offset=%d&limit=100", page*100)
	},
	"/cursor/tickets": func(_ *testing.T, _ int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		if e.NextCursor == "" {
			return ""
		}
		return "/cursor/tickets?cursor=" + url.QueryEscape(e.NextCursor)
	},
	"/link/tickets": func(_ *testing.T, _ int, _ string, w *httptest.ResponseRecorder, _ envelope) string {
		link, _, ok := strings.Cut(w.Header().Get("Link"), `>; rel="next"`)
		if !ok {
			return ""
		}
		return strings.TrimPrefix(link, "<http://127.0.0.1:9")
	},
	"/next/tickets": func(_ *testing.T, _ int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		return strings.TrimPrefix(e.Next, "http://127.0.0.1:9")
	},
	"/next/tickets?relative=1": func(_ *testing.T, _ int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		return e.Next
	},
	"/last/tickets": func(t *testing.T, _ int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		if !e.HasMore {
			return ""
		}
		return fmt.Sprintf("/last/tickets?starting_after=%d", field[int](t, e.Items[len(e.Items)-1], "id"))
	},
	"/flat": func(_ *testing.T, page int, _ string, _ *httptest.ResponseRecorder, e envelope) string {
		if page == e.TotalPages {
			return ""
		}
		return fmt.Sprintf("/flat?page=%d&per_page=100", page+1)
	},
}

func field[T any](t *testing.T, record []byte, name string) T {
	t.Helper()
	var members map[string]json.RawMessage
	var v T
	if err := json.Unmarshal(record, &members); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(members[name], &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// walk follows pages from target to the end and returns all records.
func walk(t *testing.T, s *provider.Server, style, target string) [][]byte {
	t.Helper()
	var records [][]byte
	for page := 1; target != ""; page++ {
		if page > 1000 {
			t.Fatalf("%s does not end", style)
		}
		w := get(t, s, target)
		if w.Code != 200 {
			t.Fatalf("%s page %d: status %d", style, page, w.Code)
		}
		body := w.Body.Bytes()
		if bytes.HasPrefix(body, []byte("[")) {
			body = slices.Concat([]byte(`{"items":`), body, []byte("}"))
		}
		e := decode(t, body)
		for _, item := range e.Items {
			records = append(records, item)
		}
		target = walks[style](t, page, target, w, e)
	}
	return records
}

// Every way to turn pages reaches every record once, as Records says, and ends
// after the last page, full or not.
func TestEveryStyleServesAllRecords(t *testing.T) {
	for _, n := range []int{1234, 300} {
		s := provider.New(provider.Script{Seed: 7, Tickets: n, Flat: n})
		for style := range walks {
			stream := "tickets"
			if style == "/flat" {
				stream = "flat"
			}
			s.Forget()
			got, want := walk(t, s, style, style), s.Records(stream)
			if len(got) != len(want) {
				t.Errorf("%s: %d records, want %d", style, len(got), len(want))
				continue
			}
			for i := range got {
				if !bytes.Equal(got[i], want[i]) {
					t.Errorf("%s: record %d = %s, want %s", style, i, got[i], want[i])
					break
				}
			}
			if got, want := s.Stats().Requests, (n+99)/100; got != want {
				t.Errorf("%s: %d pages for %d records, want %d", style, got, n, want)
			}
		}
	}
}

// What Records returned is the caller's to change.
func TestRecordsAreCopies(t *testing.T) {
	s := provider.New(provider.Script{Tickets: 1, Parents: 2, Flat: 1})
	for _, stream := range []string{"tickets", "details", "parents", "children", "flat"} {
		first := s.Records(stream)[0]
		before := string(first)
		first[0] = 'X'
		if got := string(s.Records(stream)[0]); got != before {
			t.Errorf("%s: the record is now %s, want %s", stream, got, before)
		}
	}
}

func TestDetailsParentsAndChildren(t *testing.T) {
	s := provider.New(provider.Script{Tickets: 50, Parents: 8})
	for i, want := range s.Records("details") {
		if got := get(t, s, fmt.Sprintf("/tickets/%d", i+1)).Body.Bytes(); !bytes.Equal(got, want) {
			t.Fatalf("detail %d = %s, want %s", i+1, got, want)
		}
	}
	if got := get(t, s, "/tickets/51").Code; got != 404 {
		t.Errorf("ticket 51 of 50: status %d, want 404", got)
	}
	var children [][]byte
	sizes := map[int]int{}
	for _, parent := range decode(t, get(t, s, "/parents").Body.Bytes()).Items {
		id, n := field[int](t, parent, "id"), 0
		for page := 1; ; page++ {
			e := decode(t, get(t, s, fmt.Sprintf("/parents/%d/children?page=%d", id, page)).Body.Bytes())
			for _, child := range e.Items {
				children = append(children, child)
				n++
			}
			if page >= e.TotalPages {
				break
			}
		}
		if want := field[int](t, parent, "children"); n != want {
			t.Errorf("parent %d has %d children, and says %d", id, n, want)
		}
		sizes[n]++
	}
	if want := s.Records("children"); !slices.EqualFunc(children, want, bytes.Equal) {
		t.Errorf("%d children differ from the %d of Records", len(children), len(want))
	}
	for _, n := range []int{0, 1, 100, 101, 200} {
		if sizes[n] == 0 {
			t.Errorf("no parent has %d children", n)
		}
	}
}

// The filter returns what was updated, the oldest first, with or without the
// time itself, and a touched ticket comes last.
func TestUpdatedSince(t *testing.T) {
	s := provider.New(provider.Script{Seed: 3, Tickets: 300})
	all := walk(t, s, "/cursor/tickets", "/cursor/tickets?sort=updated")
	at := func(i int) string { return field[string](t, all[i], "updated_at") }
	if !slices.IsSortedFunc(all, func(a, b []byte) int {
		return strings.Compare(field[string](t, a, "updated_at"), field[string](t, b, "updated_at"))
	}) {
		t.Error("sort=updated is not sorted")
	}
	if at(0) != at(6) || at(6) == at(7) {
		t.Errorf("updates %s, %s, %s: want seven at a time", at(0), at(6), at(7))
	}
	since := "/cursor/tickets?updated_since=" + url.QueryEscape(at(150))
	first := slices.IndexFunc(all, func(r []byte) bool { return field[string](t, r, "updated_at") == at(150) })
	if got := walk(t, s, "/cursor/tickets", since); !slices.EqualFunc(got, all[first:], bytes.Equal) {
		t.Errorf("inclusive filter: %d records, want %d", len(got), len(all)-first)
	}
	if got := walk(t, s, "/cursor/tickets", since+"&exclusive=1"); !slices.EqualFunc(got, all[first+7:], bytes.Equal) {
		t.Errorf("exclusive filter: %d records, want %d", len(got), len(all)-first-7)
	}

	s.Touch(5, 17)
	got := walk(t, s, "/cursor/tickets", "/cursor/tickets?exclusive=1&updated_since="+url.QueryEscape(at(299)))
	var ids []int
	for _, r := range got {
		ids = append(ids, field[int](t, r, "id"))
	}
	if !slices.Equal(ids, []int{5, 17}) {
		t.Errorf("after Touch(5, 17) the newest are %v", ids)
	}
	if got, want := got[0], s.Records("tickets")[4]; !bytes.Equal(got, want) {
		t.Errorf("touched ticket = %s, want %s", got, want)
	}
}

// A cursor that was changed in any way is refused.
func TestCursorIsOpaque(t *testing.T) {
	s := provider.New(provider.Script{})
	token := decode(t, get(t, s, "/cursor/tickets").Body.Bytes()).NextCursor
	for _, changed := range []string{
		strings.TrimRight(token, "="), " " + token, strings.ToLower(token), token + "=", token[1:],
		string(token[0]^1) + token[1:], // still base64: "A" and "B", "a" and "b" are neighbours
	} {
		if changed == token {
			t.Fatalf("%q was not changed", token)
		}
		if got := get(t, s, "/cursor/tickets?cursor="+url.QueryEscape(changed)).Code; got != 400 {
			t.Errorf("cursor %q made of %q: status %d, want 400", changed, token, got)
		}
	}
}

// One seed gives the same bytes in every process, another gives others, and
// the records hold what careless readers break.
func TestRecordsFollowFromTheSeed(t *testing.T) {
	a := provider.New(provider.Script{Seed: 1})
	b := provider.New(provider.Script{Seed: 1})
	c := provider.New(provider.Script{Seed: 2})
	for _, stream := range []string{"tickets", "details", "parents", "children", "flat"} {
		if !slices.EqualFunc(a.Records(stream), b.Records(stream), bytes.Equal) {
			t.Errorf("%s: two servers with one seed differ", stream)
		}
		for i, r := range a.Records(stream) {
			if !json.Valid(r) {
				t.Fatalf("%s: record %d is not JSON: %s", stream, i, r)
			}
		}
	}
	if slices.EqualFunc(a.Records("tickets"), c.Records("tickets"), bytes.Equal) {
		t.Error("two seeds give the same tickets")
	}
	all := bytes.Join(a.Records("tickets"), nil)
	for _, want := range []string{`.000`, `e-3`, `\u00eb`, `\ud83d\udefc`, `🦉`, `مرحبا`, `<&>`, `\/`, ",\t\"", "null"} {
		if !bytes.Contains(all, []byte(want)) {
			t.Errorf("no ticket contains %q", want)
		}
	}
	if got := field[int64](t, a.Records("tickets")[0], "serial"); got <= 1<<53 {
		t.Errorf("serial = %d, want one above 2^53", got)
	}
}

func TestToken(t *testing.T) {
	s := provider.New(provider.Script{Token: "s3cret"})
	for _, tc := range []struct {
		header string
		want   int
	}{{"", 401}, {"Bearer wrong", 401}, {"Bearer s3cret", 200}} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/tickets", nil)
		if tc.header != "" {
			r.Header.Set("Authorization", tc.header)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("Authorization %q: status %d, want %d", tc.header, w.Code, tc.want)
		}
	}
	if got := s.Stats(); got.Requests != 3 || got.Credentials != 2 || got.ByStatus[401] != 2 {
		t.Errorf("stats = %+v, want 3 requests, 2 with a credential, 2 refused", got)
	}
}

// What scripts read over HTTP is what Go code reads, and is not logged.
func TestControls(t *testing.T) {
	s := provider.New(provider.Script{Tickets: 60})
	base, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fetch := func(target string) []byte {
		t.Helper()
		r, err := http.Get(base + target)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}

	if got := fetch("/_provider/mode?set=" + url.QueryEscape("freeze to=1")); string(got) != "{}" {
		t.Fatalf("mode: %s", got)
	}
	fetch("/tickets")
	fetch("/tickets?page=1")
	fetch("/_provider/touch?id=60")

	var entry provider.Entry
	first, rest, _ := bytes.Cut(fetch("/_provider/log"), []byte("\n"))
	if err := json.Unmarshal(first, &entry); err != nil {
		t.Fatal(err)
	}
	if entry.Status != 403 || entry.Mode != "freeze" || entry.Path != "/tickets" {
		t.Errorf("first log line = %s, want a freeze of /tickets", first)
	}
	if got := bytes.Count(rest, []byte("\n")); got != 1 {
		t.Errorf("%d more log lines, want 1", got)
	}
	var stats provider.Stats
	if err := json.Unmarshal(fetch("/_provider/stats"), &stats); err != nil {
		t.Fatal(err)
	}
	if stats.Requests != 2 || stats.ByMode["freeze"] != 1 {
		t.Errorf("stats = %+v, want 2 requests, 1 frozen", stats)
	}
	served := bytes.Split(bytes.TrimSuffix(fetch("/_provider/records?stream=tickets"), []byte("\n")), []byte("\n"))
	if want := s.Records("tickets"); !slices.EqualFunc(served, want, bytes.Equal) {
		t.Errorf("%d lines of records differ from the %d of Records", len(served), len(want))
	}
	if got := field[int](t, served[59], "version"); got != 2 {
		t.Errorf("version of the touched ticket = %d, want 2", got)
	}
}

func BenchmarkFlatPage(b *testing.B) {
	s := provider.New(provider.Script{})
	r := httptest.NewRequest("GET", "/flat?page=7&per_page=100", nil)
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
	}
}
