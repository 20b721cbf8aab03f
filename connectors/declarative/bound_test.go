package declarative_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors"
)

// A shelf is a provider whose list is in no order of change: each thing has
// its place, and a page is asked for by the place of the last thing. A thing
// that is updated behind a walk is therefore not seen by it.
type shelf struct {
	size    int
	clock   time.Time // moves with each request
	step    time.Duration
	dated   bool // answers have a Date
	written func(s *shelf) string
	updates int

	marks []string // by id
	moved []int    // the update that each thing got last
	tick  func()
}

// The marks that a provider can give out.
var writings = map[string]func(*shelf) string{
	"zoned":        func(s *shelf) string { return s.clock.Format("2006-01-02T15:04:05Z07:00") },
	"milliseconds": func(s *shelf) string { return s.clock.Format("2006-01-02 15:04:05.000Z07:00") },
	"east":         func(s *shelf) string { return s.clock.Add(9 * time.Hour).Format("2006-01-02T15:04:05.000") },
	"west":         func(s *shelf) string { return s.clock.Add(-8 * time.Hour).Format("2006-01-02 15:04:05") },
	"unix":         func(s *shelf) string { return strconv.FormatInt(s.clock.Unix(), 10) },
	"updates":      func(s *shelf) string { return strconv.Itoa(s.updates) },
}

func (s *shelf) update(id int) {
	s.updates++
	s.marks[id], s.moved[id] = s.written(s), s.updates
}

func (s *shelf) RoundTrip(req *http.Request) (*http.Response, error) {
	s.clock = s.clock.Add(s.step)
	s.tick()
	q := req.URL.Query()
	after, err := strconv.Atoi(q.Get("after"))
	if err != nil {
		after = -1
	}
	items, next := []json.RawMessage{}, ""
	for id := after + 1; id < len(s.marks); id++ {
		if since := q.Get("since"); since != "" && !isLater(s.marks[id], since) {
			continue // since means after, which is the harder way
		}
		if len(items) == s.size {
			next = strconv.Itoa(id - 1)
			break
		}
		items = append(items, fmt.Appendf(nil, `{"id":%d,"at":%q,"update":%d}`, id, s.marks[id], s.moved[id]))
	}
	body, err := json.Marshal(map[string]any{"items": items, "next": next})
	if err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	if s.dated {
		rec.Header().Set("Date", s.clock.Format(http.TimeFormat))
	}
	rec.Write(body)
	return rec.Result(), nil
}

// isLater compares marks of one form.
func isLater(a, b string) bool {
	n, err := strconv.Atoi(a)
	m, also := strconv.Atoi(b)
	if err == nil && also == nil {
		return n > m
	}
	return a > b
}

// TestUpdateBehindTheWalk plays walks that take far longer than the lookback,
// are interrupted after any page, and pass by things that are updated behind
// them. The walks after them find each of these, and have an end.
func TestUpdateBehindTheWalk(t *testing.T) {
	for name, written := range writings {
		format := ""
		if name == "unix" {
			format = ", format: unix"
		}
		c := open(t, &httptest.Server{}, `
connector: shelf
provider: {base_url: "https://shelf.test"}
streams:
  things:
    get: /things
    key: id
    records: items
    page: {cursor: {from: next, param: after, optional: true}}
    since: {field: at, param: since, lookback: 2s`+format+"}\n")
		passed := 0
		for seed := range uint64(120) {
			rng := rand.New(rand.NewPCG(seed, 2))
			s := &shelf{
				size: 2 + rng.IntN(3), dated: seed%3 != 0, written: written,
				clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), step: time.Duration(1+rng.IntN(40)) * 250 * time.Millisecond,
			}
			things := 1 + rng.IntN(30)
			s.marks, s.moved = make([]string, things), make([]int, things)
			for id := range rng.Perm(things) {
				s.clock = s.clock.Add(time.Duration(rng.IntN(20)) * time.Second)
				s.update(id)
			}
			left, stored := 0, map[string]int{}
			s.tick = func() {
				for left > 0 && rng.IntN(2) == 0 {
					left--
					s.update(rng.IntN(things))
				}
			}
			var from collection.Cursor
			// After the third walk nothing changes any more.
			for walk := 0; walk < 3+things; walk++ {
				if left = 0; walk < 3 {
					left = rng.IntN(12)
				}
				seen := 0
				for from.Done = false; !from.Done; {
					for slice, err := range c.Slices(t.Context(), &http.Client{Transport: s}, things0, from) {
						if err != nil {
							t.Fatalf("%s, seed %d: %v", name, seed, err)
						}
						for _, r := range slice.Records {
							var got struct{ Update int }
							if err := json.Unmarshal(r.Data, &got); err != nil {
								t.Fatal(err)
							}
							stored[r.Key] = got.Update
							seen++
						}
						if from = slice.Next; rng.IntN(3) == 0 {
							break // the process ends here
						}
					}
				}
				if walk == 2 && len(stored) == things {
					for id, update := range s.moved {
						if stored[strconv.Itoa(id)] != update {
							passed++
						}
					}
				}
				if walk > 2 && seen <= s.size {
					break // one page: the mark has arrived
				}
			}
			for id, update := range s.moved {
				if got := stored[strconv.Itoa(id)]; got != update {
					t.Errorf("%s, seed %d, dated %t: of thing %d update %d is stored, want %d, and the mark is %s",
						name, seed, s.dated, id, got, update, from.Since)
				}
			}
		}
		if passed < 20 {
			t.Errorf("%s: only %d things were passed by", name, passed)
		}
	}
}

