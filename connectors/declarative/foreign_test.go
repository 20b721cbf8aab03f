package declarative_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	reader "collect/connectors/declarative/internal/answer" // answer is a server of these tests
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// brokenOff stands for a header that is not whole.
const brokenOff = "…"

func TestLinkHeader(t *testing.T) {
	tests := []struct {
		values []string
		want   string
	}{
		{[]string{`<https://a.test/?page=2>; rel="next", <https://a.test/?page=9>; rel="last"`}, "https://a.test/?page=2"},
		{[]string{`<https://a.test/?page=9>; rel="last"`, `<b>; rel=next`}, "b"},
		{[]string{`<a?x=1,2;3>;rel="prev NEXT";title="x, <y>; rel=\"no\""`}, "a?x=1,2;3"},
		{[]string{`<a>; title="a \" <b>; rel=next"; rel=prev, <c>; rel="next"`}, "c"},
		{[]string{`<a>; rel=prev; rel=next`}, ""},
		{[]string{`<a>; REL = next`}, "a"},
		{[]string{`<a>; crossorigin; rel=next`}, "a"},
		{[]string{`<a>; rel="nextish"`}, ""},
		{[]string{``, `,;,`, `<>; rel=next`}, ""},
		{[]string{`<a>; rel='next'`}, "a"},
		{[]string{`<a>; rel = 'prev next' ; x='y'`}, "a"},
		{[]string{`<a>; rel=next; anchor="/b", <c>; rel=next`}, "c"},
		{[]string{`<a>; rel=next; anchor="/b"`, `<c>; rel=prev`}, "a"}, // it may be of this page
		{[]string{`a>; rel=next`}, brokenOff},
		{[]string{`a; rel=next`}, brokenOff},
		{[]string{`<a>; rel=prev, &lt;b&gt;; rel=next`}, brokenOff},
		{[]string{`<a>; title='x, y'; rel='next'`}, brokenOff},
		{[]string{`<a>; rel=prev`, `<a`}, brokenOff},
		{[]string{`<a; rel="next"`}, brokenOff},
		{[]string{`<a>; rel="next`}, brokenOff},
		{[]string{`<a>; title="\"; rel=next`}, brokenOff},
		{[]string{`<a>; rel=next`, `<b`}, "a"}, // it was found before
		{nil, ""},
	}
	for _, test := range tests {
		got, ok := paging.LinkTarget(test.values, "next")
		if whole := test.want != brokenOff; ok != whole || whole && got != test.want {
			t.Errorf("%q: %q, whole: %t, want %q", test.values, got, ok, test.want)
		}
	}
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`<https://a.test/?page=2>; rel="next", <b>; rel=last`)
	f.Add(`<a>; title="\`)
	f.Fuzz(func(t *testing.T, value string) {
		if got, _ := paging.LinkTarget([]string{value}, "next"); got != "" && !strings.Contains(value, "<"+got+">") {
			t.Errorf("%q: %q is not a target of it", value, got)
		}
	})
}

func TestMarksInOrder(t *testing.T) {
	// Each line is before the next; marks on one line are equal.
	lines := [][]string{
		{"-1e30"}, {"-1"}, {"-0.5"}, {"0", "-0", "0.000", "0e9"}, {"1e-999999"}, {"9", "9.0", "0.9e1", "90E-1"}, {"10", "1e1", "010"},
		{"9007199254740992"}, {"9007199254740993"}, {"1e999999"}, // numbers
		{"2023-12-31T23:59:59+00:00", "2024-01-01T00:59:59+01:00", "2023-12-31 23:59:59"},
		{"2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00.000Z", "2024-01-01T01:00:00.000+0100"},
		{"2024-01-01T00:00:00.000000001Z"}, {"2024-01-01T00:00:00.1Z", "2024-01-01 00:00:00.100Z"}, // times
		{"2024-99-01"}, {"Z"}, {"a"}, {"b"}, // text
	}
	for i, line := range lines {
		for j, other := range lines {
			for _, a := range line {
				for _, b := range other {
					if got, want := since.CompareMarks(a, b), cmp.Compare(i, j); got != want {
						t.Errorf("%s and %s: %d, want %d", a, b, got, want)
					}
					m, n := declarative.KeptMark(a), declarative.KeptMark(b)
					if got, want := m.After(n), i > j && m.Scale != "" && m.Scale == n.Scale; got != want {
						t.Errorf("%s is kept as after %s: %t, want %t", a, b, got, want)
					}
				}
			}
		}
	}
}

// FuzzMarks checks that marks have a total order, and that of numbers and
// times it is the one of their values.
func FuzzMarks(f *testing.F) {
	f.Add("1", "1.0", "2024-01-01T00:00:00Z")
	f.Add("1e5", "-3E+2", "x")
	f.Add("2024-01-01", "2024-01-01 00:00:00.000Z", "2024-01-01T00:00:00+00:00")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		ab, ba := since.CompareMarks(a, b), since.CompareMarks(b, a)
		if ab != -ba || a == b && ab != 0 {
			t.Errorf("%q and %q: %d, and %d the other way", a, b, ab, ba)
		}
		if m, n := declarative.KeptMark(a), declarative.KeptMark(b); m.Scale != "" && m.Scale == n.Scale && m.After(n) != (ab > 0) {
			t.Errorf("%q and %q are kept as %v and %v, and compare as %d", a, b, m, n, ab)
		}
		three := []string{a, b, c}
		slices.SortFunc(three, since.CompareMarks)
		if since.CompareMarks(three[0], three[2]) > 0 {
			t.Errorf("%q has no order", three)
		}
		var x, y json.Number
		if len(a)+len(b) < 20 && json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && !strings.ContainsAny(a+b, "eE\" \t\r\n") {
			m, ok1 := new(big.Rat).SetString(x.String())
			n, ok2 := new(big.Rat).SetString(y.String())
			if ok1 && ok2 && m.Cmp(n) != ab {
				t.Errorf("%s and %s: %d, want %d", a, b, ab, m.Cmp(n))
			}
		}
		m, err1 := time.Parse(time.RFC3339, a)
		n, err2 := time.Parse(time.RFC3339, b)
		if err1 == nil && err2 == nil && m.Compare(n) != ab {
			t.Errorf("%s and %s: %d, want %d", a, b, ab, m.Compare(n))
		}
	})
}

// FuzzPage: whatever a body is, it is split exactly where a JSON decoder would,
// with its bytes as they were, or not at all.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`[{"id":1},{"id":"\u00e9"}, 3,null , [ ] ]`))
	f.Add([]byte(`{"items":[{"a":"]\"},{"}]}`))
	f.Add([]byte("\xef\xbb\xbf[]"))
	f.Add([]byte(`[1][2]`))
	f.Fuzz(func(t *testing.T, src []byte) {
		body, err := reader.CheckJSON(bytes.Clone(src))
		if err != nil || body == nil {
			return
		}
		spec, _, err := reader.Shape{}.Elements(body, false, 1<<28)
		var want []json.RawMessage
		if json.Unmarshal(body, &want) != nil || body[0] != '[' {
			if err == nil {
				t.Fatalf("%q was split", src)
			}
		}
		same(t, src, spec, want)
		got, _, err := reader.Shape{Path: declarative.Path("items"), Whole: "items"}.Elements(body, false, 1<<28)
		var object struct{ Items []json.RawMessage }
		if err == nil && json.Unmarshal(body, &object) == nil && bytes.Count(body, []byte("tems")) == 1 && !bytes.ContainsAny(body, `\`) {
			same(t, src, got, object.Items)
		}
	})
}

func same(t *testing.T, src []byte, got [][]byte, want []json.RawMessage) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a []byte, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%q: elements %q, want %q", src, got, want)
	}
}

// BenchmarkPage reads a page of 100 flat records from the body to slices with
// keys and marks, without the network.
func BenchmarkPage(b *testing.B) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"id": %d, "name": "a name of usual length", "email": "someone@example.test", "active": true, "score": 12.75, "at": "2024-05-06T07:08:09Z", "note": "a line of text as records have it"}`, 1234567+i))
	}
	body := "[" + strings.Join(list, ",") + "]"
	spec, err := declarative.Parse("b", []byte(feedFile("order: asc")))
	if err != nil {
		b.Fatal(err)
	}
	page := []byte(body)
	b.SetBytes(int64(len(page)))
	walk := declarative.PageReader(spec, "things")
	for b.Loop() {
		if n, err := walk(page, collection.Cursor{}); err != nil || n != 100 {
			b.Fatal(n, err)
		}
	}
}
