package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/internal/similar"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/internal/yamlfile"
	"collect/report/problem"
)

// IsFile reports whether arg is the path of a connector file, rather than a
// name.
func IsFile(arg string) bool {
	ext := filepath.Ext(arg)
	return strings.ContainsRune(arg, filepath.Separator) || ext == ".yaml" || ext == ".yml"
}

// An origin is where the text of a connector is: in a file, or in collect.
type origin struct {
	name       string
	entry      Entry  // of collect.yaml; zero: it has none of the name
	file       string // "": it is built in
	builtIn    string // under this name
	remembered bool   // only the database names the file
}

// origin returns where the connector is that arg stands for: the path of a file, or a
// name. A name is that of an entry of collect.yaml, of a connector that was collected
// with a file, or of a built-in one, in this order: a run that goes on must not go
// to another provider, and take a secret along, because collect has something of that
// name. Everything that resolves a name does it here.
func (r *Registry) origin(ctx context.Context, arg string) (origin, error) {
	from := origin{name: arg}
	if IsFile(arg) {
		from.file = arg
		return from, nil
	}
	if entry, configured := r.Entries[arg]; configured {
		from.entry = entry
		if IsFile(entry.Use) {
			from.file = entry.Use
		} else {
			from.builtIn = entry.Use
		}
		return from, nil
	}
	known := r.Names()
	if r.Remembered != nil {
		path, others, err := r.Remembered(ctx, arg)
		if err != nil || path != "" {
			from.file, from.remembered = path, true
			return from, err
		}
		known = append(known, others...)
	}
	if slices.Contains(catalog.List(), arg) {
		from.builtIn = arg
		return from, nil
	}
	unknown := &problem.UnknownConnectorError{Name: arg, Known: known}
	if info, err := os.Stat(arg + ".yaml"); err == nil && info.Mode().IsRegular() {
		unknown.File = info.Name()
	}
	return from, unknown
}

// read returns the text of a connector, and the path by which messages call it.
func (o origin) read() (path string, src []byte, err error) {
	if o.file != "" {
		src, err = readFileAt(o.file)
		if missing, ok := errors.AsType[*problem.NoFileError](err); ok {
			missing.Named = o.entry.Origin
			if o.remembered {
				missing.Of = o.name
			}
		}
		return o.file, src, err
	}
	names := catalog.List()
	if slices.Contains(names, o.builtIn) {
		return builtIn(o.builtIn)
	}
	unknown := &problem.FileError{Path: o.entry.Origin, Message: fmt.Sprintf("`use` names no file, and there is no built-in connector `%s`", words.Clean(o.builtIn))}
	if near := similar.To(o.builtIn, names); near != "" {
		unknown.Note = fmt.Sprintf("a built-in connector has a similar name: `%s`", near)
	}
	return unknown.Path, nil, unknown
}

// readSpec reads a connector file.
func readSpec(path string) (*declarative.Spec, error) {
	src, err := readFileAt(path)
	if err != nil {
		return nil, err
	}
	return declarative.Parse(path, src)
}

// readFileAt returns the text of a connector file.
func readFileAt(path string) ([]byte, error) {
	src, err := userfile.ReadAtMost(path, yamlfile.Longest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &problem.NoFileError{Path: path, Near: nearFile(path)}
	}
	if err != nil {
		return nil, &problem.FileError{Path: path, Message: "the connector file cannot be read: " + words.Cause(err)}
	}
	return src, nil
}

// BuiltIn reads a connector that comes with collect.
func BuiltIn(name string) (*declarative.Spec, error) {
	path, src, err := builtIn(name)
	if err != nil {
		return nil, err
	}
	return declarative.Parse(path, src)
}

func builtIn(name string) (path string, src []byte, err error) {
	src, err = catalog.Open(name)
	return name + ".yaml (built in)", src, err
}

// Text returns the text of the connector file that arg stands for, whether it is
// sound or not, and the path by which messages call it.
func (r *Registry) Text(ctx context.Context, arg string) (path string, src []byte, err error) {
	from, err := r.origin(ctx, arg)
	if err != nil {
		return "", nil, err
	}
	return from.read()
}

// nearFile returns the connector file that was probably meant by a path where
// there is none; "" if there is nothing like it.
func nearFile(path string) string {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(filepath.Ext(e.Name()), ".y") {
			files = append(files, e.Name())
		}
	}
	if name := similar.To(filepath.Base(path), files); name != "" {
		return filepath.Join(dir, name)
	}
	return ""
}
