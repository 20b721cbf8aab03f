package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/e2e/services"
)

// A desk is a server of tickets as the tests see it: through a door that counts
// requests, and beside it, in its storage.
type desk struct {
	services.Desk
	door   *door
	ticket func(record json.RawMessage) (services.Ticket, error) // reads one as the API shows it
}

// A door is a proxy in front of a desk. It changes nothing on the way; what it
// is told to do when a page has been answered happens before the client has it.
type door struct {
	*httptest.Server

	mu      sync.Mutex
	queries []string
	pages   int
	at      int
	do      func()
}

func openDoor(t *testing.T, to string) *door {
	t.Helper()
	d := &door{}
	target, err := url.Parse(to)
	must(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // links in the answers lead through the door
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Body.Close()
			r.Body = io.NopCloser(bytes.NewReader(body))
			d.answered(r.Request.URL.RawQuery)
			return nil
		},
	}
	d.Server = httptest.NewServer(proxy)
	t.Cleanup(d.Close)
	return d
}

func (d *door) answered(query string) {
	d.mu.Lock()
	d.queries = append(d.queries, query)
	d.pages++
	do := d.do
	if d.pages != d.at {
		do = nil
	}
	d.mu.Unlock()
	if do != nil {
		do()
	}
}

// after has do called once, when the page-th page from now has been answered.
func (d *door) after(page int, do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queries, d.pages, d.at, d.do = nil, 0, page, do
}

func (d *door) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.queries)
}

// pageSize is that of all connector files of the desks.
const pageSize = 20

// day is when the tickets of the first day begin to change.
var day = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// firstDay is 240 tickets, twelve full pages, whose IDs are in no order. Tickets
// 60 to 139 share a second, as after a bulk change, and so do the last 30.
func firstDay() []services.Ticket {
	tickets := make([]services.Ticket, 240)
	for i := range tickets {
		second := i
		switch {
		case i >= 60 && i < 140:
			second = 60
		case i >= 210:
			second = 210
		}
		tickets[i] = services.Ticket{
			ID:      1 + i*97%241, // a prime: no ID comes twice
			Title:   fmt.Sprintf("ticket %d, Łódź 東京", i),
			Updated: stamp(day.Add(time.Duration(second) * time.Second)),
		}
	}
	return tickets
}

// later is tickets with their titles changed at a time.
func later(tickets []services.Ticket, at time.Time) []services.Ticket {
	tickets = slices.Clone(tickets)
	for i := range tickets {
		tickets[i].Title += ", changed"
		tickets[i].Updated = stamp(at)
	}
	return tickets
}

// newcomers is n tickets with IDs from first on, made at a time.
func newcomers(first, n int, at time.Time) []services.Ticket {
	tickets := make([]services.Ticket, n)
	for i := range tickets {
		tickets[i] = services.Ticket{ID: first + i, Title: fmt.Sprintf("newcomer %d", i), Updated: stamp(at)}
	}
	return tickets
}

func ids(tickets []services.Ticket) []int {
	var ids []int
	for _, t := range tickets {
		ids = append(ids, t.ID)
	}
	return ids
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) stored(t *testing.T) map[int]services.Ticket {
	t.Helper()
	all, err := d.Stored()
	must(t, err)
	byID := map[int]services.Ticket{}
	for _, ticket := range all {
		byID[ticket.ID] = ticket
	}
	return byID
}

// user returns a user of a connector file with this text.
func (d *desk) user(t *testing.T, text string) user {
	t.Helper()
	home := t.TempDir()
	u := user{
		file:  filepath.Join(home, "desk.yaml"),
		state: filepath.Join(home, "state.db"),
		env:   []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
	}
	d.edit(t, u, text)
	return u
}

// edit replaces the connector file.
func (d *desk) edit(t *testing.T, u user, text string) {
	t.Helper()
	head := fmt.Sprintf("connector: desk\nprovider: {base_url: %q, pace: off}\n", d.door.URL)
	must(t, os.WriteFile(u.file, []byte(head+text), 0o600))
}

