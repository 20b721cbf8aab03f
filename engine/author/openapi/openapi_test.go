package openapi_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"collect/connectors/declarative"
	"collect/engine/author/openapi"
)

var update = flag.Bool("update", false, "write what comes out into testdata, to be read")

// check is what the command does with each file.
func check(file []byte) error {
	if _, mistakes, _ := declarative.Check("a.yaml", file); len(mistakes) > 0 {
		return errors.New(mistakes[0].Message)
	}
	return nil
}

// TestNew: descriptions of the shapes that public ones have become the files that
// stand beside them, each of which passes the check.
func TestNew(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d descriptions, %v; want 6 at least", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := openapi.New(name, a.Files[0].Data, nil, check)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(got.File); err != nil {
				t.Errorf("the file is refused: %v\n%s", err, got.File)
			}
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "connector.yaml", Data: got.File}}
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 {
				t.Fatalf("%s has %d parts", path, len(a.Files))
			}
			if want := string(a.Files[1].Data); string(got.File) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got.File, want)
			}
		})
	}
}

// TestOnly: with names, a draft has these streams and those above them.
func TestOnly(t *testing.T) {
	a, err := txtar.ParseFile("testdata/forge.txtar")
	if err != nil {
		t.Fatal(err)
	}
	got, err := openapi.New("forge", a.Files[0].Data, []string{"comments"}, check)
	if err != nil {
		t.Fatal(err)
	}
	if got.Streams != 3 || strings.Contains(string(got.File), "members") {
		t.Errorf("%d streams:\n%s\nwant comments, issues and repos", got.Streams, got.File)
	}
	if _, err := openapi.New("forge", a.Files[0].Data, []string{"none"}, check); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestLeavesOut: a stream that check refuses is left out, with the reason and with those
// below it, and the others stay.
func TestLeavesOut(t *testing.T) {
	a, err := txtar.ParseFile("testdata/forge.txtar")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := openapi.New("forge", a.Files[0].Data, nil, check)
	if err != nil {
		t.Fatal(err)
	}
	got, err := openapi.New("forge", a.Files[0].Data, nil, func(file []byte) error {
		if strings.Contains(string(file), "\n  issues:") {
			return errors.New("a mistake of issues\nand where it is")
		}
		return check(file)
	})
	if err != nil {
		t.Fatal(err)
	}
	file := string(got.File)
	for _, gone := range []string{"\n  issues:", "\n  comments:", "and where it is"} {
		if strings.Contains(file, gone) {
			t.Errorf("the draft has %q:\n%s", gone, file)
		}
	}
	if !strings.Contains(file, ": a mistake of issues\n") || !strings.Contains(file, "\n  repos:") || got.Streams >= whole.Streams || got.LeftOut <= whole.LeftOut {
		t.Errorf("%d of %d streams, %d left out:\n%s", got.Streams, whole.Streams, got.LeftOut, file)
	}
	if err := check(got.File); err != nil {
		t.Errorf("the file is refused: %v", err)
	}
}

// TestRefuses: what is no description is refused with a reason.
func TestRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"":                   "no OpenAPI description",
		"[1]":                "cannot unmarshal",
		"{":                  "",
		"openapi: 3.0.0":     "no operation",
		`{"swagger": "2.0"}`: "no operation",
		"openapi: 3.0.0\npaths: {/a: {get: {responses: {200: {schema: {type: array, items: {properties: {x: {type: string}}}}}}}}}": "GET /a",
		strings.Repeat("[", 1_000_000):         "",
		strings.Repeat(" ", openapi.Longest+1): "longer than",
	} {
		got, err := openapi.New("a", []byte(src), nil, check)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v; want %q", src, got, err, want)
		}
	}
}

// TestLarge: a description with 1000 lists becomes a file with all of them.
func TestLarge(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"openapi": "3.0.0", "servers": [{"url": "https://a.test"}], "components": {"schemas": {`)
	for i := range 200 {
		fmt.Fprintf(&b, `"S%d": {"type": "object", "description": "%s", "properties": {"id": {"type": "string"}, "next": {"$ref": "#/components/schemas/S%d"}}},`, i, strings.Repeat("x", 5000), (i+1)%200)
	}
	b.WriteString(`"E": {}}}, "paths": {"/none": {}`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"/list%d": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/S%d"}}}}}}}}}}`, i, i%200)
	}
	b.WriteString("}}")
	got, err := openapi.New("large", []byte(b.String()), nil, check)
	if err != nil || got.Streams != 1000 {
		t.Fatalf("%v, %v; want 1000 streams", got, err)
	}
}
