package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"collect/report"
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
				}
				text := statusTable(all, v.now, a.width(), a.caps())
				if len(args) == 1 {
					text = statusDetail(all[0], v.now, a.width(), a.caps())
				}
				return a.result(report.StatusLines(all, v.now), text)
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
	all, err := a.meeting(&v.settings).Statuses(ctx, v.db, names, v.now)
	for i := range all {
		all[i].Flags = v.flags
	}
	return all, err
}
