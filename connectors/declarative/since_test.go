package declarative_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/connectortest"
)

// A feed is a provider with records that change. It answers in pages by
// number, which shift when a record changes during a walk.
type feed struct {
	size      int
	exclusive bool // since means after, not from
	ignores   bool // since means nothing
	unsorted  bool // newest first, whatever was asked

	marks map[int]int // id to when it changed, in seconds
	now   int
	asked []string // the since of each request
	anew  int      // first pages asked for
	tick  func()   // before each request
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.tick != nil {
		f.tick()
	}
	since := r.URL.Query().Get("since")
	f.asked = append(f.asked, since)
	var ids []int
	for id, mark := range f.marks {
		at, err := time.Parse(time.RFC3339, since)
		from := int(at.Unix())
		if since == "" || f.ignores || err == nil && (mark > from || mark == from && !f.exclusive) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int) int {
		c := 1_000_000*(f.marks[a]-f.marks[b]) + a - b
		if f.unsorted {
			return -c
		}
		return c
	})
	page := number(r, "page", 1)
	if page == 1 {
		f.anew++
	}
	ids = ids[min(len(ids), (page-1)*f.size):]
	var list []string
	for _, id := range ids[:min(len(ids), f.size)] {
		list = append(list, fmt.Sprintf(`{"id":%d,"at":"%s"}`, id, stamp(f.marks[id])))
	}
	fmt.Fprintf(w, `{"items":[%s],"pages":%d}`, strings.Join(list, ","), page+(len(ids)-1)/f.size)
}

func stamp(second int) string { return time.Unix(int64(second), 0).UTC().Format(time.RFC3339) }

func (f *feed) client() *http.Client { return &http.Client{Transport: direct{f}} }

// direct serves requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

func feedFile(since string) string {
	return `
connector: feed
provider: {base_url: "https://feed.test"}
streams:
  things:
    get: /things
    key: id
    records: items
    page: {number: {param: page, total_pages: pages}}
    since: {field: at, param: since, ` + since + "}\n"
}

var things0 = collection.Place{Stream: "things", Lane: collection.Incremental}

// pull walks to the end, as a run does, and stores what it gets. It fails
// after most slices.
func pull(t *testing.T, c connectors.Connector, f *feed, from collection.Cursor, stored map[string]string) (slices []collection.Slice) {
	t.Helper()
	most := 20 * (len(f.marks) + 10)
	for slice, err := range c.Slices(t.Context(), f.client(), things0, from) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slice.Records {
			stored[r.Key] = string(r.Data)
		}
		if slices = append(slices, slice); len(slices) > most {
			t.Fatalf("no end after %d slices", most)
		}
	}
	return slices
}

