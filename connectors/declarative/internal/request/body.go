package request

import (
	"bytes"
	"encoding/json"

	"collect/connectors/declarative/internal/notation"
)

// A Body is what a request is sent with. It is a JSON document or a form.
type Body struct {
	JSON    *Node
	Form    []Field
	GraphQL bool // JSON is a query with its variables
}

// A Node is a value of a JSON body: an object, an array, a text, or a constant as
// the file has it.
type Node struct {
	Members  []Member
	Items    []Node
	Text     notation.Template
	Constant json.RawMessage // what nothing stands in: a number, null, {}
}

// A Member is a member of an object.
type Member struct {
	Name  string
	Value Node
}

// Refers reports whether any part of the body uses the value of that name.
func (b Body) Refers(name string) bool {
	for _, f := range b.Form {
		if f.Value.Refers(name) {
			return true
		}
	}
	found := false
	if b.JSON != nil {
		b.JSON.each(func(n *Node) { found = found || n.Text.Refers(name) })
	}
	return found
}

// Types reports whether the value of that name stands alone somewhere in a JSON
// body, so that it is sent as what it is: a number is one there.
func (b Body) Types(name string) bool {
	found := false
	if b.JSON != nil {
		b.JSON.each(func(n *Node) { found = found || n.alone() == name })
	}
	return found
}

// Source returns what the file says of the body.
func (b Body) Source() string {
	var source []byte
	if b.JSON != nil {
		source, _ = b.JSON.write(nil, func(n *Node) (json.RawMessage, bool) { return quoted(n.Text.Text), true })
	}
	for _, f := range b.Form {
		source = append(source, f.Name+"="+f.Value.Text+"\n"...)
	}
	return string(source)
}

// bytes returns the body of one page, and its kind; "" if there is none.
func (b Body) bytes(s notation.Scope) (body []byte, kind string) {
	switch {
	case b.JSON != nil:
		body, ok := b.JSON.write(nil, func(n *Node) (json.RawMessage, bool) { return n.value(s) })
		if !ok { // all of it was left out
			body = []byte("{}")
		}
		return body, "application/json"
	case b.Form != nil:
		var form query
		form.fields(b.Form, s)
		return []byte(form.String()), "application/x-www-form-urlencoded"
	}
	return nil, ""
}

// alone returns the name that a text refers to if it is that reference and
// nothing else; "" if it is not.
func (n *Node) alone() string {
	if len(n.Text.Parts) == 1 {
		return n.Text.Parts[0].Name
	}
	return ""
}

// each calls see with n and all nodes below it.
func (n *Node) each(see func(*Node)) {
	see(n)
	for i := range n.Members {
		n.Members[i].Value.each(see)
	}
	for i := range n.Items {
		n.Items[i].each(see)
	}
}

// value returns a text as JSON; false if it lacks a value.
func (n *Node) value(s notation.Scope) (json.RawMessage, bool) {
	if s.Lacks(n.Text) {
		return nil, false
	}
	if raw, ok := s.Raw[n.alone()]; ok {
		return raw, true
	}
	return quoted(n.Text.Expand(s)), true
}

// write appends n to b as JSON, with its texts as text has them. It returns false
// if n is left out: a text that lacks a value, and an object or an array in which
// only such texts were.
func (n *Node) write(b []byte, text func(*Node) (json.RawMessage, bool)) ([]byte, bool) {
	switch {
	case n.Constant != nil:
		return append(b, n.Constant...), true
	case n.Members == nil && n.Items == nil:
		value, ok := text(n)
		return append(b, value...), ok
	}
	opening, closing, start := byte('{'), byte('}'), len(b)
	if n.Items != nil {
		opening, closing = '[', ']'
	}
	b = append(b, opening)
	some := false
	one := func(name json.RawMessage, value *Node) {
		before := len(b)
		if some {
			b = append(b, ',')
		}
		b = append(b, name...)
		written, ok := value.write(b, text)
		if b = written; !ok {
			b = b[:before]
			return
		}
		some = true
	}
	for i := range n.Members {
		one(append(quoted(n.Members[i].Name), ':'), &n.Members[i].Value)
	}
	for i := range n.Items {
		one(nil, &n.Items[i])
	}
	if !some {
		return b[:start], false
	}
	return append(b, closing), true
}

// quoted returns text as a JSON string.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
