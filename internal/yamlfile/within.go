package yamlfile

import "strings"

// Within reports whether inner stands in the block that begins at outer: at its
// bracket, at the key above it, or at its first key. A key that a block lacks may
// be one that is misspelt in it.
func Within(src []byte, outer, inner Span) bool {
	if outer.Line < 1 || outer.Line == 1 && outer.Column == 1 {
		return true // of the file, or of what could not be read
	}
	lines := strings.Split(string(unified(src)), "\n")
	if inner.Compare(outer) <= 0 || inner.Line > len(lines) {
		return false
	}
	least := indent(lines[outer.Line-1])
	if outer.Column-1 == least {
		least++ // the key stands alone, and its block further right
	}
	open, opened := 0, false // brackets
	for n := outer.Line; n <= inner.Line; n++ {
		text := []rune(lines[n-1])
		from, to := 0, len(text)
		if n == outer.Line {
			from = min(outer.Column-1, len(text))
		} else if open == 0 && strings.TrimSpace(lines[n-1]) != "" && (opened || indent(lines[n-1]) < least) {
			return false
		}
		if n == inner.Line {
			to = min(inner.Column-1, len(text))
		}
		for _, r := range text[from:max(from, to)] {
			switch r {
			case '{', '[':
				open, opened = open+1, opened || n == outer.Line
			case '}', ']':
				open--
			}
			if open < 0 || r == ',' && open == 0 && n == outer.Line {
				return false
			}
		}
	}
	return open > 0 || !opened
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
