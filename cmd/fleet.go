package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/fleet"
	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) fleetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fleet",
		Short: "The workers, what each does, and what waits",
		Long: `Fleet shows the workers that are there and when each was heard of last; the turns
at work, since when, and until when their leases last; how many turns wait, and
for how long the oldest is due; schedules, and what people ordered last.`,
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
	v, _, err := fleet.Look(ctx, settings.State)
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
	b.WriteString(fleetSentence(v.Summary()) + "\n")
	if len(v.Workers) > 0 {
		t := term.Table{Head: []string{"WORKER", "VERSION", "TURNS", "SINCE", "HEARD OF"}, Right: []int{2}, Give: []int{0}, Drop: []int{1}}
		busy := map[string]int{}
		for _, turn := range v.Turns {
			busy[turn.Worker]++
		}
		for _, w := range v.Workers {
			heard := words.Ago(w.Seen, v.Now)
			if w.Draining {
				heard += ", drains"
			}
			t.Rows = append(t.Rows, []string{words.Clean(w.ID), words.Clean(w.Version), fmt.Sprintf("%d of %d", busy[w.ID], w.AtMost), words.Ago(w.Since, v.Now), heard})
		}
		b.WriteString("\n" + t.Render(a.width(), a.caps()))
	}
	if len(v.Turns) > 0 {
		t := term.Table{Head: []string{"AT WORK", "FOR", "BY", "EPOCH", "LEASE LASTS"}, Right: []int{3}, Give: []int{2, 0}, Drop: []int{3}}
		for _, turn := range v.Turns {
			lease := "-"
			if left := turn.Expires.Sub(v.Now); turn.Epoch > 0 && left > 0 {
				lease = words.Span(left.Round(time.Second)) + ", unless renewed"
			}
			t.Rows = append(t.Rows, []string{words.Clean(turn.Connector), words.Span(v.Now.Sub(turn.Since).Round(time.Second)), words.Clean(turn.Worker), fmt.Sprint(turn.Epoch), lease})
		}
		b.WriteString("\n" + t.Render(a.width(), a.caps()))
	}
	return b.String()
}

// fleetSentence says in a sentence how a fleet stands.
func fleetSentence(s fleet.Summary) string {
	text := fmt.Sprintf("%s, %s at work, %d due", words.Counted(int64(s.Workers), "worker", "workers"), words.Counted(int64(s.AtWork), "turn", "turns"), s.Waiting)
	if s.Waiting > 0 && s.Oldest > 0 {
		text += " (the oldest for " + words.Span(s.Oldest.Round(time.Second)) + ")"
	}
	if s.Later > 0 {
		text += fmt.Sprintf(", %d later (the first %s)", s.Later, words.At(s.Next, s.Now))
	}
	if s.Workers == 0 && s.Waiting > 0 {
		text += ". Nobody works: start a worker with: collect worker"
	}
	return text
}

// fleetLine is what "collect status" says of a fleet beside the store; "" if there is none, or
// if it cannot be looked at, which the rest of the status says.
func (a *app) fleetLine(ctx context.Context, v looked) string {
	db, ok := v.db.(fleet.Asker)
	if !ok {
		return ""
	}
	s, there, err := fleet.Summarize(ctx, db)
	if err != nil || !there {
		return ""
	}
	s.Now = s.Now.In(v.settings.Zone)
	return "\nfleet: " + fleetSentence(s) + "; see: collect fleet" + a.repeat() + "\n"
}
