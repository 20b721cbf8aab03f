package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is one place in which the code is broken.
type mutant struct {
	id   int
	at   token.Position
	what string // "<= for <"
}

// swaps are what stands for an operator in a mutant.
var swaps = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// A rewriter turns the files of a package into files that hold all of its
// mutants, each behind a question to mutateOn.
type rewriter struct {
	pkg     *packages.Package
	skip    map[int]bool // mutants that do not compile
	only    func(mutant) bool
	mutants []mutant
	named   []string       // types of other packages, each the alias mutateT<index>
	imports map[string]int // of those types: the package mutateP<value>
}

// A point is a piece of a file, and what takes its place.
type point struct {
	from, to int
	text     func() string
}

// file returns the text of file with its mutants.
func (r *rewriter) file(file *ast.File, src []byte) []byte {
	f := &fileRewriter{rewriter: r, src: src, base: r.pkg.Fset.File(file.Pos())}
	var parents []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return false
		}
		if constant(n) {
			return false
		}
		f.add(n, parents)
		parents = append(parents, n)
		return true
	})
	slices.SortStableFunc(f.points, func(a, b point) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to // the outer one first
	})
	return []byte(f.text(0, len(src)))
}

// constant reports whether everything in n must stay constant.
func constant(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.CONST || n.Tok == token.IMPORT
	case *ast.ArrayType:
		return true
	}
	return false
}

type fileRewriter struct {
	*rewriter
	src    []byte
	base   *token.File
	points []point // by from
}

// text returns the source between two offsets, with the points inside of it.
func (f *fileRewriter) text(from, to int) string {
	var out strings.Builder
	for _, p := range f.points {
		if p.from >= from && p.to <= to { // those inside of p are before from then
			out.Write(f.src[from:p.from])
			out.WriteString(p.text())
			from = p.to
		}
	}
	out.Write(f.src[from:to])
	return out.String()
}

func (f *fileRewriter) add(n ast.Node, parents []ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			f.expression(n, n.OpPos, func() string { return "-" + f.between(n.X.Pos(), n.X.End()) },
				map[string]string{"+ for -": "+" + f.raw(n.X.Pos(), n.X.End())})
		}
	case *ast.CallExpr:
		f.extreme(n)
	case *ast.IncDecStmt:
		f.statement(n, n.TokPos, n.Tok, n.X, nil)
	case *ast.AssignStmt:
		if f.numeric(n.Lhs[0]) {
			f.statement(n, n.TokPos, n.Tok, n.Lhs[0], n.Rhs[0])
		}
	case *ast.BranchStmt:
		if n.Label == nil && inLoop(parents) {
			f.branch(n)
		}
	}
}

// inLoop reports whether break and continue mean the same loop there.
func inLoop(parents []ast.Node) bool {
	for _, p := range slices.Backward(parents) {
		switch p.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		}
	}
	return false
}

func (f *fileRewriter) binary(n *ast.BinaryExpr) {
	if n.Op == token.ADD && !f.numeric(n) {
		return
	}
	mutated := map[string]string{}
	for _, op := range swaps[n.Op] {
		mutated[op.String()+" for "+n.Op.String()] = f.raw(n.X.Pos(), n.X.End()) + f.raw(n.X.End(), n.OpPos) + op.String() +
			f.raw(n.OpPos+token.Pos(len(n.Op.String())), n.Y.End())
	}
	f.expression(n, n.OpPos, func() string {
		return f.between(n.X.Pos(), n.X.End()) + f.raw(n.X.End(), n.Y.Pos()) + f.between(n.Y.Pos(), n.Y.End())
	}, mutated)
}

// extreme takes min for max, and the other way round.
func (f *fileRewriter) extreme(n *ast.CallExpr) {
	name, ok := n.Fun.(*ast.Ident)
	if !ok || len(n.Args) < 2 {
		return
	}
	other := map[string]string{"min": "max", "max": "min"}[name.Name]
	if _, builtin := f.pkg.TypesInfo.Uses[name].(*types.Builtin); other == "" || !builtin {
		return
	}
	f.expression(n, n.Pos(), func() string { return name.Name + f.between(name.End(), n.End()) },
		map[string]string{other + " for " + name.Name: other + f.raw(name.End(), n.End())})
}

// expression adds a point for n that is one of mutated, by what they are.
func (f *fileRewriter) expression(n ast.Expr, at token.Pos, whole func() string, mutated map[string]string) {
	typ, ok := f.typeOf(n)
	if !ok || len(mutated) == 0 {
		return
	}
	f.point(n, func() string {
		var ways strings.Builder
		for _, what := range slices.Sorted(maps.Keys(mutated)) {
			if id, ok := f.mutant(at, what); ok {
				fmt.Fprintf(&ways, "if mutateOn(%d) { return %s };", id, mutated[what])
			}
		}
		if ways.Len() == 0 {
			return whole()
		}
		return fmt.Sprintf("(func() %s {%s return %s}())", typ, &ways, whole())
	})
}

