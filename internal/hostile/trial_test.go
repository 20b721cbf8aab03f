// Package hostile_test is a table of what no provider should send, each case
// sent as raw bytes on a real socket to the real binary.
//
// Every case is judged alike, whatever else it expects: what was served is in
// the store, or a gap or the quarantine says that it is not and the exit code
// is not 0; the credential is in nothing that another origin received, nor in
// anything that was printed or stored; the process takes at most 96 MiB; and
// it ends. Where a gap was left, the provider then mends its ways, and a
// resume must bring what is missing.
package hostile_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"collect/collection"
	"collect/store/sqlite"
)

// A trial is one case.
type trial struct {
	name  string
	walk  string // the paging of its stream: a key of walks
	sends answer
	want  want
	then  answer // what the provider sends once it mended its ways; nil: see mended

	tls   string   // "": plain HTTP; else how the certificate is: good, expired, foreign, h2
	hello greeting // speaks instead of HTTP/1
	flags []string // of the run
	env   []string // beside what every run is given
}

// A want is what is to become of a trial.
type want struct {
	keys       []string          // of the records in the store
	reason     collection.Reason // of a gap that is owed; "": none is
	quarantine int
	requests   int // exactly; 0: does not matter
	exit       []int
	heals      bool // a resume of the mended provider brings the records 1 to 3
}

// all expects success with the records 1 to n.
func all(n int) want { return keyed(numbers(n)...) }

// keyed expects success with records of these keys.
func keyed(keys ...string) want { return want{keys: keys, exit: []int{0}} }

// owed expects the records 1 to n, and a gap that says why there are no more.
func owed(reason collection.Reason, n int) want {
	exits := map[collection.Reason][]int{
		collection.UpstreamPressure: {69, 75}, collection.RateLimited: {75}, collection.RetryAfter: {75},
		collection.Auth: {77}, collection.Frozen: {77}, collection.BadPage: {76}, collection.SchemaDrift: {76},
		collection.RequestCap: {0},
	}[reason]
	if exits == nil {
		exits = []int{65}
	}
	return want{keys: numbers(n), reason: reason, exit: exits, heals: reason == collection.BadPage}
}

// rejected expects the records of these keys, and others in quarantine.
func rejected(quarantine int, keys ...string) want {
	return want{keys: keys, quarantine: quarantine, exit: []int{65}}
}

// in narrows a want to an exact number of requests.
func (w want) in(requests int) want { w.requests = requests; return w }

// forGood is for a provider whose mended answers would not fit its walk.
func (w want) forGood() want { w.heals = false; return w }

func numbers(n int) []string {
	var keys []string
	for i := 1; i <= n; i++ {
		keys = append(keys, strconv.Itoa(i))
	}
	return keys
}

// walks are the ways in which the streams of the trials are cut into pages.
var walks = map[string]string{
	"whole":  `key: id, page: {none: true}`,
	"cursor": `key: id, records: items, page: {cursor: {from: next, param: c}}`,
	"more":   `key: id, records: items, page: {cursor: {from: next, param: c, more: more}}`,
	"url":    `key: id, records: items, page: {next_url: next}`,
	"link":   `key: id, page: {link_header: next}`,
	"number": `key: id, records: items, page: {number: {param: page}}`,
	"pages":  `key: id, records: items, page: {number: {param: page, total_pages: pages}}`,
	"sized":  `key: id, records: items, page: {number: {param: page, size_param: size, size: 100}}`,
	"offset": `key: id, records: items, page: {offset: {param: offset, total: total}}`,
	"last":   `key: id, records: items, page: {last_id: {param: after, field: id, more: more}}`,
	"since":  `key: id, records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: since, order: asc}`,
}

// The bounds of every trial. The patience is for machines that are busy.
const (
	mostMemory   = 96 << 20
	mostRequests = 40
	patience     = 60 * time.Second
)

// secret is the credential of all trials.
const secret = "cAnarY/7+f00d==s3cret"

// spellings are the ways in which a credential may show.
func spellings(secret string) [][]byte {
	reversible := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, "/", `\/`), strconv.QuoteToASCII(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("Bearer " + secret)),
	}
	var all [][]byte
	for _, s := range reversible {
		all = append(all, []byte(s))
	}
	return all
}

// program is the path of the real binary, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	// Trials wait more than they compute.
	_ = flag.Set("test.parallel", "8")
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "collect")
	if out, err := exec.Command("go", "build", "-o", program, "collect").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestHostile plays the table.
func TestHostile(t *testing.T) {
	trials := slices.Concat(statuses(), framing(), compression(), documents(), records(), redirects(), links(), paging(), halves(), headers(), handshakes(), frames())
	if len(trials) < 150 {
		t.Errorf("only %d cases", len(trials))
	}
	seen := map[string]bool{}
	for _, tr := range trials {
		if seen[tr.name] {
			t.Errorf("two cases are called %q", tr.name)
		}
		seen[tr.name] = true
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			tr.play(t)
		})
	}
	t.Logf("%d cases", len(trials))
}

