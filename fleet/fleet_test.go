package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/fleet"
	"collect/internal/pgtest"
	"collect/internal/process"
	"collect/report"
	"collect/report/problem"
	"collect/store"
	"collect/store/postgres"
)

var server *pgtest.Server

func TestMain(m *testing.M) {
	if settings := os.Getenv(workerOf); settings != "" {
		fmt.Fprintln(os.Stderr, work(settings))
		os.Exit(1)
	}
	os.Exit(pgtest.Run(m, &server))
}

const perPage = 10 // records

// A place is a store with a fleet, and a provider whose lists have pages.
type place struct {
	*testing.T
	address string
	fleet   *fleet.Fleet
	entries map[string]registry.Entry
	slow    time.Duration // a page takes

	mu    sync.Mutex
	url   string
	asked map[string]int // pages
	hold  chan struct{}  // nil: pages are answered at once
}

func newPlace(t *testing.T) *place {
	p := &place{T: t, address: server.Fresh(), entries: map[string]registry.Entry{}, asked: map[string]int{}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	db := p.store(true)
	t.Cleanup(func() { _ = db.Close() })
	p.fleet = p.open()
	return p
}

// ServeHTTP answers /NAME/PAGES?page=N, or the last page where a mark is given.
func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, last, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	pages, _ := strconv.Atoi(last)
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if r.URL.Query().Has("since") {
		n = pages - 1
	}
	p.mu.Lock()
	p.asked[name]++
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	time.Sleep(p.slow)
	var items []string
	for i := range perPage {
		id := n*perPage + i
		items = append(items, fmt.Sprintf(`{"id":%d,"at":%q}`, id, time.Unix(int64(id), 0).UTC().Format(time.RFC3339)))
	}
	next := "null"
	if n+1 < pages {
		next = strconv.Quote(strconv.Itoa(n + 1))
	}
	fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
}

const connectorFile = `connector: %s
provider: {name: %s, base_url: %q, pace: off}
streams:
  things:
    get: /%s/%d
    records: items
    key: id
    page: {cursor: {from: next, param: page}}
`

// add adds a connector to what the machines know; more are lines of its stream.
func (p *place) add(name string, pages int, more ...string) {
	p.Helper()
	path := filepath.Join(p.TempDir(), name+".yaml")
	text := fmt.Sprintf(connectorFile, name, name, p.url, name, pages) + strings.Join(more, "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	p.entries[name] = registry.Entry{Use: path}
}

func (p *place) store(create bool) *postgres.Store {
	p.Helper()
	db, err := postgres.Open(context.Background(), p.address, postgres.Options{Create: create})
	if err != nil {
		p.Fatal(err)
	}
	return db
}

func (p *place) open() *fleet.Fleet {
	p.Helper()
	f, err := fleet.Open(context.Background(), p.address)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(f.Close)
	return f
}

var audit = store.Audit{Who: "ann", Why: "a test", Holder: process.This()}

func (p *place) enqueue(names ...string) {
	p.Helper()
	if err := p.fleet.Enqueue(p.Context(), names, audit); err != nil {
		p.Fatal(err)
	}
}

// A machine is a worker with connections of its own.
type machine struct {
	*fleet.Worker
	place  *place
	events chan fleet.Event
	ended  chan error
	stop   context.CancelCauseFunc
}

// start starts a worker; change is made to its configuration. Its turns are long: one that is over before
// the run has asked for anything, which a short one is on a busy machine, leads nowhere.
func (p *place) start(change func(*fleet.Config)) *machine {
	p.Helper()
	m := &machine{place: p, events: make(chan fleet.Event, 10_000), ended: make(chan error, 1)}
	db := p.store(false)
	c := fleet.Config{
		Address: p.address, Registry: &registry.Registry{Entries: p.entries, Env: func(string) string { return "" }},
		Each:   engine.Config{Store: db, Options: engine.Options{Mode: collection.Forward, Lane: collection.Incremental}},
		Holder: process.This(), Version: "test", Beat: 50 * time.Millisecond, Turn: time.Minute,
		Say: func(e fleet.Event) { m.events <- e },
	}
	if change != nil {
		change(&c)
	}
	var err error
	if m.Worker, err = fleet.NewWorker(p.open(), c); err != nil {
		p.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	m.stop = stop
	go func() {
		m.ended <- m.Do(ctx)
		_ = db.Close()
	}()
	p.Cleanup(func() { stop(context.Canceled) })
	return m
}

// drain ends a worker in order.
func (m *machine) drain() {
	m.place.Helper()
	m.Drain()
	select {
	case err := <-m.ended:
		if err != nil {
			m.place.Errorf("a worker that drains: %v", err)
		}
	case <-time.After(time.Minute):
		m.place.Fatal("a worker does not end a minute after it was told to")
	}
}

// await returns the next event of a kind, of a connector if it is named.
func (m *machine) await(kind fleet.EventKind, connector string) fleet.Event {
	m.place.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case e := <-m.events:
			if e.Kind == kind && (connector == "" || e.Connector == connector) {
				return e
			}
			if e.Err != nil && kind != fleet.TurnLeft {
				m.place.Logf("%s %s: %v", e.Kind, e.Connector, e.Err)
			}
		case <-timeout:
			m.place.Fatalf("no event %s of %q in a minute", kind, connector)
		}
	}
}

