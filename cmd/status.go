package cmd

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
)

func (a *app) statusCommand() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "status [name | file.yaml]",
		Short: "Where each connector stands, what happens next, and who acts",
		Args:  atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				all, err := a.statuses(c.Context(), v)
				switch {
				case err != nil:
					return err
				case check:
					if code := report.CheckCode(all, v.now); code != problem.ExitOK {
						return &exitError{code}
					}
					return nil
				case a.flags.json:
					return jsonout.Print(a.out, report.StatusLines(all, v.now))
				case len(args) == 1:
					fmt.Fprint(a.out, statusDetail(all[0], v.now, a.width(), a.caps()))
				default:
					fmt.Fprint(a.out, statusTable(all, v.now, a.width(), a.caps()))
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&check, "check", false, "print nothing; only the exit code says how it stands")
	return c
}

// statuses returns the status of the connector, or of all of them.
func (a *app) statuses(ctx context.Context, v looked) ([]report.Status, error) {
	if v.db == nil {
		return nil, nil
	}
	names := []string{v.name}
	if v.name == "" {
		var err error
		if names, err = v.db.Connectors(ctx); err != nil {
			return nil, err
		}
	}
	var all []report.Status
	for _, name := range names {
		s, err := report.StatusOf(ctx, v.db, name, v.now)
		if err != nil {
			return nil, err
		}
		s.Flags = v.flags
		pace, known, shared, err := a.paceOf(ctx, v, s.Newest())
		if err != nil {
			return nil, err
		}
		if known && shared {
			s.Account = report.AccountOf(s.Newest().Domain, pace, v.now)
			s.Account.Shared = true
		}
		if entry, configured := v.settings.Entries[name]; configured {
			s.Selected = entry.Streams
		}
		all = append(all, s)
	}
	return all, nil
}

// paceOf returns how things stand with the account that a run used: as the
// database has it, or as the runs that share the account left it, if that is newer
// and says something else. One that cannot be read is nothing known.
func (a *app) paceOf(ctx context.Context, v looked, run collection.Run) (pace gate.Status, known, shared bool, err error) {
	if run.ID == "" {
		return pace, false, false, nil
	}
	state, err := v.db.Provider(ctx, run.Domain)
	if err != nil {
		return pace, false, false, err
	}
	if state != nil {
		pace, err = gate.Inspect(state, v.now)
		known = err == nil
	}
	others := a.meeting(&v.settings).Kept(ctx, v.db, run)
	if bytes.Equal(gate.Newest(state, others), state) {
		return pace, known, false, nil
	}
	if told, err := gate.Inspect(others, v.now); err == nil && !(known && limit.Same(&pace, &told, v.now)) {
		return told, true, true, nil
	}
	return pace, known, false, nil
}