// statement adds a point for n, which is left, tok and right, with another
// token.
func (f *fileRewriter) statement(n ast.Stmt, at token.Pos, tok token.Token, left, right ast.Expr) {
	if len(swaps[tok]) == 0 {
		return
	}
	f.point(n, func() string {
		whole := f.between(left.Pos(), left.End()) + tok.String()
		other := swaps[tok][0]
		mutated := f.raw(left.Pos(), left.End()) + other.String()
		if right != nil {
			whole += f.between(right.Pos(), right.End())
			mutated += f.raw(right.Pos(), right.End())
		}
		id, ok := f.mutant(at, other.String()+" for "+tok.String())
		if !ok {
			return whole
		}
		return fmt.Sprintf("func() { if mutateOn(%d) { %s } else { %s } }()", id, mutated, whole)
	})
}

func (f *fileRewriter) branch(n *ast.BranchStmt) {
	if len(swaps[n.Tok]) == 0 {
		return
	}
	f.point(n, func() string {
		other := swaps[n.Tok][0]
		id, ok := f.mutant(n.Pos(), other.String()+" for "+n.Tok.String())
		if !ok {
			return n.Tok.String()
		}
		return fmt.Sprintf("if mutateOn(%d) { %s } else { %s }", id, other, n.Tok)
	})
}

func (f *fileRewriter) point(n ast.Node, text func() string) {
	f.points = append(f.points, point{f.base.Offset(n.Pos()), f.base.Offset(n.End()), text})
}

// mutant numbers a mutant, in the order of the text. It reports false if it is
// left out.
func (f *fileRewriter) mutant(at token.Pos, what string) (int, bool) {
	m := mutant{id: len(f.mutants) + 1, at: f.pkg.Fset.Position(at), what: what}
	f.mutants = append(f.mutants, m)
	return m.id, !f.skip[m.id] && f.only(m)
}

func (f *fileRewriter) between(from, to token.Pos) string {
	return f.text(f.base.Offset(from), f.base.Offset(to))
}

func (f *fileRewriter) raw(from, to token.Pos) string {
	return string(f.src[f.base.Offset(from):f.base.Offset(to)])
}

func (f *fileRewriter) numeric(e ast.Expr) bool {
	t := f.pkg.TypesInfo.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// typeOf returns the type of e as it can be written in each file of the
// package.
func (r *rewriter) typeOf(e ast.Expr) (string, bool) {
	t := r.pkg.TypesInfo.TypeOf(e)
	if t == nil {
		return "", false
	}
	foreign := false
	name := types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == r.pkg.Types {
			return ""
		}
		foreign = true
		if _, ok := r.imports[p.Path()]; !ok {
			r.imports[p.Path()] = len(r.imports)
		}
		return fmt.Sprintf("mutateP%d", r.imports[p.Path()])
	})
	if !foreign {
		return name, true
	}
	i := slices.Index(r.named, name)
	if i < 0 {
		i = len(r.named)
		r.named = append(r.named, name)
	}
	return fmt.Sprintf("mutateT%d", i), true
}

// support returns the file with mutateOn and the aliases.
func (r *rewriter) support() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "package %s\n\nimport (\n\tmutateos \"os\"\n\tmutatestrconv \"strconv\"\n\tmutateatomic \"sync/atomic\"\n", r.pkg.Name)
	for path, i := range r.imports {
		fmt.Fprintf(&out, "\tmutateP%d %q\n", i, path)
	}
	out.WriteString(")\n")
	for i, name := range r.named {
		fmt.Fprintf(&out, "type mutateT%d = %s\n", i, name)
	}
	fmt.Fprintf(&out, `
var (
	mutateActive, _ = mutatestrconv.Atoi(mutateos.Getenv("MUTANT"))
	mutateReached   = mutateos.Getenv("MUTANTS_REACHED")
	mutateSeen      [%d]mutateatomic.Bool
)

func mutateOn(id int) bool {
	if mutateReached != "" && !mutateSeen[id].Load() && !mutateSeen[id].Swap(true) {
		f, err := mutateos.OpenFile(mutateReached, mutateos.O_APPEND|mutateos.O_CREATE|mutateos.O_WRONLY, 0o666)
		if err != nil {
			panic(err)
		}
		f.WriteString(mutatestrconv.Itoa(id) + "\n")
		f.Close()
	}
	return id == mutateActive
}
`, len(r.mutants)+1)
	return out.Bytes()
}
