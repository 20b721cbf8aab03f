package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collect/connectors/declarative"
	"collect/internal/provider"
)

var fenced = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// blocks returns the commands and files of a page, in their order.
func blocks(t *testing.T, page string) (found [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", page))
	if err != nil {
		t.Fatal(err)
	}
	return fenced.FindAllStringSubmatch(string(text), -1)
}

// TestGuide runs the commands of the guide for authors as they stand there, against
// a provider of ours at the address of the one in the guide.
func TestGuide(t *testing.T) {
	s := provider.New(provider.Script{Seed: 1, Tickets: 12, Token: "s3cr3t-t0ken"})
	address, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the script runs after this function
	var script, files strings.Builder
	commands := 0
	for i, block := range blocks(t, "guide.md") {
		text := strings.ReplaceAll(block[2], "https://api.acme.test", address)
		if block[1] == "yaml" {
			fmt.Fprintf(&script, "cp %d.yaml tickets.yaml\n", i)
			fmt.Fprintf(&files, "-- %d.yaml --\n%s", i, text)
			continue
		}
		for line := range strings.Lines(text) {
			script.WriteString("exec " + line)
			commands++
		}
	}
	if commands < 10 {
		t.Fatalf("%d commands: the guide is not read", commands)
	}
	script.WriteString("! grep s3cr3t tickets.yaml\n! grep s3cr3t tickets.txtar\n")
	file := filepath.Join(t.TempDir(), "guide.txtar")
	if err := os.WriteFile(file, []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: func(env *testscript.Env) error {
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
		env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
		env.Setenv("NO_PROXY", "127.0.0.1")
		env.Setenv("ACME_TOKEN", "s3cr3t-t0ken")
		return nil
	}})
}

// TestRecipes: each recipe is sound, and has nothing that is not meant.
func TestRecipes(t *testing.T) {
	files := blocks(t, "recipes.md")
	if len(files) < 10 {
		t.Fatalf("%d recipes: the page is not read", len(files))
	}
	for _, block := range files {
		if _, mistakes, doubts := declarative.Check("recipe.yaml", []byte(block[2])); len(mistakes)+len(doubts) > 0 {
			t.Errorf("%s\n%v %v", block[2], mistakes, doubts)
		}
	}
}