// TestOrderedWalkMissesNothing plays histories in which records change while
// an ordered walk is under way. A record may be missed by that walk, because
// it moves, but never by that walk and one that follows.
func TestOrderedWalkMissesNothing(t *testing.T) {
	anchors, changes, again := 0, 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := &feed{size: 2 + rng.IntN(5), exclusive: rng.IntN(2) == 0, marks: map[int]int{}, now: 1_700_000_000}
		change := func(id int) {
			if rng.IntN(2) == 0 {
				f.now += 1 + rng.IntN(3)
			}
			f.marks[id] = f.now
		}
		for id := range 5 + rng.IntN(40) {
			// Now and then many are imported at once, more than fit on a page.
			if change(id); rng.IntN(8) == 0 {
				for n := range rng.IntN(4 * f.size) {
					f.marks[100+len(f.marks)+n] = f.now
				}
			}
		}
		c := open(t, &httptest.Server{}, feedFile("order: asc, lookback: "+[]string{"1s", "10s", "3m"}[rng.IntN(3)]))
		left := rng.IntN(30)
		f.tick = func() {
			for rng.IntN(2) == 0 && left > 0 {
				left--
				changes++
				change(slices.Sorted(maps.Keys(f.marks))[rng.IntN(len(f.marks))])
			}
		}
		stored := map[string]string{}
		var from collection.Cursor
		for walks := range 3 {
			walk := pull(t, c, f, collection.Cursor{Since: from.Since}, stored)
			for _, s := range walk {
				if s.Next.Token == "" && !s.Next.Done {
					anchors++
				}
				if strings.Contains(s.Next.High, `"passes":2`) {
					again++
				}
				if s.Next.Since < s.From.Since {
					t.Errorf("seed %d: the mark went back from %s to %s", seed, s.From.Since, s.Next.Since)
				}
			}
			from = walk[len(walk)-1].Next
			if left = rng.IntN(10); walks == 1 {
				left = 0 // the last walk is undisturbed
			}
		}
		for id, mark := range f.marks {
			want := fmt.Sprintf(`{"id":%d,"at":"%s"}`, id, stamp(mark))
			if got := stored[fmt.Sprint(id)]; got != want {
				t.Errorf("seed %d (%d a page, exclusive %t): stored %s, want %s", seed, f.size, f.exclusive, got, want)
			}
		}
	}
	if anchors < 1000 || changes < 1000 || again < 20 {
		t.Errorf("too little was tried: %d anchors, %d changes, %d pages of third passes over a tie", anchors, changes, again)
	}
}

// TestOrderWhereThereIsNone: a provider that ignores what it is asked, or how
// to sort, costs requests, but no record and no endless walk.
func TestOrderWhereThereIsNone(t *testing.T) {
	followed, gaveUp := 0, 0
	for _, f := range []*feed{
		{size: 4, ignores: true}, {size: 4, unsorted: true}, {size: 4, ignores: true, unsorted: true},
		{size: 4}, {size: 4, exclusive: true},
	} {
		for _, tie := range []int{1, 3, 4, 9, 30} { // records that share a mark
			f.marks = map[int]int{}
			for id := range 30 {
				f.marks[id] = 1_700_000_000 + id/tie
			}
			c := open(t, &httptest.Server{}, feedFile("order: asc"))
			stored := map[string]string{}
			f.asked = nil
			walk := pull(t, c, f, collection.Cursor{}, stored)
			if len(stored) != len(f.marks) {
				t.Errorf("%+v, %d share a mark: %d records of %d", f, tie, len(stored), len(f.marks))
			}
			if len(f.asked) > 2*30 {
				t.Errorf("ignores %t, unsorted %t, %d share a mark: %d requests for 30 records", f.ignores, f.unsorted, tie, len(f.asked))
			}
			for _, s := range walk {
				if s.Next.Token != "" {
					followed++
				}
				if strings.Contains(s.Next.High, `"high"`) {
					gaveUp++
				}
			}
			end := walk[len(walk)-1].Next
			if strings.Contains(end.High, `"from"`) || end.Token != "" || !end.Done {
				t.Errorf("ignores %t, unsorted %t: ends with %+v", f.ignores, f.unsorted, end)
			}
			f.marks[99] = 1_700_001_000 // news
			if pull(t, c, f, collection.Cursor{Since: end.Since}, stored); len(stored) != len(f.marks) {
				t.Errorf("ignores %t, unsorted %t, %d share a mark: the next walk missed the news", f.ignores, f.unsorted, tie)
			}
		}
	}
	if followed < 20 || gaveUp < 5 {
		t.Errorf("too little was tried: %d tokens followed, order given up %d times", followed, gaveUp)
	}
}

