package crash_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"collect/internal/provider"
)

// A scenario is a command and what was there before it.
type scenario struct {
	name    string
	schema  string     // the database that it finds, made by an older version; "": by none
	before  [][]string // commands that make the database it finds
	command []string
	workers int
	renewed bool // the credential is another one than before
	tokens  bool // access tokens end on the way, and a refresh token is replaced each time
	strict  bool // the provider then ends the old one at once
	dirs    bool // the directories of the database are not there, either
}

// The names of the connectors. The neighbour shares the database.
const (
	tickets   = "tickets.yaml"
	neighbour = "neighbour.yaml"
)

var scenarios = []scenario{
	{name: "first run", command: []string{"run", tickets}, workers: 1, dirs: true},
	{name: "migration", schema: "0001", command: []string{"run", tickets}, workers: 1},
	{name: "run", before: [][]string{{"run", neighbour}}, command: []string{"run", tickets}, workers: 1},
	{
		name: "resume", before: [][]string{{"run", tickets, "--max-requests=7"}},
		command: []string{"resume", tickets}, workers: 1,
	},
	{
		name: "backfill", before: [][]string{{"run", tickets}},
		command: []string{"run", tickets, "--lane=backfill"}, workers: 1,
	},
	{
		name: "details", before: [][]string{{"run", tickets, "--stream=tickets"}},
		command: []string{"run", tickets, "--concurrency=4"}, workers: 4,
	},
	{
		name: "renewed credential", before: [][]string{{"run", tickets, "--max-requests=2"}},
		command: []string{"resume", tickets}, workers: 1, renewed: true,
	},
	{name: "refresh", before: [][]string{{"run", neighbour}}, command: []string{"run", tickets}, workers: 1, tokens: true},
	{name: "strict refresh", before: [][]string{{"run", neighbour}}, command: []string{"run", tickets}, workers: 1, tokens: true, strict: true},
}

// streams are those of the connector, by name.
var streams = []string{"tickets", "details"}

// connector is a connector file: three pages of tickets, and a detail of each,
// for a credential that a command prints.
const connector = `connector: %s
secrets: {token: {command: "cat %s"}}
provider: {base_url: %q, pace: off, auth: {bearer: "${secrets.token}"}}
` + streamsOfIt

// renewing is the same for a refresh token in a file.
const renewing = `connector: %s
secrets: {token: {file: %s, rotate: true}}
provider:
  base_url: "%[3]s"
  pace: off
  auth: {oauth2: {token_url: "%[3]s%[4]s", client_id: app, refresh_token: "${secrets.token}"}}
` + streamsOfIt

const streamsOfIt = `defaults: {query: {per_page: 4}}
streams:
  tickets:
    get: /cursor/tickets
    records: items
    key: id
    page: {cursor: {from: next_cursor, param: cursor}}
  details:
    each: {id: tickets.id}
    get: /tickets/${id}
    key: id
    role: detail
`

// older returns the database that a version with an earlier schema made.
func older(schema string) ([]byte, error) {
	f, err := os.Open(filepath.Join(root, "store", "sqlite", "testdata", "schema-"+schema+".db.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unzipped)
}

// A bench is a provider and a folder with connector files for it, where one
// case after the other is tried.
type bench struct {
	t        *testing.T
	dir      string
	provider *provider.Server
	url      string
	token    atomic.Pointer[string] // what the provider asks for
	binary   string
	disk     *disk // nil until one is needed
	cases    int
	known    map[string]*undisturbed // by scenario
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "collect-crash-bench-")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, binary: binary, known: map[string]*undisturbed{}}
	b.provider = provider.New(provider.Script{Seed: 1, Tickets: 12, Modes: []provider.Mode{b.authorize}})
	url, err := b.provider.Start()
	if err != nil {
		t.Fatal(err)
	}
	b.url = url
	b.write(neighbour, fmt.Sprintf(connector, "neighbour", b.path("token"), url))
	b.renew("old")
	return b
}

func (b *bench) close() {
	b.provider.Close()
	if b.disk != nil {
		if err := b.disk.close(); err != nil {
			b.t.Error(err)
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Error(err)
	}
}

// renew replaces the credential, at the provider and here.
func (b *bench) renew(token string) {
	b.token.Store(&token)
	b.write("token", token+"\n")
	b.write(tickets, fmt.Sprintf(connector, "tickets", b.path("token"), b.url))
	b.provider.Issue(nil)
}

// grant lets the provider ask for access tokens, of which each is good for a
// third of the scenario, and puts the refresh token into a file in dir.
func (b *bench) grant(dir string, strict bool) error {
	none := ""
	b.token.Store(&none)
	b.provider.Issue(&provider.Issuer{Refresh: "refresh-0", Strict: strict, Uses: 5})
	kept := filepath.Join(dir, tokenDir, "refresh")
	b.write(tickets, fmt.Sprintf(renewing, "tickets", kept, b.url, tokenPath))
	return errors.Join(os.Mkdir(filepath.Dir(kept), 0o700), os.WriteFile(kept, []byte("refresh-0\n"), 0o600))
}

// tokenDir is the folder of the refresh token in that of the database.
const tokenDir = "token"

// authorize is the provider's look at the credential.
func (b *bench) authorize(_ *provider.Server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := *b.token.Load(); token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, `{"message":"bad credentials"}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
