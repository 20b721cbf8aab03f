package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"collect/cmd"
)

// collect is the command line in a process of its own. What it prints with --json is
// kept for [heldAgainstSchemas].
func collect() {
	if dir := os.Getenv("COLLECT_TEST_PRINTED"); dir != "" && slices.Contains(os.Args, "--json") {
		if file, err := os.CreateTemp(dir, "*.args"); err == nil {
			_ = json.NewEncoder(file).Encode(os.Args[1:])
			os.Stdout = tee(os.Stdout, strings.TrimSuffix(file.Name(), ".args")+".out")
			os.Stderr = tee(os.Stderr, strings.TrimSuffix(file.Name(), ".args")+".err")
		}
	}
	cmd.Main()
}

// tee returns what to write to instead of to, so that a file has it, too. Another
// process writes both: this one may be killed.
func tee(to *os.File, path string) *os.File {
	info, err := to.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return to // a full disk, or nothing: the script is about that
	}
	from, into, err := os.Pipe()
	if err != nil {
		return to
	}
	defer from.Close()
	c := exec.Command("tee", path)
	c.Stdin, c.Stdout = from, to
	if c.Start() != nil {
		return to
	}
	return into
}

// heldAgainstSchemas checks all that the commands of the scripts printed as JSON
// against what "collect schema" says of it.
func heldAgainstSchemas(t *testing.T, dir string) {
	all, err := filepath.Glob(filepath.Join(dir, "*.args"))
	if err != nil {
		t.Fatal(err)
	}
	s, docs := schemas{byName: map[string]*jsonschema.Schema{}}, 0
	for _, path := range all {
		var args []string
		line, err := os.ReadFile(path)
		if err := errors.Join(err, json.Unmarshal(line, &args)); err != nil {
			t.Fatal(err)
		}
		names := schemasOf(args)
		out, _ := os.ReadFile(strings.TrimSuffix(path, ".args") + ".out")
		d := json.NewDecoder(bytes.NewReader(out))
		for {
			var doc json.RawMessage
			if err := d.Decode(&doc); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // it was killed
					t.Errorf("collect %s: what it prints is not JSON: %v\n%s", strings.Join(args, " "), err, out)
				}
				break
			}
			docs++
			s.check(t, args, doc, names...)
		}
		said, _ := os.ReadFile(strings.TrimSuffix(path, ".args") + ".err")
		for line := range bytes.Lines(said) {
			if bytes.HasPrefix(line, []byte("{")) {
				docs++
				s.check(t, args, line, "error", "log")
			}
		}
	}
	if whole := !testing.Short() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/"); whole && docs < 50 {
		t.Errorf("%d documents of JSON were checked: the scripts print more", docs)
	}
}

// schemasOf returns the names of the schemas of what a command prints.
func schemasOf(args []string) []string {
	for i := 0; i < len(args); i++ {
		switch verb := args[i]; {
		case verb == "--state", verb == "--config":
			i++ // its value is no verb
		case strings.HasPrefix(verb, "-"):
		case verb == "run", verb == "resume", verb == "demo":
			return []string{"event"}
		case verb == "gaps" && slices.Contains(args, "--calendar"):
			return []string{"calendar"}
		case verb == "config":
			return []string{"settings"}
		case slices.Contains([]string{"pause", "unpause", "breaker", "freeze", "reset", "enqueue", "schedule"}, verb):
			return []string{"order", "schedules"}
		case verb == "budget", verb == "schema":
			return []string{"order", "budget"}
		case verb == "check":
			return []string{"check", "preview"} // --online: a page for each stream, too
		default:
			return []string{verb}
		}
	}
	return nil
}

// schemas are those that "collect schema" prints, by name.
type schemas struct{ byName map[string]*jsonschema.Schema }

// check reports a document that is not as one of the schemas says.
func (s schemas) check(t *testing.T, args []string, doc []byte, names ...string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	var faults []error
	for _, name := range names {
		one := value
		if _, list := value.([]any); name == "preview" && !list {
			one = []any{value}
		}
		fault := s.of(t, name).Validate(one)
		if fault == nil {
			return
		}
		faults = append(faults, fault)
	}
	t.Errorf("collect %s prints what `collect schema %s` does not say:\n%v\n%s", strings.Join(args, " "), strings.Join(names, ", "), errors.Join(faults...), doc)
}

// of returns a schema whose objects have no other fields than it names.
func (s schemas) of(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	if s.byName[name] == nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed(t, "schema", name)))
		if err != nil {
			t.Fatal(err)
		}
		closed(doc)
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name+".json", doc); err != nil {
			t.Fatal(err)
		}
		s.byName[name] = c.MustCompile(name + ".json")
	}
	return s.byName[name]
}

