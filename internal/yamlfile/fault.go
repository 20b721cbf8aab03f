package yamlfile

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"collect/internal/lazy"
)

// A Fault is a mistake in a file, at the place where it was made.
type Fault struct {
	At      Span
	Message string
	Label   string // what the caret says; "" for nothing
	Note    string
	Hide    bool // the text at the place may be a secret
}

// A Span is a place in the file: length characters from a column on.
type Span struct {
	Line, Column, Length int
}

// Compare orders places as they are in the file.
func (s Span) Compare(t Span) int {
	return cmp.Or(cmp.Compare(s.Line, t.Line), cmp.Compare(s.Column, t.Column))
}

// inlineSecret matches what stands before the value of a key that is likely
// to hold a credential. A reference to one, and an address, may be seen.
var inlineSecret = lazy.Regexp(`(?i)((?:bearer|passw|token|secret|authorization|api_?key|value)[a-z_]*)["']?[ \t]*:[ \t]+`)

// inlineQuery matches the same in the query of an address.
var inlineQuery = lazy.Regexp(`(?i)([?&][^=&\s]*(?:passw|token|secret|key|sig)[^=&\s]*=)[^&\s"'$]+`)

// Excerpt draws the line of at and the one before it, as
//
//	3 |   acme:
//	4 |     celling_per_second: 4.0
//	  |     ^^^^^^^^^^^^^^^^^^ not a key of a provider
//
// What looks like a credential that was written into the file is left out.
func (f Fault) Excerpt(src []byte) string {
	lines := strings.Split(string(unified(src)), "\n")
	if f.At.Line < 1 || f.At.Line > len(lines) {
		return ""
	}
	width := len(fmt.Sprint(f.At.Line))
	var b strings.Builder
	if f.At.Line > 1 {
		fmt.Fprintf(&b, "%*d | %s\n", width, f.At.Line-1, masked(lines[f.At.Line-2]))
	}
	line, length := masked(lines[f.At.Line-1]), f.At.Length
	if f.Hide {
		line = cut(line, f.At.Column-1) + "…"
		length = 1
	}
	fmt.Fprintf(&b, "%d | %s\n", f.At.Line, line)
	room := utf8.RuneCountInString(line) - (f.At.Column - 1)
	carets := strings.Repeat("^", max(1, min(length, room)))
	pad := strings.Repeat(" ", max(0, f.At.Column-1))
	fmt.Fprintf(&b, "%*s | %s", width, "", strings.TrimRight(pad+carets+" "+f.Label, " "))
	return b.String()
}

func masked(line string) string {
	line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\r")
	const longest = 200 // characters; an excerpt is for people
	line = inlineQuery().ReplaceAllString(cut(line, longest), "$1…")
	for _, at := range inlineSecret().FindAllStringSubmatchIndex(line, -1) {
		key, value := line[at[2]:at[3]], line[at[1]:]
		named := strings.HasPrefix(value, "{") || strings.HasPrefix(value, "#") || strings.HasPrefix(strings.TrimLeft(value, `"'`), "${")
		if !named && !strings.HasSuffix(key, "_url") && strings.TrimSpace(value) != "" {
			return line[:at[1]] + "…"
		}
	}
	return line
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
