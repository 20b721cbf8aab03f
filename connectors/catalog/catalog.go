// Package catalog holds the connectors that collect knows by name: a folder for
// each, with its file in the language of package declarative, and in testdata the
// answers that it was tried on.
package catalog

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
)

//go:embed */connector.yaml
var files embed.FS

// live names the servers that the end-to-end tests run a connector against, from
// the first page to the last, while records change and are deleted. TestCatalog of
// e2e fails for a name that it does not run, and for another version. The other
// connectors were tried on the answers that their providers document.
var live = map[string]string{
	"couchdb":    "PouchDB Server 4.2",
	"gitea":      "Gitea 1.25",
	"mediawiki":  "MediaWiki 1.39",
	"pocketbase": "PocketBase 0.36",
	"registry":   "distribution 2.8",
	"wordpress":  "WordPress 6.1",
}

// List returns the names of the built-in connectors, sorted.
func List() []string {
	found, _ := fs.Glob(files, "*/connector.yaml") // the pattern is sound
	names := make([]string, len(found))
	for i, file := range found {
		names[i] = path.Dir(file)
	}
	return names
}

// Open returns the file of a built-in connector. For a name that is not in
// [List] the error is [fs.ErrNotExist].
func Open(name string) ([]byte, error) {
	src, err := files.ReadFile(name + "/connector.yaml")
	if err != nil {
		return nil, fmt.Errorf("no built-in connector `%s`: %w", name, fs.ErrNotExist)
	}
	return src, nil
}

// LiveAgainst returns the server that a connector is tested against; "" if it
// was tried on documented answers only.
func LiveAgainst(name string) string { return live[name] }
