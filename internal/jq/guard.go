package jq

import (
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// The functions that a program is given for its measure.
const (
	fits       = "__fits"
	fitsText   = "__fits_text"
	fitsNumber = "__fits_number"
	made       = "__made"
	place      = "__place"
	product    = "__product"
	joined     = "__joined"
)

// measured are functions that make a value of others in one step, and what is to be
// measured before: "" is the whole value.
var measured = map[string]string{
	"add": fits, "tojson": fits, "tostring": fits, "flatten": fits, "implode": fits, "sort": fits, "unique": fits, "reverse": fits,
	"sort_by": fits, "group_by": fits, "unique_by": fits, "min_by": fits, "max_by": fits, "min": fits, "max": fits, "keys": fits,
	"contains": fits, "inside": fits, "indices": fits, "index": fits, "rindex": fits, "ascii_downcase": fits, "ascii_upcase": fits,
	"ltrimstr": fits, "rtrimstr": fits, "trimstr": fits, "ltrim": fits, "rtrim": fits, "trim": fits, "startswith": fits, "endswith": fits,
	"split": fitsText, "explode": fitsText, "test": fitsText, "match": fitsText, "capture": fitsText, "scan": fitsText, "splits": fitsText,
	"sub": fitsText, "gsub": fitsText, "fromjson": fitsText, "length": fits, "utf8bytelength": fits, "tonumber": fitsNumber, "toboolean": fitsNumber,
	"strptime": fitsNumber, "fromdate": fitsNumber, "fromdateiso8601": fitsNumber,
	"strftime": fits, "todate": fits, "todateiso8601": fits, "mktime": fits, "gmtime": fits,
}

// plain are the other functions that a program may call: they work step by step, or
// on one number.
var plain = []string{
	"empty", "error", "not", "map", "map_values", "select", "recurse", "to_entries", "from_entries", "with_entries", "paths", "path", "getpath",
	"del", "delpaths", "pick", "has", "in", "any", "all", "first", "last", "nth", "limit", "skip", "until", "while", "repeat", "range", "isempty",
	"type", "arrays", "objects", "iterables", "booleans", "numbers", "strings", "nulls", "values", "scalars", "abs", "floor", "ceil", "round",
	"trunc", "sqrt", "pow", "log", "log2", "log10", "exp", "isnan", "isinfinite", "isnormal", "nan", "infinite", "walk", "IN", "finites", "normals", "halt_error",
}

// A guard puts the measures into a program, and finds what it must not have.
type guard struct {
	own   []string // functions and parameters of the program
	fault string   // the first name that is not available
}

func (g *guard) refuse(name string) {
	if g.fault == "" {
		g.fault = name
	}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func piped(a, b *gojq.Query) *gojq.Query { return &gojq.Query{Left: a, Op: gojq.OpPipe, Right: b} }

// query puts measures into q.
func (g *guard) query(q *gojq.Query) {
	if q == nil {
		return
	}
	if q.Meta != nil || len(q.Imports) > 0 {
		g.refuse("import")
	}
	had := len(g.own)
	for _, def := range q.FuncDefs {
		g.define(def)
	}
	g.term(q.Term, q)
	switch q.Op {
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod:
		g.update(q)
		return
	}
	g.query(q.Left)
	g.query(q.Right)
	for _, p := range q.Patterns {
		g.pattern(p)
	}
	switch q.Op {
	case gojq.OpAdd, gojq.OpSub, gojq.OpDiv, gojq.OpMod, gojq.OpMul:
		made, op := call(made), *q
		op.FuncDefs, op.Left, op.Right = nil, piped(q.Left, call(fits)), piped(q.Right, call(fits))
		inner := &op
		if q.Op == gojq.OpMul {
			inner = call(product, op.Left, op.Right)
		}
		*q = gojq.Query{FuncDefs: q.FuncDefs, Left: inner, Op: gojq.OpPipe, Right: made}
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		q.Left, q.Right = piped(q.Left, call(fits)), piped(q.Right, call(fits))
	}
	g.own = g.own[:had]
}

// update writes `l += r` as what it means: r as $x | l |= . + $x.
func (g *guard) update(q *gojq.Query) {
	op := map[gojq.Operator]gojq.Operator{gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateDiv: gojq.OpDiv, gojq.OpUpdateMod: gojq.OpMod}[q.Op]
	const x = "$__by"
	sum := &gojq.Query{Left: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}, Op: op, Right: call(x)}
	whole := &gojq.Query{FuncDefs: q.FuncDefs, Left: q.Right, Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: x}},
		Right: &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: sum}}
	*q = gojq.Query{}
	defs := whole.FuncDefs
	whole.FuncDefs = nil
	g.query(whole)
	*q, q.FuncDefs = *whole, defs
}

