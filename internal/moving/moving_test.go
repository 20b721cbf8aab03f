// Package moving_test is ordinary lists that change while they are read, by
// every way of paging: records are deleted, updated and made between two pages,
// ties have no order, and a provider leaves out what the caller may not see.
//
// Whatever happens, a run that calls itself complete has every record that was
// there from before the run began to its end, in the version that it had then
// or a later one; or the evidence of the walk says what it cannot know.
package moving_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/pacing"
	"collect/runner"
	"collect/store/sqlite"
)

const size = 10 // records on a page, at most

// A plan is one history.
type plan struct {
	paging  string // a key of pagings
	since   string // "", "asc", "desc", "none" or "windows"
	total   string // "", "header" or "body"
	ties    int    // records that share a mark
	loose   bool   // no one orders the records of one mark
	hides   bool   // the provider leaves out some records of each page
	changes int    // between pages
	after   bool   // since means after, not from
	sorted  bool   // the provider sorts by marks, which the connector does not say
	keeps   bool   // nothing is deleted
}

// pagings are the ways of paging: how a connector file says them.
var pagings = map[string]string{
	"number":   "{number: {param: page, size_param: size, size: 10}}",
	"offset":   "{offset: {param: offset, limit_param: size, limit: 10}}",
	"link":     "{link_header: next}",                   // with numbers of pages
	"next":     "{next_url: next}",                      // with offsets
	"disguise": "{cursor: {from: next, param: offset}}", // offsets, too
	"keyset":   "{cursor: {from: next, param: after}}",
	"last":     "{last_id: {param: after, field: id}}",
}

type record struct {
	ID      int    `json:"id"`
	Version int    `json:"v"`
	Updated string `json:"updated_at"`

	mark  int
	made  int // the second; windows are asked for by it
	alive bool
}

// A server holds the list.
type server struct {
	plan
	random  *rand.Rand
	records []*record
	clock   int
	pages   int // answered
	changed bool
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *server) stamp(r *record, mark int) {
	r.mark, r.Updated = mark, stamp(mark)
	r.Version++
}

func stamp(second int) string {
	return epoch.Add(time.Duration(second) * time.Second).Format(time.RFC3339)
}

func (s *server) add() {
	r := &record{ID: len(s.records) + 1, made: s.clock, alive: true}
	s.stamp(r, s.clock)
	s.records = append(s.records, r)
}

// visible counts what a caller may see.
func (s *server) visible() (n int) {
	for _, r := range s.records {
		if r.alive && !(s.hides && hidden(r)) {
			n++
		}
	}
	return n
}

// change deletes, updates or makes a record.
func (s *server) change() {
	s.clock++
	s.changed = true
	r := s.records[s.random.IntN(len(s.records))]
	switch s.random.IntN(4) {
	case 0:
		s.add()
	case 1:
		s.stamp(r, s.clock)
	default:
		if s.keeps {
			s.stamp(r, s.clock)
			return
		}
		r.alive = false
	}
}

// listed returns the records that match a query, in the order of the list. Of a
// loose order, each page has one of its own.
func (s *server) listed(q url.Values, page int) []*record {
	since, from, to := q.Get("since"), q.Get("from"), cmp.Or(q.Get("to"), "9999")
	var list []*record
	for _, r := range s.records {
		made := stamp(r.made)
		if r.alive && (r.Updated > since || r.Updated == since && !s.after) && from <= made && made < to {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *record) int {
		if s.since != "asc" && s.since != "desc" && !s.sorted {
			return a.ID - b.ID
		}
		loose := 0
		if s.loose {
			loose = cmp.Compare(hash(a.ID, page), hash(b.ID, page))
		}
		if s.since == "desc" {
			return cmp.Or(b.mark-a.mark, loose, b.ID-a.ID)
		}
		return cmp.Or(a.mark-b.mark, loose, a.ID-b.ID)
	})
	return list
}