// play runs a trial and judges it.
func (tr trial) play(t *testing.T) {
	dir := t.TempDir()
	pki := newAuthority(t, dir)
	other := listen(t, nil, nil, at("plain-text", ok("secret "+secret), ok(page(101, 102, `"next":null`))))
	p := listen(t, pki.server(tr.tls), tr.hello, tr.sends)
	p.words = strings.NewReplacer("$BASE", p.base, "$OTHER", other.base,
		"$LOCAL", strings.Replace(other.base, "127.0.0.1", "localhost", 1), "$SECRET", secret)
	file := filepath.Join(dir, "hostile.yaml")
	write(t, file, fmt.Sprintf(`connector: hostile
secrets: {token: {env: TOKEN}}
provider:
  name: hostile
  base_url: %s
  auth: {bearer: "${secrets.token}"}
  pace: off
  limits: {request_timeout: 3s, header_timeout: 2s, body: 256KiB, record: 16KiB, headers: 16KiB, cursor: 1KiB, pages_without_new_record: 3, attempts: 2, longest_retry_after: 1s}
streams:
  things: {get: /things, %s}
`, p.base, walks[tr.walk]))

	env := []string{"TOKEN=" + secret}
	for _, variable := range tr.env {
		env = append(env, p.words.Replace(variable))
	}
	always := []string{"--state", filepath.Join(dir, "state.db"), "--progress", "plain"}
	run := execute(t, dir, env, slices.Concat([]string{"run", file, "--create"}, always, tr.flags))
	tr.judge(t, dir, run, tr.want)
	if got := p.total(); tr.want.requests != 0 && got != tr.want.requests || got > mostRequests {
		t.Errorf("%d requests, want %d, and never more than %d", got, tr.want.requests, mostRequests)
	}
	if tr.then != nil {
		p.become(tr.then)
		again := execute(t, dir, env, append([]string{"resume", file}, always...))
		tr.judge(t, dir, again, all(9))
	} else if tr.want.heals {
		p.become(mended(tr.walk))
		again := execute(t, dir, env, append([]string{"resume", file}, always...))
		tr.judge(t, dir, again, all(3))
	}
	hidden(t, secret, "sent to another origin", other.heard())
}

// mended answers like a provider that has nothing but the records 1 to 3.
func mended(walk string) answer {
	if walk == "whole" || walk == "link" {
		return ok(things(1, 3))
	}
	return ok(page(1, 3, `"next":null,"more":false,"pages":1,"total":3`))
}

// A running is a process that ended.
type running struct {
	code    int
	printed []byte
	memory  int64
}

// execute runs the binary in dir, with env beside what every run is given.
func execute(t *testing.T, dir string, env, args []string) running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append([]string{"HOME=" + dir, "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem")}, env...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed || failed && exit.ExitCode() < 0 {
		t.Fatalf("%v: %v, and printed\n%s", args[0], err, out)
	}
	r := running{code: c.ProcessState.ExitCode(), printed: out}
	if usage, isUsage := c.ProcessState.SysUsage().(*syscall.Rusage); isUsage && runtime.GOOS == "linux" {
		r.memory = usage.Maxrss << 10
	}
	return r
}

// judge looks at what the run printed and left.
func (tr trial) judge(t *testing.T, dir string, run running, w want) {
	t.Helper()
	if !slices.Contains(w.exit, run.code) {
		t.Errorf("exit code %d, want one of %v; printed\n%s", run.code, w.exit, run.printed)
	}
	t.Logf("%d MiB of memory", run.memory>>20)
	if run.memory > mostMemory {
		t.Errorf("%d MiB of memory, want at most %d", run.memory>>20, mostMemory>>20)
	}
	if bytes.ContainsFunc(run.printed, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) }) {
		t.Errorf("a control character was printed: %q", run.printed)
	}
	stored := look(t, filepath.Join(dir, "state.db"))
	if !slices.Equal(stored.keys, sorted(w.keys)) {
		t.Errorf("%d records %.10q, want %d %.10q; printed\n%s", len(stored.keys), stored.keys, len(w.keys), w.keys, run.printed)
	}
	if stored.quarantine != w.quarantine {
		t.Errorf("%d in quarantine, want %d", stored.quarantine, w.quarantine)
	}
	owes := w.reason != "" && w.reason != collection.Gone // which is shown, and not owed
	if (w.reason != "") != (len(stored.reasons) > 0) || w.reason != "" && !slices.Contains(stored.reasons, w.reason) {
		t.Errorf("gaps %q, want %q; printed\n%s", stored.reasons, w.reason, run.printed)
	}
	if (stored.outcome == collection.Complete || stored.outcome == collection.NothingNew) != (run.code == 0 && !owes) {
		t.Errorf("outcome %s with exit code %d and gaps %q", stored.outcome, run.code, stored.reasons)
	}
	hidden(t, secret, "printed", run.printed)
	files, err := filepath.Glob(filepath.Join(dir, "state.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no database: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hidden(t, secret, "stored", data)
	}
}

// hidden checks that the credential is not in data, in any spelling.
func hidden(t *testing.T, secret, what string, data []byte) {
	t.Helper()
	for _, spelled := range spellings(secret) {
		if i := bytes.Index(data, spelled); i >= 0 {
			t.Errorf("the credential is in what was %s: …%q…", what, data[max(0, i-60):i+len(spelled)])
		}
	}
}

// A state is what a store holds.
type state struct {
	keys       []string
	reasons    []collection.Reason
	quarantine int
	outcome    collection.Outcome
}

// look reads the store at path.
func look(t *testing.T, path string) state {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s state
	for record, err := range db.Records(t.Context(), "hostile", "things") {
		if err != nil {
			t.Fatal(err)
		}
		s.keys = append(s.keys, record.Key)
	}
	gaps, err := db.Gaps(t.Context(), "hostile")
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range gaps {
		s.reasons = append(s.reasons, gap.Reason)
	}
	streams, err := db.Streams(t.Context(), "hostile")
	if err != nil || len(streams) != 1 {
		t.Fatalf("%d streams, %v", len(streams), err)
	}
	s.quarantine = int(streams[0].Quarantined)
	runs, err := db.Runs(t.Context(), "hostile", 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	s.outcome = runs[0].Outcome
	return s
}

func sorted(keys []string) []string { return slices.Sorted(slices.Values(keys)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
