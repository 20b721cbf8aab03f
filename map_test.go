package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMapMakesTheRecords: `map` drops records, makes several of one, and leaves what
// it cannot read in quarantine; the total of the provider still fits, and numbers keep
// their digits.
func TestMapMakesTheRecords(t *testing.T) {
	binary := build(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Total-Count", "5") // more than there are made
		fmt.Fprint(w, `[{"id":9007199254740993,"price":0.10,"state":"open","lines":[{"n":1},{"n":2}]},
			{"id":2,"price":1e400,"state":"draft","lines":[]},
			{"id":3,"price":-0.0,"state":"open","lines":[{"n":1}]},
			{"id":4,"price":1,"state":"open","lines":7},
			{"id":5,"price":1,"state":"draft","lines":[{"n":1}]}]`)
	}))
	defer provider.Close()
	dir := t.TempDir()
	file, state := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "state.db")
	write := func(program string) {
		text := "connector: shop\nprovider: {base_url: " + provider.URL + ", pace: off}\nstreams:\n  lines:\n    get: /orders\n    key: [order, n]\n    page: {none: true}\n    map: '" + program + "'\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, int) {
		c := exec.Command(binary, args...)
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	write(`select(.state != "draft") | .lines[] as $l | {order: .id, n: $l.n, price}`)
	if out, code := run("run", file, "--state", state, "--create"); code != 65 || strings.Contains(out, "walked again") {
		t.Errorf("exit %d\n%s", code, out)
	}
	out, _ := run("export", file, "lines", "--state", state)
	want := `{"n":1,"order":3,"price":-0.0}
{"n":1,"order":9007199254740993,"price":0.10}
{"n":2,"order":9007199254740993,"price":0.10}
`
	if got := sorted(out); got != want {
		t.Errorf("exported\n%swant\n%s", got, want)
	}
	if out, _ := run("status", "--state", state, "--json"); !strings.Contains(out, `"records_quarantined":1`) {
		t.Errorf("the record that failed is not counted:\n%s", out)
	}
	write(`select(.state != "draft") | env`)
	if out, code := run("check", file); code == 0 || !strings.Contains(out, "8:39") || !strings.Contains(out, "`env` is not available") {
		t.Errorf("exit %d, want the place and the name\n%s", code, out)
	}
}

func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}
