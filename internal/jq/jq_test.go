package jq_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"collect/internal/jq"
)

const most = 1 << 20

func apply(t *testing.T, program, record string) (string, error) {
	t.Helper()
	p, err := jq.Compile(program)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	made, err := p.Apply([]byte(record), most)
	var b strings.Builder
	for _, record := range made {
		b.Write(record)
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), err
}

// TestMap: what programs make of records, with numbers that no float64 holds.
func TestMap(t *testing.T) {
	for _, tc := range []struct{ program, record, want string }{
		{`{id, amount}`, `{"id":9007199254740993,"amount":0.10,"x":1}`, `{"amount":0.10,"id":9007199254740993}`},
		{`{a: .a, b: [.b]}`, `{"a":1e400,"b":-0.0}`, `{"a":1e400,"b":[-0.0]}`},
		{`.n += 1`, `{"n":9007199254740993}`, `{"n":9007199254740994}`},
		{`select(.kind == "a")`, `{"kind":"a", "v": 1.0,"u":"\u00e9"}`, `{"kind":"a", "v": 1.0,"u":"\u00e9"}`},
		{`select(.kind == "a")`, `{"kind":"b"}`, ``},
		{`.items[] as $i | {id: $i.id, of: .id}`, `{"id":7,"items":[{"id":1},{"id":2}]}`, `{"id":1,"of":7}` + "\n" + `{"id":2,"of":7}`},
		{`. + {name: ((.first // "") + " " + .last)}`, `{"first":"A","last":"B"}`, `{"first":"A","last":"B","name":"A B"}`},
		{`.a = 3 * 2 - 1`, `{}`, `{"a":5}`},
		{`.a |= ascii_downcase`, `{"a":"X"}`, `{"a":"x"}`},
		{`{a: ("-" * 3), b: ([1,"x",null]|join("+")), c: "n\(.n)", d: (.n|@base64)}`, `{"n":0.10}`, `{"a":"---","b":"1+x+","c":"n0.10","d":"MC4xMA=="}`},
		{`{tags: [.tags[].name | gsub("[^a-z]"; "_")]}`, `{"tags":[{"name":"a b"},{"name":"c"}]}`, `{"tags":["a_b","c"]}`},
		{`def f($x; g): {x: $x, g: g}; f(1; .a)`, `{"a":[2]}`, `{"g":[2],"x":1}`},
		{`with_entries(select(.value != null))`, `{"a":null,"b":1}`, `{"b":1}`},
		{`reduce .l[] as $x ({}; . + {($x.k): $x.v})`, `{"l":[{"k":"a","v":1},{"k":"b","v":2}]}`, `{"a":1,"b":2}`},
		{`{a: ((1,2) + (10,20))}`, `{}`, `{"a":11}` + "\n" + `{"a":12}` + "\n" + `{"a":21}` + "\n" + `{"a":22}`},
		{`del(.a, .b[0]) | .c[1] = 2`, `{"a":1,"b":[1,2],"c":[]}`, `{"b":[2],"c":[null,2]}`},
		{`{s: -.n, t: (.n % 4), u: ("a,b" / ",")}`, `{"n":7}`, `{"s":-7,"t":3,"u":["a","b"]}`},
	} {
		got, err := apply(t, tc.program, tc.record)
		if err != nil || got != tc.want {
			t.Errorf("%s of %s:\n got %s, %v\nwant %s", tc.program, tc.record, got, err, tc.want)
		}
	}
}

// runaways are programs that take as much as they are given.
var runaways = []string{
	`{a: [range(1e9)]}`, `[repeat(1)] | {a: .}`, `{a: ("x" * 1e9)}`, `{a: (1e9 * "x")}`, `def f: f; f`, `def f: 1 + f; f`, `{a: [.[] | recurse(.)]}`,
	`reduce range(64) as $i ("x"; . + .) | {a: .}`, `reduce range(64) as $i ([1]; [., .]) | {a: tojson}`, `reduce range(64) as $i ([1]; [., .]) | {a: .}`,
	`reduce range(64) as $i (7; . * .) | {a: .}`, `.[500000000] = 1`, `.a[500000000] = 1`, `.a[("5e8" | tonumber)] = 1`, `[range(1000)] | .[] |= ("y" * 100000) | {a: .}`,
	`("x" * 100000) as $x | {a: [range(100000) | "a"] | join($x)}`, `("x" * 100000) | {a: gsub("x"; "y" * 1000)}`, `[range(1000) | ("x" * 100000)] | {a: add}`,
	`{a: ("\(range(1e9))")}`, `reduce range(64) as $i ([[1]]; [., .]) | {a: flatten}`, `reduce range(64) as $i ([1]; [., .]) | {a: (. == .)}`,
	`reduce range(40) as $i ("x"; "\(.)\(.)") | {a: .}`, `{a: [limit(1e9; repeat("x"))]}`, `{a: ("x" * 100000 | [splits("")])}`, `range(1e9) | {id: .}`,
	`reduce range(64) as $i ("x"; .+=.) | {a: .}`, `[range(300)] | [.[] as $a | .[] as $b | .[] as $c | [$a, $b, $c]] | {a: .}`,
}

