// Package archtest checks the shape of a module: which folder imports which,
// where each external module enters, and where the process is touched.
//
// It reads imports and names from the source alone, so that it takes no build
// and works on any tree.
package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rules describe a module. Folders are slash-separated and relative to its
// root, which is "."; the entry of any other folder also holds for those inside it
// that have none of their own.
type Rules struct {
	// Module is the module's path.
	Module string

	// Imports says, for each folder, which others it may import. "*" stands
	// for all. A folder without an entry is a violation.
	Imports map[string][]string

	// Drivers says which folder imports an external module: exactly that
	// one. A module without an entry is a violation.
	Drivers map[string]string

	// Shared are external modules, or prefixes of their paths, that any folder
	// may import.
	Shared []string

	// Names are those, such as "os.Exit", that may occur only in the folders
	// given for them.
	Names map[string][]string
}

// A Violation is a line that breaks a rule.
type Violation struct {
	File    string
	Line    int
	Message string
}

func (v Violation) String() string { return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Message) }

// Check returns the violations of the module in fsys, sorted. Files of tests
// are held only to having no init. It skips testdata, hidden folders and
// modules of their own.
func (r Rules) Check(fsys fs.FS) ([]Violation, error) {
	var found []Violation
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		v, err := r.checkFile(fsys, name)
		found = append(found, v...)
		return err
	})
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return found, err
}

// skip returns fs.SkipDir for a folder that is no part of the module.
func skip(fsys fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// checkFile returns the violations in one file.
func (r Rules) checkFile(fsys fs.FS, name string) ([]Violation, error) {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []Violation
	report := func(pos token.Pos, format string, args ...any) {
		found = append(found, Violation{name, fset.Position(pos).Line, fmt.Sprintf(format, args...)})
	}
	folder, isTest := path.Dir(name), strings.HasSuffix(name, "_test.go")
	if _, ok := r.entry(folder); !ok && !isTest {
		report(file.Package, "%s is not in the table of imports", folder)
	}
	packages := map[string]string{} // import paths by their local names
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has read it
		packages[localName(spec, imported)] = imported
		if message := r.checkImport(folder, imported); message != "" && !isTest {
			report(spec.Pos(), "%s", message)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				report(n.Pos(), "there are no init functions here")
			}
		case *ast.SelectorExpr:
			if message := r.checkName(folder, packages, n); message != "" && !isTest {
				report(n.Pos(), "%s", message)
			}
		}
		return true
	})
	return found, nil
}

// localName returns the name by which a file knows an import. Where nothing
// says otherwise, that is the last part of the path, before a version.
func localName(spec *ast.ImportSpec, imported string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	base := path.Base(imported)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(imported))
	}
	return base
}

// checkImport returns the rule that importing a path in folder breaks, "" for
// none.
func (r Rules) checkImport(folder, imported string) string {
	if inside, ok := strings.CutPrefix(imported, r.Module+"/"); ok {
		return r.checkInside(folder, inside)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	if slices.ContainsFunc(r.Shared, func(shared string) bool { return within(imported, shared) }) {
		return ""
	}
	for module, home := range r.Drivers {
		if !within(imported, module) {
			continue
		}
		if folder != home {
			return fmt.Sprintf("%s is imported by %s only", module, home)
		}
		return ""
	}
	return fmt.Sprintf("%s has no folder yet that may import it", imported)
}

// entry returns the folder whose entry in Imports holds for folder. The root
// speaks for itself only.
func (r Rules) entry(folder string) (entry string, ok bool) {
	for entry = folder; ; entry = path.Dir(entry) {
		if _, ok := r.Imports[entry]; ok {
			return entry, entry != "." || folder == "."
		}
		if entry == "." {
			return "", false
		}
	}
}

// checkInside is checkImport for a folder of the module itself.
func (r Rules) checkInside(folder, inside string) string {
	entry, ok := r.entry(folder)
	if !ok {
		return "" // which is reported once, for the file
	}
	allowed := r.Imports[entry]
	if slices.Contains(allowed, "*") || slices.Contains(allowed, inside) {
		return ""
	}
	return fmt.Sprintf("%s may import %s, and not %s", entry, list(allowed), inside)
}

func list(folders []string) string {
	if len(folders) == 0 {
		return "nothing of this module"
	}
	return strings.Join(folders, ", ")
}

// checkName returns the rule that a qualified name breaks, "" for none.
func (r Rules) checkName(folder string, packages map[string]string, sel *ast.SelectorExpr) string {
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := packages[x.Name] + "." + sel.Sel.Name
	homes, ok := r.Names[name]
	if !ok || slices.ContainsFunc(homes, func(home string) bool { return within(folder, home) }) {
		return ""
	}
	return fmt.Sprintf("%s occurs only in %s", name, strings.Join(homes, ", "))
}

// within reports whether p is dir or inside it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
