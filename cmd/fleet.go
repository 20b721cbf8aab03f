package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/fleet"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

func (a *app) fleetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fleet",
		Short: "The workers, what each does, and what waits",
		Long: `Fleet shows the workers that are there, when each was heard of last, and which
connectors it leaves to others, as it lacks their file or secret; the turns at
work, since when, and until when their leases last; and the turns that wait, and
for how long they are due; and when schedules want the next turns. With --json
also what people ordered last.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.lookAtFleet(c.Context(), "collect fleet", func(v fleet.View) (any, string) {
				return v.Line(), a.fleetText(v)
			})
		},
	}
}

// lookAtFleet shows something of a fleet.
func (a *app) lookAtFleet(ctx context.Context, command string, show func(v fleet.View) (line any, text string)) error {
	settings, err := a.fleetSettings(command)
	if err != nil {
		return err
	}
	db, err := openThere(ctx, settings)
	if err != nil {
		return a.exit(err, problem.Scene{State: settings.State})
	}
	defer db.Close()
	v, _, err := fleet.Look(ctx, db)
	if err != nil {
		return a.exit(err, problem.Scene{State: settings.State})
	}
	v.Now = v.Now.In(settings.Zone)
	line, text := show(v)
	return a.result(line, text)
}

// fleetText returns a fleet for people.
func (a *app) fleetText(v fleet.View) string {
	var b strings.Builder
	b.WriteString(v.Sentence() + "\n")
	if len(v.Workers) > 0 {
		t := term.Table{Head: []string{"WORKER", "VERSION", "TURNS", "SINCE", "HEARD OF"}, Right: []int{2}, Give: []int{0}, Drop: []int{1}}
		for _, w := range v.Workers {
			heard := words.Ago(w.Seen, v.Now)
			switch {
			case w.Died:
				heard += ", died"
			case w.Draining:
				heard += ", drains"
			}
			t.Rows = append(t.Rows, []string{words.Clean(w.ID), words.Clean(w.Version), fmt.Sprintf("%d of %d", v.Busy(w.ID), w.AtMost), words.Ago(w.Since, v.Now), heard})
		}
		b.WriteString("\n" + t.Render(a.width(), a.caps()))
		for _, w := range v.Workers {
			for _, line := range w.Leaves() {
				b.WriteString(strings.Join(term.Wrap("", line, a.width()), "\n") + "\n")
			}
		}
	}
	if len(v.Turns) > 0 {
		t := term.Table{Head: []string{"AT WORK", "FOR", "BY", "EPOCH", "LEASE LASTS"}, Right: []int{3}, Give: []int{2, 0}, Drop: []int{3}}
		for _, turn := range v.Turns {
			lease := "-"
			if left := v.Lease(turn); left > 0 {
				lease = words.Span(left.Round(time.Second)) + ", unless renewed"
			}
			t.Rows = append(t.Rows, []string{words.Clean(turn.Connector), words.Span(v.Now.Sub(turn.Since).Round(time.Second)), words.Clean(turn.Worker), fmt.Sprint(turn.Epoch), lease})
		}
		b.WriteString("\n" + t.Render(a.width(), a.caps()))
	}
	if len(v.Waits) > 0 {
		t := term.Table{Head: []string{"WAITS", "DUE"}}
		for _, w := range v.Waits[:min(len(v.Waits), waitsShown)] {
			due := words.At(w.Due, v.Now)
			if !w.Due.After(v.Now) {
				due = "for " + words.Span(v.Now.Sub(w.Due).Round(time.Second))
			}
			t.Rows = append(t.Rows, []string{words.Clean(w.Connector), due})
		}
		b.WriteString("\n" + t.Render(a.width(), a.caps()))
		if more := len(v.Waits) - waitsShown; more > 0 {
			fmt.Fprintf(&b, "and %s more: collect fleet --json%s\n", words.Count(int64(more)), a.repeat())
		}
	}
	b.WriteString(a.scheduledText(v.Schedules, v.Now))
	return b.String()
}

// waitsShown is how many of the turns that wait, and of the schedules, are listed for people.
const waitsShown = 20

// scheduledText says when schedules want the next turns, the soonest first; "" if there are none.
func (a *app) scheduledText(all []fleet.Schedule, now time.Time) string {
	if len(all) == 0 {
		return ""
	}
	t := term.Table{Head: []string{"SCHEDULED", "NEXT TURN"}, Give: []int{0}}
	all = slices.SortedStableFunc(slices.Values(all), func(s, t fleet.Schedule) int { return s.Next.Compare(t.Next) })
	for _, s := range all[:min(len(all), waitsShown)] {
		t.Rows = append(t.Rows, []string{words.Clean(s.Connector), words.At(s.Next, now)})
	}
	text := "\n" + t.Render(a.width(), a.caps())
	if more := len(all) - waitsShown; more > 0 {
		text += fmt.Sprintf("and %s more: collect schedule list%s\n", words.Count(int64(more)), a.repeat())
	}
	return text
}

// fleetOf returns the fleet beside the database that is looked at; there is false if there is
// none, or if it cannot be looked at, which the rest of the status says.
func fleetOf(ctx context.Context, v looked) (f fleet.View, there bool) {
	if v.db == nil {
		return f, false
	}
	f, there, err := fleet.Look(ctx, v.db)
	f.Now = f.Now.In(v.now.Location())
	return f, there && err == nil
}

// fleetLine is what "collect status" says of a fleet.
func (a *app) fleetLine(f fleet.View) string {
	return "\nfleet: " + f.Sentence() + "; see: collect fleet" + a.repeat() + "\n"
}

// addFleet says of each connector what the workers of a fleet do with it.
func addFleet(lines []report.StatusLine, f fleet.View) {
	of := map[string]*report.FleetLine{}
	for i := range lines {
		lines[i].Fleet = &report.FleetLine{}
		of[lines[i].Connector] = lines[i].Fleet
	}
	for _, t := range f.Turns {
		if l := of[t.Connector]; l != nil {
			l.Worker, l.Since, l.Expires = jsonout.Text(t.Worker), jsonout.Time(t.Since), jsonout.Time(t.Expires)
		}
	}
	for _, w := range f.Waits {
		if l := of[w.Connector]; l != nil {
			l.Due = jsonout.Time(w.Due)
		}
	}
	for _, s := range f.Schedules {
		if l := of[s.Connector]; l != nil {
			l.Scheduled = jsonout.Time(s.Next)
		}
	}
}
