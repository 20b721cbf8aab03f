package verify_test

import (
	"encoding/json"
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
	"collect/engine/verify"
	"collect/report"
	"collect/store"
	"collect/store/sqlite"
)

const file = `connector: acme
provider: {base_url: %s, pace: off, limits: {attempts: 1}}
streams:
  issues:
    get: /issues
    records: items
    key: id
    page: {number: {param: page, size_param: size, size: 10}}
    since: {field: updated_at, param: since, order: none, lookback: 1m}
    drop: [seen]
  plain: {get: /issues, records: items, key: id, page: {number: {param: page, size_param: size, size: 10}}, drop: [seen]}
  comments:
    get: /issues/${issue}
    each: {issue: issues.id}
    key: id
    role: detail
`

// A provider is a list of issues that changes between runs.
type provider struct {
	URL string

	mu     sync.Mutex
	issues []map[string]any
	asked  int
	before func(page int) // called before a page is answered
	failed int            // the status that is answered to the second page; 0: it is answered
}

func newProvider(t *testing.T, n int) *provider {
	p := &provider{}
	for id := 1; id <= n; id++ {
		p.issues = append(p.issues, issue(id, time.Now().Add(-48*time.Hour)))
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

func issue(id int, updated time.Time) map[string]any {
	return map[string]any{"id": id, "state": "open", "updated_at": updated.UTC().Format(time.RFC3339), "seen": 0}
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if id, ok := strings.CutPrefix(r.URL.Path, "/issues/"); ok {
		for _, i := range p.issues {
			if fmt.Sprint(i["id"]) == id {
				json.NewEncoder(w).Encode(map[string]any{"id": i["id"], "text": i["text"], "updated_at": i["updated_at"]})
				return
			}
		}
		http.NotFound(w, r)
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if page == 2 && p.failed != 0 {
		w.WriteHeader(p.failed)
		return
	}
	if p.before != nil {
		p.before(page)
	}
	found := slices.DeleteFunc(slices.Clone(p.issues), func(i map[string]any) bool {
		return i["updated_at"].(string) < r.URL.Query().Get("since")
	})
	from := min((page-1)*10, len(found))
	for _, i := range p.issues {
		i["seen"] = p.asked // other bytes each time, which the file drops
	}
	json.NewEncoder(w).Encode(map[string]any{"items": found[from:min(from+10, len(found))]})
}

// A world is a provider with a store of what was collected of it.
type world struct {
	*testing.T
	*provider
	target registry.Target
	store  store.Store
}

func newWorld(t *testing.T, n int) *world {
	w := &world{T: t, provider: newProvider(t, n)}
	path := filepath.Join(t.TempDir(), "acme.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, file, w.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	r := &registry.Registry{Env: func(string) string { return "" }}
	if w.target, err = r.Resolve(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if w.store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	return w
}

// run collects streams.
func (w *world) run(streams ...string) collection.Run {
	w.Helper()
	ended, err := engine.New(engine.Config{Target: w.target, Store: w.store, Options: engine.Options{
		Mode: collection.Forward, Lane: collection.Incremental, Streams: streams,
	}}).Do(w.Context())
	if err != nil || ended.Err != nil {
		w.Fatal(err, ended.Err)
	}
	return ended.Run
}

// verify verifies streams, and returns what is told of the last one.
func (w *world) verify(c verify.Config) (verify.Result, report.VerificationStream) {
	w.Helper()
	c.Target, c.Store = w.target, w.store
	result, err := verify.Do(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	return result, result.Streams[len(result.Streams)-1]
}

func (w *world) check(got report.VerificationStream, want string) {
	w.Helper()
	is := fmt.Sprintf("equal %d missing %v stale %v vanished %v ahead %d owed %d whole %t", got.Equal, got.Keys.Missing, got.Keys.Stale, got.Keys.Vanished, got.Ahead, got.Owed, got.Whole)
	if is != want {
		w.Errorf("%s: %s, want %s (%s)", got.Stream, is, want, got.Why)
	}
}

func TestMarksTellWhatIsNew(t *testing.T) {
	w := newWorld(t, 30)
	w.issues[29] = issue(30, time.Now().Add(-time.Hour)) // the mark of the next walk
	w.run("issues")
	_, got := w.verify(verify.Config{Streams: []string{"issues"}})
	w.check(got, "equal 30 missing [] stale [] vanished [] ahead 0 owed 0 whole true")

	old := time.Now().Add(-47 * time.Hour)
	w.issues[2]["state"] = "closed"                                         // and its mark says nothing
	w.issues[3] = issue(4, old)                                             // with a mark that no later run asks for
	w.issues[4] = issue(5, time.Now().Add(time.Second))                     // while nobody ran
	w.issues = append(w.issues, issue(31, old))                             // which was shown late
	w.issues = append(w.issues, issue(32, time.Now()))                      // new
	w.issues = append(w.issues, issue(33, time.Now().Add(-30*time.Minute))) // shown late, and the next run asks for it
	w.issues = append(w.issues[:6], w.issues[7:]...)                        // 7 was deleted
	asked := w.asked
	result, got := w.verify(verify.Config{Streams: []string{"issues"}})
	w.check(got, "equal 26 missing [31] stale [3 4] vanished [7] ahead 3 owed 0 whole true")
	if result.Exit != 76 || result.Requests != int64(w.asked-asked) {
		t.Errorf("exit code %d after %d requests, want 76 after %d", result.Exit, result.Requests, w.asked-asked)
	}

	// A run has what is ahead, and a repair the rest.
	w.run("issues")
	result, got = w.verify(verify.Config{Streams: []string{"issues"}})
	w.check(got, "equal 29 missing [31] stale [3 4] vanished [7] ahead 0 owed 0 whole true")
	if err := result.Repair(t.Context(), w.store); err != nil || result.Streams[0].Gaps != 1 {
		t.Errorf("the repair leaves %d gaps (%v), want 1", result.Streams[0].Gaps, err)
	}
	if run := w.run("issues"); run.ExitCode != 0 {
		t.Errorf("the run that repairs exits %d", run.ExitCode)
	}
	_, got = w.verify(verify.Config{Streams: []string{"issues"}})
	w.check(got, "equal 32 missing [] stale [] vanished [7] ahead 0 owed 0 whole true")
	if gaps, err := w.store.Gaps(t.Context(), "acme"); err != nil || len(gaps) != 0 {
		t.Errorf("after the repair %v is owed (%v)", gaps, err)
	}
}

// What changes while the lists are read, or is stored by a run meanwhile, is no
// difference.
func TestChangesMeanwhile(t *testing.T) {
	w := newWorld(t, 30)
	w.run("plain")
	w.before = func(page int) {
		switch page {
		case 1:
			w.issues[0] = issue(1, time.Now())
		case 2:
			w.issues = append(w.issues, issue(31, time.Now()))
		}
	}
	_, got := w.verify(verify.Config{Streams: []string{"plain"}})
	w.check(got, "equal 29 missing [] stale [] vanished [] ahead 2 owed 0 whole true")
}

func TestARunMeanwhile(t *testing.T) {
	w := newWorld(t, 30)
	w.run("issues")
	w.issues = append(w.issues[1:], issue(31, time.Now().Add(-47*time.Hour))) // late
	ran := false
	w.before = func(int) {
		if ran {
			return
		}
		ran = true
		w.issues = append(w.issues, issue(32, time.Now()))
		w.mu.Unlock() // the run asks, too
		defer w.mu.Lock()
		if err := w.store.Reset(t.Context(), "acme", collection.Place{Stream: "issues", Lane: collection.Incremental}, collection.Cursor{}, store.Audit{}); err != nil {
			t.Error(err)
		}
		w.run("issues")
	}
	_, got := w.verify(verify.Config{Streams: []string{"issues"}})
	w.check(got, "equal 31 missing [] stale [] vanished [1] ahead 0 owed 0 whole true")
}

// What ends a verification is told, and what it did not come to is no difference.
func TestNotWhole(t *testing.T) {
	w := newWorld(t, 30)
	w.run("issues")
	w.issues = w.issues[:25]
	result, got := w.verify(verify.Config{Streams: []string{"issues"}, MaxRequests: 2})
	w.check(got, "equal 20 missing [] stale [] vanished [] ahead 0 owed 0 whole false")
	if got.Reason != collection.RequestCap || result.Exit != 0 || !strings.Contains(result.Sentence(), "not compared to the end: issues") {
		t.Errorf("it ended for %q with %d: %s", got.Reason, result.Exit, result.Sentence())
	}
	w.failed = http.StatusBadGateway
	result, got = w.verify(verify.Config{Streams: []string{"issues"}, MaxRequests: 20})
	if got.Whole || got.Vanished != 0 || result.Exit != 75 {
		t.Errorf("without its second page it is whole: %t, vanished %d, exit code %d, want 75", got.Whole, got.Vanished, result.Exit)
	}
	if gaps, err := w.store.Gaps(t.Context(), "acme"); err != nil || len(gaps) != 0 {
		t.Errorf("verifying left %v (%v)", gaps, err)
	}
}

// Details are drawn, and only those that differ are fetched again.
func TestDetails(t *testing.T) {
	w := newWorld(t, 30)
	w.run("issues", "comments")
	_, got := w.verify(verify.Config{Streams: []string{"comments"}, Sample: 8})
	if got.Delivered != 8 || got.Equal != 8 || got.Partition != 8 || got.Of != 30 || !got.Whole {
		t.Errorf("of 30 details, 8 drawn: %+v", got)
	}
	w.issues[4]["text"] = "edited"
	w.issues = w.issues[:29]
	result, got := w.verify(verify.Config{Streams: []string{"comments"}})
	w.check(got, "equal 28 missing [] stale [5] vanished [30] ahead 0 owed 0 whole true")
	if err := result.Repair(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	gaps, err := w.store.Gaps(t.Context(), "acme")
	if err != nil || len(gaps) != 1 || gaps[0].Partition != `{"issue":5}` || gaps[0].Shape != collection.DetailGap {
		t.Fatalf("the repair leaves %+v (%v), want the detail of issue 5", gaps, err)
	}
	asked := w.asked
	w.run("comments")
	if w.asked != asked+1 {
		t.Errorf("the next run sends %d requests, want the one detail", w.asked-asked)
	}
	_, got = w.verify(verify.Config{Streams: []string{"comments"}})
	w.check(got, "equal 29 missing [] stale [] vanished [30] ahead 0 owed 0 whole true")
}

// TestADetailThatIsFetchedOnce: one whose parent changed is stale as soon as the next run
// does not have it, however lately it changed; one that was never fetched is ahead.
func TestADetailThatIsFetchedOnce(t *testing.T) {
	w := newWorld(t, 30)
	w.run("issues", "comments")
	w.issues[4] = issue(5, time.Now())
	w.issues[5] = issue(6, time.Now())
	w.issues[4]["text"], w.issues[5]["text"] = "edited", "edited"
	w.run("issues", "comments")
	_, got := w.verify(verify.Config{Streams: []string{"comments"}})
	w.check(got, "equal 28 missing [] stale [5 6] vanished [] ahead 0 owed 0 whole true")

	w.issues = append(w.issues, issue(31, time.Now()))
	w.issues[6] = issue(7, time.Now())
	w.run("issues")
	_, got = w.verify(verify.Config{Streams: []string{"comments"}})
	w.check(got, "equal 27 missing [] stale [5 6 7] vanished [] ahead 1 owed 0 whole true")
	w.run("comments")
	_, got = w.verify(verify.Config{Streams: []string{"comments"}})
	w.check(got, "equal 28 missing [] stale [5 6 7] vanished [] ahead 0 owed 0 whole true")
}

// While a run has the lease, a repair changes nothing.
func TestRepairBesideARun(t *testing.T) {
	w := newWorld(t, 30)
	w.run("plain")
	w.issues[0]["state"] = "closed"
	result, got := w.verify(verify.Config{Streams: []string{"plain"}})
	w.check(got, "equal 29 missing [] stale [1] vanished [] ahead 0 owed 0 whole true")
	l, err := w.store.Begin(t.Context(), collection.Run{ID: "other", Connector: "acme", StartedAt: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Repair(t.Context(), w.store); err == nil {
		t.Error("a repair was made beside a run")
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Fatal(err)
	}
	if gaps, err := w.store.Gaps(t.Context(), "acme"); err != nil || len(gaps) != 0 {
		t.Errorf("%v is owed (%v)", gaps, err)
	}
}

// TestChangesAhead: of a list whose provider tells changes by a token, what the next run
// has by it is ahead, and what it has not is stale or vanished.
func TestChangesAhead(t *testing.T) {
	type change struct {
		seq     int
		id      string
		v       int
		deleted bool
	}
	var mu sync.Mutex
	changes := []change{}
	put := func(id string, v int, deleted bool) {
		mu.Lock()
		defer mu.Unlock()
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.id == id })
		changes = append(changes, change{len(changes) + 100*v + 1, id, v, deleted})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		since, _ := strconv.Atoi(r.URL.Query().Get("since"))
		last, results := since, []map[string]any{}
		for _, c := range changes {
			if c.seq > since && (since > 0 || !c.deleted) {
				results = append(results, map[string]any{"id": c.id, "v": c.v, "deleted": c.deleted})
			}
			last = max(last, c.seq)
		}
		json.NewEncoder(w).Encode(map[string]any{"results": results, "last": last})
	}))
	t.Cleanup(s.Close)
	w := newWorld(t, 0)
	path := filepath.Join(t.TempDir(), "acme.yaml")
	err := os.WriteFile(path, []byte("connector: acme\nprovider: {base_url: "+s.URL+", pace: off}\nstreams:\n"+
		"  notes: {get: /changes, records: results, key: id, deleted: record.deleted == true, page: {delta: {param: since, resume: last}}}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := &registry.Registry{Env: func(string) string { return "" }}
	if w.target, err = r.Resolve(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		put(id, 1, false)
	}
	w.run()
	_, got := w.verify(verify.Config{})
	w.check(got, "equal 4 missing [] stale [] vanished [] ahead 0 owed 0 whole true")
	put("a", 2, false)
	put("b", 2, true)
	put("e", 2, false)
	mu.Lock()
	changes[slices.IndexFunc(changes, func(c change) bool { return c.id == "c" })].v = 9 // and no token tells of it
	mu.Unlock()
	_, got = w.verify(verify.Config{})
	w.check(got, "equal 1 missing [] stale [c] vanished [] ahead 3 owed 0 whole true")
	w.run()
	_, got = w.verify(verify.Config{})
	w.check(got, "equal 3 missing [] stale [c] vanished [] ahead 0 owed 0 whole true")
}
