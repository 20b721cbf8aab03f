package runner_test

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// edited is a shelf whose file says something else in each edition, so that the
// cursors of another edition mean nothing.
type edited struct {
	shelf
	edition string
}

func (e edited) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for slice, err := range e.shelf.Slices(ctx, client, at, from) {
			slice.From = from
			slice.Next.Meaning = e.edition
			if from = slice.Next; !yield(slice, err) {
				return
			}
		}
	}
}

func (e edited) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	next := e.shelf.Ahead(at, from, n)
	for i := range next {
		next[i].Meaning = e.edition
	}
	return next
}

func (e edited) Restart(_ collection.Place, from collection.Cursor) (collection.Cursor, bool) {
	if from.Meaning == "" || from.Meaning == e.edition {
		return from, false
	}
	return collection.Cursor{}, true
}

// edition returns the settings of a run by a connector of that edition, and what
// that run warned of.
func edition(name string, limits pacing.BudgetLimits) (set func(*runner.Config), warned func() int) {
	n := 0
	return func(c *runner.Config) {
		c.Connector, c.Budget = edited{shelf{ahead: true}, name}, pacing.NewBudget(limits)
		c.Observe = func(e collection.Event) {
			if e.Kind == collection.WarningRaised && strings.HasSuffix(e.Message, "starts over") {
				n++
			}
		}
	}, func() int { return n }
}

// TestAnEditedConnectorBeginsAnew: a walk whose cursor lost its meaning begins
// anew, whether it was under way or finished, and nothing is complete before.
func TestAnEditedConnectorBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 9}
		first, _ := edition("1", pacing.BudgetLimits{MaxRequests: 1})
		if _, err := do(t, m, p, first); err != nil {
			t.Fatal(err)
		}
		second, warned := edition("2", pacing.BudgetLimits{})
		if _, err := do(t, m.reopen(), p, second); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		if got := p.askedFor("/items/?page="); got != 2 || warned() != 1 {
			t.Errorf("page 1 of items was asked for %d times, with %d warnings; want 2 and 1", got, warned())
		}

		// Finished, each place is walked again, and a run that is cut short says so.
		third, _ := edition("3", pacing.BudgetLimits{MaxRequests: 4})
		run, err := do(t, m.reopen(), p, third)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := collection.OutcomeOf(run, m.owes()), collection.Deferred; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
		rest, warned := edition("3", pacing.BudgetLimits{})
		if _, err := do(t, m.reopen(), p, rest); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		if got := p.askedFor("/details/item-003?page="); got != 2 || warned() != 2 {
			t.Errorf("a detail was asked for %d times, with %d warnings; want 2, and one for each stream of partitions", got, warned())
		}
	})
}

// TestAGapOfAnEditedConnector: a page that is owed behind the checkpoint is
// another one after the edit, so that only a whole walk fills its gap.
func TestAGapOfAnEditedConnector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 12}
		p.fail("/items/?page=1", http.StatusOK) // not JSON
		first, _ := edition("1", pacing.BudgetLimits{})
		if _, err := do(t, m, p, first); err != nil {
			t.Fatal(err)
		}
		if got := len(m.owes()); got != 1 {
			t.Fatalf("%d gaps are owed, want one behind the walk", got)
		}
		p.mend()
		p.asked = nil
		second, _ := edition("2", pacing.BudgetLimits{})
		if _, err := do(t, m.reopen(), p, func(c *runner.Config) {
			second(c)
			c.Run.Mode = collection.Resume
		}); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		if i, j := slices.Index(p.asked, "/items/?page="), slices.Index(p.asked, "/items/?page=1"); i < 0 || j < i {
			t.Errorf("asked for %q, want a walk from its start", p.asked[:4])
		}
	})
}

// TestAGapThatAWalkLeavesBehindHasItsNumber, which is what commands take.
func TestAGapThatAWalkLeavesBehindHasItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 12}
		p.fail("/items/?page=1", http.StatusOK) // not JSON
		var told []int64
		if _, err := do(t, m, p, func(c *runner.Config) {
			c.Connector = shelf{ahead: true}
			c.Observe = func(e collection.Event) {
				if e.Kind == collection.GapOpened {
					told = append(told, e.Gap.ID)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if owes := m.owes(); len(owes) != 1 || !slices.Equal(told, []int64{owes[0].ID}) {
			t.Errorf("told of gaps %v, and %+v are owed", told, owes)
		}
	})
}