func (g *guard) define(def *gojq.FuncDef) {
	if strings.HasPrefix(def.Name, "_") {
		g.refuse(def.Name)
	}
	g.own = append(g.own, def.Name)
	had := len(g.own)
	for _, arg := range def.Args {
		if !strings.HasPrefix(arg, "$") && strings.HasPrefix(arg, "_") {
			g.refuse(arg)
		}
		g.own = append(g.own, strings.TrimPrefix(arg, "$"))
	}
	g.query(def.Body)
	g.own = g.own[:had]
}

func (g *guard) pattern(p *gojq.Pattern) {
	for _, inner := range p.Array {
		g.pattern(inner)
	}
	for _, member := range p.Object {
		g.query(member.KeyQuery)
		g.text(member.KeyString)
		if member.Val != nil {
			g.pattern(member.Val)
		}
	}
}

// term puts measures into t, the term of q.
func (g *guard) term(t *gojq.Term, q *gojq.Query) {
	if t == nil {
		return
	}
	g.index(t.Index)
	for _, s := range t.SuffixList {
		g.index(s.Index)
	}
	if t.Object != nil {
		for _, member := range t.Object.KeyVals {
			g.text(member.KeyString)
			g.query(member.KeyQuery)
			g.query(member.Val)
			if strings.HasPrefix(member.Key, "$") {
				g.variable(member.Key)
			}
		}
	}
	if t.Array != nil {
		g.query(t.Array.Query)
	}
	if t.Unary != nil {
		inner := &gojq.Query{Term: t.Unary.Term}
		g.term(t.Unary.Term, inner)
		t.Unary.Term = asTerm(piped(inner, call(fits)))
	}
	if t.If != nil {
		g.query(t.If.Cond)
		g.query(t.If.Then)
		for _, e := range t.If.Elif {
			g.query(e.Cond)
			g.query(e.Then)
		}
		g.query(t.If.Else)
	}
	if t.Try != nil {
		g.query(t.Try.Body)
		g.query(t.Try.Catch)
	}
	if r := t.Reduce; r != nil {
		g.query(r.Query)
		g.query(r.Start)
		g.query(r.Update)
		for _, p := range r.Patterns {
			g.pattern(p)
		}
	}
	if f := t.Foreach; f != nil {
		g.query(f.Query)
		g.query(f.Start)
		g.query(f.Update)
		g.query(f.Extract)
		for _, p := range f.Patterns {
			g.pattern(p)
		}
	}
	if t.Label != nil {
		g.query(t.Label.Body)
	}
	g.query(t.Query)
	g.text(t.Str)
	if t.Func != nil {
		g.function(t)
	}
	if t.Format != "" || t.Str != nil && len(t.Str.Queries) > 0 {
		wrap(t, fits)
	}
}

// wrap puts a measure in front of what t does, and behind it.
func wrap(t *gojq.Term, before string) {
	inner := *t
	inner.SuffixList = nil
	*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: t.SuffixList,
		Query: piped(piped(call(before), &gojq.Query{Term: &inner}), call(made))}
}

func asTerm(q *gojq.Query) *gojq.Term { return &gojq.Term{Type: gojq.TermTypeQuery, Query: q} }

// text puts measures into what stands inside a text.
func (g *guard) text(s *gojq.String) {
	if s == nil {
		return
	}
	for i, q := range s.Queries {
		g.query(q)
		if q.Term == nil || q.Term.Type != gojq.TermTypeString {
			s.Queries[i] = &gojq.Query{Term: asTerm(piped(q, call(fits)))}
		}
	}
}

func (g *guard) index(x *gojq.Index) {
	if x == nil {
		return
	}
	g.text(x.Str)
	g.query(x.Start)
	g.query(x.End)
	if x.Start != nil && !x.IsSlice {
		x.Start = piped(x.Start, call(place))
	}
}

func (g *guard) variable(name string) {
	if name == "$ENV" || strings.HasPrefix(name, "$__") && name != "$__by" {
		g.refuse(name)
	}
}

// function puts measures around a call.
func (g *guard) function(t *gojq.Term) {
	f := t.Func
	for _, arg := range f.Args {
		g.query(arg)
	}
	before, isMeasured := measured[f.Name]
	switch {
	case strings.HasPrefix(f.Name, "$"):
		g.variable(f.Name)
	case slices.Contains(g.own, f.Name), slices.Contains(plain, f.Name):
	case f.Name == "join" && len(f.Args) == 1:
		f.Name = joined
		wrap(t, fits)
	case f.Name == "add" && len(f.Args) > 0, !isMeasured:
		g.refuse(f.Name)
	default:
		if (f.Name == "sub" || f.Name == "gsub") && len(f.Args) > 1 {
			f.Args[1] = piped(f.Args[1], call(made))
		}
		wrap(t, before)
	}
}

// Functions are the names of all functions that a program may call.
func Functions() []string {
	return slices.Sorted(slices.Values(append(append(slices.Collect(maps.Keys(measured)), plain...), "join")))
}
