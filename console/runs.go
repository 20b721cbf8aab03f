package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// runsOnPage is how many runs are shown at once.
const runsOnPage = 50

// A runRow is a run in a list.
type runRow struct {
	collection.Run
	now time.Time
}

// Took says how long it took, or takes.
func (r runRow) Took() string {
	switch {
	case !r.EndedAt.IsZero():
		return words.Span(r.EndedAt.Sub(r.StartedAt).Round(time.Second))
	case r.Outcome == collection.Running:
		return words.Span(max(0, r.now.Sub(r.StartedAt)).Round(time.Second))
	}
	return "?"
}

// OutcomeWords says how it ended: paused, nothing new.
func (r runRow) OutcomeWords() string { return report.OutcomeWords(r.Outcome) }

// Why says briefly why it stopped before its end; "" if it did not.
func (r runRow) Why() string {
	if r.Reason == "" {
		return report.BrokeWords(r.Run)
	}
	return problem.Brief(r.Reason)
}

// A runsPage is a part of the list of runs, newest first.
type runsPage struct {
	Runs  []runRow
	From  int // of the first that is shown
	Older int // of the first that is not; 0: there is none
}

func runs(ctx context.Context, l lookup) (any, error) {
	page := runsPage{}
	if l.db == nil {
		return page, nil
	}
	page.From = offset(l)
	found, err := report.Runs(ctx, l.db, "", page.From+runsOnPage+1)
	if err != nil {
		return nil, err
	}
	for _, r := range found[min(page.From, len(found)):] {
		page.Runs = append(page.Runs, runRow{r, l.now})
	}
	if len(page.Runs) > runsOnPage {
		page.Runs, page.Older = page.Runs[:runsOnPage], page.From+runsOnPage
	}
	return page, nil
}

// rateOfRun draws how fast a run asked; nil if nothing is known of it.
func rateOfRun(r collection.Run, events []collection.Event) *drawing {
	end := r.EndedAt
	if end.IsZero() {
		end = r.SeenAt()
	}
	past := report.Past{From: r.StartedAt, To: end, Runs: []collection.Run{r}, Events: events}
	return rate(past, nil)
}

// offset is how many rows the page leaves out at the top.
func offset(l lookup) int {
	n, err := strconv.Atoi(l.FormValue("from"))
	if err != nil || n < 0 || n > 1e6 {
		return 0
	}
	return n
}

// eventsShown is how many of the events of a run are shown.
const eventsShown = 200

// A runPage is all there is to say of one run.
type runPage struct {
	report.Summary
	Row    runRow
	Parts  []report.TimePart
	Stack  *drawing           // of the parts; nil: there are none
	Events []collection.Event // of the run, newest first, without commits
	Cut    bool               // there are more
	Rate   *drawing           // of the run; nil: nothing is known of it
}

func (p runPage) Title() string { return "Run " + p.Summary.Run }

// EventWords says what happened.
func (runPage) EventWords(e collection.Event) string { return report.EventWords(e) }

func run(ctx context.Context, l lookup) (any, error) {
	id := l.PathValue("id")
	var r store.RunState
	there := false
	if l.db != nil {
		var err error
		if r, there, err = report.RunOf(ctx, l.db, id); err != nil {
			return nil, err
		}
	}
	if !there {
		return nil, &unknownError{
			What: fmt.Sprintf("There is no run %q here", words.Clean(id)),
			Why:  "Old runs may have been removed by collect prune.",
			Do:   []step{{Say: "see the newest runs", Href: l.server.path("runs")}},
		}
	}
	count, all, err := l.db.Totals(ctx, r.Connector)
	if err != nil {
		return nil, err
	}
	page := runPage{Row: runRow{r.Run, l.now}, Events: slices.Clone(r.Events)}
	slices.Reverse(page.Events)
	page.Cut = len(page.Events) > eventsShown
	page.Events = first(page.Events, eventsShown)
	page.Summary = report.SummaryOf(r.Run, nil, count, all)
	page.Summary.Now, page.Summary.Flags = l.now, l.server.Flags
	page.Parts = page.Summary.TimeParts()
	page.Stack = stack(page.Row.Took(), page.Parts)
	page.Rate = rateOfRun(r.Run, r.Events)
	return page, nil
}
