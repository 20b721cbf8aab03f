package hostile_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestSecretsDoNotShowOnPages: two runs that differ only in the credential, which their
// provider gives back, are the same on every page of the console, in /metrics and the
// file of metrics, in the requests that were recorded, in the log, and in what other
// commands print.
// Traces, whose bytes are ids and times, do not have the credential. (I18.)
func TestSecretsDoNotShowOnPages(t *testing.T) {
	other := "An0ther/+=c4nary" + strings.Repeat("x", len(secret)-16)
	for _, name := range []string{"success in pages", "401", "403", "429", "a next cursor"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elsewhere := listen(t, nil, nil, ok(page(101, 102, `"next":null`)))
			p := listen(t, nil, nil, echoes()[name])
			dir := t.TempDir()
			write(t, filepath.Join(dir, "hostile.yaml"), fmt.Sprintf(`connector: hostile
secrets: {token: {env: TOKEN}}
provider:
  name: hostile
  base_url: %s
  auth: {bearer: "${secrets.token}"}
  pace: off
  limits: {request_timeout: 3s, header_timeout: 2s, body: 256KiB, cursor: 1KiB, attempts: 1, longest_retry_after: 1s}
streams:
  things: {get: /things, %s}
`, p.base, walks["url"]))
			var told [2]map[string]string
			for i, token := range []string{secret, other} {
				p.restart(strings.NewReplacer("$BASE", p.base, "$OTHER", elsewhere.base, "$SECRET", token))
				told[i] = everything(t, dir, token)
			}
			if len(told[0]) < 15 {
				t.Errorf("only %q were seen: this proves little", slices.Sorted(maps.Keys(told[0])))
			}
			if one, another := slices.Sorted(maps.Keys(told[0])), slices.Sorted(maps.Keys(told[1])); !slices.Equal(one, another) {
				t.Errorf("%q with one credential, %q with another", one, another)
			}
			for what, one := range told[0] {
				compareLines(t, what, one, told[1][what])
			}
		})
	}
}

func compareLines(t *testing.T, what, a, b string) {
	t.Helper()
	one, another := lines(a), lines(b)
	if len(one) != len(another) {
		t.Errorf("%s: %d lines with one credential, %d with another:\n%s\n%s", what, len(one), len(another), a, b)
	}
	for i := range min(len(one), len(another)) {
		if one[i] != another[i] {
			t.Errorf("%s differs:\n%s\n%s", what, one[i], another[i])
		}
	}
}

// everything collects with token, and returns what can be seen of that, by where it is
// seen, without what differs between any two runs.
func everything(t *testing.T, dir, token string) map[string]string {
	t.Helper()
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.RemoveAll(state), os.RemoveAll(filepath.Join(dir, ".local")), os.Mkdir(state, 0o700)); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	see := func(what string, data []byte) {
		t.Helper()
		hidden(t, token, what, data)
		all[what] = unlikePages.Replace(unlike.Replace(string(data)))
	}
	collector := traces(t, token)
	env := []string{"TOKEN=" + token, "COLLECT_LOG=debug", "COLLECT_LOG_FORMAT=json"}
	for _, line := range []string{
		"run hostile.yaml --create --json --trace --metrics-file state/m.prom --trace-http state/t.har --traces " + collector,
		"status hostile --json", "status --wide", "gaps --json", "runs", "explain hostile", "explain hostile --json", "plan hostile.yaml", "doctor --json", "config show --origin",
	} {
		r := execute(t, dir, env, append(strings.Fields(line), "--state", "state/state.db"))
		see(strings.ReplaceAll(line, collector, "URL"), r.printed)
	}
	for _, file := range []string{"m.prom", "t.har"} {
		data, err := os.ReadFile(filepath.Join(state, file))
		if err != nil {
			t.Fatal(err)
		}
		see(file, data)
	}
	for page, data := range pages(t, dir, env) {
		see(unlikePages.Replace(unlike.Replace("page "+page)), data)
	}
	return all
}

// unlikePages are what differs between any two consoles or scrapes.
var unlikePages = cleaner{
	regexp.MustCompile(`127\.0\.0\.1:[0-9]+`),
	regexp.MustCompile(`hostile(/|%2F|%252F)[0-9a-f]{12}`),
	regexp.MustCompile(`account [0-9a-f]{12}|"[0-9a-f]{16}"|[0-9a-f]{32}|[0-9a-f]{64}`),
	regexp.MustCompile(`name="(token|id)" value="[0-9a-zA-Z]+"`), // of a form
	regexp.MustCompile(`pid [0-9]+|[0-9]+ ?(ms|s|min|seconds?) ago|\bnow\b|\bjust now\b`),
	regexp.MustCompile(`(?m)^(# |process_|go_|promhttp_).*$`),
	regexp.MustCompile(`(?m)^collect_[a-z_]*(seconds|timestamp|bytes|per_second)[a-z_]*(\{.*\})? .*$`),
	regexp.MustCompile(`"(time|wait|receive|send|connect|dns|ssl|blocked|size|headersSize|bodySize)":\s*-?[0-9.e+-]+`),
	regexp.MustCompile(`(?m)requests in flight: .*$|a request, so .*$`),               // how quick the answers were
	regexp.MustCompile(`(?:x|y|x1|x2|y1|y2|width|height|points|d)="[0-9MLHVZ., -]+"`), // where time puts what a picture shows
	regexp.MustCompile(`[0-9.,]+(/s| per min| MB| GB| KB| kB|B)\b`),
}

// traces listens for traces, in which a credential must not be.
func traces(t *testing.T, token string) string {
	t.Helper()
	var mu sync.Mutex
	var heard []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what came of it is enough
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, body...)
	}))
	t.Cleanup(func() {
		s.Close()
		hidden(t, token, "traced", heard)
	})
	return s.URL
}

// pages returns the pages of the console, and its metrics, by their paths: all that can
// be reached from the first one by links.
func pages(t *testing.T, dir string, env []string) map[string][]byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, "serve", "--listen", "127.0.0.1:0", "--state", "state/state.db")
	c.Env, c.Dir = append([]string{"HOME=" + dir}, env...), dir
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	_, link, found := strings.Cut(strings.TrimSpace(first), "  ")
	if err != nil || !found {
		t.Fatalf("collect serve printed %q, %v", first, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	if answer, err := browser.PostForm(link, nil); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("signing in: %v, %v", answer, err)
	}
	base, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][]byte{}
	for queue := []string{"/", "/metrics", "/healthz", "/readyz", "/nowhere"}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if _, ok := seen[path]; ok || len(seen) > 200 {
			continue
		}
		answer, err := browser.Get("http://" + base.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		seen[path] = body
		for _, href := range pageLinks.FindAllStringSubmatch(string(body), -1) {
			queue = append(queue, strings.ReplaceAll(href[1], "&amp;", "&"))
		}
	}
	return seen
}

var pageLinks = regexp.MustCompile(`href="(/[^"#]*)"`)
