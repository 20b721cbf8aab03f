// Package texttest compares texts of many lines in tests.
package texttest

import (
	"strings"
	"testing"
)

// Same reports got if it is not want: the first line that differs, and the
// whole of it. What names the text.
func Same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		gi, wi := "(no line)", "(no line)"
		if i < len(g) {
			gi = g[i]
		}
		if i < len(w) {
			wi = w[i]
		}
		if gi != wi {
			t.Errorf("%s: line %d\n got: %q\nwant: %q\n\nwhole:\n%s", what, i+1, gi, wi, got)
			return
		}
	}
}
