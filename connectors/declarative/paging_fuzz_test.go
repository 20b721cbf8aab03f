package declarative_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
)

// A script is what a provider does next, a byte for each answer, and then zeros.
type script []byte

func (s *script) next() (b byte) {
	if len(*s) > 0 {
		b, *s = (*s)[0], (*s)[1:]
	}
	return b
}

func answerOf(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// FuzzContinue: whatever the parts of pages have, a page that is stored has all that
// its parts had of each record, and one that never became whole is an error.
func FuzzContinue(f *testing.F) {
	f.Add([]byte{0x03, 0x01, 0x12, 0x07, 0x10})
	f.Add([]byte{0x13, 0x2f, 0x31, 0x01, 0x41})
	f.Add([]byte{0x41, 0x42, 0x81, 0x1f})
	f.Fuzz(func(t *testing.T, sent []byte) {
		plan := script(sent)
		if len(plan) > 60 {
			return
		}
		parts := map[int]map[string]bool{} // of the page that is not yet whole: the members of each record
		var whole []map[int]map[string]bool
		asked := 0
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if asked++; asked > 1000 {
				t.Fatalf("the walk does not end; it asks for %s", r.URL.RawQuery)
			}
			b := plan.next()
			var records []string
			for id := range 4 {
				if b>>id&1 == 0 {
					continue
				}
				member := fmt.Sprintf("m%d", asked)
				if parts[id] == nil {
					parts[id] = map[string]bool{}
				}
				parts[id][member] = true
				records = append(records, fmt.Sprintf(`{"id": %d, %q: 1, "list": [%d], "in": {%q: 2}}`, id, member, asked, member))
			}
			body := fmt.Sprintf(`"query": {"pages": [%s]}`, strings.Join(records, ","))
			done, leads := b&0x10 != 0, b&0x20 == 0
			if b == 0 { // the script is over
				done, leads = true, false
			}
			if done {
				body += `, "done": true`
				whole, parts = append(whole, parts), map[int]map[string]bool{}
			}
			if leads {
				at := asked
				if b&0x40 != 0 {
					at %= 3 // in a circle
				}
				body += fmt.Sprintf(`, "continue": {"p": %d, "q": "%d|é"}`, at, at)
			}
			return answerOf(200, "{"+body+"}"), nil
		})}
		stored, ended := 0, false
		for slice, err := range open(t, &httptest.Server{}, wikiFile).Slices(t.Context(), client, things0, collection.Cursor{}) {
			if err != nil {
				if _, ok := errors.AsType[*collection.Stop](err); !ok {
					t.Fatalf("an error that is no stop: %v", err)
				}
				break
			}
			if stored >= len(whole) {
				t.Fatalf("%d pages are stored, and %d are whole", stored+1, len(whole))
			}
			want := whole[stored]
			stored++
			if len(slice.Records)+len(slice.Rejected) != len(want) {
				t.Fatalf("page %d has %d records, want %d", stored, len(slice.Records), len(want))
			}
			for _, r := range slice.Records {
				var had struct {
					ID   int
					List []int
					In   map[string]int
				}
				var members map[string]any
				if err := errors.Join(json.Unmarshal(r.Data, &had), json.Unmarshal(r.Data, &members)); err != nil {
					t.Fatal(err)
				}
				for member := range want[had.ID] {
					if members[member] == nil || had.In[member] == 0 || len(had.List) != len(want[had.ID]) {
						t.Fatalf("record %d of page %d lacks %s: %s", had.ID, stored, member, r.Data)
					}
				}
			}
			ended = slice.Next.Done
		}
		if ended && (stored != len(whole) || len(parts) > 0) {
			t.Fatalf("the walk ended with %d of %d pages, and %d records of a page that is not whole", stored, len(whole), len(parts))
		}
	})
}

