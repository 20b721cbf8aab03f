package yamlfile_test

import (
	"strings"
	"testing"

	"collect/internal/yamlfile"
)

// TestWithin: a block in every way of writing it has what stands in it, and not
// what stands behind it. «» mark where the block begins, and the place.
func TestWithin(t *testing.T) {
	for _, tc := range []struct {
		src  string
		want bool
	}{
		{"a:\n  «b:\n    c: 1\n    »d: 2\n", true},
		{"a:\n  «b:\n    c: 1\n  »d: 2\n", false},
		{"a:\n  «b: {c: 1, »d: 2}\n", true},
		{"a:\n  «b: {c: 1}\n  »d: 2\n", false},
		{"a: {«b: {c: 1}, »d: 2}\n", false},
		{"a: «{c: {e: 1}, »d: 2}\n", true},
		{"a: «{c: 1}\nd: »2\n", false},
		{"a: «{c: 1,\n  »d: 2}\n", true},
		{"a:\n  b«: 1\n  »d: 2\n", true}, // a block is known by the colon of its first key
		{"a:\n  b«: 1\n»d: 2\n", false},
		{"a: {«b: »x, c: 1}\n", true},
		{"a: {«b: x, »c: 1}\n", false},
		{"a: »1\n«b: 2\n", false},
		{"x: 1\n«a:\n\n  ü: 1\n  »c: 2\n", true},
		{"«connector: a\nb: »2\n", true},
	} {
		place := func(mark string) yamlfile.Span {
			before, _, _ := strings.Cut(strings.NewReplacer("«", "", "»", "").Replace(tc.src[:strings.Index(tc.src, mark)]), mark)
			line := strings.Count(before, "\n")
			return yamlfile.Span{Line: line + 1, Column: len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1, Length: 1}
		}
		src := strings.NewReplacer("«", "", "»", "").Replace(tc.src)
		if got := yamlfile.Within([]byte(src), place("«"), place("»")); got != tc.want {
			t.Errorf("%q: %t, want %t", tc.src, got, tc.want)
		}
	}
}
