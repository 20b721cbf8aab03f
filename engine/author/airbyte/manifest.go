package airbyte

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"collect/internal/yamlfile"
)

// A node is a value of a manifest, in which references and parameters stand for
// what they mean.
type node struct {
	name    string // the key it stands under
	line    int
	text    string // of a scalar
	quoted  bool   // a scalar that is certainly text
	null    bool
	members []*node
	items   []*node
	kind    kind
	read    bool             // it was translated, or needs no translation
	params  map[string]*node // `$parameters` that hold here
}

type kind int

const (
	scalar kind = iota
	mapping
	sequence
)

// mostNodes bounds a manifest whose references are followed, and mostNested how
// deep they lead.
const (
	mostNodes  = 500_000
	mostNested = 100
)

// A reader follows references and hands parameters down.
type reader struct {
	root    ast.Node
	anchors map[string]ast.Node
	nodes   int
}

// read parses a manifest.
func read(src []byte) (*node, error) {
	if len(src) > yamlfile.Longest {
		return nil, fmt.Errorf("the manifest is longer than %d bytes", yamlfile.Longest)
	}
	if line, _ := yamlfile.TooNested(src); line != 0 {
		return nil, fmt.Errorf("line %d: more than %d brackets or dashes are open here", line, yamlfile.MostNested)
	}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, errors.New(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, errors.New("the manifest is empty")
	}
	r := &reader{root: file.Docs[0].Body, anchors: map[string]ast.Node{}}
	ast.Walk(anchors(r.anchors), r.root)
	return r.node("", r.root, nil, 0)
}

// anchors notes what each anchor stands for.
type anchors map[string]ast.Node

func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a[anchor.Name.String()] = anchor.Value
	}
	return a
}

func (r *reader) node(name string, n ast.Node, params map[string]*node, depth int) (*node, error) {
	if depth > mostNested {
		return nil, fmt.Errorf("line %d: references lead in a circle", lineOf(n))
	}
	if r.nodes++; r.nodes > mostNodes {
		return nil, fmt.Errorf("the manifest has more than %d values where its references are followed", mostNodes)
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		return r.node(name, v.Value, params, depth+1)
	case *ast.TagNode:
		return r.node(name, v.Value, params, depth+1)
	case *ast.AliasNode:
		to, ok := r.anchors[v.Value.String()]
		if !ok {
			return nil, fmt.Errorf("line %d: no anchor %s", lineOf(n), v.Value)
		}
		return r.node(name, to, params, depth+1)
	}
	out := &node{name: name, line: lineOf(n), params: params}
	switch v := n.(type) {
	case *ast.MappingNode:
		return r.mapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.kind = sequence
		for _, item := range v.Values {
			inner, err := r.node("", item, params, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, inner)
		}
	case *ast.LiteralNode:
		out.text, out.quoted = strings.TrimRight(v.Value.Value, "\n"), true
	case *ast.StringNode:
		out.text, out.quoted = v.Value, true
		if path, ok := strings.CutPrefix(v.Value, "*ref("); ok { // how manifests of 2022 refer
			return r.refer(name, "#/"+strings.ReplaceAll(strings.TrimSuffix(path, ")"), ".", "/"), n, params, depth)
		}
		if strings.HasPrefix(v.Value, "#/") && !strings.Contains(v.Value, " ") {
			return r.refer(name, v.Value, n, params, depth)
		}
	case *ast.NullNode:
		out.null = true
	default:
		out.text = v.String()
	}
	return out, nil
}

// mapping reads the members of a mapping, which replace those that it refers to.
func (r *reader) mapping(out *node, pairs []*ast.MappingValueNode, depth int) (*node, error) {
	out.kind = mapping
	var own []*ast.MappingValueNode
	var base *ast.MappingValueNode
	for _, pair := range pairs {
		switch key := keyOf(pair); key {
		case "$parameters", "$options":
			given, err := r.node(key, pair.Value, out.params, depth+1)
			if err != nil {
				return nil, err
			}
			params := map[string]*node{}
			for _, from := range given.members {
				params[from.name] = from
			}
			for name, outer := range out.params {
				if _, ok := params[name]; !ok {
					params[name] = outer
				}
			}
			out.params = params
		case "$ref", "<<", "ref":
			if key == "ref" && pair.Value.Type() != ast.StringType {
				own = append(own, pair)
				continue
			}
			base = pair
		default:
			own = append(own, pair)
		}
	}
	if base != nil {
		inner, err := r.node("", base.Value, out.params, depth+1)
		if err != nil {
			return nil, err
		}
		if inner.kind != mapping {
			return inner, nil
		}
		out.members, out.line, out.params = inner.members, inner.line, inner.params
	}
	for _, pair := range own {
		key := keyOf(pair)
		member, err := r.node(key, pair.Value, out.params, depth+1)
		if err != nil {
			return nil, err
		}
		out.replace(member)
	}
	return out, nil
}

// replace puts a member in the place of one with its name, or behind all others.
func (n *node) replace(member *node) {
	members := make([]*node, 0, len(n.members)+1)
	for _, had := range n.members {
		if had.name != member.name {
			members = append(members, had)
		}
	}
	n.members = append(members, member)
}

// refer reads what stands at a reference such as #/definitions/requester.
func (r *reader) refer(name, ref string, at ast.Node, params map[string]*node, depth int) (*node, error) {
	to := r.root
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		var found ast.Node
		for _, pair := range pairsOf(to) {
			if keyOf(pair) == step {
				found = pair.Value
			}
		}
		if anchor, ok := found.(*ast.AnchorNode); ok {
			found = anchor.Value
		}
		if found == nil {
			return nil, fmt.Errorf("line %d: nothing stands at %s", lineOf(at), ref)
		}
		to = found
	}
	return r.node(name, to, params, depth+1)
}

func pairsOf(n ast.Node) []*ast.MappingValueNode {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	return nil
}

func keyOf(pair *ast.MappingValueNode) string {
	if text, ok := pair.Key.(*ast.StringNode); ok {
		return text.Value
	}
	return pair.Key.String()
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	line := n.GetToken().Position.Line
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		line = m.Values[0].Key.GetToken().Position.Line
	}
	return line
}

// get returns the member with that name, or the parameter, and notes that it was
// read; nil if there is none. A component has each parameter as a member of its own
// if it does not say otherwise.
func (n *node) get(names ...string) *node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		n = n.member(name)
	}
	return n
}

func (n *node) member(name string) *node {
	if n.kind != mapping {
		return nil
	}
	for _, m := range n.members {
		if m.name == name && !m.null {
			m.read = true
			return m
		}
	}
	if from := n.params[name]; from != nil && name != "type" {
		return from
	}
	return nil
}

// word returns the text of a member, or "".
func (n *node) word(names ...string) string {
	if at := n.get(names...); at != nil {
		return at.text
	}
	return ""
}

// is tells whether the component has that type, or none is said.
func (n *node) is(types ...string) bool {
	return slices.Contains(types, n.word("type"))
}

// use notes that all of n was read.
func (n *node) use() {
	if n == nil {
		return
	}
	n.read = true
	for _, m := range n.members {
		m.use()
	}
	for _, item := range n.items {
		item.use()
	}
}

// unread calls told with each value below n that was never read, from the outside
// in: of a block that was not read, the block alone.
func (n *node) unread(told func(*node)) {
	for _, m := range n.members {
		if !m.read && !m.null && m.name != "type" {
			told(m)
			continue
		}
		m.unread(told)
	}
	for _, item := range n.items {
		item.unread(told)
	}
}
