package browser_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"collect/connectors/declarative"
	"collect/engine/author/browser"
)

var update = flag.Bool("update", false, "write what comes out into testdata, to be read")

func check(file []byte) error {
	if _, mistakes, _ := declarative.Check("a.yaml", file); len(mistakes) > 0 {
		return errors.New(mistakes[0].Message)
	}
	return nil
}

type object = map[string]any

// recorded returns an archive of a shorter notation: of each request the address and
// headers on lines, and behind a blank line the headers and the body of the answer.
func recorded(t *testing.T, text string) []byte {
	t.Helper()
	headers := func(lines []string) (list []object) {
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			list = append(list, object{"name": name, "value": value})
		}
		return list
	}
	var entries []object
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n===\n") {
		asked, answered, ok := strings.Cut(part, "\n\n")
		if !ok {
			t.Fatalf("no answer: %s", part)
		}
		request, response := strings.Split(asked, "\n"), strings.Split(strings.TrimSpace(answered), "\n")
		last := len(response) - 1
		method, address, _ := strings.Cut(request[0], " ")
		body := ""
		if end := len(request) - 1; strings.HasPrefix(request[end], "{") {
			body, request = request[end], request[:end]
		}
		entries = append(entries, object{
			"request":  object{"method": method, "url": address, "headers": headers(request[1:]), "postData": object{"mimeType": "application/json", "text": body}},
			"response": object{"status": 200, "headers": headers(response[:last]), "content": object{"mimeType": "application/json; charset=utf-8", "text": response[last]}},
		})
	}
	src, err := json.Marshal(object{"log": object{"entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestNew: what browsers recorded becomes the files that stand beside it, each of
// which passes the check and has no value of a credential.
func TestNew(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d archives, %v; want 4 at least", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(a.Files[0].Data), "s3cr3t") {
				t.Fatal("the archive has no credential to be taken out")
			}
			got, err := browser.New(name, recorded(t, string(a.Files[0].Data)), check)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(got.File); err != nil {
				t.Errorf("the file is refused: %v\n%s", err, got.File)
			}
			if strings.Contains(string(got.File), "s3cr3t") {
				t.Errorf("a credential is in the file:\n%s", got.File)
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

// TestRefuses: what is no archive, or has no list, is refused, and nothing of it is
// quoted.
func TestRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"":                                     "no HTTP Archive",
		`{"log": "s3cr3t-value"}`:              "no HTTP Archive",
		`{"log": {"entries": []}}`:             "no request",
		"s3cr3t-value":                         "no HTTP Archive",
		strings.Repeat(" ", browser.Longest+1): "longer than",
	} {
		_, err := browser.New("a", []byte(src), check)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%.60q: %v; want %q", src, err, want)
		}
	}
	one := recorded(t, "GET https://a.test/s3cr3t-one?key=s3cr3t-two\nAuthorization: Bearer s3cr3t-one\n\n"+`[{"text": "a"}]`)
	if _, err := browser.New("a", one, check); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("a list without a key: %v", err)
	}
}
