package declarative

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// A predicate is an expression that is true or false: of the language
// expr-lang/expr, type-checked against the names it may use when the file is
// read. It can reach nothing outside of them, and its memory is bounded.
type predicate struct {
	text    string
	program *vm.Program
	uses    map[string]bool // names of the environment
}

// longestPredicate bounds the nodes of an expression.
const longestPredicate = 1000

func (c *checker) predicate(s scalar, env map[string]any) *predicate {
	program, err := expr.Compile(s.text, expr.Env(env), expr.AsBool(), expr.MaxNodes(longestPredicate))
	if err != nil {
		f := fault{at: s.at, message: "not a predicate: " + firstLine(err.Error())}
		if at, ok := errors.AsType[*file.Error](err); ok {
			f.message = "not a predicate: " + firstLine(at.Message)
			if at.Line == 1 {
				f.at = s.inside(min(at.Column, len(s.text)), max(1, at.To-at.From))
			}
		}
		c.faults = append(c.faults, f)
		return nil
	}
	p := &predicate{text: s.text, program: program, uses: map[string]bool{}}
	node := program.Node()
	ast.Walk(&node, p)
	return p
}

// Visit notes the names that an expression uses.
func (p *predicate) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		p.uses[id.Value] = true
	}
}

// holds runs the predicate. It returns an error where the values have not the
// shape that it expects, such as a comparison of a missing field.
func (p *predicate) holds(env map[string]any) (bool, error) {
	got, err := expr.Run(p.program, env)
	if err != nil {
		return false, err
	}
	yes, _ := got.(bool)
	return yes, nil
}

// decodeJSON returns doc for predicates: whole numbers stay exact up to 64
// bits, others are floating-point.
func decodeJSON(doc []byte) (any, error) {
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