func hash(id, page int) uint32 { return uint32((id+7*page)*2654435761) >> 7 }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	at, _ := strconv.Atoi(q.Get("offset"))
	if page, err := strconv.Atoi(q.Get("page")); err == nil {
		at = (page - 1) * size
	}
	list := s.listed(q, at/size)
	total := len(list)
	if after, err := strconv.Atoi(q.Get("after")); err == nil { // a position in the order, which is that of ids or marks
		at = slices.IndexFunc(list, func(r *record) bool { return s.position(r) > after })
		if at < 0 {
			at = total
		}
	}
	at = min(at, total)
	end := min(at+size, total)
	page := list[at:end]
	if s.hides {
		page = slices.DeleteFunc(slices.Clone(page), hidden)
		total -= len(list) - len(slices.DeleteFunc(slices.Clone(list), hidden))
	}
	body := map[string]any{"items": append([]*record{}, page...)}
	if end < len(list) {
		switch s.paging {
		case "link":
			w.Header().Set("Link", fmt.Sprintf(`<http://%s/items?%s&page=%d>; rel="next"`, r.Host, kept(q), end/size+1))
		case "next":
			body["next"] = fmt.Sprintf("/items?%s&offset=%d", kept(q), end)
		case "disguise":
			body["next"] = end
		case "keyset":
			body["next"] = s.position(list[end-1])
		}
	}
	if body["next"] == nil {
		body["next"] = nil
	}
	switch s.total {
	case "header":
		w.Header().Set("X-Total-Count", strconv.Itoa(total))
	case "body":
		body["total"] = total
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", epoch.Add(time.Duration(s.clock)*time.Second).Format(http.TimeFormat))
	_ = json.NewEncoder(w).Encode(body)
	s.pages++
	if s.pages%3 == 0 {
		for range s.changes {
			s.change()
		}
	}
}

// kept returns what the links of a list have of the query that they belong to.
func kept(q url.Values) string {
	kept := url.Values{}
	for _, name := range []string{"since", "from", "to"} {
		if q.Has(name) {
			kept.Set(name, q.Get(name))
		}
	}
	return kept.Encode()
}

func (s *server) position(r *record) int {
	switch s.since {
	case "asc":
		return r.mark*10_000 + r.ID
	case "desc":
		return -r.mark*10_000 - r.ID
	}
	return r.ID
}

func hidden(r *record) bool { return r.ID%7 == 0 }

func (p plan) file(url string) string {
	since := map[string]string{
		"asc":  "    since: {field: updated_at, param: since, order: asc}\n",
		"desc": "    since: {field: updated_at, order: desc, lookback: 5s}\n",
		"none": "    since: {field: updated_at, param: since, lookback: 1s}\n",
		// Updates of records that were made long ago would need a lookback of all.
		"windows": "    query: {from: \"${window.from}\", to: \"${window.to}\"}\n    windows: {from: 2026-01-01, step: 15s, lookback: 1d, cap: 25}\n",
	}[p.since]
	return fmt.Sprintf("connector: moving\nprovider: {base_url: %q, pace: off}\nstreams:\n  items:\n    get: /items\n    records: items\n    key: id\n    page: %s\n%s", url, pagings[p.paging], since)
}

// TestMovingLists plays many histories.
func TestMovingLists(t *testing.T) {
	counts, seeds := map[string]int{}, uint64(8)
	wanted := []string{"complete", "blocked", "lists that moved", "made again", "doubts"}
	if testing.Short() {
		seeds, wanted = 3, wanted[:4] // doubts take more seeds
	}
	for _, paging := range []string{"number", "offset", "link", "next", "disguise", "keyset", "last"} {
		for seed := range seeds {
			for _, since := range []string{"", "asc", "none", "windows", "desc"} {
				if paging == "last" && (since == "asc" || since == "desc") {
					continue // it follows ids, and the list is sorted by marks
				}
				random := rand.New(rand.NewPCG(seed, 7))
				p := plan{
					paging: paging, since: since, total: []string{"", "header", "body"}[random.IntN(3)],
					ties: []int{1, 4, 25}[random.IntN(3)], loose: random.IntN(3) == 0, hides: random.IntN(4) == 0,
					changes: []int{0, 0, 1, 3}[random.IntN(4)], after: random.IntN(2) == 0,
				}
				if p.loose && paging == "keyset" {
					continue // a position in no order is none
				}
				if t.Run(fmt.Sprintf("%s/since %s/%d", paging, since, seed), func(t *testing.T) { play(t, p, random, counts) }); t.Failed() {
					t.Logf("%+v", p)
				}
			}
		}
	}
	for _, want := range wanted {
		if counts[want] == 0 {
			t.Errorf("no history reached %q: %v", want, counts)
		}
	}
	t.Log(counts)
}

