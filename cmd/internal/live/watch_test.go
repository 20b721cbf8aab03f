package live

import (
	"slices"
	"strings"
	"testing"
)

func TestScreenOf(t *testing.T) {
	for name, test := range map[string]struct {
		text, note    string
		columns, rows int
		want          []string
	}{
		"room left":   {"one\ntwo\n", "", 80, 4, []string{"one", "two", "", "q quits"}},
		"just enough": {"one\ntwo\n", "", 80, 3, []string{"one", "two", "q quits"}},
		"too much":    {"one\ntwo\nthree\n", "", 80, 3, []string{"one", "two", "1 more below; q quits"}},
		"one row":     {"one\n", "", 80, 1, []string{"1 more below; q quits"}},
		"a note":      {"one\ntwo\nthree\n", "no answer", 80, 3, []string{"one", "two", "no answer; 1 more below; q quits"}},
	} {
		if got := screenOf(Picture{test.text, test.note}, test.columns, test.rows); !slices.Equal(got, test.want) {
			t.Errorf("%s: the screen is %q, want %q", name, got, test.want)
		}
	}
}

func TestPressedQuit(t *testing.T) {
	for keys, want := range map[string]bool{"q": true, "xyz\x1b[Aq": true, "\x03": true, "xyz": false, "": false} {
		if got := pressedQuit(strings.NewReader(keys)); got != want {
			t.Errorf("after the keys %q it quits: %v, want %v", keys, got, want)
		}
	}
}
