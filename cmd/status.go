package cmd

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/engine"
	"collect/internal/jsonout"
	"collect/pacing/gate"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
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
					if code := checkCode(all, v.now); code != problem.ExitOK {
						return &exitError{code}
					}
					return nil
				case a.flags.json:
					return jsonout.Print(a.out, statusJSON(all, v.now))
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

// gapsShown is how many gaps a person is shown; --json and --all have no bound.
const gapsShown = 40

func (a *app) gapsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:        "gaps [name | file.yaml]",
		Short:      "What is owed, and why",
		Args:       gapsOrShow,
		SuggestFor: []string{"retry", "revive"},
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				gaps, err := v.gaps(c.Context())
				if err != nil {
					return err
				}
				if a.flags.json {
					return jsonout.Print(a.out, gapsJSON(gaps))
				}
				most := gapsShown
				if all {
					most = 0
				}
				fmt.Fprint(a.out, gapsTable(v, gaps, most, a.width(), a.caps()))
				return nil
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show every gap")
	c.AddCommand(a.gapsRetryCommand())
	return c
}

func (a *app) runsCommand() *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:   "runs [name | file.yaml]",
		Short: "The newest runs",
		Args:  atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				runs, err := v.runs(c.Context(), limit)
				if err != nil {
					return err
				}
				for i := range runs {
					if engine.Died(runs[i]) {
						runs[i].Outcome = collection.Abandoned
					}
				}
				if a.flags.json {
					return jsonout.Print(a.out, runsJSON(runs))
				}
				fmt.Fprint(a.out, runsTable(v.name, runs, v.now, a.width(), a.caps()))
				return nil
			})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", limit, "show at most `n` runs")
	return c
}

func (v looked) gaps(ctx context.Context) ([]store.OwnedGap, error) {
	if v.db == nil {
		return nil, nil
	}
	return v.db.Gaps(ctx, v.name)
}

// statuses returns the status of the connector, or of all of them.
func (a *app) statuses(ctx context.Context, v looked) ([]connectorStatus, error) {
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
	var all []connectorStatus
	for _, name := range names {
		s, err := statusOf(ctx, v.db, name, v.now)
		if err != nil {
			return nil, err
		}
		s.Flags = v.flags
		pace, known, shared, err := a.paceOf(ctx, v, s.newest())
		if err != nil {
			return nil, err
		}
		if known && shared {
			s.Account = accountOf(s.newest().Domain, pace, v.now)
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

// statusOf reads what the store knows of a connector.
func statusOf(ctx context.Context, db store.Reader, name string, now time.Time) (s connectorStatus, err error) {
	s.Name = name
	if s.Streams, err = db.Streams(ctx, name); err != nil {
		return s, err
	}
	if s.Owed, err = db.Gaps(ctx, name); err != nil {
		return s, err
	}
	if s.Runs, err = db.Runs(ctx, name, 1); err != nil || len(s.Runs) == 0 {
		return s, err
	}
	if engine.Died(s.Runs[0]) {
		s.Runs[0].Outcome = collection.Abandoned // as the next run will find
	}
	if s.Count, s.All, err = db.Totals(ctx, name); err != nil {
		return s, err
	}
	if s.Runs[0].Metrics, err = metricsOf(ctx, db, s.Runs[0]); err != nil {
		return s, err
	}
	state, err := db.Provider(ctx, s.Runs[0].Domain)
	if err != nil || state == nil {
		return s, err
	}
	// A state that cannot be read is a cold start for a run, and nothing known
	// for a reader.
	if pace, err := gate.Inspect(state, now); err == nil {
		s.Account = accountOf(s.Runs[0].Domain, pace, now)
	}
	return s, nil
}

// accountOf describes what is known of the pace with an account, for people.
func accountOf(domain string, pace gate.Status, now time.Time) *accountStatus {
	provider, _, _ := strings.Cut(domain, "/")
	a := &accountStatus{Provider: provider, Learned: pace.Learned, Forced: pace.Forced, Frozen: pace.Frozen, Pace: pace}
	if pace.Ceiling != nil {
		a.Ceiling = *pace.Ceiling
	}
	if pace.Breaker != "closed" {
		a.Breaker, a.Failure = pace.Breaker, pace.Failure
	}
	for _, k := range pace.Constraints {
		soon := k.Until.Sub(now) <= shortWait && (k.Name == gate.CeilingOf || k.Name == gate.ReserveOf)
		if k.Route == "" && k.Until.After(a.Until) && !soon {
			a.Until, a.Cause = k.Until, waitCauseOf[k.Name]
		}
	}
	return a
}

// waitCauseOf names the wait that each constraint makes.
var waitCauseOf = map[gate.Bound]collection.WaitCause{
	gate.HoldOf: collection.WaitRetryAfter, gate.BreakerOf: collection.WaitBreaker,
	gate.CeilingOf: collection.WaitWindow, gate.ReserveOf: collection.WaitReserve,
}

func (v looked) runs(ctx context.Context, n int) ([]collection.Run, error) {
	if v.db == nil {
		return nil, nil
	}
	return v.db.Runs(ctx, v.name, n)
}
