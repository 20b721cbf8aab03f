package author

import (
	"net/http"
	"strings"
	"testing"
)

// Plant adds a fault before all others while do runs: an answer that is a sound
// page, and the last one, where there are more. No client can know that it lies, so
// that it shows whether harm is seen.
func Plant(t *testing.T, name string, do func()) {
	t.Helper()
	was := faults
	defer func() { faults = was }()
	faults = append([]fault{{name: name, always: true, answer: func(_ *stage, req *http.Request) (*http.Response, error) {
		return answerWith(req, http.StatusOK, http.Header{}, strings.TrimSpace(` {"items": [], "next": null} `)), nil
	}}}, faults...)
	do()
}
