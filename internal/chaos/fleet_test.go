//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"collect/internal/pgtest"
)

const (
	machines = 3 // that have a worker
	perPage  = 5 // records
	patience = 3 * time.Minute
)

var connectors = []string{"ants", "bees", "cats", "dogs"}

const connectorText = `connector: %s
provider: {name: zoo, base_url: %q, ceiling: {per_second: 10}, pace: off}
streams:
  things:
    get: /%[1]s
    records: items
    key: id
    page: {cursor: {from: next, param: page}}
`

// A fleet is workers on machines of their own, a server and its standby, and a provider
// that each machine reaches whatever happens to the rest.
type fleet struct {
	testing.TB
	dice    *rand.Rand
	dir     string
	servers []*server // the first is the one that is written to
	workers []*worker
	db      *sql.DB
	lost    bool // commits were

	mu    sync.Mutex
	asked []request
	size  map[string]int // the pages of a list; 0: it has no end yet
}

// A request is one for a page.
type request struct {
	at        time.Time
	worker    int
	connector string
	page      int
}

// A server is a Postgres server on a machine.
type server struct {
	*machine
	*pgtest.Server
	cables []*cable // to the workers
}

// A worker is a worker process, on a machine of its own if it has one.
type worker struct {
	*machine
	n       int
	process *exec.Cmd
	said    bytes.Buffer
	command string   // the program
	env     []string // more of its environment
}

var settings = []string{"fsync=off", "listen_addresses=*", "wal_keep_size=256MB"}

// newFleet makes a fleet with one server, or with a standby as well, whose workers
// have begun with all connectors.
func newFleet(t testing.TB, seed uint64, standby bool) *fleet {
	t.Helper()
	f := &fleet{TB: t, dice: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), size: map[string]int{}}
	first := &server{machine: newMachine(t, "198.18.0.1")}
	var err error
	first.on(func() { first.Server, err = pgtest.Start("fsync=off") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Remove)
	if err := first.Admit("198.18.0.0/15"); err != nil {
		t.Fatal(err)
	}
	first.restart(syscall.SIGINT)
	f.servers = append(f.servers, first)
	if standby {
		second := &server{machine: newMachine(t, "198.18.0.2")}
		second.on(func() { second.Server, err = pgtest.Standby(first.Server, settings...) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(second.Remove)
		f.servers = append(f.servers, second)
	}
	if f.db, err = sql.Open("pgx", f.address()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.db.Close() })
	f.configure()
	for i, w := range f.workers {
		for j, s := range f.servers {
			s.cables = append(s.cables, connect(w.machine, s.machine, fmt.Sprintf("c%d-%d", i, j)))
		}
		f.start(w)
		f.await("workers", func() bool { return len(f.look().Workers) == i+1 }) // the first makes the tables
	}
	f.collect("enqueue", "--all", "--reason", "a test")
	return f
}

// newPlace makes a fleet on this machine, whose server is on a socket; it has no workers yet.
func newPlace(t testing.TB, settings ...string) *fleet {
	t.Helper()
	f := &fleet{TB: t, dir: t.TempDir(), size: map[string]int{}}
	s, err := pgtest.Start(append(settings, "fsync=off")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	f.servers = []*server{{Server: s}}
	if f.db, err = sql.Open("pgx", f.address()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.db.Close() })
	return f
}

// upstream starts the provider here, and returns its URL.
func (f *fleet) upstream() string {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.answer(0, w, r) }))
	f.Cleanup(provider.Close)
	return provider.URL
}

// join starts workers here, one after the other.
func (f *fleet) join(n int) {
	f.Helper()
	for i := range n {
		w := &worker{n: i, command: binary}
		f.workers = append(f.workers, w)
		f.start(w)
		if i == 0 { // it makes the tables
			f.await("the first worker", func() bool { return len(f.look().Workers) == 1 })
		}
	}
	f.await("workers", func() bool { return len(f.look().Workers) == n })
}

