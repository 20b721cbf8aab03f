package notation

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"collect/internal/yamlfile"
)

// A Predicate is an expression that is true or false: of the language
// expr-lang/expr, type-checked against the names it may use when the file is
// read. It can reach nothing outside of them, and its memory is bounded.
type Predicate struct {
	Text    string
	program *vm.Program
	Uses    map[string]bool // names of the environment
}

// longestPredicate bounds the nodes of an expression.
const longestPredicate = 1000

// PredicateOf compiles the predicate that stands in a text. env holds the names
// that it may use, with examples of their types.
func PredicateOf(d *yamlfile.Decoder, s yamlfile.Scalar, env map[string]any) *Predicate {
	program, err := expr.Compile(s.Text, expr.Env(env), expr.AsBool(), expr.MaxNodes(longestPredicate))
	if err != nil {
		f := yamlfile.Fault{At: s.At, Message: "not a predicate: " + firstLine(err.Error())}
		if at, ok := errors.AsType[*file.Error](err); ok {
			f.Message = "not a predicate: " + firstLine(at.Message)
			if at.Line == 1 {
				f.At = s.Inside(min(at.Column, len(s.Text)), max(1, at.To-at.From))
			}
		}
		d.Faults = append(d.Faults, f)
		return nil
	}
	p := &Predicate{Text: s.Text, program: program, Uses: map[string]bool{}}
	node := program.Node()
	ast.Walk(&node, p)
	return p
}

// Visit notes the names that an expression uses.
func (p *Predicate) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		p.Uses[id.Value] = true
	}
}

// Holds runs the predicate. It returns an error where the values have not the
// shape that it expects, such as a comparison of a missing field.
func (p *Predicate) Holds(env map[string]any) (bool, error) {
	got, err := expr.Run(p.program, env)
	if err != nil {
		return false, err
	}
	yes, _ := got.(bool)
	return yes, nil
}

// DecodeJSON returns doc for predicates: whole numbers stay exact up to 64
// bits, others are floating-point.
func DecodeJSON(doc []byte) (any, error) {
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return plainNumbers(v), nil
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for key, value := range v {
			v[key] = plainNumbers(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plainNumbers(value)
		}
	}
	return v
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
