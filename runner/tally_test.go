package runner_test

import (
	"context"
	"iter"
	"net/http"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// spoiled is a shelf whose first note on each item is no record.
type spoiled struct{ shelf }

func (s spoiled) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for slice, err := range s.shelf.Slices(ctx, client, at, from) {
			if at.Stream == "notes" && slice.From.Token == "" && len(slice.Records) > 0 {
				slice.Rejected = append(slice.Rejected, collection.Rejected{Data: slice.Records[0].Data, Reason: "no_key"})
				slice.Records = slice.Records[1:]
			}
			if !yield(slice, err) {
				return
			}
		}
	}
}

// TestTallyIsWhatWasDone: a run tells as much as was stored, the rejected
// records with the others; it tells the gaps that it left, and the run that
// fills them as many.
func TestTallyIsWhatWasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		run, err := do(t, m, p, func(c *runner.Config) { c.Connector = spoiled{} })
		if err != nil {
			t.Fatal(err)
		}
		// 3 pages of items, one for each detail, two of notes on each.
		if got := run.Tally; got.Slices != 3+7+14 || got.Records != 7+7+21 || got.Rejected != 7 || got.GapsOpen != 0 || got.GapsShut != 0 {
			t.Errorf("the tally is %+v, want 24 slices of 35 records, 7 of them rejected, and no gap", got)
		}

		m = newMemory()
		run, err = do(t, m, p, func(c *runner.Config) {
			c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 6})
		})
		if err != nil {
			t.Fatal(err)
		}
		owed := int64(len(m.owes()))
		if got := run.Tally; got.GapsOpen != owed || owed == 0 || got.GapsShut != 0 || got.Slices != 6 {
			t.Errorf("the tally is %+v, %d gaps are owed", got, owed)
		}
		run, err = do(t, m.reopen(), p, func(c *runner.Config) { c.Run.Mode = collection.Resume })
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Tally; got.GapsShut != owed || got.GapsOpen != 0 {
			t.Errorf("the tally of the run that fills them is %+v, want %d gaps shut", got, owed)
		}
	})
}
