package author_test

import (
	"os"
	"path/filepath"
	"testing"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/engine/author"
)

// TestCatalogue: a store has as many records of each built-in connector as its walk
// delivers. A key that two parents share would leave one of them out.
func TestCatalogue(t *testing.T) {
	for _, name := range catalog.List() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := catalog.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := declarative.Parse(name, src)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join("..", "..", "connectors", "catalog", name, "testdata", "walk.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			tape, err := author.ParseTape(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := author.Rehearse(t.Context(), spec, tape, t.TempDir(), false)
			if err != nil || got.Failed() {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