// TestMovedToTheEnd: a provider that sorts by marks moves what is updated to the end, and all others to the front by one. Records
// that are made meanwhile leave the total no less than it was.
func TestMovedToTheEnd(t *testing.T) {
	counts := map[string]int{}
	for _, paging := range []string{"number", "link", "next"} { // here a disguised offset is the id of a record as well
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 11))
			p := plan{paging: paging, since: "none", sorted: true, keeps: true, total: []string{"", "header", "body"}[random.IntN(3)],
				ties: []int{1, 4}[random.IntN(2)], changes: 1 + random.IntN(2), after: random.IntN(2) == 0}
			t.Run(fmt.Sprintf("%s/%d", paging, seed), func(t *testing.T) { play(t, p, random, counts) })
		}
	}
	if counts["made again"] < 10 || counts["complete"] < 10 {
		t.Errorf("%v, want ten or more that were made again, and that are complete", counts)
	}
	t.Log(counts)
}

// TestChangedOnce: a record that is made or updated in front of any one request stops
// no stream, also where more records have the last mark than fit on a page.
func TestChangedOnce(t *testing.T) {
	for _, change := range []string{"made", "updated"} {
		for n := range 7 {
			s := &server{plan: plan{paging: "keyset", since: "asc"}}
			for i := range 12 {
				s.clock = i / 6
				s.add()
			}
			s.clock += 5
			asked := 0
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked == n+1 {
					if s.clock++; change == "made" {
						s.add()
					} else {
						s.stamp(s.records[11], s.clock)
					}
				}
				s.ServeHTTP(w, r)
			}))
			c, db := open(t, s, web.URL)
			for id := range 2 {
				if outcome, _ := run(t, db, c, fmt.Sprint("run-", id)); outcome != collection.Complete && outcome != collection.NothingNew {
					t.Errorf("with a record %s in front of request %d, run %d is %s", change, n+1, id, outcome)
				}
			}
			web.Close()
			stored := contents(t, db)
			for _, r := range s.records {
				if stored[r.ID] < r.Version {
					t.Errorf("with a record %s in front of request %d, record %d is stored in version %d of %d", change, n+1, r.ID, stored[r.ID], r.Version)
				}
			}
		}
	}
}

func play(t *testing.T, p plan, random *rand.Rand, counts map[string]int) {
	s := &server{plan: p, random: random}
	for i := range 57 + random.IntN(20) {
		s.clock = i / p.ties
		s.add()
	}
	s.clock += 5
	web := httptest.NewServer(s)
	defer web.Close()
	c, db := open(t, s, web.URL)
	unseen := map[int]bool{} // missed by a walk that could not know; from its mark, no later one asks for them
	for n := range 3 {
		before := map[int]int{} // versions
		for _, r := range s.records {
			if r.alive && !(p.hides && hidden(r)) {
				before[r.ID] = r.Version
			}
		}
		s.changed = false
		visible := s.visible()
		outcome, again := run(t, db, c, fmt.Sprint("run-", n))
		stored := contents(t, db)
		missing := 0
		var missed []int
		for id, version := range before {
			r := s.records[id-1]
			moved := p.since == "desc" && r.Version > version // to a page that was read: the next run has it
			if r.alive && stored[id] < version && !unseen[id] && !moved {
				missing, missed = missing+1, append(missed, id)
			}
		}
		evidence := evidenceOf(t, db)
		counts[string(outcome)]++
		for what, is := range map[string]bool{"lists that moved": s.changed, "made again": again, "doubts": evidence.Doubt() != "", "missing": missing > 0} {
			if is {
				counts[what]++
			}
		}
		success := outcome == collection.Complete || outcome == collection.NothingNew
		// Deletions and additions that leave a total as it was are not seen in it.
		unknowable := evidence.Doubt() != "" || s.changed && !p.notices() && s.visible() >= visible && !p.keeps
		if success && missing > 0 && !unknowable {
			t.Errorf("run %d is %s, and %d of %d are missing; evidence %+v", n, outcome, missing, len(before), evidence)
		}
		if unknowable {
			for _, id := range missed {
				unseen[id] = true
			}
		}
		if !success && !s.changed && !p.loose && missing == 0 {
			t.Errorf("run %d is %s, and nothing is missing or moved; evidence %+v", n, outcome, evidence)
		}
		if s.changes = 0; n == 0 { // an hour passes
			for range 5 {
				s.change()
			}
		}
	}
}