func TestSinceConforms(t *testing.T) {
	for _, since := range []string{"order: asc", "order: none, lookback: 1s", "order: asc, lookback: 5s, start: 2023-11-14, format: rfc3339"} {
		for _, kind := range []feed{{size: 4}, {size: 4, exclusive: true}, {size: 4, ignores: true}, {size: 4, unsorted: true}} {
			t.Run(fmt.Sprintf("%s/%+v", since, kind), func(t *testing.T) {
				f := kind
				f.marks = map[int]int{}
				for id := range 30 {
					f.marks[id] = 1_700_000_000 + id/7
				}
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					atRest := feed{size: f.size, exclusive: f.exclusive, ignores: f.ignores, unsorted: f.unsorted, marks: f.marks}
					atRest.ServeHTTP(w, r)
				})
				connectortest.Test(t, open(t, &httptest.Server{}, feedFile(since)), &http.Client{Transport: direct{handler}})
			})
		}
	}
}

// TestLookbackIsAppliedOnce: the first anchor of a walk looks back; those that
// follow from its pages do not, and neither do pages by token.
func TestLookbackIsAppliedOnce(t *testing.T) {
	f := &feed{size: 2, marks: map[int]int{1: 1000, 2: 1010, 3: 1020, 4: 1030}}
	c := open(t, &httptest.Server{}, feedFile("order: asc, lookback: 15s"))
	walk := pull(t, c, f, collection.Cursor{Since: stamp(1020)}, map[string]string{})
	if got, want := f.asked[0], stamp(1005); got != want {
		t.Errorf("the walk begins at %s, want %s", got, want)
	}
	for i, asked := range f.asked[1:] {
		at := walk[i+1].From
		if want := fmt.Sprintf(`{"from":%q,"first":%q}`, asked, stamp(1020)); at.High != want {
			t.Errorf("request %d asks since %s with the cursor %+v", i+1, asked, at)
		}
		if asked <= f.asked[i] && at.Token == "" {
			t.Errorf("request %d asks since %s, after %s", i+1, asked, f.asked[i])
		}
	}
	if end := walk[len(walk)-1].Next; end.Since != stamp(1020) || !end.Done {
		t.Errorf("ends with %+v, want the mark %s", end, stamp(1020))
	}
	// Never before the start.
	f.asked = nil
	c = open(t, &httptest.Server{}, feedFile(`order: asc, lookback: 1d, start: "1970-01-01T00:16:40Z"`))
	pull(t, c, f, collection.Cursor{}, map[string]string{})
	pull(t, c, f, collection.Cursor{Since: stamp(1020)}, map[string]string{})
	if slices.ContainsFunc(f.asked, func(s string) bool { return s < stamp(1000) }) {
		t.Errorf("asked since %v, before the start", f.asked)
	}
}

// TestWalkOfABusyListEnds: where records change faster than pages are asked for, a walk
// with numbers of pages ends when it has all up to its beginning, and the next one has
// the rest. Records of the future, of which the caller may not see all, end none.
func TestWalkOfABusyListEnds(t *testing.T) {
	for _, future := range []bool{false, true} {
		now, marks, asked, quiet := 1_800_000_000, map[int]int{}, 0, true
		for id := range 60 {
			if marks[id] = now - 1000 + id; future {
				marks[id] = now + 1_000_000 + id
			}
		}
		serve := func(w http.ResponseWriter, r *http.Request) {
			asked++
			now++
			if !quiet {
				marks[asked%60] = now
			}
			from, _ := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
			var ids []int
			for id, mark := range marks {
				if mark >= int(from.Unix()) {
					ids = append(ids, id)
				}
			}
			slices.SortFunc(ids, func(a, b int) int { return 100*(marks[a]-marks[b]) + a - b })
			ids = ids[min(len(ids), 10*(number(r, "page", 1)-1)):]
			var list []string
			for _, id := range ids[:min(len(ids), 10)] {
				if !future || id%5 > 2 { // or else the caller may not see it
					list = append(list, fmt.Sprintf(`{"id":%d,"at":"%s"}`, id, stamp(marks[id])))
				}
			}
			w.Header().Set("Date", time.Unix(int64(now), 0).UTC().Format(http.TimeFormat))
			fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(list, ","))
		}
		c := open(t, &httptest.Server{}, file("records: items, page: {number: {param: page, size_param: size, size: 10}}, since: {field: at, param: since, order: asc}"))
		stored, from := map[string]int{}, collection.Cursor{}
		walk := func() (requests int) {
			before := asked
			for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{http.HandlerFunc(serve)}}, things0, from) {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range slice.Records {
					var is struct{ At time.Time }
					_ = json.Unmarshal(r.Data, &is)
					stored[r.Key] = int(is.At.Unix())
				}
				if from = slice.Next; asked > before+100 {
					t.Fatalf("future %t: the walk does not end; the mark is %s", future, from.Since)
				}
			}
			from = collection.Cursor{Since: from.Since, High: from.High}
			return asked - before
		}
		has := func(want map[int]int, when string) {
			for id, mark := range want {
				if (!future || id%5 > 2) && stored[strconv.Itoa(id)] < mark {
					t.Errorf("future %t: %s, record %d is stored with the mark %d, want %d", future, when, id, stored[strconv.Itoa(id)], mark)
				}
			}
		}
		walk()
		has(marks, "after a quiet walk")
		for quiet = future; ; quiet = true {
			want := maps.Clone(marks)
			n := walk()
			if has(want, "after a walk"); quiet {
				break
			}
			if n > 10 {
				t.Errorf("a walk of a busy list took %d requests, want 10 or fewer", n)
			}
		}
	}
}

