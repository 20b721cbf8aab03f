package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFitAndPad(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, ""}, {"", 0, ""},
		{"表計算", 6, "表計算"}, {"表計算", 5, "表計…"}, {"表計算", 4, "表…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	}
	for _, test := range tests {
		got := Fit(test.s, test.n)
		if got != test.want || Width(got) > test.n {
			t.Errorf("fit(%q, %d) = %q, want %q", test.s, test.n, got, test.want)
		}
	}
	if got, want := Pad("表", 4, true), "  表"; got != want {
		t.Errorf("pad = %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
	}
	got := strings.Join(Wrap("  why    ", "one two three fourfivesixseven eight", 20), "\n")
	want := "  why    one two\n         three\n         fourfivesixseven\n         eight"
	same("wrap", got, want)
	got = strings.Join(Wrap("", "go on: collect resume tickets --state my.db, or collect gaps tickets (which says more)", 20), "\n")
	same("a command is not broken", got, "go on:\ncollect resume tickets --state my.db,\nor\ncollect gaps tickets\n(which says more)")
	got = strings.Join(Wrap("", "collect freeze release tickets --reason WHY", 20), "\n")
	same("a command with two verbs", got, "collect freeze release tickets --reason WHY")
	got = strings.Join(Wrap("", "pacing 4.4 s, before 0.3 s, all", 14), "\n")
	same("a number keeps its unit", got, "pacing 4.4 s,\nbefore 0.3 s,\nall")
	got = strings.Join(Wrap("", "before that 0.3 s", 15), "\n")
	same("a number is not parted from its unit", got, "before that\n0.3 s")
	if got := Wrap("  do     ", "", 20); len(got) != 1 || got[0] != "  do" {
		t.Errorf("wrap of nothing = %q", got)
	}
}

func TestCaps(t *testing.T) {
	tests := []struct {
		env      string
		terminal bool
		want     Caps
	}{
		{"LANG=C", true, Caps{Color: true}},
		{"LANG=de_DE.UTF-8", true, Caps{UTF8: true, Color: true}},
		{"LANG=C.utf8", false, Caps{UTF8: true, Wide: true}},
		{"LANG=C.utf8 LC_ALL=C", true, Caps{Color: true}},
		{"LANG=C LC_CTYPE=C.UTF-8", true, Caps{UTF8: true, Color: true}},
		{"LANG=C.utf8 NO_COLOR=1", true, Caps{UTF8: true}},
		{"LANG=C.utf8 NO_COLOR=1 FORCE_COLOR=1", true, Caps{UTF8: true}},
		{"LANG=C.utf8 CLICOLOR_FORCE=1", false, Caps{UTF8: true, Color: true, Wide: true}},
		{"LANG=C.utf8 FORCE_COLOR=0", false, Caps{UTF8: true, Wide: true}},
		{"LANG=C.utf8 TERM=dumb", true, Caps{UTF8: true}},
	}
	for _, test := range tests {
		if got := CapsOf(environ(test.env), test.terminal); got != test.want {
			t.Errorf("capsOf(%s, terminal %v) = %+v, want %+v", test.env, test.terminal, got, test.want)
		}
	}
}

// environ returns an environment of NAME=value words.
func environ(words string) func(string) string {
	values := map[string]string{}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// No width-1 glyph of ours may become two columns, or none, in a locale
// without UTF-8.
func TestStandInsKeepTheirWidth(t *testing.T) {
	for glyph, plain := range plainGlyphs {
		if Width(string(glyph)) != 1 || plain >= utf8.RuneSelf {
			t.Errorf("glyph %q takes %d columns and stands in as %q", glyph, Width(string(glyph)), plain)
		}
	}
	if got, want := (Caps{}).Text("✓ 表 – ä"), "v ?? - ?"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}