// TestRunaways end with an error, in bounded memory.
func TestRunaways(t *testing.T) {
	var before, after runtime.MemStats
	for _, program := range runaways {
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, err := apply(t, program, `{"a":[1]}`)
		runtime.ReadMemStats(&after)
		t.Logf("%s: %v", program, err)
		if err == nil {
			t.Errorf("%s made %d bytes", program, len(got))
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 128<<20 {
			t.Errorf("%s took %d MiB from the system: %v", program, grown>>20, err)
		}
	}
}

// TestNothingOfTheMachine: a program reaches its record and nothing else, and the
// error says where it tries to.
func TestNothingOfTheMachine(t *testing.T) {
	for program, name := range map[string]string{
		`env`: "env", `{a: $ENV.HOME}`: "$ENV", `input`: "input", `[inputs]`: "inputs", `import "a" as a; .`: "import", `{a: $__loc__}`: "$__loc__", `now`: "now",
		`{a: (1 | localtime)}`: "localtime", `debug`: "debug", `halt`: "halt", `input_filename`: "input_filename", `get_search_list`: "get_search_list",
		`.a | builtins`: "builtins", `def _add(a; b): 1; .`: "_add", `.b | __fits`: "__fits", `setpath(["a"]; 1)`: "setpath", `nothing(1)`: "nothing", `$x`: "$x",
	} {
		_, err := jq.Compile(program)
		fault, ok := err.(*jq.SyntaxError)
		if !ok {
			t.Errorf("%s: %v", program, err)
			continue
		}
		if at := program[fault.Offset:min(len(program), fault.Offset+fault.Length)]; at != name {
			t.Errorf("%s: %v at %q, want %q", program, err, at, name)
		}
	}
}

// TestAllFunctions: each function that may be called is one that gojq has.
func TestAllFunctions(t *testing.T) {
	for _, name := range jq.Functions() {
		ok := false
		for _, args := range []string{"", "(.)", "(.; .)", "(.; .; .)"} {
			_, err := jq.Compile(name + args)
			ok = ok || err == nil
		}
		if !ok {
			t.Errorf("%s is no function", name)
		}
	}
}

// FuzzMap: whatever the program and the record, what comes out is JSON within the
// bounds, and a program that leaves the record alone leaves its bytes alone.
func FuzzMap(f *testing.F) {
	f.Add(`reduce range(9) as $i ("x"; . + .) | {a: .}`, `{"a":[1,"x",{"b":null}]}`)
	f.Add(`def f($x; g): {x: $x, g: g}; f(1; .a) | .b[2] = ("y" * 3)`, `{"a":[1,"x",{"b":null}]}`)
	f.Add(`.a[.b:.c] as [$x, {y: $z}] ?// $q | try error("x") catch {a: .}`, `{"a":1e400}`)
	f.Add(`label $out | foreach .[] as $x (0; . + 1; if . > 2 then ., break $out else empty end)`, `{"a":1,"b":2}`)
	f.Add(`{(.a, "b"): ..} | .c += 1 | @html "x\(.)"`, `{"a":"q"}`)
	f.Fuzz(func(t *testing.T, program, record string) {
		if !json.Valid([]byte(record)) || len(record) > 4096 || len(program) > 256 {
			return
		}
		p, err := jq.Compile(program)
		if err != nil {
			fault, ok := err.(*jq.SyntaxError)
			if !ok || fault.Offset < 0 || fault.Length < 1 || fault.Offset > len(program) {
				t.Fatalf("%q: %#v", program, err)
			}
			return
		}
		made, err := p.Apply([]byte(record), most)
		if err != nil {
			return
		}
		for _, out := range made {
			if !json.Valid(out) || len(out) > 2*most {
				t.Fatalf("%q of %q made %.200q", program, record, out)
			}
		}
	})
}

func BenchmarkMap(b *testing.B) {
	record := fmt.Sprintf(`{"id":9007199254740993,"title":%q,"amount":0.10,"user":{"login":"a","id":1},"labels":[{"name":"x"},{"name":"y"}]}`, strings.Repeat("lorem ", 320))
	p, err := jq.Compile(`select(.amount != null) | {id, title, amount, login: .user.login, labels: [.labels[].name], text: (.title + "!")}`)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(100 * len(record)))
	for b.Loop() {
		for range 100 {
			if made, err := p.Apply([]byte(record), 8<<20); err != nil || len(made) != 1 {
				b.Fatal(err)
			}
		}
	}
}
