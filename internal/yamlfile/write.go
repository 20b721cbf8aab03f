package yamlfile

import (
	"slices"
	"strconv"
	"strings"

	"collect/internal/lazy"
)

// A Pair is a key and its value in a [Map].
type Pair struct {
	Key   string
	Value any
}

// A Map is a mapping to be written, in its order. Its values are texts, whole
// numbers, truth values, nil, raw values, lists ([]any) and maps.
type Map []Pair

// Set adds a pair, unless value is nil.
func (m *Map) Set(key string, value any) {
	if value != nil {
		*m = append(*m, Pair{key, value})
	}
}

// A Raw value is written as it stands, such as a number of another file.
type Raw string

var (
	plain    = lazy.Regexp(`^([A-Za-z_/][A-Za-z0-9_/.-]*|[0-9]+[smhd])$`)
	reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// Quote returns text as a value of YAML, in quotes where it needs them.
func Quote(text string) string {
	switch {
	case plain().MatchString(text) && !slices.Contains(reserved, strings.ToLower(text)):
		return text
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return strconv.Quote(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// Flow returns value on one line.
func Flow(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case Raw:
		return string(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = Flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Map:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = Quote(p.Key) + ": " + Flow(p.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	panic("yamlfile: a value of another type")
}
