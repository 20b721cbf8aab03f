package similar_test

import (
	"testing"

	"collect/internal/similar"
)

func TestTo(t *testing.T) {
	names := []string{"tickets", "orders", "prices", "ceiling_per_second"}
	tests := []struct{ word, want string }{
		{"tikets", "tickets"}, {"tikcets", "tickets"}, {"TICKETS", "tickets"}, {"orderz", "orders"},
		{"celling_per_second", "ceiling_per_second"}, {"mailbox", ""}, {"x", ""}, {"", ""}, {"price", "prices"},
	}
	for _, test := range tests {
		if got := similar.To(test.word, names); got != test.want {
			t.Errorf("To(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}