// openShelf returns a shelf of sixty things that are updated one after the other, and a connector for it.
func openShelf(t *testing.T, written string, size int) (*shelf, connectors.Connector) {
	t.Helper()
	s := &shelf{size: size, dated: true, written: writings[written], clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), step: time.Second, tick: func() {}}
	s.marks, s.moved = make([]string, 60), make([]int, 60)
	for id := range s.marks {
		s.clock = s.clock.Add(time.Minute)
		s.update(id)
	}
	c := open(t, &httptest.Server{}, `
connector: shelf
provider: {base_url: "https://shelf.test"}
streams:
  things:
    get: /things
    key: id
    records: items
    page: {cursor: {from: next, param: after, optional: true}}
    since: {field: at, param: since, lookback: 2s}
`)
	return s, c
}

// walk walks from a cursor to the end, and returns the cursor there.
func (s *shelf) walk(t *testing.T, c connectors.Connector, from collection.Cursor) collection.Cursor {
	t.Helper()
	for slice, err := range c.Slices(t.Context(), &http.Client{Transport: s}, things0, from) {
		if err != nil {
			t.Fatal(err)
		}
		from = slice.Next
	}
	return from
}

// TestMarkArrivesWhereNothingChanges: where the provider's clock says nothing of
// the marks, the second walk over a list that does not change moves the mark to the
// highest, although the first page has low ones, and the third walk is short.
func TestMarkArrivesWhereNothingChanges(t *testing.T) {
	for _, name := range []string{"east", "west", "unix", "updates"} {
		s, c := openShelf(t, name, 2)
		asked := 0
		s.tick = func() { asked++ }
		var from collection.Cursor
		var walks []int
		for range 4 {
			from.Done, asked = false, 0
			from = s.walk(t, c, from)
			walks = append(walks, asked)
		}
		if walks[2] > 2 || walks[3] > 2 {
			t.Errorf("%s: walks of %v requests, want the third and the fourth to be of 2 at most", name, walks)
		}
		if highest := s.marks[len(s.marks)-2:]; !slices.Contains(highest, from.Since) {
			t.Errorf("%s: the mark is %s, want one of the two highest, %s", name, from.Since, highest)
		}
	}
}

// TestMarkOfTheFutureBehindTheFirstPage: where nothing tells the time, a record that claims to be of a time to come moves
// no mark.
func TestMarkOfTheFutureBehindTheFirstPage(t *testing.T) {
	for name, future := range map[string]string{"east": "2999-03-01T22:00:00.000", "unix": "9999999999", "updates": "9999999"} {
		s, c := openShelf(t, name, 4)
		s.marks[20] = future
		var from collection.Cursor
		for range 2 {
			from.Done = false
			from = s.walk(t, c, from)
		}
		if latest := s.marks[len(s.marks)-2:]; !slices.Contains(latest, from.Since) {
			t.Errorf("%s: the mark is %s, want one of the latest, %s", name, from.Since, latest)
		}
	}
}

// TestMarkOfTheFuture: a record that claims to be of a time to come does not
// hide what changes until then.
func TestMarkOfTheFuture(t *testing.T) {
	now := time.Now().UTC()
	for _, since := range []string{"order: asc", "order: none, lookback: 1s", "order: asc, format: unix"} {
		future := now.AddDate(100, 0, 0)
		a, b, later := stamp(int(future.Unix())), stamp(int(future.Unix())+1), stamp(int(future.Unix())+2)
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", now.Format(http.TimeFormat))
			fmt.Fprintf(w, `{"items":[{"id":1,"at":%q},{"id":2,"at":%q},{"id":3,"at":%q}],"pages":1}`, a, b, later)
		})
		var end collection.Cursor
		for slice, err := range open(t, &httptest.Server{}, feedFile(since)).Slices(t.Context(), &http.Client{Transport: direct{handler}}, things0, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			end = slice.Next
		}
		if got, err := time.Parse(time.RFC3339, end.Since); err != nil || got.After(now) || got.Before(now.Add(-time.Minute)) {
			t.Errorf("%s: the next walk begins at %q (%v), want a little before %s", since, end.Since, err, now)
		}
	}
}

// TestWalkOfAnOlderVersion: a walk that an older version left in the middle
// does not say when it began, and so it moves no mark.
func TestWalkOfAnOlderVersion(t *testing.T) {
	f := &feed{size: 2, marks: map[int]int{1: 1000, 2: 1010, 3: 1020}}
	c := open(t, &httptest.Server{}, feedFile("order: none, lookback: 1s"))
	walk := pull(t, c, f, collection.Cursor{Token: "2", Since: stamp(900), High: stamp(1010)}, map[string]string{})
	want := collection.Cursor{Since: stamp(900), Done: true, Meaning: walk[0].Next.Meaning}
	if got := walk[len(walk)-1].Next; got != want {
		t.Errorf("ends with %+v, want %+v", got, want)
	}
}

// TestSlowFirstPage: the date of an answer is of its end, and what it holds may
// be as old as the question.
func TestSlowFirstPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := time.Now().UTC()
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Minute)
			now := time.Now().UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			fmt.Fprintf(w, `{"items":[{"id":1,"at":%q}],"pages":1}`, now.Format(time.RFC3339))
		})
		c := open(t, &httptest.Server{}, feedFile("order: none, lookback: 1s"))
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{handler}}, things0, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			// A second is for what a date leaves out.
			if got, want := slice.Next.Since, asked.Add(-time.Second).Format(time.RFC3339); got != want {
				t.Errorf("the next walk begins at %s, want %s", got, want)
			}
		}
	})
}