// finished waits until a connector has no turn to come.
func (p *place) finished(names ...string) {
	p.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var left int
		err := fleet.One(p.Context(), p.fleet, `SELECT count(*) FROM fleet_turns WHERE connector IN ('`+strings.Join(names, "','")+`')`, &left)
		if err != nil {
			p.Fatal(err)
		}
		if left == 0 {
			return
		}
		if time.Since(begun) > 3*time.Minute {
			p.Fatalf("%d turns are left after 3 minutes", left)
		}
	}
}

// exact checks that all records of a connector are stored, none of them twice, and
// returns its runs, oldest first.
func (p *place) exact(name string, pages int) []collection.Run {
	p.Helper()
	db := p.store(false)
	defer db.Close()
	n := 0
	for _, err := range db.Records(p.Context(), name, "things") {
		if err != nil {
			p.Fatal(err)
		}
		n++
	}
	if n != pages*perPage {
		p.Errorf("%s has %d records, want %d", name, n, pages*perPage)
	}
	runs, err := db.Runs(p.Context(), name, 1000)
	if err != nil {
		p.Fatal(err)
	}
	slices.Reverse(runs)
	var changed int64
	for _, run := range runs {
		changed += run.Tally.Changed
	}
	if changed != int64(n) {
		p.Errorf("%s: the runs stored %d records, want %d: one was stored twice", name, changed, n)
	}
	return runs
}