// closed lets no object have a field that is not named.
func closed(doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		for _, part := range doc {
			closed(part)
		}
		if _, ok := doc["properties"].(map[string]any); ok && doc["additionalProperties"] == nil {
			doc["additionalProperties"] = false
		}
	case []any:
		for _, part := range doc {
			closed(part)
		}
	}
}

// printed returns what a command prints.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command("collect", args...).Output()
	if err != nil {
		t.Fatalf("collect %s: %v", strings.Join(args, " "), err)
	}
	return out
}

var update = flag.Bool("update", false, "write the schemas that have grown")

// Within a version fields are only added to what commands print: the schemas under
// testdata/schema are those of the newest commit, and none of them may lose anything.
func TestSchemasOnlyGrow(t *testing.T) {
	const dir = "testdata/schema"
	names := strings.Fields(string(printed(t, "schema")))
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		if name := strings.TrimSuffix(filepath.Base(path), ".json"); !slices.Contains(names, name) {
			t.Errorf("`collect schema %s` is gone", name)
		}
	}
	for _, name := range names {
		if name == "config" || name == "connector" { // files that people write may have fewer keys in a new version
			continue
		}
		path, now := filepath.Join(dir, name+".json"), printed(t, "schema", name)
		before, err := os.ReadFile(path)
		if err == nil {
			for _, lost := range losses("", parsed(t, before), parsed(t, now)) {
				t.Errorf("%s: %s", name, lost)
			}
		}
		if bytes.Equal(before, now) {
			continue
		}
		if !*update || t.Failed() {
			t.Errorf("%s is not `collect schema %s`. If it has only grown: go test . -run TestSchemasOnlyGrow -update", path, name)
			continue
		}
		if err := os.WriteFile(path, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func parsed(t *testing.T, doc []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// losses says what a program that reads JSON by the schema before could miss in what
// is printed by the schema now.
func losses(at string, before, now any) (lost []string) {
	was, ok := before.(map[string]any)
	is, ok2 := now.(map[string]any)
	if !ok || !ok2 {
		if !reflect.DeepEqual(before, now) {
			return []string{fmt.Sprintf("%s is not what it was", at)}
		}
		return nil
	}
	for key, value := range was {
		switch key {
		case "properties":
			named, _ := is[key].(map[string]any)
			for field, of := range value.(map[string]any) {
				if named[field] == nil {
					lost = append(lost, fmt.Sprintf("%s.%s is gone", at, field))
					continue
				}
				lost = append(lost, losses(at+"."+field, of, named[field])...)
			}
		case "required":
			fields, _ := is[key].([]any)
			for _, field := range value.([]any) {
				if !slices.Contains(fields, field) {
					lost = append(lost, fmt.Sprintf("%s.%s is no longer always there", at, field))
				}
			}
		case "anyOf":
			kinds, _ := is[key].([]any)
			for i, kind := range value.([]any) {
				if i >= len(kinds) {
					lost = append(lost, fmt.Sprintf("%s: a kind of object is gone", at))
					break
				}
				lost = append(lost, losses(at, kind, kinds[i])...)
			}
		case "items", "additionalProperties":
			lost = append(lost, losses(at+"[]", value, is[key])...)
		case "type":
			if !among(is[key], value) { // null may go, and must not come
				lost = append(lost, fmt.Sprintf("%s is of type %v, and was %v", at, is[key], value))
			}
		}
	}
	return lost
}

// among reports whether all types are among others: each is one, or a list.
func among(types, others any) bool {
	list := func(v any) []any {
		if l, ok := v.([]any); ok {
			return l
		}
		return []any{v}
	}
	for _, one := range list(types) {
		if !slices.Contains(list(others), one) {
			return false
		}
	}
	return true
}

// A schema that loses something is noticed.
func TestLossesAreNoticed(t *testing.T) {
	before := parsed(t, []byte(`{"type": "array", "items": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}`))
	for doc, want := range map[string]int{
		`{"type": "array", "items": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {}}, "required": ["a", "b", "c"]}}`: 0,
		`{"type": "array", "items": {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}}`:                                         1,
		`{"type": "array", "items": {"properties": {"a": {"type": "string"}, "b": {"type": ["null", "integer"]}}, "required": ["a", "b"]}}`:     1,
		`{"type": "array", "items": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}}`:                    1,
		`{"type": "object"}`: 2,
		`{"type": "array", "items": {"properties": {"a": {"type": "string"}, "b": {"type": ["integer"]}}, "required": ["a", "b"]}}`: 0,
	} {
		if got := losses("", before, parsed(t, []byte(doc))); len(got) != want {
			t.Errorf("%s: %q, want %d losses", doc, got, want)
		}
	}
}
