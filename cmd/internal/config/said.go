package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"collect/internal/words"
)

// A Said is a value of a key as one source has it.
type Said struct {
	Value  string
	Origin string // "collect.yaml:3", "env COLLECT_STATE", "flag --state", "built in"

	source int // the rank of the source: a higher one is over it
}

// A Value is the value of a key that holds, where it came from, and what the other
// sources said, in the order of their rank.
type Value struct {
	Key string
	Said
	Others    []Said
	Strictest bool // of all sources the strictest holds, whatever its rank
}

// Values returns all keys that are said or built in, each with the value that holds.
func (s Settings) Values() []Value {
	var keys []string
	for _, said := range s.said {
		if !slices.Contains(keys, said.key) {
			keys = append(keys, said.key)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	var values []Value
	for _, key := range keys {
		if v, ok := s.value(key); ok {
			values = append(values, v)
		}
	}
	return values
}

// order puts the keys of the top level first, and then the blocks as in the file.
func order(key string) string {
	block, _, nested := strings.Cut(key, ".")
	if !nested {
		return "0"
	}
	return fmt.Sprint(1+slices.Index([]string{"defaults", "providers", "connectors", "notify"}, block)) + key
}

// value returns the value of a key that holds; ok is false if a source outranks all that
// said it by another key of the same block.
func (s Settings) value(key string) (v Value, ok bool) {
	unit, whole := wholeBlock(key)
	newest := -1 // the rank of the source whose block holds
	for _, said := range s.said {
		if of, is := wholeBlock(said.key); whole && is && of == unit {
			newest = max(newest, said.source)
		}
	}
	v.Key, v.Strictest = key, strictness(key) != nil
	best := -1
	var all []Said
	for _, said := range s.said {
		if said.key != key || whole && said.source < newest {
			continue
		}
		all = append(all, said.Said)
		if best < 0 || !v.Strictest || strictness(key)(said.Value) <= strictness(key)(all[best].Value) {
			best = len(all) - 1
		}
	}
	if best < 0 {
		return v, false
	}
	v.Said = all[best]
	v.Others = slices.Delete(all, best, best+1)
	return v, true
}

// wholeBlock returns the block of a key that one source has as a whole: a connector, a
// way of being told, the token of a provider.
func wholeBlock(key string) (unit string, whole bool) {
	parts := strings.Split(key, ".")
	switch {
	case parts[0] == "connectors" && len(parts) > 2, parts[0] == "notify" && len(parts) > 1:
		return parts[0] + "." + parts[1], true
	case parts[0] == "providers" && len(parts) == 3 && (strings.HasPrefix(parts[2], "token_") || parts[2] == "origins"):
		return parts[0] + "." + parts[1] + ".token", true
	}
	return "", false
}

// strictness returns how a limit is measured: the smallest is the strictest. It returns
// nil for a key that is no limit; there the source of the highest rank decides.
func strictness(key string) func(string) float64 {
	parts := strings.Split(key, ".")
	if key == "defaults.max_time" {
		return func(text string) float64 {
			d, err := ParseDuration(text)
			return noneIsMost(float64(d)/float64(time.Second), err)
		}
	}
	if key == "defaults.max_requests" {
		return func(text string) float64 {
			n, err := ParseCount(text)
			return noneIsMost(float64(n), err)
		}
	}
	if parts[0] != "providers" || len(parts) < 3 {
		return nil
	}
	number := func(sign float64) func(string) float64 {
		return func(text string) float64 {
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
			return sign * noneIsMost(n, err)
		}
	}
	switch strings.Join(parts[2:], ".") {
	case "ceiling_per_second", "requests_per_day", "concurrency.max":
		return number(1)
	case "quota.reserve":
		return number(-1) // the largest share
	}
	return nil
}

func noneIsMost(n float64, err error) float64 {
	if err != nil || n == 0 {
		return math.Inf(1)
	}
	return n
}

// A saidKey is what a source says of a key.
type saidKey struct {
	key string
	Said
}

// saidIn returns what a file says of each key: parts of a mapping are keys of their own,
// and a list is one value. It is a file that was read without a mistake.
func saidIn(path string, src []byte, env func(string) string) (all []saidKey) {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil
	}
	var walk func(key string, node ast.Node)
	walk = func(key string, node ast.Node) {
		switch node := node.(type) {
		case *ast.MappingNode:
			for _, pair := range node.Values {
				walk(key, pair)
			}
		case *ast.MappingValueNode:
			name := node.Key.GetToken().Value
			if key != "" {
				name = key + "." + name
			}
			walk(name, node.Value)
		case *ast.SequenceNode:
			var items []string
			for _, item := range node.Values {
				items = append(items, item.GetToken().Value)
			}
			all = append(all, saidAt(key, "["+strings.Join(items, ", ")+"]", path, node, env))
		case nil:
		default:
			if node.Type() != ast.NullType && key != "version" {
				all = append(all, saidAt(key, node.GetToken().Value, path, node, env))
			}
		}
	}
	for _, doc := range file.Docs {
		walk("", doc.Body)
	}
	return all
}

func saidAt(key, value, path string, node ast.Node, env func(string) string) saidKey {
	if strings.HasSuffix(key, ".token_command") || key == keyCommand {
		value = programOf(value)
	}
	return saidKey{key, Said{Value: words.Clean(value), Origin: fmt.Sprintf("%s:%d", words.Home(path, env), node.GetToken().Position.Line)}}
}

// programOf returns the program of a line for the shell: what follows may hold a
// credential.
func programOf(line string) string {
	if program, rest, more := strings.Cut(strings.TrimSpace(line), " "); more && rest != "" {
		return program + " …"
	}
	return line
}
