// Package catalog holds the connectors that collect knows by name. They are
// files in the language of package declarative, and the best examples of it.
package catalog

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// List returns the names of the built-in connectors, sorted.
func List() []string {
	entries, _ := fs.Glob(files, "*.yaml") // the pattern is sound
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(path.Base(entry), ".yaml")
	}
	return names
}

// Open returns the file of a built-in connector. For a name that is not in
// [List] the error is [fs.ErrNotExist].
func Open(name string) ([]byte, error) {
	src, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no built-in connector `%s`: %w", name, fs.ErrNotExist)
	}
	return src, nil
}
