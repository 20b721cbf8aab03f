package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// Before the first run there is no database, and the console says so on its pages.
func TestServeBeforeTheFirstRun(t *testing.T) {
	var out, said bytes.Buffer
	home := t.TempDir()
	a := &app{in: strings.NewReader(""), out: &out, err: &said, env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
	ctx, end := context.WithCancel(t.Context())
	end() // it ends as soon as it serves
	code := a.execute(ctx, []string{"serve", "--listen", "127.0.0.1:0"})
	if code != 0 || strings.Count(out.String(), "http://127.0.0.1:") != 2 {
		t.Errorf("exit %d: %s%s", code, &out, &said)
	}
}