// A word is what a run said of itself.
type word struct {
	result
	outcome string
	status  string // what collect status says after it
}

// enough requests for any walk of a desk, with all that is asked again.
const enough = 300

func (d *desk) run(t *testing.T, u user, args ...string) word {
	t.Helper()
	return d.order(t, u, "run", append([]string{"--max-requests", fmt.Sprint(enough)}, args...)...)
}

// order has collect do something, and asks it how it stands then.
func (d *desk) order(t *testing.T, u user, verb string, args ...string) word {
	t.Helper()
	r := u.collect(t, verb, args...)
	if n := len(d.door.asked()); n >= enough {
		t.Errorf("%d requests, and no end", n)
	}
	var finished struct{ Summary struct{ Outcome string } }
	json.Unmarshal(lastLine(r.stdout), &finished) // a run that could not begin has no events
	status := finish(t, u.bare("status", "--state", u.state))
	return word{r, finished.Summary.Outcome, string(status.stdout)}
}

// promises is whether a run says that nothing is missing.
func (w word) promises() bool {
	return w.outcome == "complete" || w.outcome == "nothing_new" || strings.Contains(w.status, "up to date") ||
		w.code == 0 && !strings.Contains(string(w.stdout), "budget.exhausted")
}

// have returns the tickets that collect stored.
func (d *desk) have(t *testing.T, u user) map[int]services.Ticket {
	t.Helper()
	r := finish(t, u.bare("export", "desk", "tickets", "--state", u.state))
	if r.code != 0 {
		t.Logf("export: exit %d: %s", r.code, r.stderr)
	}
	have := map[int]services.Ticket{}
	for line := range bytes.Lines(r.stdout) {
		ticket, err := d.ticket(bytes.TrimSpace(line))
		if err != nil {
			continue // a record of another kind, of a mistyped file
		}
		have[ticket.ID] = ticket
	}
	return have
}

// differences compares what collect has with what the server had before and
// after a walk. What came or changed meanwhile may be in either state.
func differences(before, after, have map[int]services.Ticket) (missing, stale, deleted []int) {
	for id, ticket := range before {
		now, there := after[id]
		got, had := have[id]
		switch {
		case there && !had:
			missing = append(missing, id)
		case there && now == ticket && got != ticket:
			stale = append(stale, id)
		}
	}
	for id := range have {
		if _, there := after[id]; !there {
			deleted = append(deleted, id)
		}
	}
	slices.Sort(missing)
	slices.Sort(stale)
	return missing, stale, deleted
}

// judge fails the test with BROKEN if a run promises what the storage of the
// server denies. It returns whether everything is there.
func (d *desk) judge(t *testing.T, step string, u user, w word, before, after map[int]services.Ticket) bool {
	t.Helper()
	have := d.have(t, u)
	missing, stale, deleted := differences(before, after, have)
	whole := len(missing)+len(stale) == 0
	line := fmt.Sprintf("%s: exit %d, %q, status %q; %d requests; server has %d, collect %d: %d missing, %d stale, %d deleted there",
		step, w.code, w.outcome, state(w.status), len(d.door.asked()), len(after), len(have), len(missing), len(stale), len(deleted))
	if w.promises() && !whole {
		t.Errorf("BROKEN %s\nmissing %v, stale %v\nstderr: %s\nasked: %s", line, head(missing), head(stale),
			w.stderr, strings.Join(d.door.asked(), "\n       "))
	} else {
		t.Logf("ok %s; %s", line, bytes.TrimSpace(w.stderr))
	}
	return whole
}

// state is the STATE column of collect status.
func state(status string) string {
	_, row, _ := strings.Cut(status, "\n")
	row, _, _ = strings.Cut(row, "\n")
	return strings.Join(strings.Fields(row), " ")
}