// TestTurns: two workers collect three connectors in turns, each record once, and no
// worker runs one connector for longer than a turn while others wait.
func TestTurns(t *testing.T) {
	p := newPlace(t)
	p.slow = 30 * time.Millisecond
	names := []string{"ants", "bees", "cats"}
	for _, name := range names {
		p.add(name, 30)
	}
	short := func(c *fleet.Config) { c.AtMost, c.Turn = 1, 400*time.Millisecond } // of 900 ms, which all pages take
	one, two := p.start(short), p.start(short)
	p.enqueue(names...)
	p.enqueue(names...) // which changes nothing
	p.finished(names...)
	one.drain()
	two.drain()
	for _, name := range names {
		runs := p.exact(name, 30)
		if len(runs) < 2 {
			t.Errorf("%s was collected in %d turns, want 2 or more", name, len(runs))
		}
		if last := runs[len(runs)-1]; last.Outcome != collection.Complete {
			t.Errorf("%s ended %s", name, last.Outcome)
		}
		if p.asked[name] > 30+2*len(runs) {
			t.Errorf("%s: %d requests for 30 pages in %d turns", name, p.asked[name], len(runs))
		}
	}
	var orders int
	if err := fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM fleet_orders WHERE kind = 'enqueue' AND who = 'ann' AND why = 'a test'`, &orders); err != nil || orders != 6 {
		t.Errorf("%d orders are recorded, want 6, %v", orders, err)
	}
}

// TestChangesSinceTheWalkBegan: the turn that finishes a walk of several turns asks for what changed since it
// began, if that can be asked for alone; what was ordered is then up to date.
func TestChangesSinceTheWalkBegan(t *testing.T) {
	p := newPlace(t)
	p.slow = 30 * time.Millisecond
	p.add("ants", 30, "    since: {field: at, param: since, lookback: 1s}")
	p.add("bees", 30)
	w := p.start(func(c *fleet.Config) { c.Turn = 400 * time.Millisecond })
	p.enqueue("ants", "bees")
	p.finished("ants", "bees")
	w.drain()
	for name, upToDate := range map[string]bool{"ants": true, "bees": false} {
		runs := p.exact(name, 30)
		if len(runs) < 2 {
			t.Fatalf("%s was collected in %d turns, want 2 or more", name, len(runs))
		}
		db := p.store(false)
		defer db.Close()
		streams, err := db.Streams(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if left := report.LeftToNext(streams, time.Now()); (left == "") != upToDate {
			t.Errorf("%s, collected in %d turns: %q; up to date %t is wanted", name, len(runs), left, upToDate)
		}
	}
}

// TestHeldUntilItsLeaseEnds: a worker waits no longer for a holder that says nothing any more than its lease lasts.
func TestHeldUntilItsLeaseEnds(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	silent := p.store(false)
	defer silent.Close()
	run := collection.Run{ID: "silent", Connector: "ants", Mode: collection.Forward, Lane: collection.Incremental, Holder: process.This(), StartedAt: time.Now()}
	if _, err := silent.Begin(t.Context(), run, nil); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Exec(t.Context(), p.fleet, `UPDATE leases SET expires_at = clock_timestamp() + interval '2 seconds'`); err != nil {
		t.Fatal(err)
	}
	w := p.start(func(c *fleet.Config) { c.Beat = time.Hour })
	p.enqueue("ants")
	p.finished("ants")
	w.drain()
	p.exact("ants", 3)
}

// TestBeatAtTheEnd: a beat that is under way when a worker ends does not put it on the list again.
func TestBeatAtTheEnd(t *testing.T) {
	p := newPlace(t)
	for range 20 {
		w := p.start(func(c *fleet.Config) { c.Beat = time.Nanosecond })
		w.await(fleet.WorkerStarted, "")
		w.drain()
	}
	time.Sleep(100 * time.Millisecond) // a cancelled beat may still run on the server
	var workers int
	if err := fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM fleet_workers`, &workers); err != nil || workers != 0 {
		t.Errorf("after 20 workers have ended %d are known, %v", workers, err)
	}
}

