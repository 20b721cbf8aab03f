package declarative_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"collect/connectors/declarative"
)

var update = flag.Bool("update", false, "write the files that are made of the language, instead of comparing them")

// The tables of the reference stand between a line that names their block and
// one that ends them.
var tables = regexp.MustCompile(`(?s)(<!-- keys: (\w+) -->\n).*?(<!-- end -->)`)

// TestReferencePage holds the page that people read: it says of each key what
// the schema says of it.
func TestReferencePage(t *testing.T) {
	const page = "../../docs/connectors.md"
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	missing := declarative.Blocks()
	made := tables.ReplaceAllFunc(src, func(table []byte) []byte {
		part := tables.FindSubmatch(table)
		block := string(part[2])
		keys, ok := missing[block]
		if !ok {
			t.Errorf("%s: there is no block %s, or it stands there twice", page, block)
		}
		delete(missing, block)
		return []byte(string(part[1]) + markdown(keys) + string(part[3]))
	})
	for block, keys := range missing {
		for _, key := range keys { // of a block that is shown inside a line
			if mentioned := regexp.MustCompile("`[^`\n]*\\b" + key.Name + "\\b"); !mentioned.Match(made) {
				t.Errorf("%s does not have the key %s of a %s", page, key.Name, block)
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, made, 0o600); err != nil { // it keeps its mode
			t.Fatal(err)
		}
	} else if string(made) != string(src) {
		t.Errorf("%s does not say what the tags of language.go say: run\n\tgo generate ./connectors/declarative", page)
	}
}

// markdown returns the keys of a block as a table. It has a column for what
// holds without a key if that is said of any, and shows forms in place of names
// where there are some.
func markdown(keys []declarative.Key) string {
	head, line := "| key |", "|---|"
	defaults := false
	for _, key := range keys {
		defaults = defaults || key.Default != ""
		if key.Form != "" {
			head = "| form |"
		}
	}
	if defaults {
		head, line = head+" default |", line+"---|"
	}
	rows := []string{head + " meaning |", line + "---|"}
	for _, key := range keys {
		row := "| '" + key.Name + "' |"
		if key.Form != "" {
			row = "| '" + key.Form + "' |"
		}
		if defaults {
			row += " " + key.Default + " |"
		}
		rows = append(rows, typed.ReplaceAllString(row+" "+key.About+key.More+" |", "`$1`"))
	}
	return strings.Join(rows, "\n") + "\n"
}

// typed matches what a person types, which stands in single quotes. Inside a
// word they are apostrophes.
var typed = regexp.MustCompile(`\B'([^']+)'\B`)