func head(ids []int) string {
	if len(ids) > 12 {
		return fmt.Sprintf("%v and %d more", ids[:12], len(ids)-12)
	}
	return fmt.Sprint(ids)
}

// whole fails the test unless a run of a good file, with nothing changing under
// it, ends with everything and says so: SHY if it does not say so, SHORT if it
// says that it is short of something.
func (d *desk) whole(t *testing.T, step string, u user, w word) {
	t.Helper()
	now := d.stored(t)
	if whole := d.judge(t, step, u, w, now, now); whole && w.code != 0 {
		t.Errorf("SHY %s: everything is there, and the run ended with %d, %q: %s\nasked: %s", step, w.code, w.outcome, w.stderr,
			strings.Join(d.door.asked(), "\n       "))
	} else if !whole && w.code != 0 {
		t.Errorf("SHORT %s: exit %d, %q: %s\nasked: %s", step, w.code, w.outcome, w.stderr, strings.Join(d.door.asked(), "\n       "))
	}
}

// A typo replaces a part of a connector file by another.
type typo struct{ right, wrong string }

// An hour is a connector file of a desk, what happens while it is in use, and
// how it is mistyped.
type hour struct {
	name    string
	scenes  string // by their names
	streams string
	typos   []typo
}

// A scene has a desk and a user of it, with nothing collected yet.
type scene func(d *desk, t *testing.T, streams string, all []services.Ticket)

var scenes = map[string]scene{
	"days":    (*desk).days,
	"delete":  under(func(d *desk, all []services.Ticket) error { return d.Drop(ids(all[5:15])...) }),
	"move":    under(func(d *desk, all []services.Ticket) error { return d.Put(later(all[5:15], time.Now())...) }),
	"tie":     under(func(d *desk, all []services.Ticket) error { return d.Put(later(all[70:110], time.Now())...) }),
	"swap":    under(swap),
	"killed":  (*desk).killed,
	"resized": (*desk).resized,
	"again":   (*desk).again,
}

// swap deletes tickets and makes as many others: the total stays.
func swap(d *desk, all []services.Ticket) error {
	return errors.Join(d.Drop(ids(all[40:47])...), d.Put(newcomers(600, 7, time.Now())...))
}

// play lets a user have the file for an hour.
func (d *desk) play(t *testing.T, h hour) {
	all := firstDay()
	for name := range strings.FieldsSeq(h.scenes) {
		t.Run(name, func(t *testing.T) {
			must(t, d.Fill(all))
			scenes[name](d, t, h.streams, all)
		})
	}
	must(t, d.Fill(all))
	for _, typo := range append([]typo{{"key: id", "key: ID"}}, h.typos...) {
		t.Run(typo.wrong, func(t *testing.T) { d.mistyped(t, h.streams, typo) })
	}
}

// days: a first run, quiet ones, and days with changes between.
func (d *desk) days(t *testing.T, text string, all []services.Ticket) {
	u := d.user(t, text)
	run := func(step string) {
		t.Helper()
		d.door.after(0, nil)
		d.whole(t, step, u, d.run(t, u))
	}
	run("first run")
	run("nothing new")
	must(t, errors.Join(
		d.Put(newcomers(500, 50, day.Add(time.Hour))...),
		d.Put(later(all[60:63], day.Add(time.Hour))...),
		d.Drop(ids(all[10:17])...)))
	run("second day")
	// Two more in the same second as the last ones.
	must(t, errors.Join(
		d.Put(newcomers(700, 1, day.Add(time.Hour))...),
		d.Put(later(all[30:31], day.Add(time.Hour))...)))
	run("same second")
	run("quiet")
	must(t, d.Put(later(all[180:184], day.Add(2*time.Hour))...))
	run("third day")
}

