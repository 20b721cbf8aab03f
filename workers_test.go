package main_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"collect/internal/pgtest"
)

// A site is a Postgres server, a provider and a folder with a configuration, at which
// workers are processes of their own.
type site struct {
	testing.TB
	binary, dir, address string
	server               *pgtest.Server
	db                   *sql.DB
	names                []string
	pages                int
	perPage              int    // records; 0: sitePage
	more                 string // further fields of each record
	quick                bool   // pages are answered at once

	mu    sync.Mutex
	asked map[string]int // pages
	last  time.Time      // when a page was asked for
	stall time.Duration  // the longest time between two of them
}

const sitePage = 20 // records of a page

const siteConnector = `connector: %s
provider: {name: %[1]s, base_url: %q, pace: off}
streams:
  things:
    get: /%[1]s
    records: items
    key: id
    page: {cursor: {from: next, param: page}}
`

// newSite makes a site whose connectors have so many pages.
func newSite(t testing.TB, pages int, names ...string) *site {
	return newSiteWith(t, []string{"fsync=off"}, pages, names...)
}

// newSiteWith makes a site whose server has settings.
func newSiteWith(t testing.TB, settings []string, pages int, names ...string) *site {
	server, err := pgtest.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Remove)
	s := &site{TB: t, binary: build(t), dir: t.TempDir(), server: server, address: server.Address("collect"), names: names, pages: pages}
	s.begin()
	s.connect()
	return s
}

// connect opens the database to look at it.
func (s *site) connect() {
	s.Helper()
	var err error
	if s.db, err = sql.Open("pgx", s.address); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = s.db.Close() })
}

// begin starts the provider, and writes the configuration.
func (s *site) begin() {
	s.Helper()
	s.asked = map[string]int{}
	provider := httptest.NewServer(s)
	s.Cleanup(provider.Close)
	var config strings.Builder
	config.WriteString("version: 1\nconnectors:\n")
	for _, name := range s.names {
		s.write(name+".yaml", fmt.Sprintf(siteConnector, name, provider.URL))
		config.WriteString(fmt.Sprintf("  %s: {use: %s.yaml}\n", name, name))
	}
	s.write("collect.yaml", config.String())
}

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// ServeHTTP answers a page, after 5 ms if it is not to be quick.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.URL.Path, "/")
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	s.mu.Lock()
	s.asked[name]++
	now := time.Now()
	if !s.last.IsZero() {
		s.stall = max(s.stall, now.Sub(s.last))
	}
	s.last = now
	s.mu.Unlock()
	if !s.quick {
		time.Sleep(5 * time.Millisecond)
	}
	page := []byte(`{"items":[`)
	perPage := cmp.Or(s.perPage, sitePage)
	for i := range perPage {
		if i > 0 {
			page = append(page, ',')
		}
		page = strconv.AppendInt(append(page, `{"id":`...), int64(n*perPage+i), 10)
		page = append(append(page, s.more...), '}')
	}
	page = append(page, `],"next":`...)
	if n+1 < s.pages {
		page = strconv.AppendQuote(page, strconv.Itoa(n+1))
	} else {
		page = append(page, "null"...)
	}
	_, _ = w.Write(append(page, '}'))
}

// collect returns a command at the site.
func (s *site) collect(args ...string) *exec.Cmd {
	c := exec.Command(s.binary, args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+s.dir, "COLLECT_STATE="+s.address)
	return c
}

// A workerProcess is a worker with what it said.
type workerProcess struct {
	*exec.Cmd
	said bytes.Buffer
}

func (s *site) worker(turn string) *workerProcess {
	s.Helper()
	w := &workerProcess{Cmd: s.collect("worker", "--create", "--turn", turn)}
	w.Stderr = &w.said
	if err := w.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	return w
}

func (s *site) enqueue() {
	s.Helper()
	c := s.collect("enqueue", "--all", "--reason", "a test")
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("enqueue: %v: %s", err, out)
	}
}

// one reads one number from the database; -1 while that cannot be asked.
func (s *site) one(query string) (n int64) {
	if err := s.db.QueryRow(query).Scan(&n); err != nil {
		return -1
	}
	return n
}

// until waits until a number is what is wanted.
func (s *site) until(what, query string, ok func(int64) bool) {
	s.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		n := s.one(query)
		if ok(n) {
			return
		}
		if time.Since(begun) > 60*time.Second {
			s.Fatalf("%s: still %d after 60 s", what, n)
		}
	}
}

const (
	turnsLeft = `SELECT count(*) FROM fleet_turns`
	commits   = `SELECT count(*) FROM slices`
)

// finished waits until no turn is left, and checks that each record is stored, that each page was
// committed once, and that no page was asked for more often than deaths explain.
func (s *site) finished(deaths int) {
	s.Helper()
	s.until("turns left", turnsLeft, func(n int64) bool { return n == 0 })
	for _, name := range s.names {
		out, err := s.collect("export", name, "things").Output()
		if err != nil {
			s.Fatalf("export: %v", err)
		}
		if n, want := bytes.Count(out, []byte("\n")), s.pages*sitePage; n != want {
			s.Errorf("%s has %d records, want %d", name, n, want)
		}
	}
	if n, want := s.one(commits), int64(len(s.names)*s.pages); n != want {
		s.Errorf("%d commits for %d pages", n, want)
	}
	most := 0
	for _, n := range s.asked {
		most += n
	}
	runs := int(s.one(`SELECT count(*) FROM runs`))
	if most > len(s.names)*s.pages+12*deaths+2*runs {
		s.Errorf("%d requests for %d pages, %d runs and %d deaths", most, len(s.names)*s.pages, runs, deaths)
	}
}

