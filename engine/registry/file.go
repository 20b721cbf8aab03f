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

// readEntry reads the connector file that an entry uses.
func readEntry(entry Entry) (*declarative.Spec, error) {
	if IsFile(entry.Use) {
		spec, err := readSpec(entry.Use)
		if missing, ok := errors.AsType[*problem.NoFileError](err); ok {
			missing.Named = entry.Origin
		}
		return spec, err
	}
	if names := catalog.List(); !slices.Contains(names, entry.Use) {
		unknown := &problem.FileError{Path: entry.Origin, Message: fmt.Sprintf("`use` names no file, and there is no built-in connector `%s`", words.Clean(entry.Use))}
		if near := similar.To(entry.Use, names); near != "" {
			unknown.Note = fmt.Sprintf("a built-in connector has a similar name: `%s`", near)
		}
		return nil, unknown
	}
	return BuiltIn(entry.Use)
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
	entry, configured := r.Entries[arg]
	path = arg
	switch {
	case IsFile(arg):
	case configured && !IsFile(entry.Use):
		return builtIn(entry.Use)
	case configured:
		path = entry.Use
	case slices.Contains(catalog.List(), arg):
		return builtIn(arg)
	default:
		if path, err = r.sourceOf(ctx, arg); err != nil {
			return "", nil, err
		}
	}
	src, err = readFileAt(path)
	return path, src, err
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
