package declarative_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/connectors/declarative/internal/since"
)

// FuzzNextURL: whatever a provider offers as the next page, what is asked for
// is a plain HTTP address whose origin is the one that the guard of the client
// sees, without a user, a fragment or anything that ends a request line; and a
// credential that the provider repeats in it is gone, and nothing else.
func FuzzNextURL(f *testing.F) {
	for _, link := range []string{"?page=2", "/v2/items?key=s&page=3#x", "https://a.test\\@b.test/", "//b.test/x", "https://u:p@a.test/", "HTTP://A.test:80",
		"javascript:alert(1)", "https:///x", "http://[::1]:8080/a b?c d", "\thttps://b.test/?%6bey=s&&a", "..//..//x", "http://a.test/\r\nHost: b", "?a=1;key=2&key", "?key=100%&b=%zz", "//:", "https://:8080/", "//t:", "#?key", "//::"} {
		f.Add(link)
	}
	base, err := url.Parse("https://api.test/v1/items?page=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, link string) {
		checkWithoutParam(t, link)
		next, err := declarative.Resolve(base, link)
		if err != nil {
			return
		}
		if next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" || next.User != nil || next.Fragment != "" {
			t.Fatalf("%q: %q is no plain HTTP address", link, next)
		}
		req, err := http.NewRequest(http.MethodGet, next.String(), nil)
		if err != nil {
			t.Fatalf("%q: %v", link, err)
		}
		if strings.ContainsAny(req.URL.RequestURI(), " \r\n\x00") {
			t.Errorf("%q: the request line has %q", link, req.URL.RequestURI())
		}
		if req.URL.Host != strings.TrimSuffix(next.Host, ":") || req.URL.Scheme != next.Scheme {
			t.Errorf("%q: resolved to %s, asked from %s", link, next.Host, req.URL.Host)
		}
		again, err := declarative.Resolve(base, next.String())
		if err != nil || again.String() != next.String() {
			t.Errorf("%q: %q, and resolved again %v, %v", link, next, again, err)
		}
	})
}

// checkWithoutParam checks that a parameter can be taken out of a link, alone.
func checkWithoutParam(t *testing.T, link string) {
	t.Helper()
	got := declarative.WithoutParam(link, "key")
	was, err := url.Parse(link)
	if err != nil {
		return
	}
	now, err := url.Parse(got)
	if err != nil {
		t.Errorf("%q: %q: %v", link, got, err)
		return
	}
	_, query, _ := strings.Cut(got, "?")
	query, _, _ = strings.Cut(query, "#")
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); name == "key" {
			t.Errorf("%q without key: %q", link, got)
		}
	}
	values := was.Query()
	values.Del("key")
	if got, want := now.Query().Encode(), values.Encode(); got != want {
		t.Errorf("%q without key: query %q, want %q", link, got, want)
	}
	was.RawQuery, now.RawQuery, was.ForceQuery, now.ForceQuery = "", "", false, false
	was.Fragment, now.Fragment, was.RawFragment, now.RawFragment = "", "", "", "" // never sent
	if was.String() != now.String() {
		t.Errorf("%q without key: %q, want only the query changed", link, now)
	}
}

// FuzzSince: whatever marks the pages of a walk have, the mark that the next
// walk begins with never goes back, and is no time that the provider's clock
// had not reached; and an ordered walk that is anchored anew asks for later
// marks only, so that it ends.
func FuzzSince(f *testing.F) {
	f.Add(true, "", "1 2 3|3 4 4|4 4 4|9")
	f.Add(true, "2024-01-01", "2024-01-01T00:00:00Z 2024-01-01T01:00:00+01:00|2024-02-01 2024-03-01|x")
	f.Add(false, "5", "9 7|8 1e1|6")
	f.Add(true, "5", "3 2 1|7|1e400 -0")
	f.Fuzz(func(t *testing.T, ordered bool, start, pages string) {
		if len(pages) > 300 {
			return
		}
		var from collection.Cursor
		last, rest := "", strings.Split(pages, "|")
		for i, page := range rest {
			var records []collection.Record
			for n, mark := range strings.Fields(page) {
				records = append(records, collection.Record{Key: fmt.Sprint(n), Data: fmt.Appendf(nil, `{"at":%q}`, strings.ToValidUTF8(mark, "?"))})
			}
			token := ""
			if i < len(rest)-1 {
				token = fmt.Sprint("t", i)
			}
			clock := time.Date(2024, 1, 20, 0, i, 0, 0, time.UTC)
			asked, next, err := declarative.Advance(ordered, from, start, records, token, clock)
			if err != nil {
				return
			}
			if at, err := time.Parse(time.RFC3339, next.Since); err == nil && at.After(clock) {
				t.Fatalf("page %d of %q: the next walk begins at %q, and it is %s", i, pages, next.Since, clock)
			}
			if from.Since != "" && since.CompareMarks(next.Since, from.Since) < 0 {
				t.Fatalf("page %d of %q: the next walk begins at %q, was %q", i, pages, next.Since, from.Since)
			}
			again := strings.Contains(from.High, `"passes"`) // over records that share a mark
			if from.Token == "" && i > 0 && last != "" && !again && since.CompareMarks(asked, last) <= 0 {
				t.Fatalf("page %d of %q: anchored at %q, was %q", i, pages, asked, last)
			}
			again = strings.Contains(next.High, `"passes"`)
			if next.Done != (token == "" && !again) || next.Done && (strings.Contains(next.High, `"from"`) || next.Token != "") {
				t.Fatalf("page %d of %q: %+v after token %q", i, pages, next, token)
			}
			from, last = next, asked
		}
	})
}