// TestDrain: a worker that is told to stop ends its turn as planned, with what is in flight, and
// another one goes on.
func TestDrain(t *testing.T) {
	p := newPlace(t)
	p.slow = 5 * time.Millisecond
	p.add("ants", 60)
	one := p.start(nil)
	p.enqueue("ants")
	one.await(fleet.TurnBegun, "ants")
	one.drain()
	var workers int
	if err := fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM fleet_workers`, &workers); err != nil || workers != 0 {
		t.Errorf("after a drain %d workers are known, %v", workers, err)
	}
	two := p.start(nil)
	p.finished("ants")
	two.drain()
	runs := p.exact("ants", 60)
	if len(runs) != 2 || runs[0].Outcome == collection.RunInterrupted || runs[0].ExitCode != 0 || runs[1].Outcome != collection.Complete {
		t.Errorf("the runs are %+v, want one handed over and one complete", runs)
	}
}

// TestStoppedEarly: a worker that is told to stop before it has begun ends, too.
func TestStoppedEarly(t *testing.T) {
	p := newPlace(t)
	for range 5 {
		p.start(nil).drain()
	}
}

// TestLacking: a worker that does not know a connector, or has another file of it, says so once and
// leaves it to one that does, for whom it is due at once. It waits once, whatever is ordered meanwhile.
func TestLacking(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	p.enqueue("ants")
	knows := p.start(nil)
	p.finished("ants")
	p.exact("ants", 3)
	knows.drain()

	other := filepath.Join(t.TempDir(), "ants.yaml")
	text := strings.ReplaceAll(fmt.Sprintf(connectorFile, "ants", "ants", p.url, "ants", 3), "key: id", "key: name")
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	why := map[string]string{"without a file": "no file of it here (E0201)", "with another file": "its file here does not go with what was collected (E0209)"}
	for what, entries := range map[string]map[string]registry.Entry{
		"without a file": {}, "with another file": {"ants": {Use: other}},
	} {
		t.Run(what, func(t *testing.T) {
			stranger := p.start(func(c *fleet.Config) {
				c.Registry = &registry.Registry{Entries: entries, Env: func(string) string { return "" }}
			})
			// A turn that was inserted before a run which was not of the fleet.
			if err := fleet.Exec(t.Context(), p.fleet, `INSERT INTO fleet_turns (connector, epoch, due_at) VALUES ('ants', 99, clock_timestamp() + interval '1 hour')`); err != nil {
				t.Fatal(err)
			}
			p.enqueue("ants")
			if e := stranger.await(fleet.TurnLeft, "ants"); e.Err == nil {
				t.Error("no reason is told")
			}
			if got := fleet.Lacked(stranger.Worker, time.Now())["ants"].Why; got != why[what] {
				t.Errorf("the others are told %q, want %q", got, why[what])
			}
			p.enqueue("ants")
			stranger.drain() // what it took it has put back
			for len(stranger.events) > 0 {
				if e := <-stranger.events; e.Kind == fleet.TurnLeft {
					t.Errorf("said again: %v", e.Err)
				}
			}
			var waiting, due int
			if err := fleet.One(t.Context(), p.fleet, `SELECT count(*), count(*) FILTER (WHERE due_at <= clock_timestamp()) FROM fleet_turns`, &waiting, &due); err != nil || waiting != 1 || due != 1 {
				t.Errorf("%d turns wait, and %d are due, %v; want 1 and 1", waiting, due, err)
			}
			asked := p.asked["ants"]
			knows := p.start(nil)
			p.finished("ants")
			knows.drain()
			if p.asked["ants"] == asked {
				t.Error("the other worker did not ask")
			}
		})
	}
}

// TestTwoFleets: two stores in one database do not hear of each other.
func TestTwoFleets(t *testing.T) {
	one, two := newPlace(t), newPlace(t)
	one.add("ants", 3)
	two.add("ants", 4)
	a, b := one.start(nil), two.start(nil)
	one.enqueue("ants")
	one.finished("ants")
	if n := two.asked["ants"]; n != 0 {
		t.Errorf("the other fleet asked %d times", n)
	}
	two.enqueue("ants")
	two.finished("ants")
	a.drain()
	b.drain()
	one.exact("ants", 3)
	two.exact("ants", 4)
}

// TestNewer: a newer version changes the tables so that this one cannot work with them; an older
// worker hands over and says so, and none begins.
func TestNewer(t *testing.T) {
	p := newPlace(t)
	p.slow = 5 * time.Millisecond
	p.add("ants", 60)
	old := p.start(nil)
	p.enqueue("ants")
	old.await(fleet.TurnBegun, "ants")
	p.exec("UPDATE fleet_version SET version = 999, least = 999")
	if err := <-old.ended; !errors.Is(err, problem.ErrUpgraded) {
		t.Errorf("a worker beside a newer version ended with %v", err)
	}
	if _, err := fleet.Open(t.Context(), p.address); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open beside a newer version: %v", err)
	}
	var left int
	if err := fleet.One(t.Context(), p.fleet, "SELECT count(*) FROM fleet_turns WHERE worker IS NULL", &left); err != nil || left != 1 {
		t.Errorf("%d turns wait for a newer worker, want 1, %v", left, err)
	}
}

// TestMore: a newer version only adds to the tables; workers of this one go on, and begin.
func TestMore(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 60)
	p.add("bees", 3)
	old := p.start(nil)
	p.enqueue("ants")
	old.await(fleet.TurnBegun, "ants")
	p.exec("ALTER TABLE fleet_turns ADD COLUMN weight INT NOT NULL DEFAULT 1; UPDATE fleet_version SET version = version + 1")
	later := p.start(nil)
	later.await(fleet.WorkerStarted, "")
	p.finished("ants")
	p.enqueue("bees")
	p.finished("bees")
	old.drain()
	later.drain()
	p.exact("ants", 60)
	p.exact("bees", 3)
	if got := p.text("SELECT version - least || '' FROM fleet_version"); got != "2" {
		t.Errorf("the version is %s above the least, want 2", got)
	}
}

// TestFirstStarts: many processes start at once where there is nothing yet.
func TestFirstStarts(t *testing.T) {
	address := server.Address("fleet_first")
	db, err := postgres.Open(t.Context(), address, postgres.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			f, err := fleet.Open(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
		})
	}
	all.Wait()
}

// TestRefused: what keeps a fleet from being opened is told in words of package store.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	for _, statement := range []string{"DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN"} {
		if err := fleet.Exec(t.Context(), p.fleet, statement); err != nil {
			t.Fatal(err)
		}
	}
	guest := strings.Replace(p.address, "user=collect", "user=guest", 1)
	for name, test := range map[string]struct {
		address string
		want    error
	}{
		"no rights": {guest, store.ErrNoAccess},
		"no server": {"postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", store.ErrUnreachable},
		"mistyped":  {"postgres://u:hunter2@[::1/db", nil},
	} {
		f, err := fleet.Open(t.Context(), test.address)
		if err == nil {
			f.Close()
		}
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error has the password", name)
		}
	}
}

// TestClock: a clock that is off is found however long the question took, and one that is
// right never.
func TestClock(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	s := time.Second
	for _, test := range []struct {
		before, after time.Duration // of the machine's clock, from the server's
		off           bool
	}{
		{0, 0, false}, {-s, 0, false}, {0, s, false}, {-90 * s, 90 * s, false}, {s, s, false}, {-s, -s, false},
		{2 * s, 2 * s, true}, {-3 * s, -2 * s, true}, {10 * 60 * s, 10 * 60 * s, true}, {-10 * 60 * s, -10 * 60 * s, true},
	} {
		err := fleet.ClockOff(at, at.Add(test.before), at.Add(test.after))
		if (err != nil) != test.off {
			t.Errorf("a clock off by %v to %v: %v", test.before, test.after, err)
		}
	}
}

// TestNext: when the turn after one is due.
func TestNext(t *testing.T) {
	now := time.Now()
	soon := now.Add(7 * time.Minute)
	run := func(reason collection.Reason, requests int64) engine.Ended {
		return engine.Ended{Run: collection.Run{Reason: reason, Tally: collection.Tally{Requests: requests}}}
	}
	owed := func(gaps ...collection.Gap) engine.Ended {
		var e engine.Ended
		for _, gap := range gaps {
			gap.State = collection.GapOpen
			e.Owed = append(e.Owed, store.OwnedGap{Gap: gap})
		}
		return e
	}
	failed := func(err error) engine.Ended { return engine.Ended{Err: err} }
	for _, test := range []struct {
		name  string
		at    time.Time // that the run tells
		ended engine.Ended
		want  time.Duration // -1: none
	}{
		{"the disk is full", time.Time{}, failed(collection.ErrFull), time.Minute},
		{"complete", time.Time{}, run("", 5), -1},
		{"out of time", time.Time{}, run(collection.WallClock, 5), 0},
		{"out of time, sent nothing", time.Time{}, run(collection.WallClock, 0), 5 * time.Second},
		{"the wait did not fit", soon, run(collection.WallClock, 5), 7 * time.Minute},
		{"asked to wait", soon, run(collection.RetryAfter, 5), 7 * time.Minute},
		{"asked to wait, no time", time.Time{}, run(collection.RateLimited, 5), time.Minute},
		{"breaker", soon, run(collection.CircuitOpen, 0), 7 * time.Minute},
		{"day budget", soon, run(collection.RequestCap, 5), 7 * time.Minute},
		{"cap of a run", time.Time{}, run(collection.RequestCap, 5), -1},
		{"handed over", time.Time{}, run(collection.Interrupted, 5), 0},
		{"frozen until a person acts", time.Time{}, run(collection.Frozen, 5), -1},
		{"frozen until a test", soon, run(collection.Frozen, 5), 7 * time.Minute},
		{"token refused", time.Time{}, run(collection.Auth, 5), -1},
		{"owes a cooling piece", time.Time{}, owed(collection.Gap{Reason: collection.UpstreamPressure, NotBefore: soon}), 7 * time.Minute},
		{"owes a planned piece", time.Time{}, owed(collection.Gap{Reason: collection.RetryBudget}), time.Minute},
		{"owes what a person mends", time.Time{}, owed(collection.Gap{Reason: collection.Auth}), -1},
		{"lost its lease", time.Time{}, failed(collection.ErrFenced), 5 * time.Second},
		{"the server went", time.Time{}, failed(store.ErrUnreachable), 0},
	} {
		at, ok := fleet.Next(report.Summary{NextAt: test.at}, test.ended, now)
		if ok != (test.want >= 0) || ok && at.Sub(now) != test.want {
			t.Errorf("%s: %v, %t, want %v", test.name, at.Sub(now), ok, test.want)
		}
	}
}

// TestCalled: a worker hears of a turn at once, long before its beat, also of one that was to wait, and
// with a session in the place of one that ended.
func TestCalled(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	p.add("bees", 3)
	p.add("cats", 3)
	p.enqueue("bees")
	if err := fleet.Exec(t.Context(), p.fleet, `UPDATE fleet_turns SET due_at = clock_timestamp() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	w := p.start(func(c *fleet.Config) { c.Beat = time.Hour })
	w.await(fleet.WorkerStarted, "")
	for _, name := range []string{"ants", "bees"} {
		p.enqueue(name)
		p.finished(name)
	}
	if err := fleet.EndSession(t.Context(), w.Worker); err != nil {
		t.Fatal(err)
	}
	p.enqueue("cats")
	p.finished("cats")
	w.drain()
}

