package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// A feed is a database that tells what changed since a number, in pages of 3. One that
// was made anew takes a number of the old one for one of its own, and says that nothing
// changed since.
type feed struct {
	mu      sync.Mutex
	keys    []string
	forgets bool // a number gets a 404,
	first   int  // and what is asked for without one this status, if it is not 0
	asked   []string
}

func (f *feed) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := req.URL.Query().Get("since")
	f.asked = append(f.asked, since)
	status, body := http.StatusOK, "{}"
	switch begin, _ := strconv.Atoi(since); {
	case f.forgets && since != "":
		status = http.StatusNotFound
	case f.first != 0:
		status = f.first
	default:
		body = strings.Join(f.keys[min(begin, len(f.keys)):min(begin+3, len(f.keys))], ",")
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// follower collects a feed. Its walks end with the number that the next one begins with.
type follower struct{ shelf }

func (follower) Streams() []collection.Stream {
	return []collection.Stream{{Name: "items", Role: collection.List}}
}

func (follower) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for {
			slice, err := followed(ctx, client, at, from)
			if !yield(slice, err) || err != nil || slice.Next.Done {
				return
			}
			from = slice.Next
		}
	}
}

func followed(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) (slice collection.Slice, err error) {
	since := from.Token
	if since == "" {
		since = from.Since
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://shelf.test/items?since="+since, nil)
	if err != nil {
		return slice, err
	}
	resp, err := client.Do(req)
	if stop, ok := errors.AsType[*collection.Stop](err); ok && stop.Reason == collection.NotFound && since != "" {
		stop.Reason, stop.Err = collection.CursorExpired, collection.ErrMarkExpired
	}
	if err != nil {
		return slice, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return slice, err
	}
	begin, _ := strconv.Atoi(since)
	slice = collection.Slice{Place: at, From: from, Told: collection.Told{First: from.Token == "", Partial: from.Since != ""}}
	keys := strings.FieldsFunc(string(body), func(r rune) bool { return r == ',' })
	for _, key := range keys {
		slice.Records = append(slice.Records, collection.Record{Key: key, Data: fmt.Appendf(nil, `{"key":%q}`, key)})
	}
	end := strconv.Itoa(begin + len(keys))
	if slice.Next = (collection.Cursor{Since: from.Since, Token: end}); len(keys) < 3 {
		slice.Next, slice.Told.End = collection.Cursor{Since: end, Done: true}, collection.EndMark
	}
	return slice, nil
}

// A refusal is what a test of a refused cursor knows: what is stored, the feed, and
// how many requests it had answered when the run said that it reads everything again.
type refusal struct {
	m         *memory
	f         *feed
	announced int // -1: it did not
}

func (r *refusal) run(t *testing.T, change func(*runner.Config)) error {
	t.Helper()
	_, err := do(t, r.m, r.f, func(c *runner.Config) {
		c.Connector = follower{}
		c.Observe = func(e collection.Event) {
			if e.Kind == collection.WarningRaised && strings.HasSuffix(e.Message, "the walk of items reads everything again") {
				r.f.mu.Lock()
				defer r.f.mu.Unlock()
				r.announced = len(r.f.asked)
			}
		}
		if change != nil {
			change(c)
		}
	})
	return err
}

// again is run over what survived, once all gaps are due.
func (r *refusal) again(t *testing.T) error {
	t.Helper()
	time.Sleep(7 * time.Hour)
	r.m = r.m.reopen()
	return r.run(t, nil)
}

// refusals are what a run has left when its number is no longer known: it was at the end
// of its walk, inside it, or at a gap.
var refusals = map[string]func(t *testing.T, r *refusal){
	"of a walk": func(*testing.T, *refusal) {},
	"of a page": func(t *testing.T, r *refusal) {
		r.f.keys = append(r.f.keys, keysOf("later", 7)...)
		if err := r.run(t, capped(1)); err != nil {
			t.Fatal(err)
		}
	},
	"of a gap": func(t *testing.T, r *refusal) {
		r.f.first = http.StatusBadGateway
		if err := r.run(t, nil); err != nil {
			t.Fatal(err)
		}
	},
}

func keysOf(name string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return keys
}

// refused returns what is left of a feed that is gone: the first page of the walk that
// then begins gets a status.
func refused(t *testing.T, left func(*testing.T, *refusal), status int) *refusal {
	t.Helper()
	r := &refusal{m: newMemory(), f: &feed{keys: keysOf("old", 8)}, announced: -1}
	if err := r.run(t, nil); err != nil {
		t.Fatal(err)
	}
	left(t, r)
	time.Sleep(7 * time.Hour)
	r.m = r.m.reopen()
	r.f.forgets, r.f.first = true, status
	return r
}

// remade makes the database anew, collects it, and checks that all of it is stored, and
// that the number was not sent after it was announced that it is not.
func (r *refusal) remade(t *testing.T) {
	t.Helper()
	r.f.forgets, r.f.first, r.f.keys = false, 0, keysOf("new", 7)
	if err := r.again(t); err != nil {
		t.Fatal(err)
	}
	for _, key := range r.f.keys {
		if _, ok := r.m.records["items"][key]; !ok {
			t.Errorf("%s is not stored", key)
		}
	}
	if got := r.m.owes(); len(got) > 0 {
		t.Errorf("owed: %+v, want nothing", got)
	}
	if r.announced < 0 {
		t.Fatal("it was not announced that everything is read again")
	}
	if after := r.f.asked[r.announced:]; after[0] != "" || slices.ContainsFunc(after, func(since string) bool { return since != "" && since != "3" && since != "6" && since != "7" }) {
		t.Errorf("asked since %q after the number was refused", after)
	}
}

// TestARefusedCursorIsNotSentAgain, also when the walk that begins anew fails at once.
func TestARefusedCursorIsNotSentAgain(t *testing.T) {
	for name, left := range refusals {
		for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable} {
			bubble(t, fmt.Sprintf("%s, %d", name, status), func(t *testing.T) {
				r := refused(t, left, status)
				if err := r.run(t, nil); err != nil {
					t.Fatal(err)
				}
				if gaps := r.m.owes(); len(gaps) != 1 || gaps[0].Cursor != (collection.Cursor{}) {
					t.Errorf("owed: %+v, want one gap, at the start", gaps)
				}
				r.remade(t)
			})
		}
	}
}