// TestUnorderedWalkPromotesAtItsEnd: a walk that is cut short moves no mark,
// and one that is taken up again goes on with its own page.
func TestUnorderedWalkPromotesAtItsEnd(t *testing.T) {
	f := &feed{size: 2, unsorted: true, marks: map[int]int{1: 1000, 2: 1010, 3: 1020, 4: 1030, 5: 1040}}
	c := open(t, &httptest.Server{}, feedFile("order: none, lookback: 1s"))
	from := collection.Cursor{Since: stamp(900)}
	for i := range 3 {
		for slice, err := range c.Slices(context.Background(), f.client(), things0, from) {
			if err != nil {
				t.Fatal(err)
			}
			from = slice.Next
			break // the process ends here
		}
		high := fmt.Sprintf(`{"high":%q,"first":%[1]q}`, stamp(1040))
		want := collection.Cursor{Token: fmt.Sprint(i + 2), Since: stamp(900), High: high}
		if i == 2 {
			want = collection.Cursor{Since: stamp(1040), Done: true}
		}
		want.Meaning = from.Meaning
		if from != want {
			t.Errorf("after page %d: %+v, want %+v", i+1, from, want)
		}
	}
	if want := []string{stamp(899), stamp(899), stamp(899)}; !slices.Equal(f.asked, want) {
		t.Errorf("asked since %v, want %v", f.asked, want)
	}
}

func TestMarkIsSentInTheFormat(t *testing.T) {
	tests := []struct{ since, from, want string }{
		{"start: 2024-01-31", "", "2024-01-31"},
		{"start: 2024-01-31, format: rfc3339", "", "2024-01-31T00:00:00Z"},
		{"format: rfc3339", "2024-01-31T10:00:00.120+02:00", "2024-01-31T10:00:00.120+02:00"},
		{"format: date", "2024-01-31T01:00:00+02:00", "2024-01-30"},
		{"format: unix", "2024-01-31 00:00:00.999Z", "1706659200"},
		{"format: unix_ms, start: 2024-01-31", "", "1706659200000"},
		{"format: unix", "1706659200", "1706659200"},
		{"format: rfc3339", "1706659200", "2024-01-31T00:00:00Z"},
		{"lookback: 1m", "2024-01-31 00:00:00.500Z", "2024-01-30 23:59:00.500Z"},
		{"lookback: 1m", "2024-01-31T00:00:00+00:00", "2024-01-30T23:59:00+00:00"},
		{"lookback: 1m", "2024-01-31T00:00:00.000+0000", "2024-01-30T23:59:00.000+0000"},
		{"lookback: 1d", "2024-01-31", "2024-01-30"},
		{"lookback: 1m", "1706659200", "1706659140"},
		{"lookback: 1m", "1706659200.123456", "1706659140.123456"},
		{"lookback: 1m", "1706659200123", "1706659140123"},
	}
	for _, test := range tests {
		f := &feed{size: 2, marks: map[int]int{}}
		c := open(t, &httptest.Server{}, feedFile(test.since+", order: asc"))
		pull(t, c, f, collection.Cursor{Since: test.from}, map[string]string{})
		if got := f.asked[0]; got != test.want {
			t.Errorf("{%s} from %q: asks since %q, want %q", test.since, test.from, got, test.want)
		}
	}
}

