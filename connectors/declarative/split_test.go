package declarative_test

import (
	"fmt"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// BenchmarkSplit makes keyed records, with marks, of a page of 200 KB.
func BenchmarkSplit(b *testing.B) {
	spec, err := declarative.Parse("test.yaml", []byte(stream("key: id, page: {none: true}, since: {field: at, param: s, order: asc}")))
	if err != nil {
		b.Fatal(err)
	}
	split := declarative.PageReader(spec, "things")
	var records []string
	for id := range 100 {
		records = append(records, fmt.Sprintf(`{"id":%d,"at":"2024-01-02T03:04:%02dZ","user":{"login":"a","labels":["x","y"]},"text":%q}`, id, id%60, strings.Repeat("some text ", 193)))
	}
	body := []byte("[" + strings.Join(records, ",") + "]")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if n, err := split(body, collection.Cursor{}); n != 100 || err != nil {
			b.Fatalf("%d records, %v, want 100", n, err)
		}
	}
}