// TestWorkersKilled: workers are killed 20 times; others take over without anybody's
// help, and every record is there once.
func TestWorkersKilled(t *testing.T) {
	const kills = 20
	s := newSite(t, 200, "ants", "bees", "cats")
	workers := []*workerProcess{s.worker("1s"), s.worker("1s")}
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 2 })
	s.enqueue()
	for n := range kills {
		before := s.one(commits)
		s.until("commits", commits, func(n int64) bool { return n >= before+rand.Int64N(15) || n == int64(3*s.pages) })
		i := n % 2
		if err := workers[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = workers[i].Wait()
		workers[i] = s.worker("1s")
	}
	s.finished(kills)
	t.Logf("the longest time without a request: %v", s.stall)
}

// TestZombie: a worker is stopped for longer than its lease lasts, and succeeded. When it goes on
// it writes nothing any more, and is a worker like the others.
func TestZombie(t *testing.T) {
	s := newSite(t, 150, "ants")
	zombie := s.worker("1m")
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 1 })
	s.enqueue()
	s.until("commits", commits, func(n int64) bool { return n >= 10 })
	if err := zombie.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// A transaction that it stopped in would hold others up for half a minute.
	s.until("transactions", `SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`, func(n int64) bool {
		if n > 0 {
			_ = zombie.Process.Signal(syscall.SIGCONT)
			time.Sleep(time.Millisecond)
			_ = zombie.Process.Signal(syscall.SIGSTOP)
		}
		return n == 0
	})
	for _, later := range []string{
		`UPDATE leases SET expires_at = clock_timestamp()`,
		`UPDATE fleet_workers SET seen_at = seen_at - interval '31 seconds'`,
	} {
		if _, err := s.db.Exec(later); err != nil {
			t.Fatal(err)
		}
	}
	heir := s.worker("1m")
	before := s.one(commits)
	s.until("commits of the heir", commits, func(n int64) bool { return n >= before+5 })
	if err := zombie.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 2 })
	s.finished(1)
	for _, w := range []*workerProcess{zombie, heir} {
		_ = w.Process.Signal(syscall.SIGTERM)
		if err := w.Wait(); err != nil {
			t.Errorf("a worker that was told to stop: %v\n%s", err, w.said.Bytes())
		}
	}
	if !bytes.Contains(zombie.said.Bytes(), []byte("ants turn.ended")) {
		t.Errorf("the zombie does not say that its turn ended:\n%s", zombie.said.Bytes())
	}

	if n := s.one(`SELECT count(DISTINCT epoch) FROM runs`); n != 2 {
		t.Errorf("%d epochs, want 2", n)
	}
}

// TestServerRestarts: Postgres is restarted at once, with all workers at work; they go on
// when it is back.
func TestServerRestarts(t *testing.T) {
	// Turns are longer than it takes to begin one on a busy machine.
	s := newSite(t, 150, "ants", "bees")
	workers := []*workerProcess{s.worker("5s"), s.worker("5s")}
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 2 })
	s.enqueue()
	for _, n := range []int64{30, 120} {
		s.until("commits", commits, func(have int64) bool { return have >= n })
		s.server.End(syscall.SIGQUIT)
		if err := s.server.Begin("fsync=off"); err != nil {
			t.Fatal(err)
		}
	}
	s.finished(4)
	for _, w := range workers {

		_ = w.Process.Signal(syscall.SIGTERM)
		if err := w.Wait(); err != nil {
			t.Errorf("a worker that was told to stop: %v\n%s", err, w.said.Bytes())
		}
	}
}

// TestRollingUpgrade: a worker of the next version, whose tables this one cannot live with, starts beside two of
// this one that are at work. They hand over, say one sentence and end so that a service manager starts what is installed
// then; it goes on, and every record is there once. A worker of this version does not begin any more.
func TestRollingUpgrade(t *testing.T) {
	s := newSite(t, 300, "ants", "bees")
	before := []*workerProcess{s.worker("1m"), s.worker("1m")}
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 2 })
	s.enqueue()
	s.until("commits", commits, func(n int64) bool { return n >= 30 })
	this := s.binary
	s.binary = s.buildLater("UPDATE fleet_version SET least = version + 1;")
	next := s.worker("1m")
	s.until("workers that go on", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 1 })
	for _, w := range before {
		_ = w.Wait()
		if code, said := w.ProcessState.ExitCode(), w.said.String(); code != 75 || strings.Count(said, "E0727") != 1 || strings.Contains(said, "E0703") {
			t.Errorf("a worker beside one of the next version: exit code %d, want 75, and:\n%s", code, said)
		}
	}
	s.binary = this
	refused := s.worker("1m")
	_ = refused.Wait()
	if code, said := refused.ProcessState.ExitCode(), refused.said.String(); code != 78 || !strings.Contains(said, "E0703") {
		t.Errorf("a worker that begins beside one of the next version: exit code %d, want 78, and:\n%s", code, said)
	}
	s.finished(0)
	_ = next.Process.Signal(syscall.SIGTERM)
	if err := next.Wait(); err != nil {
		t.Errorf("a worker that was told to stop: %v\n%s", err, next.said.Bytes())
	}
}

// buildLater builds collect as the next version may be: with one migration more.
func (s *site) buildLater(migration string) (binary string) {
	s.Helper()
	text, overlay := filepath.Join(s.dir, "later.sql"), filepath.Join(s.dir, "overlay.json")
	here, err := filepath.Abs("migrations/fleet/9999_later.sql")
	if err != nil {
		s.Fatal(err)
	}
	s.write("later.sql", migration)
	s.write("overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, here, text))
	binary = filepath.Join(s.dir, "later")
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	return binary
}
