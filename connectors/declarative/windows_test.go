package declarative_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/connectortest"
)

// A journal is a provider with records that were made at some second, which it
// gives for a window of time, a page at a time, and never more than cap of them.
type journal struct {
	at    []int // the second of each record, in order
	size  int   // records on a page
	cap   int   // records of an answer, all its pages; 0: no bound
	total bool  // it tells how many the window has

	both   bool // the end of a window is included
	undate bool
	fast   time.Duration // of its clock before ours
	asked  []string      // the windows whose first page was asked for
}

const (
	day    = 24 * 60 * 60
	began  = 1_700_000_000 - 1_700_000_000%day // midnight
	oneDay = 24 * time.Hour
)

func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, err1 := time.Parse(time.RFC3339, q.Get("from"))
	to, err2 := time.Parse(time.RFC3339, q.Get("to"))
	if err1 != nil || err2 != nil || !from.Before(to) {
		http.Error(w, "no window: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	if !j.undate {
		w.Header().Set("Date", time.Now().Add(j.fast).UTC().Format(http.TimeFormat))
	}
	var list []string
	for id, at := range j.at {
		if t := time.Unix(int64(at), 0); !t.Before(from) && (t.Before(to) || j.both && t.Equal(to)) {
			list = append(list, fmt.Sprintf(`{"id":%d,"at":%d}`, id, at))
		}
	}
	total := len(list)
	if j.cap > 0 {
		list = list[:min(j.cap, total)]
	}
	page := number(r, "page", 1)
	if page == 1 {
		j.asked = append(j.asked, q.Get("from")+" "+q.Get("to"))
	}
	list = list[min(len(list), (page-1)*j.size):]
	next := "null"
	if len(list) > j.size {
		list, next = list[:j.size], fmt.Sprint(page+1)
	}
	counts := ""
	if j.total {
		counts = fmt.Sprintf(`,"total":%d`, total)
	}
	fmt.Fprintf(w, `{"items":[%s],"next":%s%s}`, strings.Join(list, ","), next, counts)
}

func journalFile(windows string) string {
	return `
connector: journal
provider: {base_url: "https://journal.test"}
streams:
  things:
    get: /things?from=${window.from}&to=${window.to}
    key: id
    records: items
    page: {cursor: {from: next, param: page}}
    windows: {from: 2023-11-14, ` + windows + "}\n"
}

// read follows a walk to its end. It goes on from what is stored after each slice
// that stop says.
func (j *journal) read(t *testing.T, c connectors.Connector, from collection.Cursor, stored map[string]bool, stop func() bool) (got []collection.Slice, end collection.Cursor) {
	t.Helper()
	client := &http.Client{Transport: direct{j}}
	for {
		for slice, err := range c.Slices(t.Context(), client, things0, from) {
			if err != nil {
				t.Fatal(err)
			}
			if slice.From != from {
				t.Fatalf("a slice from %+v, want %+v", slice.From, from)
			}
			for _, r := range slice.Records {
				stored[r.Key] = true
			}
			got, from = append(got, slice), slice.Next
			if len(got) > 20_000 {
				t.Fatal("no end")
			}
			if stop() {
				break
			}
		}
		if from.Done {
			return got, from
		}
	}
}

func never() bool { return false }

// TestWindowsFollowEachOther holds the windows of two walks.
func TestWindowsFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(began+3*day+3600, 0)))
		j := &journal{size: 10}
		c := open(t, &httptest.Server{}, journalFile("step: 2d, lookback: 1h"))
		_, end := j.read(t, c, collection.Cursor{}, map[string]bool{}, never)
		want := []string{
			"2023-11-14T00:00:00Z 2023-11-16T00:00:00Z",
			"2023-11-16T00:00:00Z 2023-11-17T01:00:01Z", // the second that is not over belongs to it
		}
		if !slices.Equal(j.asked, want) {
			t.Errorf("the first walk asked for %q, want %q", j.asked, want)
		}
		if end.Since != "2023-11-17T00:59:59Z" {
			t.Errorf("it left the mark %s", end.Since)
		}
		time.Sleep(time.Hour)
		j.asked = nil
		j.read(t, c, collection.Cursor{Since: end.Since, High: end.High}, map[string]bool{}, never)
		if want := []string{"2023-11-16T23:59:59Z 2023-11-17T02:00:01Z"}; !slices.Equal(j.asked, want) {
			t.Errorf("the second walk asked for %q, want %q", j.asked, want)
		}
	})
}