// FuzzScroll: whatever pages a scroll gives, changes its id, is refused, expires or is
// interrupted, a walk that ends has each record that its scroll gave, once.
func FuzzScroll(f *testing.F) {
	f.Add([]byte{5, 5, 3, 0})
	f.Add([]byte{5, 0x45, 0x83, 7, 0x20, 5, 1, 0})
	f.Add([]byte{2, 0x62, 4, 0xa2, 0})
	f.Add([]byte{5, 0x15, 5, 0})
	f.Add([]byte{5, 4, 0xc4, 5, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		plan := script(sent)
		if len(plan) > 60 {
			return
		}
		c := open(t, &httptest.Server{}, scrollFile)
		var had []string
		var at collection.Cursor
		given, id, asked, opened, empty := 0, "", 0, 0, false
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if asked++; asked > 1000 {
				t.Fatal("the walk does not end")
			}
			b := plan.next()
			if r.URL.Path == "/_search" {
				opened++
				given, id, had = 0, fmt.Sprint("s", opened), nil
			} else {
				var with struct{ ID string }
				if err := json.NewDecoder(r.Body).Decode(&with); err != nil || with.ID != id {
					t.Fatalf("the scroll is asked for as %q, %v; want %q", with.ID, err, id)
				}
				switch {
				case b&0xc0 == 0x40:
					return nil, &collection.Stop{Reason: collection.RateLimited, Status: http.StatusTooManyRequests}
				case b&0xc0 == 0x80:
					return nil, &collection.Stop{Reason: collection.NotFound, Status: http.StatusNotFound}
				case b&0xc0 == 0xc0: // the answer is lost, and the scroll has moved
					given += int(b & 0x0f)
					return nil, &collection.Stop{Reason: collection.UpstreamPressure}
				}
			}
			if b&0x20 != 0 {
				id += "'"
			}
			first := given + 1
			given += int(b & 0x0f)
			empty = first > given
			return answerOf(200, fmt.Sprintf(`{"hits": %s, "scroll": %q}`, things(first, given), id)), nil
		})}
		for !at.Done {
			var failed error
			for slice, err := range c.Slices(t.Context(), client, things0, at) {
				if failed = err; err != nil {
					break
				}
				for _, r := range slice.Records {
					had = append(had, r.Key)
				}
				if at = slice.Next; !at.Done && len(plan) > 0 && plan[0]&0x10 != 0 {
					c = open(t, &httptest.Server{}, scrollFile) // another process; this one was killed
					given += 3                                  // after it had asked for a page
					break
				}
			}
			if failed == nil {
				continue
			}
			if stop, ok := errors.AsType[*collection.Stop](failed); !ok {
				t.Fatalf("an error that is no stop: %v", failed)
			} else if stop.Reason != collection.CursorExpired && stop.Reason != collection.NotFound {
				return
			}
			if at.Token == "" && len(plan) == 0 {
				return
			}
			at = collection.Cursor{} // as a run begins anew
		}
		var want []string
		for key := range given {
			want = append(want, strconv.Itoa(key+1))
		}
		if !slices.Equal(had, want) || !empty {
			t.Fatalf("a walk that ended with an empty page: %t; it has %v, want %v", empty, had, want)
		}
	})
}

// FuzzSize: whatever a provider bears, how it refuses and when the process is another
// one, no record is lost and none comes twice.
func FuzzSize(f *testing.F) {
	f.Add(uint8(0), []byte{0x05, 0x12, 0x23, 0x81, 0x40})
	f.Add(uint8(3), []byte{0x01, 0x81, 0x33, 0x21, 0x04, 0xc1})
	f.Add(uint8(4), []byte{0x02, 0x0f, 0x82, 0x0f, 0x84})
	var kinds []string
	for kind := range sizedPages {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	f.Fuzz(func(t *testing.T, which uint8, sent []byte) {
		plan := script(sent)
		if len(plan) > 100 {
			return
		}
		kind := kinds[int(which)%len(kinds)]
		const all = 97
		most, asked := 40, 0
		c := open(t, &httptest.Server{}, sizedFile(kind))
		client := &http.Client{Transport: tooMuch{direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 2000 {
				t.Fatalf("%s: the walk does not end", kind)
			}
			b := plan.next()
			if b&0x0f != 0 {
				most = 1 << (b & 0x0f % 6)
			}
			size := number(r, "size", 0)
			from := sizedPages[kind].begins(r, size)
			if min(size, all-from) > most {
				switch b >> 4 & 3 {
				case 0:
					w.WriteHeader(http.StatusRequestEntityTooLarge)
				case 1:
					w.WriteHeader(http.StatusGatewayTimeout)
				default:
					fmt.Fprint(w, `{"items": [], "pad": "`+strings.Repeat("x", 4000)+`"}`)
				}
				return
			}
			from = min(from, all)
			to := min(from+size, all)
			next := "null"
			if to < all {
				next = strconv.Itoa(to)
			}
			fmt.Fprintf(w, `{"items": %s, "next": %s}`, things(from+1, to), next)
		})}}}
		had := map[string]int{}
		for at := (collection.Cursor{}); !at.Done; {
			for slice, err := range c.Slices(t.Context(), client, things0, at) {
				if err != nil {
					t.Fatalf("%s: at %+v: %v", kind, at, err)
				}
				for _, r := range slice.Records {
					had[r.Key]++
				}
				if at = slice.Next; len(plan) > 0 && plan[0]&0x80 != 0 {
					c = open(t, &httptest.Server{}, sizedFile(kind)) // another process, which knows no size
					break
				}
			}
		}
		for id := range all {
			if n := had[strconv.Itoa(id+1)]; n != 1 {
				t.Fatalf("%s: record %d came %d times", kind, id+1, n)
			}
		}
	})
}
