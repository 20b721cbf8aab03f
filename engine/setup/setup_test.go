package setup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/engine/setup"
)

var tickets = setup.Entry{
	Name: "tickets", Use: "./acme.yaml", Params: map[string]string{"org": "acme", "start": "2024-09-01", "note": "yes: \"no\""},
	Provider: "acme", Token: setup.Token{Key: "token_file", Value: "~/.config/collect/acme.token"},
	Origins: []string{"https://api.acme.test"}, PerSecond: "4",
}

// TestAddTo: lines are added where they belong, and every line that was there stays. The
// files are in testdata: what was, and after a line of dashes what becomes of it.
func TestAddTo(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			old, want, ok := strings.Cut(string(text), "----\n")
			if !ok {
				t.Fatal("no line of dashes")
			}
			got, err := tickets.AddTo([]byte(old))
			shown := string(got)
			if err != nil {
				shown = "error: " + err.Error() + "\n"
			}
			if shown != want {
				t.Errorf("got\n%s\nwant\n%s", shown, want)
			}
			if err == nil && old != "" {
				left := string(got)
				for line := range strings.Lines(old) {
					i := strings.Index(left, line)
					if i < 0 {
						t.Fatalf("%q is gone", line)
					}
					left = left[i+len(line):]
				}
			}
		})
	}
}

func TestCarriageReturnsStay(t *testing.T) {
	got, err := tickets.AddTo([]byte("version: 1\r\nconnectors:\r\n  a: {use: github}\r\n"))
	if err != nil || strings.Count(string(got), "\r\n") != strings.Count(string(got), "\n") {
		t.Errorf("%v: %q", err, got)
	}
}

// TestTaken: a connector that is there is not written again.
func TestTaken(t *testing.T) {
	_, err := tickets.AddTo([]byte("connectors:\n  # mine\n  tickets: {use: github}\n"))
	if taken, ok := errors.AsType[*setup.TakenError](err); !ok || taken.Line != 3 {
		t.Errorf("%v, want that line 3 has it", err)
	}
}

func TestAdded(t *testing.T) {
	old := "version: 1\nconnectors:\n  a: {use: github}\n# end\n"
	got := setup.Added([]byte(old), []byte("version: 1\nconnectors:\n  a: {use: github}\n  b:\n    use: gitlab\n# end\n"))
	want := []string{"    a: {use: github}", "+   b:", "+     use: gitlab"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := setup.Added(nil, []byte("version: 1\n")); len(got) != 1 || got[0] != "+ version: 1" {
		t.Errorf("of a new file: %q", got)
	}
}
