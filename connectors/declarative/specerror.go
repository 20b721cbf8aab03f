package declarative

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A SpecError is a mistake in a connector file, at the place where it was
// made. Line and Column count from 1; a column is a character.
type SpecError struct {
	Path         string
	Line, Column int
	Message      string // what is wrong, in one line
	Note         string // what may help; "" if nothing
	Source       string // the line in question, and the one before it, with a caret below; never the value of a secret
}

func (e *SpecError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}

// A fault is a SpecError before its excerpt is drawn.
type fault struct {
	at      span
	message string
	label   string // what the caret says; "" for nothing
	note    string
	hide    bool // the text at the place may be a secret
}

// A span is a place in the file: length characters from a column on.
type span struct {
	line, column, length int
}

// inlineSecret matches what stands before the value of a key that is likely
// to hold a credential.
var inlineSecret = regexp.MustCompile(`(?i)(bearer|password|token|secret|authorization|api_?key|value)["']?[ \t]*:[ \t]+`)

// excerpt draws the line of at and the one before it, as
//
//	3 |   acme:
//	4 |     celling_per_second: 4.0
//	  |     ^^^^^^^^^^^^^^^^^^ not a key of a provider
//
// What looks like a credential that was written into the file is left out.
func excerpt(src []byte, f fault) string {
	lines := strings.Split(string(src), "\n")
	if f.at.line < 1 || f.at.line > len(lines) {
		return ""
	}
	width := len(fmt.Sprint(f.at.line))
	var b strings.Builder
	if f.at.line > 1 {
		fmt.Fprintf(&b, "%*d | %s\n", width, f.at.line-1, masked(lines[f.at.line-2]))
	}
	line, length := masked(lines[f.at.line-1]), f.at.length
	if f.hide {
		line = cut(line, f.at.column-1) + "…"
		length = 1
	}
	fmt.Fprintf(&b, "%d | %s\n", f.at.line, line)
	room := utf8.RuneCountInString(line) - (f.at.column - 1)
	carets := strings.Repeat("^", max(1, min(length, room)))
	pad := strings.Repeat(" ", max(0, f.at.column-1))
	fmt.Fprintf(&b, "%*s | %s", width, "", strings.TrimRight(pad+carets+" "+f.label, " "))
	return b.String()
}

func masked(line string) string {
	line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\r")
	const longest = 200 // characters; an excerpt is for people
	line = cut(line, longest)
	loc := inlineSecret.FindStringIndex(line)
	if loc == nil {
		return line
	}
	value := line[loc[1]:]
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "#") || strings.Contains(value, "${") || strings.TrimSpace(value) == "" {
		return line
	}
	return line[:loc[1]] + "…"
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

// similar returns the name of names that is nearest to got, or "" if none is
// near: at most a third of its letters differ, and no more than 3.
func similar(got string, names []string) string {
	best, nearest := "", min(3, max(1, len(got)/3))+1
	for _, name := range names {
		if d := distance(got, name); d < nearest {
			best, nearest = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour (optimal string alignment).
func distance(a, b string) int {
	const longest = 64 // no key of the language is longer
	if len(a) > longest || len(b) > longest {
		return longest
	}
	d := make([][]int, len(a)+1) // d[i][j]: from the first i letters of a to the first j of b
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
