package runner_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/runner"
)

// coarse is a shelf whose items all have one mark, whatever changes in them: a
// detail is collected again when its item has other bytes.
type coarse struct {
	shelf
	bytes map[string]int // the version of the bytes of an item, by its key
}

func (coarse) Streams() []collection.Stream {
	return []collection.Stream{
		{Name: "items", Role: collection.List},
		{Name: "details", Role: collection.Detail, Parent: "items", Refresh: collection.WhenChanged},
		{Name: "notes", Role: collection.List, Parent: "items", Refresh: collection.WhenChanged},
	}
}

func (c coarse) Partition(stream string, parent collection.Parent) (collection.Partition, string, bool, error) {
	at, _, ok, err := c.shelf.Partition(stream, parent)
	return at, "2026-01-02", ok, err
}

func (c coarse) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for slice, err := range c.shelf.Slices(ctx, client, at, from) {
			for i, record := range slice.Records {
				slice.Records[i].Data = fmt.Appendf(nil, `{"key":%q,"version":%d}`, record.Key, c.bytes[record.Key])
			}
			if !yield(slice, err) {
				return
			}
		}
	}
}

// TestADetailOfOtherBytes: a parent whose bytes change under the same mark is
// followed by one fetch of what hangs on it, in the next run that looks at it;
// unchanged bytes are followed by none.
func TestADetailOfOtherBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 4}
		c := coarse{bytes: map[string]int{}}
		for turn, changes := range [][]string{nil, nil, {"item-001"}, nil, {"item-001", "item-003"}, {"item-000"}, nil} {
			for _, key := range changes {
				c.bytes[key]++
			}
			p.asked = nil
			if _, err := do(t, m, p, func(config *runner.Config) { config.Connector = c }); err != nil {
				t.Fatal(err)
			}
			for _, key := range p.items() {
				want := 0
				for _, changed := range changes {
					if changed == key || turn == 0 {
						want = 1
					}
				}
				if turn == 0 {
					want = 1
				}
				for _, of := range []string{"details/" + key + "?page=", "notes/" + key + "?page=", "notes/" + key + "?page=1"} {
					if got := p.askedFor("/" + of); got != want {
						t.Errorf("turn %d, which changed %v: %s was asked for %d times, want %d", turn, changes, of, got, want)
					}
				}
			}
			m = m.reopen()
		}
	})
}

// TestADetailOfOtherBytesAfterACrash: the same holds if a run crashes at any durable
// step, before or after its effect. The changed detail is asked for a second time
// only if its own commit was lost.
func TestADetailOfOtherBytesAfterACrash(t *testing.T) {
	for failAt := 1; ; failAt++ {
		crashed := false
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m, p := newMemory(), &provider{n: 4}
				c := coarse{bytes: map[string]int{}}
				with := func(config *runner.Config) { config.Connector = c }
				if _, err := do(t, m, p, with); err != nil {
					t.Fatal(err)
				}
				c.bytes["item-002"]++
				m = m.reopen()
				m.failAt, m.afterEffect = failAt, after
				p.asked = nil
				_, err := do(t, m, p, with)
				crashed = crashed || err != nil
				for range 2 {
					m = m.reopen()
					if _, err := do(t, m, p, with); err != nil {
						t.Fatal(err)
					}
				}
				for _, key := range p.items() {
					got, changed := p.askedFor("/details/"+key+"?page="), key == "item-002"
					if changed && (got < 1 || got > 2) || !changed && got > 0 {
						t.Errorf("crashed at step %d, after its effect: %t: the detail of %s was asked for %d times", failAt, after, key, got)
					}
				}
				if m.at[collection.Place{Stream: "notes", Partition: `{"item":"item-002"}`, Lane: collection.Incremental}].Begun() < m.records["items"]["item-002"].commit {
					t.Errorf("crashed at step %d, after its effect: %t: the notes are older than their item", failAt, after)
				}
			})
		}
		if !crashed {
			if failAt < 8 {
				t.Errorf("it crashed at %d steps only: this proves little", failAt-1)
			}
			return
		}
	}
}

// once is coarse, with details that are fetched once.
type once struct{ coarse }

func (once) Streams() []collection.Stream { return shelf{}.Streams()[:2] }

func (once) WithChanged(string, []byte) (string, bool) { return "each: …", true }

// TestADetailThatIsFetchedOnceIsToldToBeStale: a run says how many parents changed after
// their details were fetched, and names no new parent, nor one of several that share a detail.
func TestADetailThatIsFetchedOnceIsToldToBeStale(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, p := newMemory(), &provider{n: 4}
			c := once{coarse{shelf: shelf{pairs: pairs}, bytes: map[string]int{}}}
			for turn, of := range []struct {
				changes []string
				n       int
				want    string
			}{
				{nil, 4, ""},
				{nil, 4, ""},
				{[]string{"item-001"}, 4, "1 record of `items` changed after its details were fetched. A detail of `details` is fetched once, so that these stay as they were. To have them fetched again when their records change: `each: …`; the next run then fetches each once more"},
				{[]string{"item-003"}, 6, "2 records of `items` changed after their details were fetched. A detail of `details` is fetched once, so that these stay as they were. To have them fetched again when their records change: `each: …`; the next run then fetches each once more"},
				{nil, 6, ""}, // it was said, and nothing changed since
				{nil, 7, ""},
				{[]string{"item-003"}, 7, "2 records of `items` changed after their details were fetched. A detail of `details` is fetched once, so that these stay as they were. To have them fetched again when their records change: `each: …`; the next run then fetches each once more"},
			} {
				for _, key := range of.changes {
					c.bytes[key]++
				}
				p.n = of.n
				var told []string
				if _, err := do(t, m, p, func(config *runner.Config) {
					config.Connector = c
					config.Observe = func(e collection.Event) {
						if e.Kind == collection.WarningRaised && e.Code == collection.FetchedOnce {
							told = append(told, e.Message)
						}
					}
				}); err != nil {
					t.Fatal(err)
				}
				want := []string{of.want}
				if of.want == "" || pairs {
					want = nil
				}
				if !slices.Equal(told, want) {
					t.Errorf("turn %d, pairs %t: told %q, want %q", turn, pairs, told, want)
				}
				m = m.reopen()
			}
		})
	}
}
