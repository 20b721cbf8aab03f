package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"collect/connectors/declarative/internal/notation"
)

// A Filter takes members out of records before anything else sees them. The zero
// Filter takes nothing.
//
// Only the bytes of those members go, each with one comma: all others stay as they
// came. A path goes into every element of an array on its way.
type Filter struct {
	keep, drop *branch // nil: everything is kept, nothing is dropped
	text       string
}

// A branch holds what follows a name in the paths of a filter. A leaf ends one.
type branch struct {
	leaf bool
	next map[string]*branch
}

// NewFilter returns a filter that keeps what is at fields, all if there are none,
// but for what is at drop.
func NewFilter(fields, drop []notation.Path) Filter {
	f := Filter{keep: branchOf(fields), drop: branchOf(drop)}
	for _, p := range fields {
		f.text += " keeps " + p.Text
	}
	for _, p := range drop {
		f.text += " drops " + p.Text
	}
	return f
}

// String names the filter, for comparison with another one; "" takes nothing.
func (f Filter) String() string { return f.text }

func branchOf(paths []notation.Path) *branch {
	if len(paths) == 0 {
		return nil
	}
	root := &branch{}
	for _, p := range paths {
		at := root
		for _, step := range p.Steps {
			step = strings.TrimSuffix(step, "[]") // as it is written for records
			if at.next == nil {
				at.next = map[string]*branch{}
			}
			if at.next[step] == nil {
				at.next[step] = &branch{}
			}
			at = at.next[step]
		}
		at.leaf = true
	}
	return root
}

// Keeps reports whether the value at a path stays in a record.
func (f Filter) Keeps(p notation.Path) bool {
	covers := func(b *branch) bool {
		for _, step := range p.Steps {
			if b = b.next[step]; b == nil || b.leaf {
				return b != nil
			}
		}
		return false
	}
	return (f.keep == nil || covers(f.keep)) && (f.drop == nil || !covers(f.drop))
}

// Apply returns the elements as they may be stored. Of what is no object, nothing
// can be told apart, and its length is all that stays.
func (f Filter) Apply(elements [][]byte) [][]byte {
	if f.keep == nil && f.drop == nil {
		return elements
	}
	for i, e := range elements {
		if e[0] != '{' {
			elements[i] = fmt.Appendf(nil, `"%d bytes that are no object, left out by fields and drop"`, len(e))
			continue
		}
		if f.keep != nil {
			e = pruned(e, f.keep, true)
		}
		if f.drop != nil {
			e = pruned(e, f.drop, false)
		}
		elements[i] = e
	}
	return elements
}

// pruned returns a record with the members alone that b leads to, or without them.
func pruned(record []byte, b *branch, keep bool) []byte {
	p := pruner{doc: record, keep: keep, out: make([]byte, 0, len(record))}
	p.object(b)
	if bytes.Equal(p.out, record) {
		return record
	}
	return slices.Clip(p.out)
}

// A pruner copies a valid JSON document from at on, without what is left out.
type pruner struct {
	doc, out []byte
	at       int
	keep     bool
}

// object copies the object that begins at p.at.
func (p *pruner) object(b *branch) {
	p.write(1)
	for first := true; ; {
		before := len(p.out)
		if !first {
			p.out = append(p.out, ',')
		}
		p.blanks()
		if p.doc[p.at] == '}' { // of an empty object
			p.write(1)
			return
		}
		name := p.at
		p.write(p.value())
		next := b.next[textOf(p.doc[name:p.at])]
		p.blanks()
		p.write(1) // the colon
		p.blanks()
		if p.member(next) {
			p.blanks()
			first = false
		} else {
			p.out = p.out[:before]
			p.at += p.value()
			for p.doc[p.at] <= ' ' {
				p.at++
			}
		}
		if p.at++; p.doc[p.at-1] == '}' {
			p.out = append(p.out, '}')
			return
		}
	}
}

// member copies the value at p.at, of a member to which next leads, or what is to
// stay of it. It reports false, and copies nothing, if that is nothing.
func (p *pruner) member(next *branch) bool {
	switch nested := p.doc[p.at] == '{' || p.doc[p.at] == '['; {
	case next == nil && p.keep, next != nil && next.leaf && !p.keep, next != nil && !next.leaf && p.keep && !nested:
		return false
	case next != nil && !next.leaf && nested:
		p.nested(next)
	default:
		p.write(p.value())
	}
	return true
}

// nested copies the object or the array at p.at. What is no object in an array of
// which a part is to stay becomes null: nothing can be told apart in it.
func (p *pruner) nested(b *branch) {
	if p.doc[p.at] == '{' {
		p.object(b)
		return
	}
	for p.write(1); ; p.write(1) {
		p.blanks()
		switch c := p.doc[p.at]; {
		case c == ']':
		case c == '{' || c == '[':
			p.nested(b)
		case p.keep:
			p.at += p.value()
			p.out = append(p.out, "null"...)
		default:
			p.write(p.value())
		}
		if p.blanks(); p.doc[p.at] == ']' {
			p.write(1)
			return
		}
	}
}

// write copies the next n bytes.
func (p *pruner) write(n int) {
	p.out = append(p.out, p.doc[p.at:p.at+n]...)
	p.at += n
}

// blanks copies what stands between two tokens.
func (p *pruner) blanks() {
	for p.doc[p.at] <= ' ' {
		p.write(1)
	}
}

// value returns the length of the value at p.at.
func (p *pruner) value() int {
	depth, text := 0, false
	for i := p.at; i < len(p.doc); i++ {
		switch c := p.doc[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			if text = !text; !text && depth == 0 {
				return i + 1 - p.at
			}
		case text:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i - p.at
			}
			if depth == 0 {
				return i + 1 - p.at
			}
		case depth == 0 && (c == ',' || c <= ' '):
			return i - p.at
		}
	}
	return len(p.doc) - p.at
}

// textOf returns the text of a JSON string.
func textOf(quoted []byte) (text string) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}
