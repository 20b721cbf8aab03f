package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/internal/similar"
	"collect/internal/yamlfile"
	"collect/report/problem"
)

// ReadSpec reads a connector file.
func ReadSpec(path string) (*declarative.Spec, error) {
	src, err := ReadAtMost(path, yamlfile.Longest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &problem.NoFileError{Path: path, Near: nearFile(path)}
	}
	if err != nil {
		return nil, &problem.FileError{Path: path, Message: "the connector file cannot be read: " + reason(err)}
	}
	return declarative.Parse(path, src)
}

// BuiltIn reads a connector that comes with collect.
func BuiltIn(name string) (*declarative.Spec, error) {
	src, err := catalog.Open(name)
	if err != nil {
		return nil, err
	}
	return declarative.Parse(name+".yaml (built in)", src)
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
