package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const consoleTickets = `connector: tickets
provider:
  name: acme
  base_url: %s
  start_per_second: 200
  ceiling: {per_day: 20000}
  on_403: gap
streams:
  tickets: {get: /tickets, records: items, key: id, page: {none: true}}
  details: {each: {id: tickets.id}, get: "/tickets/${id}", key: id, role: detail}
`

const consoleMailbox = `connector: mailbox
provider: {name: mailco, base_url: %s, start_per_second: 200}
streams:
  threads: {get: /threads, records: items, key: id, page: {none: true}}
`

// TestConsole: a person uses the console in a browser that nobody of this project wrote.
func TestConsole(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/tickets":
			var items []string
			for i := range 40 {
				items = append(items, fmt.Sprintf(`{"id":"%d"}`, i))
			}
			fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
		case path == "/threads", strings.HasSuffix(path, "7"):
			w.WriteHeader(http.StatusForbidden)
		default:
			fmt.Fprintf(w, `{"id":"%s","text":"<script>alert(1)</script>"}`, filepath.Base(path))
		}
	}))
	defer provider.Close()
	u := user{state: filepath.Join(t.TempDir(), "state.db")}
	home := filepath.Dir(u.state)
	u.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for name, text := range map[string]string{"tickets": consoleTickets, "mailbox": consoleMailbox} {
		file := filepath.Join(home, name+".yaml")
		must(t, os.WriteFile(file, fmt.Appendf(nil, text, provider.URL), 0o600))
		if out, err := u.bare("run", file, "--state", u.state, "--create").CombinedOutput(); err == nil || strings.Contains(string(out), "E02") {
			t.Fatalf("the run of %s owes nothing:\n%s", name, out)
		}
	}
	runs, err := u.bare("runs", "tickets", "--state", u.state, "--json").Output()
	must(t, err)
	var found []struct {
		ID string `json:"run_id"`
	}
	must(t, json.Unmarshal(runs, &found))

	base, operator, viewer := openConsole(t, u)
	settings, err := json.Marshal(map[string]any{
		"base": base, "operator": operator, "viewer": viewer, "collect": binary, "args": []string{"--state", u.state}, "shots": os.Getenv("CONSOLE_SHOTS"),
		"pages": map[string]string{"overview": "/", "connector": "/connectors/tickets", "run": "/runs/" + found[0].ID, "gaps": "/gaps", "settings": "/settings?days=1",
			"order": "/orders/budget-set?connector=tickets&per=day&to=12000&for=1h0m0s"},
	})
	must(t, err)
	modules, err := filepath.Abs("../.cache/npm")
	must(t, err)
	node := exec.Command("node", filepath.Join(modules, "console.mjs"), string(settings))
	node.Env = append(u.env, "TMPDIR="+t.TempDir())
	out, err := node.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}

// openConsole starts the console, and returns its address and its links.
func openConsole(t *testing.T, u user) (base, operator, viewer string) {
	t.Helper()
	c := u.bare("serve", "--listen", "127.0.0.1:0", "--state", u.state)
	stdout, err := c.StdoutPipe()
	must(t, err)
	c.Stderr = os.Stderr
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("collect serve ends with %v", err)
		}
	})
	lines := bufio.NewScanner(stdout)
	for viewer == "" && lines.Scan() {
		role, link, _ := strings.Cut(lines.Text(), " ")
		link = strings.TrimSpace(link)
		if role == "operator" {
			operator = link
		} else {
			viewer = link
		}
	}
	base, _, ok := strings.Cut(operator, "/login")
	if !ok {
		t.Fatalf("collect serve printed no link: %q", operator)
	}
	return base, operator, viewer
}
