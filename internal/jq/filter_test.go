package jq_test

import (
	"strings"
	"testing"

	"collect/internal/jq"
)

// A filter prints as "jq -r" does, and keeps the digits of numbers.
func TestFilter(t *testing.T) {
	const doc = `[{"a": 9007199254740993, "b": "x\ty"}, {"a": 0.10, "b": null}]`
	for _, test := range []struct{ program, want, fault string }{
		{".[].b", "x\ty\nnull\n", ""},
		{".[].a", "9007199254740993\n0.10\n", ""},
		{".[0]", `{"a":9007199254740993,"b":"x\ty"}` + "\n", ""},
		{"map(.a) | length, empty", "2\n", ""},
		{"empty", "", ""},
		{"halt, 1", "", ""},
		{".[0].b, error(\"no\")", "x\ty\n", "no"},
		{"$ENV.HOME, env", "null\n{}\n", ""},
		{"input", "", "input"},
		{"nan", "", "printed"},
	} {
		f, err := jq.CompileFilter(test.program)
		var out []byte
		if err == nil {
			out, err = f.Apply([]byte(doc))
		}
		if string(out) != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %q, %v; want %q and %q", test.program, out, err, test.want, test.fault)
		}
	}
	for _, program := range []string{".[", "nothing", `import "x" as x; .`} {
		if _, err := jq.CompileFilter(program); err == nil {
			t.Errorf("%s: no error", program)
		}
	}
}
