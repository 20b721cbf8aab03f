// Package term lays text out for a terminal: colours, tables, and lines that
// fit it.
package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"collect/internal/lazy"
)

// Caps says what the place that shows a text can show.
type Caps struct {
	UTF8  bool
	Color bool
	Wide  bool // a file or a pipe: it has no width that a table must fit
}

// CapsOf returns the abilities of an output, by the environment's customs:
// the locale names the encoding (POSIX: LC_ALL, then LC_CTYPE, then LANG), and
// NO_COLOR outranks CLICOLOR_FORCE and FORCE_COLOR (no-color.org,
// bixense.com/clicolors).
func CapsOf(env func(string) string, terminal bool) Caps {
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = env(name); locale != "" {
			break
		}
	}
	locale = strings.ToLower(locale)
	c := Caps{UTF8: strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8"), Wide: !terminal}
	switch {
	case env("NO_COLOR") != "":
	case Truthy(env("CLICOLOR_FORCE")) || Truthy(env("FORCE_COLOR")):
		c.Color = true
	default:
		c.Color = terminal && env("TERM") != "dumb"
	}
	return c
}

// Truthy reports whether an environment variable says yes.
func Truthy(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// The colors that only add to a word that says the same (ECMA-48, SGR).
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

func (c Caps) Paint(color, s string) string {
	if !c.Color || color == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// Eighths are bars in pictures made of text: one column each, lowest first.
const Eighths = "▁▂▃▄▅▆▇█"

// plainGlyphs are the one-column stand-ins for our glyphs where the locale
// cannot show them. Bars, sparks and marks have alphabets of their own.
var plainGlyphs = map[rune]rune{
	'✓': 'v', '▸': '>', '‖': '=', '…': '~', '×': 'x', '·': '-',
	'█': '#', '░': '.', '–': '-', '’': '\'', '“': '"', '”': '"',
}

// Text returns s in the encoding of the output. What has no stand-in becomes
// a question mark of the same width.
func (c Caps) Text(s string) string {
	if c.UTF8 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch plain, ok := plainGlyphs[r]; {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case ok:
			b.WriteRune(plain)
		default:
			b.WriteString(strings.Repeat("?", uniseg.StringWidth(string(r))))
		}
	}
	return b.String()
}

// Width returns the columns that s takes on a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Fit returns s cut to at most n columns, with an ellipsis where it was cut.
func Fit(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > n-1 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// Pad returns s with spaces up to n columns, to its left if right is true.
func Pad(s string, n int, right bool) string {
	space := strings.Repeat(" ", max(0, n-Width(s)))
	if right {
		return space + s
	}
	return s + space
}

// Wrap returns lead and text in lines of at most limit columns, broken at
// spaces and hanging under the first word of text. A command of ours is not
// broken, whatever its length: it is there to be copied.
func Wrap(lead, text string, limit int) []string {
	hangs := Width(lead)
	indent := strings.Repeat(" ", hangs)
	var lines []string
	line, used, empty := lead, hangs, true
	for _, word := range phrases(text) {
		long := Width(word)
		if !empty && used+1+long > limit {
			lines = append(lines, line)
			line, used, empty = indent, hangs, true
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+long, false
	}
	return append(lines, strings.TrimRight(line, " "))
}

// unit matches what a number is not parted from.
var unit = lazy.Regexp(`^(ns|µs|ms|s|min|h|B|KB|MB|GB|KiB|MiB|GiB)[.,;:)]*$`)

// phrases returns the words of text. A number and its unit are one of them, and
// so is a command of ours: collect, its verb and what it is about, and its flags
// with their values.
func phrases(text string) []string {
	var all []string
	more := 0 // words that belong to the phrase before them
	for word := range strings.FieldsSeq(text) {
		flag := strings.HasPrefix(word, "--")
		if len(all) > 0 && (more > 0 || flag && strings.HasPrefix(all[len(all)-1], "collect ")) {
			all[len(all)-1] += " " + word
			more--
			switch {
			case flag:
				more = 1
			case word == "freeze" || word == "breaker": // which have verbs of their own
				more++
			}
			if strings.ContainsAny(word[len(word)-1:], ".,;:)`") {
				more = 0
			}
			continue
		}
		more = 0
		if last := len(all) - 1; last >= 0 && unicode.IsDigit(rune(all[last][len(all[last])-1])) && unit().MatchString(word) {
			all[last] += " " + word
			continue
		}
		if word == "collect" {
			more = 2
		}
		all = append(all, word)
	}
	return all
}