// leave tells the workers to stop, and waits until they have.
func (f *fleet) leave() {
	f.Helper()
	for _, w := range f.workers {
		w.signal(syscall.SIGTERM)
	}
	for _, w := range f.workers {
		if err := w.process.Wait(); err != nil {
			f.Errorf("worker %d, which was told to stop: %v\n%s", w.n, err, w.said.Bytes())
		}
	}
}

// connect writes the configuration, with the connectors of a text that takes the name of each
// and the URL of the provider.
func (f *fleet) connect(names []string, text func(name string) string) {
	f.Helper()
	var config strings.Builder
	config.WriteString("version: 1\nconnectors:\n")
	for _, name := range names {
		f.write(name+".yaml", text(name))
		config.WriteString(fmt.Sprintf("  %s: {use: %s.yaml}\n", name, name))
	}
	f.write("collect.yaml", config.String())
}

// configure starts the provider on each machine that is to have a worker, and writes the
// configuration.
func (f *fleet) configure() {
	f.Helper()
	port := 0
	for i := range machines {
		w := &worker{machine: newMachine(f, fmt.Sprintf("198.18.1.%d", i+1)), n: i, command: binary}
		l := w.listen(port)
		port = l.Addr().(*net.TCPAddr).Port
		provider := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { f.answer(i, to, r) })}}
		provider.Start()
		f.Cleanup(provider.Close)
		f.workers = append(f.workers, w)
	}
	f.connect(connectors, func(name string) string {
		return fmt.Sprintf(connectorText, name, fmt.Sprintf("http://127.0.0.1:%d", port))
	})
}

func (f *fleet) write(name, text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// answer answers a worker that asks for a page.
func (f *fleet) answer(worker int, w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.URL.Path, "/")
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	f.mu.Lock()
	f.asked = append(f.asked, request{time.Now(), worker, name, n})
	last := n+1 == f.size[name]
	f.mu.Unlock()
	var items []string
	for i := range perPage {
		items = append(items, fmt.Sprintf(`{"id":%d}`, n*perPage+i))
	}
	next := "null"
	if !last {
		next = strconv.Quote(strconv.Itoa(n + 1))
	}
	fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
}

// end lets each list end some pages after the last that was asked for.
func (f *fleet) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range connectors {
		for _, r := range f.asked {
			if r.connector == name {
				f.size[name] = max(f.size[name], r.page+10)
			}
		}
		f.size[name] = max(f.size[name], 10)
	}
}

// address is that of the store for people: on the sockets of all servers.
func (f *fleet) address() string {
	var folders []string
	for _, s := range f.servers {
		folders = append(folders, s.Folder())
	}
	return "postgres:///postgres?user=collect&search_path=collect&target_session_attrs=read-write&host=" + strings.Join(folders, ",")
}

// collect runs a command of a person, and returns what it prints.
func (f *fleet) collect(args ...string) []byte {
	f.Helper()
	out, err := f.try(args...)
	if err != nil {
		f.Fatalf("collect %v: %v", args, err)
	}
	return out
}

func (f *fleet) try(args ...string) ([]byte, error) { return f.at(f.address(), args...) }

// at runs a command with a state.
func (f *fleet) at(state string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, binary, args...)
	c.Dir, c.Env = f.dir, append(os.Environ(), "HOME="+f.dir, "COLLECT_STATE="+state)
	out, err := c.Output()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

// start starts the process of a worker, which finds the servers by their addresses, or on
// their sockets if it has no machine of its own.
func (f *fleet) start(w *worker) {
	f.Helper()
	address, on := f.address(), func(start func()) { start() }
	if w.machine != nil {
		var hosts []string
		for _, s := range f.servers {
			hosts = append(hosts, s.at)
		}
		slices.Sort(hosts)
		address = "postgres://collect@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable&search_path=collect&target_session_attrs=read-write"
		on = w.on
	}
	w.process = exec.Command(w.command, "worker", "--create", "--turn", "10s")
	w.process.Dir, w.process.Stderr = f.dir, &w.said
	w.process.Env = append(append(os.Environ(), "HOME="+f.dir, "COLLECT_STATE="+address), w.env...)
	w.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	on(func() { err = w.process.Start() })
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.kill() })
}