// TestASecondRefusedCursor: a walk begins anew once in a run. The cursor that is refused
// then is not sent again either, by the next run.
func TestASecondRefusedCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refusal{m: newMemory(), f: &feed{keys: keysOf("old", 7), forgets: true}, announced: -1}
		if err := r.run(t, nil); err != nil {
			t.Fatal(err)
		}
		if want := []string{"", "3", "", "3"}; !slices.Equal(r.f.asked, want) {
			t.Errorf("asked since %q, want %q", r.f.asked, want)
		}
		if gaps := r.m.owes(); len(gaps) != 1 || gaps[0].Reason != collection.CursorExpired || gaps[0].Cursor != (collection.Cursor{}) {
			t.Errorf("owed: %+v, want one gap, at the start", gaps)
		}
		r.announced = len(r.f.asked)
		r.remade(t)
	})
}

// TestCrashAfterARefusedCursor ends the process at each durable step around the refusal,
// before and after its effect, or has that step answer that its outcome is unknown.
func TestCrashAfterARefusedCursor(t *testing.T) {
	for name, left := range refusals {
		steps := 0
		synctest.Test(t, func(t *testing.T) {
			r := refused(t, left, http.StatusServiceUnavailable)
			if err := r.run(t, nil); err != nil {
				t.Fatal(err)
			}
			steps = r.m.steps
		})
		for failAt := 1; failAt <= steps; failAt++ {
			for _, answer := range []error{nil, collection.ErrUnknown} {
				for _, afterEffect := range []bool{false, true} {
					bubble(t, fmt.Sprintf("%s, step=%d,answer=%v,afterEffect=%t", name, failAt, answer, afterEffect), func(t *testing.T) {
						r := refused(t, left, http.StatusServiceUnavailable)
						r.m.failAt, r.m.afterEffect, r.m.answer = failAt, afterEffect, answer
						if err := r.run(t, nil); r.m.dead != errors.Is(err, errCrash) {
							t.Errorf("Do = %v, crashed: %t", err, r.m.dead)
						}
						if err := r.again(t); err != nil { // the database is still gone
							t.Fatal(err)
						}
						if r.announced < 0 {
							r.announced = len(r.f.asked) // the process died between the step and the words
						}
						r.remade(t)
					})
				}
			}
		}
	}
}