// TestWindowsHaveEverything plays journals with bursts, killed walks and clocks
// that differ: what was made before a walk began is there, or is told as a gap.
func TestWindowsHaveEverything(t *testing.T) {
	halved, left, killed := 0, 0, 0
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			time.Sleep(time.Until(time.Unix(began+int64(2+rng.IntN(20))*day+int64(rng.IntN(day)), 0)))
			j := &journal{
				size: 1 + rng.IntN(6), cap: rng.IntN(3) * (5 + rng.IntN(10)), total: rng.IntN(2) == 0,
				both: rng.IntN(2) == 0, undate: rng.IntN(4) == 0, fast: time.Duration(rng.IntN(600)-300) * time.Second,
			}
			add := func(n, before int) {
				for range n {
					at := began + rng.IntN(before-began)
					for range 1 + rng.IntN(8)*rng.IntN(2) {
						j.at = append(j.at, at)
					}
				}
			}
			now := func() int { return int(time.Now().Add(min(j.fast, 0)).Unix()) - 2 }
			add(rng.IntN(60), now())
			windows := fmt.Sprintf("step: %dh, lookback: 10m", 1+rng.IntN(100))
			if j.cap > 0 {
				windows += fmt.Sprintf(", cap: %d, least: %ds", j.cap, 1+rng.IntN(90))
			}
			c := open(t, &httptest.Server{}, journalFile(windows))
			stored := map[string]bool{}
			end := collection.Cursor{}
			for range 3 {
				due, gaps := len(j.at), 0
				stop := func() bool {
					time.Sleep(time.Duration(rng.IntN(3)) * time.Second)
					if rng.IntN(3) > 0 {
						return false
					}
					killed++
					return true
				}
				var got []collection.Slice
				got, end = j.read(t, c, collection.Cursor{Since: end.Since, High: end.High}, stored, stop)
				for i, s := range got {
					if s.Told.Cut != "" {
						gaps++
						if !strings.Contains(s.Told.Cut, fmt.Sprint(j.cap)) || s.Else == nil || s.Else.Token != "" {
							t.Errorf("%q leads to %v, want the numbers, and the start of the window", s.Told.Cut, s.Else)
						}
					}
					if i > 0 && s.From.Token == "" && s.Next.Since == s.From.Since {
						halved++
					}
				}
				left += gaps
				for id := range due {
					if !stored[fmt.Sprint(id)] && gaps == 0 {
						t.Fatalf("seed %d: %+v: record %d of second %d is missing", seed, *j, id, j.at[id])
					}
				}
				if gaps > 0 {
					return // it is told, and later walks do not have it
				}
				time.Sleep(time.Duration(rng.IntN(3*day)) * time.Second)
				add(rng.IntN(10), now())
				// What is new is new: records are not made in the past.
				for id := due; id < len(j.at); id++ {
					j.at[id] = now() - rng.IntN(300)
				}
			}
		})
	}
	if halved == 0 || left == 0 || killed == 0 {
		t.Errorf("%d windows were halved, %d left as gaps, %d walks killed", halved, left, killed)
	}
}

// TestWindowsConform runs the suite of the port over windows that end in the past.
func TestWindowsConform(t *testing.T) {
	j := &journal{size: 3, cap: 7, both: true}
	for i := range 60 {
		j.at = append(j.at, began+i*i*60)
	}
	c := open(t, &httptest.Server{}, journalFile("until: 2023-11-18, step: 1d, lookback: 2h, cap: 7"))
	connectortest.Test(t, c, &http.Client{Transport: direct{j}})
	stored := map[string]bool{}
	if j.read(t, c, collection.Cursor{}, stored, never); len(stored) != len(j.at) {
		t.Errorf("%d records of %d", len(stored), len(j.at))
	}
}

// TestWindowsInOtherForms holds how the ends of a window are sent.
func TestWindowsInOtherForms(t *testing.T) {
	for format, want := range map[string][]string{
		"date":    {"2023-11-14 2023-11-16", "2023-11-16 2023-11-18"}, // the day that the walk began in, whole
		"unix":    {"1699920000 1700092800", "1700092800 1700182801"},
		"unix_ms": {"1699920000000 1700092800000", "1700092800000 1700182801000"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Unix(began+3*day+3600, 0)))
			var asked []string
			client := &http.Client{Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query().Get("from")+" "+r.URL.Query().Get("to"))
				w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
				fmt.Fprint(w, `{"items":[],"next":null}`)
			})}}
			c := open(t, &httptest.Server{}, journalFile("step: 2d, lookback: 1h, format: "+format))
			var end collection.Cursor
			for slice, err := range c.Slices(t.Context(), client, things0, end) {
				if err != nil {
					t.Fatal(err)
				}
				end = slice.Next
			}
			if !slices.Equal(asked, want) {
				t.Errorf("%s: asked for %q, want %q", format, asked, want)
			}
			if want := "2023-11-17T00:59:59Z"; end.Since != want {
				t.Errorf("%s: the mark is %s, want %s", format, end.Since, want)
			}
		})
	}
}

// TestIgnoredWindows warns of a provider that gives the same records for each.
func TestIgnoredWindows(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"id":1},{"id":2}],"next":null}`)
	})
	c := open(t, server, journalFile("until: 2023-11-20, step: 1d, lookback: 1h"))
	warnings := 0
	for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range slice.Warnings {
			if w.Code == collection.MarkIgnored {
				warnings++
			}
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings that the windows are ignored, want 1", warnings)
	}
}
