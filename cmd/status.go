package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/engine/storage"
	"collect/report"
	"collect/report/problem"
)

// A statusView is how the status is shown.
type statusView struct {
	names              []string // one connector; none: all
	check, watch, wide bool
}

func (a *app) statusCommand() *cobra.Command {
	var o statusView
	c := &cobra.Command{
		Use:   "status [name | file.yaml]",
		Short: "Where each connector stands, what happens next, and who acts",
		Args:  atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			o.names = args
			if o.watch {
				return a.watchStatus(c.Context(), o)
			}
			return a.printStatus(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.check, "check", false, "print nothing; only the exit code says how it stands")
	c.Flags().BoolVar(&o.watch, "watch", false, "draw it anew every 2 s, until q is pressed")
	c.Flags().BoolVar(&o.wide, "wide", false, "all connectors: also the pace, what limits it, the breaker, and who collects")
	return c
}

// statusText returns the status for people.
func (a *app) statusText(o statusView, all []report.Status, now time.Time) string {
	switch {
	case len(o.names) == 1:
		return statusDetail(all[0], now, a.width(), a.caps())
	case o.wide:
		return statusWide(all, now, a.columns(), a.caps())
	}
	return statusTable(all, now, a.width(), a.caps())
}

func (a *app) printStatus(ctx context.Context, o statusView) error {
	return a.look(ctx, o.names, func(v looked) error {
		all, err := a.statuses(ctx, v)
		if err != nil {
			return err
		}
		if !o.check {
			lines, text := report.StatusLines(all, v.now), a.nothingOr(v, a.statusText(o, all, v.now))
			if f, there := fleetOf(ctx, v); there {
				addFleet(lines, f)
				if len(o.names) == 0 {
					text += a.fleetLine(f)
				}
			}
			if len(o.names) == 0 && o.wide && !a.flags.json {
				text += a.careLine(ctx, v)
			}
			return a.result(lines, text)
		}
		if code := report.CheckCode(all, v.now); code != problem.ExitOK {
			return &exitError{code}
		}
		return nil
	})
}

// careLine is what the wide status says of the store; "" if it cannot be looked at, which
// the rest of the status says.
func (a *app) careLine(ctx context.Context, v looked) string {
	if v.db == nil {
		return ""
	}
	care, err := storage.CareOf(ctx, v.settings.State, v.db)
	if err != nil {
		return ""
	}
	return "\n" + strings.Join(term.Wrap("", "store: "+care.Sentence(v.now), a.width()), "\n") + "\n"
}

// statuses returns the status of the connector, or of all of them.
func (a *app) statuses(ctx context.Context, v looked) ([]report.Status, error) {
	if v.db == nil {
		return nil, nil
	}
	all, err := a.meeting(&v.settings).Statuses(ctx, v.db, v.name, v.now)
	for i := range all {
		all[i].Flags = v.flags
	}
	return all, err
}