// under: tickets change when the fourth page of a walk was just answered.
func under(change func(*desk, []services.Ticket) error) scene {
	return func(d *desk, t *testing.T, text string, all []services.Ticket) {
		u := d.user(t, text)
		before := d.stored(t)
		d.door.after(4, func() {
			if err := change(d, all); err != nil {
				t.Error(err)
			}
		})
		w := d.run(t, u)
		if len(d.door.asked()) < 4 {
			t.Fatalf("the walk ended before its fourth page: %s", w.stderr)
		}
		d.judge(t, "walk", u, w, before, d.stored(t))
		d.door.after(0, nil)
		w = d.run(t, u)
		now := d.stored(t)
		if !d.judge(t, "next run", u, w, now, now) {
			d.door.after(0, nil)
			d.whole(t, "run after it", u, d.run(t, u))
		}
	}
}

// killed: a run is killed at its sixth page, tickets are deleted, and a later
// run goes on.
func (d *desk) killed(t *testing.T, text string, all []services.Ticket) {
	u := d.user(t, text)
	run := u.command("run", "--create", "--json")
	d.door.after(6, func() { run.Process.Kill() })
	must(t, run.Start())
	run.Wait() // killed, as it should be
	must(t, d.Drop(ids(all[10:17])...))
	d.door.after(0, nil)
	w := d.order(t, u, "resume", "--max-requests", fmt.Sprint(enough))
	now := d.stored(t)
	if !d.judge(t, "resumed", u, w, now, now) {
		d.door.after(0, nil)
		d.whole(t, "run after it", u, d.run(t, u))
	}
}

// resized: the size of a page changes while a walk is paused.
func (d *desk) resized(t *testing.T, text string, all []services.Ticket) {
	for _, size := range []string{"15", "40"} {
		must(t, d.Fill(all))
		u := d.user(t, text)
		d.door.after(0, nil)
		if w := d.run(t, u, "--max-requests", "4"); w.code != 0 || w.outcome == "complete" {
			t.Errorf("paused: exit %d, %q", w.code, w.outcome)
		}
		d.edit(t, u, strings.ReplaceAll(text, fmt.Sprint(pageSize), size))
		d.door.after(0, nil)
		w := d.run(t, u)
		if w.code == 78 { // the size stands in the query
			d.door.after(0, nil)
			w = d.run(t, u, "--new-params")
		}
		d.whole(t, "pages of "+size, u, w)
	}
}

// again: a stream is started over that is stored whole.
func (d *desk) again(t *testing.T, text string, _ []services.Ticket) {
	u := d.user(t, text)
	for _, step := range []string{"first run", "after a reset"} {
		d.door.after(0, nil)
		d.whole(t, step, u, d.run(t, u))
		d.reset(t, u)
	}
}

// mistyped: two runs with the mistyped file, then with the right one, as
// collect advises where it refuses.
func (d *desk) mistyped(t *testing.T, text string, typo typo) {
	if !strings.Contains(text, typo.right) {
		t.Fatalf("no %q to mistype", typo.right)
	}
	now := d.stored(t)
	u := d.user(t, strings.Replace(text, typo.right, typo.wrong, 1))
	for _, step := range []string{"mistyped", "mistyped again"} {
		d.door.after(0, nil)
		w := d.run(t, u, "--max-requests", "60")
		d.judge(t, step, u, w, now, now)
	}
	d.edit(t, u, text)
	d.door.after(0, nil)
	w := d.run(t, u)
	if w.code == 78 {
		d.reset(t, u)
		d.door.after(0, nil)
		d.whole(t, "mended after a reset", u, d.run(t, u))
		return
	}
	if !d.judge(t, "mended", u, w, now, now) || w.code != 0 {
		d.door.after(0, nil)
		d.whole(t, "mended again", u, d.run(t, u))
	}
}

// reset starts the stream over.
func (d *desk) reset(t *testing.T, u user) {
	t.Helper()
	finish(t, u.bare("reset", "desk", "--stream", "tickets", "--state", u.state, "--yes", "--reason", "start over")).wantCode(t, 0)
}