// TestCursorOfALongWalkIsSmall: a cursor is a row of a table that is written
// with each slice.
func TestCursorOfALongWalkIsSmall(t *testing.T) {
	f := &feed{size: 3, marks: map[int]int{}}
	for id := range 600 {
		f.marks[id] = 1_700_000_000 + id
	}
	for _, order := range []string{"asc", "none"} {
		for _, s := range pull(t, open(t, &httptest.Server{}, feedFile("lookback: 1s, order: "+order)), f, collection.Cursor{}, map[string]string{}) {
			if text, _ := json.Marshal(s.Next); len(text) > 220 {
				t.Fatalf("order %s: a cursor of %d bytes", order, len(text))
			}
		}
	}
}

// TestNewestFirstUntilKnown holds what a walk asks for, and that its mark moves only
// when it came to what is known.
func TestNewestFirstUntilKnown(t *testing.T) {
	f := &feed{size: 3, unsorted: true, marks: map[int]int{}}
	for id := range 20 {
		f.marks[id] = 1_700_000_000 + 10*id
	}
	c := open(t, &httptest.Server{}, strings.Replace(feedFile("order: desc, lookback: 15s"), "param: since, ", "", 1))
	stored := map[string]string{}
	walk := pull(t, c, f, collection.Cursor{}, stored)
	end := walk[len(walk)-1].Next
	if len(stored) != 20 || len(walk) != 7 || end.Since != stamp(1_700_000_190) {
		t.Fatalf("the first walk has %d records on %d pages, and leaves the mark %s", len(stored), len(walk), end.Since)
	}
	for _, slice := range walk[:len(walk)-1] {
		if slice.Next.Since != "" {
			t.Errorf("behind a page with more the mark is %q", slice.Next.Since)
		}
	}
	for id := 20; id < 24; id++ {
		f.marks[id] = 1_700_000_000 + 10*id
	}
	f.asked, f.anew = nil, 0
	walk = pull(t, c, f, collection.Cursor{Since: end.Since, High: end.High}, stored)
	// 23 22 21, 20 19 18, 17 16 15: the third page is the first with nothing above the mark less 15s.
	if len(walk) != 3 || len(stored) != 24 || walk[2].Told.End != collection.EndKnown || walk[2].Next.Since != stamp(1_700_000_230) {
		t.Errorf("the second walk has %d pages, ends by %q and leaves the mark %s", len(walk), walk[len(walk)-1].Told.End, walk[len(walk)-1].Next.Since)
	}
	if len(walk) > 1 && walk[1].Next.Since != end.Since {
		t.Errorf("before it came to what is known, the mark is %s, want %s", walk[1].Next.Since, end.Since)
	}
	if i := slices.IndexFunc(f.asked, func(since string) bool { return since != "" }); i >= 0 {
		t.Errorf("a mark was sent: %s", f.asked[i])
	}

	// A list that is not sorted is read to its end.
	f.unsorted = false
	if walk = pull(t, c, f, collection.Cursor{Since: end.Since, High: end.High}, stored); len(walk) != 8 {
		t.Errorf("of a list that is sorted otherwise %d pages were read, want all 8", len(walk))
	}
}
