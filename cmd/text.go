package cmd

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// caps says what the place that shows a text can show.
type caps struct {
	UTF8  bool
	Color bool
}

// capsOf returns the abilities of an output, by the environment's customs:
// the locale names the encoding (POSIX: LC_ALL, then LC_CTYPE, then LANG), and
// NO_COLOR outranks CLICOLOR_FORCE and FORCE_COLOR (no-color.org,
// bixense.com/clicolors).
func capsOf(env func(string) string, terminal bool) caps {
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = env(name); locale != "" {
			break
		}
	}
	locale = strings.ToLower(locale)
	c := caps{UTF8: strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")}
	switch {
	case env("NO_COLOR") != "":
	case truthy(env("CLICOLOR_FORCE")) || truthy(env("FORCE_COLOR")):
		c.Color = true
	default:
		c.Color = terminal && env("TERM") != "dumb"
	}
	return c
}

// truthy reports whether an environment variable says yes.
func truthy(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// The colors that only add to a word that says the same (ECMA-48, SGR).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (c caps) paint(color, s string) string {
	if !c.Color || color == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// plainGlyphs are the one-column stand-ins for our glyphs where the locale
// cannot show them. Bars, sparks and marks have alphabets of their own.
var plainGlyphs = map[rune]rune{
	'✓': 'v', '▸': '>', '‖': '=', '…': '~', '×': 'x', '·': '-',
	'█': '#', '░': '.', '–': '-', '’': '\'', '“': '"', '”': '"',
}

// text returns s in the encoding of the output. What has no stand-in becomes
// a question mark of the same width.
func (c caps) text(s string) string {
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

// width returns the columns that s takes on a terminal.
func width(s string) int { return uniseg.StringWidth(s) }

// fit returns s cut to at most n columns, with an ellipsis where it was cut.
func fit(s string, n int) string {
	if width(s) <= n {
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

// pad returns s with spaces up to n columns, to its left if right is true.
func pad(s string, n int, right bool) string {
	space := strings.Repeat(" ", max(0, n-width(s)))
	if right {
		return space + s
	}
	return s + space
}

// Escape sequences a terminal acts on (ECMA-48): CSI, the string sequences
// (OSC, DCS, SOS, PM, APC) up to their terminator, and the two-byte ones.
var escapes = regexp.MustCompile("(?s)(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f]).*?(?:\x07|\x1b\\\\|\u009c|$)" +
	"|\x1b[ -/]*[0-~]?")

// What may stand behind the host of a URL: the user's name before it, and the
// path's query and fragment.
var urlSecrets = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^\s/?#"']*@)?([^\s?#"']*)(?:[?#][^\s"']*)?`)

// cleanLimit bounds foreign text in one line of ours; a page of HTML is not a
// message.
const cleanLimit = 300

// clean returns text that came from outside fit to be shown: one line, no
// terminal escapes, no control or bidirectional characters, no credentials or
// queries of URLs, and no more than 300 characters.
func clean(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, s)
	s = urlSecrets.ReplaceAllString(s, "$1$2")
	if utf8.RuneCountInString(s) > cleanLimit {
		s = string([]rune(s)[:cleanLimit-1]) + "…"
	}
	return strings.TrimSpace(s)
}

// wrap returns lead and text in lines of at most limit columns, broken at
// spaces and hanging under the first word of text. A command of ours is not
// broken, whatever its length: it is there to be copied.
func wrap(lead, text string, limit int) []string {
	indent := strings.Repeat(" ", width(lead))
	var lines []string
	line, empty := lead, true
	for _, word := range phrases(text) {
		if !empty && width(line)+1+width(word) > limit {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, strings.TrimRight(line, " "))
}

// phrases returns the words of text, a command of ours as one of them: collect,
// its verb and what it is about, and its flags with their values.
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
		if word == "collect" {
			more = 2
		}
		all = append(all, word)
	}
	return all
}

// nearest returns the one of names that word was probably meant to be, by
// edit distance: at most 2 edits, and fewer than half of the word. It returns
// "" if there is none.
func nearest(word string, names []string) string {
	best, limit := "", min(2, (len(word)-1)/2)
	for _, name := range names {
		if d := edits(strings.ToLower(word), strings.ToLower(name)); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// edits returns the optimal string alignment distance of a and b: insertions,
// deletions, substitutions and swaps of neighbours.
func edits(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}

// cleanLine is [clean] for a line whose spaces matter: one of an excerpt.
func cleanLine(s string) string {
	body := strings.TrimLeft(s, " ")
	return s[:len(s)-len(body)] + clean(body)
}
