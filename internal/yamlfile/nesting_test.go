package yamlfile_test

import (
	"strings"
	"testing"

	"collect/internal/yamlfile"
)

// TestTooNested: what takes memory for the square of its length is refused
// before it is parsed, and nothing that people write is.
func TestTooNested(t *testing.T) {
	for _, tc := range []struct {
		src  string
		line int
	}{
		{"a: " + strings.Repeat("[", 40000), 1}, {"a:\n  b: " + strings.Repeat("{a: ", 20000), 2}, {"a:\n" + strings.Repeat("- ", 40000), 2},
		{strings.Repeat("? ", 500), 1}, {strings.Repeat("[\n", 500), 101},
		{strings.Repeat("a: [1, {b: [2]}]\n", 5000), 0}, {"# " + strings.Repeat("-", 500) + " x", 0}, {strings.Repeat("- a: 1\n  b: 2\n", 5000), 0},
		{strings.Repeat("]", 500) + strings.Repeat("[", 50), 0}, {"", 0},
	} {
		if line, _ := yamlfile.TooNested([]byte(tc.src)); line != tc.line {
			t.Errorf("%.20q…: line %d, want %d", tc.src, line, tc.line)
		}
	}
	var doc struct{}
	faults := yamlfile.Decode([]byte("connector: x\nstreams: "+strings.Repeat("[", 40000)), &doc)
	if len(faults) != 1 || faults[0].At != (yamlfile.Span{Line: 2, Column: 110, Length: 1}) || !strings.Contains(faults[0].Message, "more than 100 brackets") {
		t.Errorf("Decode: %v", faults)
	}
}
