package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

func (a *app) planCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "plan <name | file.yaml>",
		Short: "Say what the next run would do, without a request",
		Long: `Plan says of each stream from where the next run would go on, which gaps it would
try again, and at what pace. It sends nothing and changes nothing. Windows of time
and parents are counted. How many pages a list has is not known before it is
walked, and how often a window is halved is not, either.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error { return a.plan(c.Context(), args[0]) },
	}
}

func (a *app) plan(ctx context.Context, name string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	target, spec, err := settings.Find(ctx, name)
	if err != nil {
		return err
	}
	var e report.Explanation
	wanted := map[string]int64{} // of the parents of a stream that asks for something of some of them only
	err = a.look(ctx, []string{name}, func(v looked) error {
		if e, err = a.gather(ctx, v); err != nil {
			return err
		}
		for _, s := range spec.Streams(target.Streams) {
			wants := spec.Wants(s.Name, target.Params)
			if wants == nil {
				continue
			}
			wanted[s.Name] = 0
			for parent, err := range v.db.Records(ctx, v.name, s.Parent) {
				if err != nil {
					return err
				}
				if parent.DeletedAt.IsZero() && wants(parent.Data) {
					wanted[s.Name]++
				}
			}
		}
		return nil
	})
	if unknown, ok := errors.AsType[*problem.UnknownConnectorError](err); ok && unknown.Name == target.Name {
		e, err = report.Explanation{}, nil // it never ran
	}
	if err != nil {
		return err
	}
	now := time.Now()
	plan := report.PlanOf(e, spec.Streams(target.Streams), collection.Incremental, wanted, func(stream string, at store.LaneState) *report.PlannedWindows {
		if cut, ok := spec.Cut(stream, target.Params, at.Since, at.Complete, now); ok {
			return &report.PlannedWindows{Count: cut.Windows, Seconds: cut.Width.Seconds(), Cap: cut.Cap}
		}
		return nil
	})
	if a.flags.json {
		return a.print(plan)
	}
	t := term.Table{Head: []string{"STREAM", "OF EACH", "GOES ON FROM", "AHEAD", "SAVED", "GAPS", "LATER"}, Right: []int{4, 5, 6}, Give: []int{2, 3, 0}, Drop: []int{6, 1, 4}}
	for _, s := range plan.Streams {
		t.Rows = append(t.Rows, []string{s.Stream, s.Parent, s.Begins, s.Ahead(), words.Count(s.Records), words.Count(int64(s.Gaps)), words.Count(int64(s.Later))})
	}
	fmt.Fprint(a.out, t.Render(a.width(), a.caps())+"\n")
	var pace []string
	if plan.Pace != nil {
		pace = append(pace, "learned pace: "+words.Rate(*plan.Pace))
	}
	for _, c := range fewest(spec.Provider(settings.Overrides(spec.ProviderName())).Ceilings) {
		pace = append(pace, "at most "+words.Ceiling(c))
	}
	if len(pace) == 0 {
		pace = append(pace, "the pace is learned by the first run")
	}
	page := term.Page{Columns: a.width()}
	if plan.Held != nil {
		page.Say("the next run sends nothing: " + *plan.Held + ". To end that: " + *plan.End)
	}
	page.Say(strings.Join(pace, "; "))
	if at := time.Time(plan.NextAt); !at.IsZero() {
		page.Say("no request leaves before " + words.At(at, e.Now))
	}
	least := "at least "
	if plan.Held != nil {
		least = "the run after that sends at least "
	}
	least += words.Counted(plan.Least, "request", "requests")
	if plan.Seconds != nil {
		least += ", which " + map[bool]string{true: "takes ", false: "take "}[plan.Least == 1] + words.Span(time.Duration(*plan.Seconds*float64(time.Second))) + " at this pace"
	}
	page.Say(least + ": how many pages a list or a window has is not known before it is read")
	_, err = fmt.Fprint(a.out, page.Render(a.caps()))
	return err
}

// fewest returns ceilings with one for each length of a window: of two, the lower one holds,
// whichever file declares it.
func fewest(all []collection.Ceiling) (kept []collection.Ceiling) {
	for _, c := range all {
		i := slices.IndexFunc(kept, func(k collection.Ceiling) bool { return k.Per == c.Per })
		switch {
		case i < 0:
			kept = append(kept, c)
		case c.Count < kept[i].Count:
			kept[i] = c
		}
	}
	return kept
}
