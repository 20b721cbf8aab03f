package words

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
		{"at postgres://ana:s3cr3t@db.test/x?search_path=own, it said", "at postgres://ana@db.test/x?search_path=own, it said"},
		{"postgresql://ana@db.test/x?sslpassword=s3cr3t", "postgresql://ana@db.test/x"},
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