// notices reports whether what moves can be noticed: docs/connectors.md, "What
// shows that nothing is missing".
func (p plan) notices() bool {
	switch p.paging {
	case "offset", "keyset", "last":
		return true
	}
	return p.since == "asc"
}

// open returns the connector of a server at url, and a new store.
func open(t *testing.T, s *server, url string) (connectors.Connector, *sqlite.Store) {
	t.Helper()
	return openFile(t, s.file(url))
}

// openFile builds the connector of a file, and makes a store for it.
func openFile(t *testing.T, text string) (connectors.Connector, *sqlite.Store) {
	t.Helper()
	spec, err := declarative.Parse("moving.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Build(declarative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return c, db
}

func run(t *testing.T, db *sqlite.Store, c connectors.Connector, id string) (outcome collection.Outcome, again bool) {
	t.Helper()
	return runWithin(t, db, c, id, 0)
}

// runWithin does what run does, with a budget of requests; 0 is no budget.
func runWithin(t *testing.T, db *sqlite.Store, c connectors.Connector, id string, requests int64) (outcome collection.Outcome, again bool) {
	t.Helper()
	return runAs(t, db, c, collection.Run{ID: id, Mode: collection.Forward}, requests)
}

// runAs does what runWithin does, in a mode.
func runAs(t *testing.T, db *sqlite.Store, c connectors.Connector, record collection.Run, requests int64) (outcome collection.Outcome, again bool) {
	t.Helper()
	record.Connector, record.Lane, record.StartedAt = "moving", collection.Incremental, time.Now()
	ledger, err := db.Begin(t.Context(), record, c.Streams())
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{Connector: c, Ledger: ledger, Run: record, Domain: "moving", Budget: pacing.NewBudget(pacing.BudgetLimits{MaxRequests: requests})})
	if err != nil {
		t.Fatal(err)
	}
	done, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owned, err := db.Gaps(t.Context(), "moving")
	if err != nil {
		t.Fatal(err)
	}
	var gaps []collection.Gap
	for _, g := range owned {
		gaps = append(gaps, g.Gap)
	}
	done.Outcome, done.EndedAt = collection.OutcomeOf(done, gaps), time.Now()
	if err := errors.Join(ledger.Finish(t.Context(), done)); err != nil {
		t.Fatal(err)
	}
	return done.Outcome, evidenceOf(t, db).Refuted > 0
}

func contents(t *testing.T, db *sqlite.Store) map[int]int {
	t.Helper()
	stored := map[int]int{}
	for r, err := range db.Records(t.Context(), "moving", "items") {
		if err != nil {
			t.Fatal(err)
		}
		var is record
		if err := json.Unmarshal(r.Data, &is); err != nil {
			t.Fatal(err)
		}
		stored[is.ID] = is.Version
	}
	return stored
}

func evidenceOf(t *testing.T, db *sqlite.Store) collection.Evidence {
	t.Helper()
	streams, err := db.Streams(t.Context(), "moving")
	if err != nil || len(streams[0].Lanes) == 0 {
		t.Fatalf("%v, %v", streams, err)
	}
	return streams[0].Lanes[0].Evidence
}

