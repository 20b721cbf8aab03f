package airbyte_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"collect/connectors/declarative"
	"collect/engine/author/airbyte"
)

var update = flag.Bool("update", false, "write what comes out into testdata, to be read")

// check is what the command does with each file.
func check(file []byte) error {
	_, mistakes, _ := declarative.Check("manifest.yaml", file)
	if len(mistakes) > 0 {
		return errors.New(mistakes[0].Message)
	}
	return nil
}

// TestTranslate: manifests of the shapes that public ones have become the files that
// stand beside them, each of which passes the check, with these notes.
func TestTranslate(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d manifests, %v; want 20 at least", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := airbyte.Translate(name, a.Files[0].Data, check)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.File) > 0 {
				if err := check(got.File); err != nil {
					t.Errorf("the file is refused: %v", err)
				}
			}
			var notes strings.Builder
			for _, n := range got.Notes {
				fmt.Fprintf(&notes, "%d: %s\n", n.Line, n.Text)
			}
			fmt.Fprintf(&notes, "left out: %s\n", strings.Join(got.LeftOut, " "))
			files := []txtar.File{a.Files[0], {Name: "connector.yaml", Data: got.File}, {Name: "notes", Data: []byte(notes.String())}}
			if *update {
				a.Files = files
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 3 {
				t.Fatalf("%s has %d parts", path, len(a.Files))
			}
			for i, want := range a.Files[1:] {
				if got := string(files[i+1].Data); got != string(want.Data) {
					t.Errorf("%s:\n%s\nwant:\n%s", want.Name, got, want.Data)
				}
			}
		})
	}
}

// read are the components whose keys are read one by one.
var read = regexp.MustCompile(`(?m)^( *(?:- )?)type: (DeclarativeStream|SimpleRetriever|HttpRequester|RecordSelector|DpathExtractor|DefaultPaginator|SubstreamPartitionRouter|DatetimeBasedCursor|BearerAuthenticator|BasicHttpAuthenticator|OAuthAuthenticator)$|` +
	`\{type: (DeclarativeStream|HttpRequester|RecordSelector|DpathExtractor|PageIncrement|OffsetIncrement|CursorPagination|ParentStreamConfig|BearerAuthenticator|ApiKeyAuthenticator|BasicHttpAuthenticator|RequestOption)\b`)

// TestNothingIsPassedOver: a key that the translator does not know is told of,
// wherever it stands.
func TestNothingIsPassedOver(t *testing.T) {
	places := 0
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		manifest := string(a.Files[0].Data)
		before, err := airbyte.Translate("x", []byte(manifest), check)
		if err != nil {
			t.Fatal(err)
		}
		if len(before.LeftOut) > 0 {
			continue // of what is left out nothing more is told
		}
		for _, at := range read.FindAllStringSubmatchIndex(manifest, -1) {
			var planted string
			if at[2] >= 0 { // a block
				lead := manifest[at[2]:at[3]]
				planted = manifest[:at[0]] + lead + "zz_unknown: 1\n" + strings.Repeat(" ", len(lead)) + manifest[at[3]:]
			} else {
				planted = manifest[:at[0]+1] + "zz_unknown: 1, " + manifest[at[0]+1:]
			}
			got, err := airbyte.Translate("x", []byte(planted), check)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			places++
			line := strings.Count(manifest[:at[0]], "\n") + 1
			if !slices.ContainsFunc(got.Notes, func(n airbyte.Note) bool {
				return n.Line == line && (strings.Contains(n.Text, "zz_unknown") || strings.Contains(n.Text, "incremental_sync"))
			}) {
				t.Errorf("%s:%d: a key is passed over: %v", path, line, got.Notes)
			}
		}
	}
	if places < 60 {
		t.Errorf("only %d places were tried", places)
	}
}

// TestBadManifests: what is no manifest is refused with a place.
func TestBadManifests(t *testing.T) {
	for src, want := range map[string]string{
		"":                             "empty",
		"a: [":                         "sequence",
		"version: 1\n":                 "no `streams`",
		"streams: [{$ref: '#/nope'}]":  "line 1: nothing stands at #/nope",
		"a: {$ref: '#/a'}\nstreams: 1": "in a circle",
		"streams: [*x]":                "x",
		strings.Repeat("[", 500):       "brackets",
		"a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\nstreams: [*f, *f, *f, *f]": "more than 500000 values",
	} {
		if _, err := airbyte.Translate("x", []byte(src), check); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", src, err, want)
		}
	}
}
