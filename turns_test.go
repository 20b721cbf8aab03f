package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A bureau is a provider with a limit for each token: so many requests in a second, and then
// a second of silence. It repeats the token in what it says of a refusal.
type bureau struct {
	items, page, perSecond int

	mu       sync.Mutex
	window   map[string]time.Time
	left     map[string]int
	silent   map[string]time.Time
	answered map[string]int
	rejected map[string]int
	revoked  string // a token
	total    int
	inside   int // requests in a silence
	at       func(total int)
}

func (b *bureau) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	token, now := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), time.Now()
	b.total++
	b.at(b.total)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case token == "" || token == b.revoked:
		b.rejected[token]++
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"message":"no such token: %s"}`, token)
		return
	case now.Before(b.silent[token]):
		b.inside++
	}
	if now.Sub(b.window[token]) >= time.Second {
		b.window[token], b.left[token] = now, b.perSecond
	}
	if b.left[token]--; b.left[token] < 0 {
		b.silent[token] = now.Add(time.Second)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	b.answered[token]++
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/items/%d", &n); err == nil {
		fmt.Fprintf(w, `{"id":%d,"text":"detail"}`, n)
		return
	}
	_, _ = fmt.Sscan(r.URL.Query().Get("after"), &n)
	var rows []string
	for i := n; i < min(n+b.page, b.items); i++ {
		rows = append(rows, fmt.Sprintf(`{"id":%d}`, i))
	}
	next := "null"
	if n+b.page < b.items {
		next = fmt.Sprint(n + b.page)
	}
	fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(rows, ","), next)
}

const bureauFile = `connector: bureau
secrets: {token: {env: [BUREAU_1, BUREAU_2, BUREAU_3, BUREAU_4]}}
provider:
  base_url: %s
  auth: {bearer: "${secrets.token}"}
  start_per_second: 15
  ceiling: {per_second: 40}
streams:
  items: {get: /items, records: items, key: id, page: {cursor: {from: next, param: after}}}
  details: {each: {id: items.id}, get: "/items/${id}", key: id, role: detail}
`

// TestTokensTakeTurns collects with three tokens, each with a limit of its own. The run is
// killed, one token is revoked in the middle, and another one is not there: everything is collected,
// no request comes inside of what its token was told to wait, and people are told which token
// needs them, but no token.
func TestTokensTakeTurns(t *testing.T) {
	binary := build(t)
	tokens := []string{"first-token-5a1e", "second-token-77c2", "third-token-90fd"}
	var run *exec.Cmd
	b := &bureau{items: 120, page: 20, perSecond: 30, window: map[string]time.Time{}, left: map[string]int{}, silent: map[string]time.Time{}, answered: map[string]int{}, rejected: map[string]int{}}
	b.at = func(total int) {
		switch total {
		case 35:
			_ = run.Process.Kill()
		case 70:
			b.revoked = tokens[1]
		}
	}
	server := httptest.NewServer(b)
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "bureau.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, bureauFile, server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	collect := func(args ...string) *exec.Cmd {
		c := exec.Command(binary, append(args, "--state", filepath.Join(dir, "state.db"))...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "xdg"))
		for i, token := range tokens {
			c.Env = append(c.Env, fmt.Sprintf("BUREAU_%d=%s", i+1, token))
		}
		c.Stderr = &said
		return c
	}
	run = collect("run", file, "--create")
	if err := run.Run(); !wasKilled(err) {
		t.Fatalf("the first run: %v, want that it is killed\n%s", err, said.Bytes())
	}
	run = collect("resume", file)
	if err := run.Run(); err != nil {
		t.Fatalf("the second run: %v, want exit code 0\n%s", err, said.Bytes())
	}
	for _, want := range []string{"W0616", "rejects the credential from env BUREAU_2 (401)", "env BUREAU_4 (not there)", "env BUREAU_2: rejected at "} {
		if !strings.Contains(strings.Join(strings.Fields(said.String()), " "), want) {
			t.Errorf("the runs did not say %q:\n%s", want, said.Bytes())
		}
	}
	for stream, want := range map[string]int{"items": 120, "details": 120} {
		out, err := collect("export", file, stream).Output()
		if got := bytes.Count(out, []byte("\n")); got != want || err != nil {
			t.Errorf("%s: %d records, %v, want %d", stream, got, err, want)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inside > 0 || b.rejected[""] > 0 {
		t.Errorf("%d requests came inside a Retry-After of their token, and %d without a token", b.inside, b.rejected[""])
	}
	if n := b.rejected[tokens[1]]; n < 1 || n > 2*8 {
		t.Errorf("the revoked token was sent %d times, want what was in flight when that was known, in each of two runs", n)
	}
	for _, token := range tokens {
		if b.answered[token] < 15 {
			t.Errorf("answered %v, want work of each token", b.answered)
		}
	}
	stands(t, collect, file, &said)
	for _, token := range tokens {
		shownNowhere(t, dir, token, said.String())
	}
}

// stands checks what status says of each token.
func stands(t *testing.T, collect func(...string) *exec.Cmd, file string, said *bytes.Buffer) {
	out, err := collect("status", file, "--json").Output()
	var status []struct {
		Provider struct {
			Accounts []struct {
				From     string  `json:"credential"`
				Needs    string  `json:"needs"`
				Rejected *string `json:"rejected_at"`
			} `json:"accounts"`
		} `json:"provider"`
	}
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	if err != nil || len(status) != 1 {
		t.Fatalf("status: %v: %s", err, out)
	}
	want := []string{"env BUREAU_1 nothing", "env BUREAU_2 operator", "env BUREAU_3 nothing"}
	var got []string
	for _, a := range status[0].Provider.Accounts {
		got = append(got, a.From+" "+a.Needs)
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("status has %q, want %q", got, want)
	}
	for _, args := range [][]string{{"explain", file}, {"status", file}, {"doctor"}, {"runs", "--json"}} {
		out, _ := collect(args...).Output() // doctor may find something
		said.Write(out)
	}
}

// shownNowhere checks that a secret is neither in what was said nor in a file.
func shownNowhere(t *testing.T, dir, secret, said string) {
	if strings.Contains(said, secret) {
		t.Errorf("a token is in what was said:\n%s", said)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("a token is in %s", e.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
