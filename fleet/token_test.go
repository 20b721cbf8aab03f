package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/fleet"
	"collect/internal/process"
	"collect/store/postgres"
)

// A login grants tokens as providers do that look for stolen ones (RFC 9700, section 4.14.2):
// each refresh token is replaced when it is used, the one before it counts until the new
// one is used, since an answer may be lost, and any older one ends all of them.
type login struct {
	place *place

	mu      sync.Mutex
	issued  int
	before  int // the token before the newest counts: 1
	revoked string
	uses    map[string]int // of access tokens
}

func (l *login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	if r.URL.Path == "/token" {
		defer time.Sleep(20 * time.Millisecond) // in which others come, or who asked is killed
		defer l.mu.Unlock()
		given := r.FormValue("refresh_token")
		switch {
		case l.revoked == "" && given == fmt.Sprint("refresh-", l.issued):
			l.before = l.issued
		case l.revoked == "" && l.issued > 0 && given == fmt.Sprint("refresh-", l.before):
		default:
			if l.revoked == "" {
				l.revoked = fmt.Sprintf("%q when the newest was refresh-%d", given, l.issued)
			}
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		l.issued++
		access := fmt.Sprint("access-", l.issued)
		l.uses[access] = 3
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","refresh_token":"refresh-%d"}`, access, l.issued)
		return
	}
	access := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	l.uses[access]--
	left := l.uses[access]
	l.mu.Unlock()
	if left < 0 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	l.place.ServeHTTP(w, r)
}

const loginFile = `connector: %[1]s
secrets: {refresh: {file: ~/refresh, rotate: true}}
provider:
  name: bureau
  base_url: %[2]q
  pace: off
  auth: {oauth2: {token_url: "%[2]s/token", client_id: app, refresh_token: "${secrets.refresh}"}}
streams:
  things: {get: /%[1]s/%[3]d, records: items, key: id, page: {cursor: {from: next, param: page}}}
`

func newLogin(t *testing.T, pages int, names ...string) (l *login, dir string) {
	p := newPlace(t)
	l = &login{place: p, uses: map[string]int{}}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, fmt.Appendf(nil, loginFile, name, s.URL, pages), 0o600); err != nil {
			t.Fatal(err)
		}
		p.entries[name] = registry.Entry{Use: path}
	}
	for _, home := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, home), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A person signed in on the first machine only.
	if err := os.WriteFile(filepath.Join(dir, "one", "refresh"), []byte("refresh-0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return l, dir
}

const tokenKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// workerOf, in the environment, makes the test a worker of a fleet: the address, the folder
// with the connectors, and the home.
const workerOf = "COLLECT_TEST_WORKER"

// work is a worker in a process of its own, until it is killed.
func work(settings string) error {
	address, rest, _ := strings.Cut(settings, " ")
	dir, home, _ := strings.Cut(rest, " ")
	f, err := fleet.Open(context.Background(), address)
	if err != nil {
		return err
	}
	db, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		return err
	}
	entries := map[string]registry.Entry{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	for _, path := range files {
		entries[strings.TrimSuffix(filepath.Base(path), ".yaml")] = registry.Entry{Use: path}
	}
	env := map[string]string{"HOME": filepath.Join(dir, home), registry.TokenKey: tokenKey}
	w, err := fleet.NewWorker(f, fleet.Config{
		Address: address, Registry: &registry.Registry{Entries: entries, Env: func(name string) string { return env[name] }},
		Each:   engine.Config{Store: db, Options: engine.Options{Mode: collection.Forward, Lane: collection.Incremental}},
		Holder: process.This(), Version: "test", Beat: 50 * time.Millisecond,
		Say: func(e fleet.Event) { fmt.Println(e.Kind, e.Connector, e.Err) },
	})
	if err != nil {
		return err
	}
	return w.Do(context.Background())
}

// TestOneTokenForAll: workers on two machines, one of which a person signed in at, share a
// refresh token that is replaced each time, and are killed at random places. The provider
// never sees an old one, everything is collected, and the store has no token in the clear.
func TestOneTokenForAll(t *testing.T) {
	pages, renewals := 50, 50
	if testing.Short() {
		pages, renewals = 15, 12
	}
	names := []string{"ants", "bees", "cats", "dogs"} // a connector of a killed worker waits, the others go on
	l, dir := newLogin(t, pages, names...)
	p := l.place
	p.slow = 5 * time.Millisecond
	rng := rand.New(rand.NewPCG(7, 7))
	var said bytes.Buffer
	start := func(home string) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), workerOf+"="+strings.Join([]string{p.address, dir, home}, " "))
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); said.Write(out.Bytes()) })
		return c
	}
	issued := func() (int, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.issued, l.revoked
	}
	p.enqueue(names...)
	workers := map[string]*exec.Cmd{"one": start("one")}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) { // the first token is in the store
		if n, _ := issued(); n > 1 {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("no token was granted in 20 s\n%s", said.Bytes())
		}
	}
	workers["two"] = start("two")
	kills, due := 0, 0
	for begun := time.Now(); ; {
		n, revoked := issued()
		if revoked != "" {
			t.Fatalf("after %d renewals and %d kills the provider was sent %s", n, kills, revoked)
		}
		if n >= renewals {
			break
		}
		if time.Since(begun) > 3*time.Minute {
			t.Fatalf("%d renewals and %d kills in 3 min, want %d renewals", n, kills, renewals)
		}
		if n < due { // the next kill is a renewal or more away
			time.Sleep(time.Millisecond)
			continue
		}
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
		home := []string{"one", "two"}[rng.IntN(2)]
		_ = workers[home].Process.Kill()
		_ = workers[home].Wait()
		kills++
		workers[home], due = start(home), n+1+rng.IntN(6)
	}
	p.finished(names...)
	if n, revoked := issued(); revoked != "" || kills == 0 {
		t.Fatalf("after %d renewals and %d kills the provider was sent %q", n, kills, revoked)
	}
	for _, name := range names {
		p.exact(name, pages)
	}
	if t.Failed() {
		for _, w := range workers {
			_ = w.Process.Kill()
			_ = w.Wait()
			t.Logf("%s", w.Stdout)
		}
	}
	var clear, kept int
	err := fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM meta WHERE name LIKE 'token %'`, &kept)
	if err == nil {
		err = fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM meta WHERE position(convert_to('refresh', 'UTF8') IN value) > 0`, &clear)
	}
	if err != nil || kept != 1 || clear != 0 {
		t.Errorf("the store has %d tokens, want 1, of them %d in the clear, want none, %v", kept, clear, err)
	}
}

// TestNoTokenKey: a worker that cannot share a token uses none, and says what it needs.
func TestNoTokenKey(t *testing.T) {
	l, dir := newLogin(t, 3, "ants")
	home := func(string) string { return filepath.Join(dir, "one") }
	m := l.place.start(func(c *fleet.Config) {
		c.Registry.Env = func(name string) string {
			if name == "HOME" {
				return home(name)
			}
			return ""
		}
	})
	l.place.enqueue("ants")
	if e := m.await(fleet.TurnLeft, "ants"); e.Err == nil || !strings.Contains(e.Err.Error(), registry.TokenKey) {
		t.Errorf("it says %v, want %s", e.Err, registry.TokenKey)
	}
	m.drain()
	if l.issued > 0 {
		t.Error("the token was used")
	}
}
