package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const fleetConfig = `connectors:
  slow: {use: ./slow.yaml}
  later: {use: ./later.yaml}
`

const fleetConnector = `connector: %s
provider: {base_url: "%s/%[1]s", pace: off, concurrency: {max: 1}}
streams:
  items: {get: /items, records: items, key: id, page: {none: true}}
  details: {each: {id: items.id}, get: "/items/${id}", key: id, role: detail}
`

// TestFleetPage: a person looks at workers, which scripts/fleet starts, in a browser that
// nobody of this project wrote. One of them dies meanwhile.
func TestFleetPage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/items") {
			var items []string
			for i := range 5000 {
				items = append(items, fmt.Sprintf(`{"id":"%d"}`, i))
			}
			fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
			return
		}
		select {
		case <-time.After(100 * time.Millisecond): // so that a turn is in hand as long as somebody looks
		case <-r.Context().Done():
		}
		fmt.Fprintf(w, `{"id":"%s"}`, filepath.Base(r.URL.Path))
	}))
	defer provider.Close()
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "collect.yaml"), []byte(fleetConfig), 0o600))
	for _, name := range []string{"slow", "later"} {
		must(t, os.WriteFile(filepath.Join(home, name+".yaml"), fmt.Appendf(nil, fleetConnector, name, provider.URL), 0o600))
	}
	yard, err := os.MkdirTemp("", "fleet") // not t.TempDir: the user of the server must enter it
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(yard) })
	must(t, os.Chmod(yard, 0o755)) // #nosec G302 -- it has no secrets
	script, err := filepath.Abs("../scripts/fleet")
	must(t, err)
	fleet := func(ctx context.Context, args ...string) string {
		c := exec.CommandContext(ctx, script, args...)
		c.Dir, c.Env = home, append(os.Environ(), "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "FLEET_DIR="+yard)
		c.WaitDelay = 10 * time.Second
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("scripts/fleet %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { fleet(context.WithoutCancel(ctx), "down") })
	told := regexp.MustCompile(`COLLECT_STATE='([^']+)'`).FindStringSubmatch(fleet(ctx, "up", "2"))
	if told == nil {
		t.Fatal("scripts/fleet up does not say which state to use")
	}

	u := user{state: told[1], env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	do := func(args ...string) string {
		c := u.bare(append(args, "--state", u.state)...)
		c.Dir = home
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("collect %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	do("schedule", "add", "later", "0 3 * * MON-SUN", "--reason", "each night")
	do("enqueue", "slow", "--reason", "a first look")
	for ctx.Err() == nil && !strings.Contains(do("fleet", "--json"), `"connector":"slow","worker"`) {
		time.Sleep(100 * time.Millisecond)
	}
	pid, err := os.ReadFile(filepath.Join(yard, "worker-1.pid"))
	must(t, err)
	worker, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	must(t, err)
	base, operator, viewer := openConsole(t, u)
	settings, err := json.Marshal(map[string]any{
		"base": base, "operator": operator, "viewer": viewer, "collect": binary, "worker": worker, "shots": os.Getenv("CONSOLE_SHOTS"),
		"args": map[string]any{"flags": []string{"--state", u.state}, "cwd": home},
	})
	must(t, err)
	modules, err := filepath.Abs("../.cache/npm")
	must(t, err)
	node := exec.CommandContext(ctx, "node", filepath.Join(modules, "fleet.mjs"), string(settings))
	node.Env = append(u.env, "TMPDIR="+t.TempDir())
	out, err := node.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}