// TestTimeComes: a beat finds a turn whose time has come.
func TestTimeComes(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	p.enqueue("ants")
	if err := fleet.Exec(t.Context(), p.fleet, `UPDATE fleet_turns SET due_at = clock_timestamp() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	w := p.start(nil)
	w.await(fleet.WorkerStarted, "")
	if err := fleet.Exec(t.Context(), p.fleet, `UPDATE fleet_turns SET due_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	p.finished("ants")
	w.drain()
	p.exact("ants", 3)
}

// TestNothingIsCompiled: the search for the turns of dead workers took seconds on a new database, on a server
// that was told to compile what it takes for much work.
func TestNothingIsCompiled(t *testing.T) {
	if got := newPlace(t).text("SHOW jit"); got != "off" {
		t.Errorf("jit is %s, want off", got)
	}
}

// TestAsOldAsItIs: a worker that others took for dead in an outage has a row again with its next
// beat, and is as old in it as it was.
func TestAsOldAsItIs(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	w := p.start(func(c *fleet.Config) { c.Beat = time.Hour })
	w.await(fleet.WorkerStarted, "")
	since := func() string { return p.text(`SELECT max(started_at)::text FROM fleet_workers`) }
	before := since()
	p.exec(`DELETE FROM fleet_workers`)
	if err := fleet.EndSession(t.Context(), w.Worker); err != nil {
		t.Fatal(err)
	}
	p.enqueue("ants")
	p.finished("ants") // by then it has had a beat: it heard of the turn, or looked
	if now := since(); now != before {
		t.Errorf("since %s, want %s", now, before)
	}
	w.drain()
}

// TestAnOutageIsSaidTwice: a worker says that its beats fail, and that they do not any more, and nothing of each beat.
func TestAnOutageIsSaidTwice(t *testing.T) {
	p := newPlace(t)
	w := p.start(nil)
	w.await(fleet.WorkerStarted, "")
	for range 2 {
		p.exec(`ALTER TABLE fleet_workers RENAME TO hidden`)
		if e := w.await(fleet.BeatFailed, ""); e.Err == nil {
			t.Error("a beat that failed has no error")
		}
		time.Sleep(300 * time.Millisecond) // several beats
		p.exec(`ALTER TABLE hidden RENAME TO fleet_workers`)
		if e := w.nextEvent(); e.Kind != fleet.BeatRecovered || e.Err != nil {
			t.Errorf("after an outage the worker says %s, %v, want %s", e.Kind, e.Err, fleet.BeatRecovered)
		}
	}
	w.drain()
}

// nextEvent returns the next event.
func (m *machine) nextEvent() fleet.Event {
	m.place.Helper()
	select {
	case e := <-m.events:
		return e
	case <-time.After(time.Minute):
		m.place.Fatal("no event in a minute")
	}
	return fleet.Event{}
}
