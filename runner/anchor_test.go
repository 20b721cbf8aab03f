package runner_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"testing"

	"collect/collection"
	"collect/runner"
)

// anchored is a connector whose walk reads the same pages once more from
// another anchor before it comes to its end, as an ordered one does where many
// records share a mark. With circles it never finds another anchor.
type anchored struct {
	shelf
	circles bool
}

func (anchored) Streams() []collection.Stream {
	return []collection.Stream{{Name: "items", Role: collection.List}}
}

func (a anchored) Slices(_ context.Context, _ *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		const pages = 8
		for {
			n, next := 0, from
			_, _ = fmt.Sscan(from.Token, &n)
			switch next.Token = fmt.Sprint(n + 1); {
			case n+1 < pages:
			case from.High == "" || a.circles:
				next.Token, next.High = "", "again"
			default:
				next = collection.Cursor{Done: true}
			}
			record := collection.Record{Key: fmt.Sprint(n), Data: fmt.Appendf(nil, `{"id":"%d"}`, n)}
			if !yield(collection.Slice{Place: at, From: from, Next: next, Records: []collection.Record{record}}, nil) || next.Done {
				return
			}
			from = next
		}
	}
}

// TestPagesFromAnotherAnchor: pages that come again are no fault where the walk
// was anchored anew, and are one where it turns in circles.
func TestPagesFromAnotherAnchor(t *testing.T) {
	for _, circles := range []bool{false, true} {
		bubble(t, fmt.Sprintf("circles=%t", circles), func(t *testing.T) {
			m := newMemory()
			if _, err := do(t, m, &provider{n: 7}, func(c *runner.Config) { c.Connector = anchored{circles: circles} }); err != nil {
				t.Fatal(err)
			}
			if owes := m.owes(); (len(owes) > 0) != circles {
				t.Errorf("owed: %+v, want gaps %t", owes, circles)
			}
		})
	}
}
