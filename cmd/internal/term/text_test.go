package term

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain text", "plain text"},
		{"two\nlines\r\nand\ttabs", "two lines  and tabs"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]0;title\x07after", "after"},
		{"\x1b]8;;https://evil.test\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1bPdevice control\x1b\\after", "after"},
		{"before\x1b]0;never ended", "before"},
		{"\u009b31mC1", "C1"},
		{"bell\x07 back\x08 del\x7f nul\x00", "bell back del nul"},
		{"right\u202eto left", "rightto left"},
		{"\xff\xfe", "\uFFFD"},
		{"e\u0301 stays, so does \U0001F469\u200d\U0001F52C", "e\u0301 stays, so does \U0001F469\u200d\U0001F52C"},
		{"get https://user:pw@api.test/v1/items?token=abc#frag: EOF", "get https://api.test/v1/items EOF"},
		{"https://user:p@ss@api.test/v1", "https://api.test/v1"},
		{`"https://api.test/?q=1", then`, `"https://api.test/", then`},
		{"a \x1b", "a"},
	}
	for _, test := range tests {
		if got := Clean(test.in); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	if got := utf8.RuneCountInString(Clean(strings.Repeat("ä", 10_000))); got != cleanLimit {
		t.Errorf("clean of 10,000 letters has %d, want %d", got, cleanLimit)
	}
}

// Whatever a provider says, it moves no cursor, rings no bell, turns no text
// round and begins no new line.
func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m\x1b]0;t\x07\u009b\u202e\nhttps://a:b@c/?d")
	f.Add("\x1b\x1b[\x1b\x1b]x")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		for _, r := range got {
			if unicode.IsControl(r) || r == '\u202e' || r == '\u2028' {
				t.Errorf("clean(%q) = %q, which holds %U", s, got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Errorf("clean(%q) = %q, which is not UTF-8", s, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("clean(%q) = %q, and cleaned again %q", s, got, again)
		}
	})
}

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
		{"LANG=C.utf8", false, Caps{UTF8: true}},
		{"LANG=C.utf8 LC_ALL=C", true, Caps{Color: true}},
		{"LANG=C LC_CTYPE=C.UTF-8", true, Caps{UTF8: true, Color: true}},
		{"LANG=C.utf8 NO_COLOR=1", true, Caps{UTF8: true}},
		{"LANG=C.utf8 NO_COLOR=1 FORCE_COLOR=1", true, Caps{UTF8: true}},
		{"LANG=C.utf8 CLICOLOR_FORCE=1", false, Caps{UTF8: true, Color: true}},
		{"LANG=C.utf8 FORCE_COLOR=0", false, Caps{UTF8: true}},
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

// Paces on one line are in one unit, that of the slowest.
func TestRates(t *testing.T) {
	for _, test := range []struct {
		paces []float64
		want  string
	}{
		{[]float64{4, 2}, "4.0/s 2.0/s"},
		{[]float64{4, 0.5}, "240/min 30/min"},
		{[]float64{0.5, 0}, "30/min 0/min"},
		{[]float64{2, 0.01, 0.5}, "7,200/h 36/h 1,800/h"},
		{[]float64{150, 157.4}, "150/s 157/s"},
	} {
		if got := strings.Join(Rates(test.paces...), " "); got != test.want {
			t.Errorf("rates(%v) = %q, want %q", test.paces, got, test.want)
		}
	}
}
