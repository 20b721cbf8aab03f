package setup

import (
	"slices"
	"strings"

	"collect/internal/lazy"
)

// Lines are a YAML file as it is written. Only what is written in blocks, a key on a line
// of its own, can be added to.
type lines struct {
	text []string
	end  string // of a line: as the file has it
}

func document(src []byte) *lines {
	d := &lines{end: "\n"}
	text := string(src)
	if strings.Contains(text, "\r\n") {
		d.end = "\r\n"
	}
	d.text = strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	return d
}

func (d *lines) bytes() []byte { return []byte(strings.Join(d.text, d.end) + d.end) }

// A block is a key with the lines under it.
type block struct {
	line   int // of the key; -1: the file itself
	last   int // the last line that belongs to it
	indent int // of the key
}

// step is how far the lines are indented that are added under a key with none.
const step = 2

// whole returns the block of the file.
func (d *lines) whole() block { return block{-1, len(d.text) - 1, -step} }

// find returns the line of a key, by the keys above it; -1 if there is none.
func (d *lines) find(path ...string) int {
	b := d.whole()
	for _, key := range path {
		inner, ok := d.under(b, key)
		if !ok {
			return -1
		}
		b = inner
	}
	return b.line
}

// keyLine matches a key with what stands behind it.
var keyLine = lazy.Regexp(`^( *)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'\[\]{}][^:#]*?) *:(?: +(.*)|)$`)

// under returns the block of a key inside b.
func (d *lines) under(b block, key string) (block, bool) {
	indent := d.childIndent(b)
	for i := b.line + 1; i <= b.last; i++ {
		m := keyLine().FindStringSubmatch(d.text[i])
		if m == nil || len(m[1]) != indent || strings.Trim(m[2], `"'`) != key {
			continue
		}
		inner := block{i, i, indent}
		for j := i + 1; j <= b.last; j++ {
			switch n := indentOf(d.text[j]); {
			case n < 0: // blank: it belongs to what comes behind it, if that does
			case n > indent:
				inner.last = j
			default:
				return inner, true
			}
		}
		return inner, true
	}
	return block{}, false
}

// childIndent returns how far the keys in b are indented.
func (d *lines) childIndent(b block) int {
	for i := b.line + 1; i <= b.last; i++ {
		if n := indentOf(d.text[i]); n >= 0 && !strings.HasPrefix(strings.TrimSpace(d.text[i]), "#") {
			return n
		}
	}
	return b.indent + step
}

// indentOf returns the spaces in front of a line; -1 if nothing is on it.
func indentOf(line string) int {
	if strings.TrimSpace(line) == "" {
		return -1
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

// add adds lines under the keys of path, which are made if they are not there. Keys that
// are there, in the lines as well, stay as they are.
func (d *lines) add(path []string, more ...string) error {
	b := d.whole()
	for i, key := range path {
		inner, ok := d.under(b, key)
		if !ok {
			d.insert(b, path[i:], more)
			return nil
		}
		rest := strings.TrimSpace(keyLine().FindStringSubmatch(d.text[inner.line])[3])
		if rest != "" && !strings.HasPrefix(rest, "#") {
			return &ByHandError{key, nested(0, path, more)}
		}
		b = inner
	}
	fresh := slices.DeleteFunc(slices.Clone(more), func(line string) bool {
		_, there := d.under(b, keyName(line))
		return there
	})
	d.insert(b, nil, fresh)
	return nil
}

// keyName returns the key of a line that is about to be added.
func keyName(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// insert puts keys, each below the one before it, and lines below them at the end of b.
func (d *lines) insert(b block, keys, more []string) {
	if len(more) > 0 {
		d.text = slices.Insert(d.text, b.last+1, nested(d.childIndent(b), keys, more)...)
	}
}

// nested returns lines below keys.
func nested(indent int, keys, more []string) (all []string) {
	for _, key := range keys {
		all = append(all, strings.Repeat(" ", indent)+scalar(key)+":")
		indent += step
	}
	for _, line := range more {
		all = append(all, strings.Repeat(" ", indent)+line)
	}
	return all
}

// Added returns the lines that were added to a file, each with a plus in front, and one
// line before each group of them.
func Added(old, new []byte) (shown []string) {
	was, is := document(old).text, document(new).text
	if len(old) == 0 {
		was = nil
	}
	i := 0
	for j, line := range is {
		if i < len(was) && was[i] == line {
			i++
			continue
		}
		if j > 0 && len(was) > 0 && i > 0 && is[j-1] == was[i-1] {
			shown = append(shown, "  "+is[j-1])
		}
		shown = append(shown, "+ "+line)
	}
	return shown
}