func (w *worker) signal(s syscall.Signal) { _ = w.process.Process.Signal(s) } // it may be dead

func (w *worker) kill() {
	w.signal(syscall.SIGKILL)
	_ = w.process.Wait() // it was killed
}

// restart ends the server with a signal and starts it again.
func (s *server) restart(how syscall.Signal) {
	s.machine.Helper()
	s.End(how)
	s.begin()
}

func (s *server) begin() {
	s.machine.Helper()
	var err error
	s.on(func() { err = s.Begin(settings...) })
	if err != nil {
		s.Fatal(err)
	}
}

// await waits until something is so. A fleet that nobody helps comes to it.
func (f *fleet) await(what string, ok func() bool) {
	f.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("%s: not within %v\n%s", what, patience, f.report())
		}
	}
}

// report is what is known of a fleet that does not go on.
func (f *fleet) report() string {
	var b strings.Builder
	out, err := f.try("fleet")
	fmt.Fprintf(&b, "%s%v\n", out, err)
	for _, w := range f.workers {
		if w.process == nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(w.said.String()), "\n")
		fmt.Fprintf(&b, "worker %d, pid %d:\n  %s\n", w.n, w.process.Process.Pid, strings.Join(lines[max(0, len(lines)-8):], "\n  "))
	}
	return b.String()
}

// A view is what "collect fleet --json" says.
type view struct {
	Workers []struct{ PID int }
	Turns   []struct{ Connector string }
	Waits   []struct{ Connector string }
}

// look looks at the fleet; empty if the server does not answer.
func (f *fleet) look() (v view) {
	out, err := f.try("fleet", "--json")
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil {
		return view{}
	}
	return v
}

// since returns the requests from a time on.
func (f *fleet) since(at time.Time) (all []request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.asked) - 1; i >= 0 && f.asked[i].at.After(at); i-- {
		all = append(all, f.asked[i])
	}
	return all
}

// busy waits until a worker asks for pages, and returns one that does and the connectors
// that it asks for.
func (f *fleet) busy() (w *worker, of []string) {
	f.Helper()
	f.await("a busy worker", func() bool {
		by := map[int][]string{}
		for _, r := range f.since(time.Now().Add(-time.Second)) {
			if !slices.Contains(by[r.worker], r.connector) {
				by[r.worker] = append(by[r.worker], r.connector)
			}
		}
		at := f.dice.IntN(machines)
		w, of = f.workers[at], by[at]
		return len(of) > 0
	})
	return w, of
}

// takenOver waits until another worker asks for what a worker had.
func (f *fleet) takenOver(w *worker, of []string, since time.Time) {
	f.Helper()
	f.await(fmt.Sprintf("others take over from worker %d", w.n), func() bool {
		left := slices.Clone(of)
		for _, r := range f.since(since) {
			if r.worker != w.n {
				left = slices.DeleteFunc(left, func(name string) bool { return name == r.connector })
			}
		}
		return len(left) == 0
	})
}

// whole waits until all workers are there and at work.
func (f *fleet) whole() {
	f.Helper()
	f.await("all workers", func() bool {
		time.Sleep(300 * time.Millisecond) // a look takes a tenth of a second of a core
		return len(f.look().Workers) == machines
	})
	from := time.Now()
	f.await("requests", func() bool { return len(f.since(from)) >= 2*len(connectors) })
}

func (f *fleet) pause(least, most time.Duration) {
	time.Sleep(least + time.Duration(f.dice.Int64N(int64(most-least))))
}