// TestWindowThatIsFull: a walk stands at a second with more records than an answer
// has, with the numbers, and goes on when it has fewer.
func TestWindowThatIsFull(t *testing.T) {
	s := &server{plan: plan{paging: "keyset", since: "windows", ties: 40}, random: rand.New(rand.NewPCG(1, 1))}
	for i := range 90 {
		s.clock = i / s.ties * 20
		s.add()
	}
	s.clock += 5
	web := httptest.NewServer(s)
	defer web.Close()
	c, db := open(t, s, web.URL)
	if outcome, _ := run(t, db, c, "run-0"); outcome != collection.Blocked {
		t.Errorf("with a full window the run is %s, want %s", outcome, collection.Blocked)
	}
	gaps, err := db.Gaps(t.Context(), "moving")
	if err != nil {
		t.Fatal(err)
	}
	if want := "from 2026-01-01T00:00:00Z to 2026-01-01T00:00:01Z has 40 records, and `cap` says that an answer has no more than 25"; len(gaps) != 1 || !strings.Contains(gaps[0].Detail, want) {
		t.Errorf("the gaps are %+v, want one that says: %s", gaps, want)
	}
	if n := len(contents(t, db)); n != 40 {
		t.Errorf("%d records are stored, want the 40 that came", n)
	}
	for _, r := range s.records[:80] {
		r.alive = r.ID%2 == 0
	}
	if outcome, _ := run(t, db, c, "run-1"); outcome != collection.Complete {
		t.Errorf("when windows have no more than an answer, the run is %s, want %s", outcome, collection.Complete)
	}
	if n := len(contents(t, db)); n != 40+20+10 {
		t.Errorf("%d records are stored, want 40 of before, 20 and 10", n)
	}
}

// TestListThatChangesIsCalledSo: where the total is another one at the end of each pass,
// the run says that the list changed, and the run after it has all.
func TestListThatChangesIsCalledSo(t *testing.T) {
	for name, test := range map[string]struct {
		page  string
		quiet bool // the total stays as it was
		want  collection.Reason
	}{
		"by number":             {page: "number: {param: page}", want: collection.ListChanged},
		"by cursor":             {page: "cursor: {from: next, param: page, optional: true}", want: collection.ListChanged},
		"the total is not true": {page: "number: {param: page}", quiet: true, want: collection.BadPage},
	} {
		t.Run(name, func(t *testing.T) {
			calm := false
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(cmp.Or(r.URL.Query().Get("page"), "1"))
				total, items, next := 20, "", ""
				if page > 1 && !test.quiet && !calm {
					total = 18
				}
				for id := (page-1)*10 + 1; id <= min(page*10, 18); id++ {
					items += fmt.Sprintf(`,{"id":%d}`, id)
				}
				if calm {
					total = 18
				}
				if page == 1 {
					next = "2"
				}
				fmt.Fprintf(w, `{"items":[%s],"total":%d,"next":%q}`, strings.TrimPrefix(items, ","), total, next)
			}))
			defer web.Close()
			c, db := openFile(t, "connector: moving\nprovider: {base_url: \""+web.URL+"\", pace: off}\nstreams:\n  items:\n    get: /items\n    records: items\n    key: id\n    total: total\n    page: {"+test.page+"}\n")
			record := collection.Run{ID: "run-0", Connector: "moving", Mode: collection.Forward, Lane: collection.Incremental, StartedAt: time.Now()}
			ledger, err := db.Begin(t.Context(), record, c.Streams())
			if err != nil {
				t.Fatal(err)
			}
			r, err := runner.New(runner.Config{Connector: c, Ledger: ledger, Run: record, Domain: "moving"})
			if err != nil {
				t.Fatal(err)
			}
			done, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := ledger.Finish(t.Context(), done); err != nil {
				t.Fatal(err)
			}
			stops := r.Stops()
			if len(stops) != 1 || !errors.Is(stops[0].Stop, collection.ErrContradicted) || stops[0].Stop.Reason != test.want {
				t.Fatalf("the stops are %+v, want one for: %v", stops, test.want)
			}
			calm = true
			if outcome, _ := run(t, db, c, "run-1"); outcome != collection.Complete && outcome != collection.NothingNew {
				t.Errorf("when nothing changes, the run is %s", outcome)
			}
		})
	}
}
