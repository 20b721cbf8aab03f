package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/engine"
	"collect/fleet"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "When the workers collect which connector",
		Long: `Schedule says when workers collect a connector, as crontab does for one machine.
A connector has one schedule at most.`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.scheduleAddCommand(), a.scheduleListCommand(), a.scheduleRemoveCommand())
	return c
}

func (a *app) scheduleAddCommand() *cobra.Command {
	var s fleet.Schedule
	var catchUp, reason string
	c := &cobra.Command{
		Use:   "add <name> <cron>",
		Short: "Let the workers collect a connector at these times",
		Long: `Add makes a turn of the connector due at the times of a line of crontab(5): minute,
hour, day of the month, month, day of the week (0 and 7 are Sunday, MON-FRI is a
range), or @hourly, @daily and the like, or @every 90m. It replaces the schedule
that the connector has. Times are those of --zone, and of the clock of the database
server. A turn is due up to --jitter later, by chance, so that not all connectors
begin at the same second.

Times at which no worker was there are made up for by one late turn, or with
--catch-up none by none. Who did it, when and why is kept.`,
		Args: exactArgs("<name>", "<cron>"),
		RunE: func(c *cobra.Command, args []string) error {
			s.Connector, s.Cron, s.CatchUp = args[0], args[1], fleet.CatchUp(catchUp)
			return a.scheduleAdd(c.Context(), s, reason)
		},
	}
	flags := c.Flags()
	flags.StringVar(&s.Zone, "zone", "", "the time zone of the times, as `Europe/Berlin` (default: that of the configuration)")
	flags.Var((*config.DurationFlag)(&s.Jitter), "jitter", "begin up to this `duration` later, by chance (default none)")
	flags.StringVar(&catchUp, "catch-up", string(fleet.Once), "after times without a worker: `once` or none")
	flags.StringVar(&reason, "reason", "", "`why`, for the record")
	return c
}

func (a *app) scheduleAdd(ctx context.Context, s fleet.Schedule, reason string) error {
	return a.inFleet(ctx, "collect schedule add", []string{s.Connector}, false, func(_ store.Reader, f *fleet.Fleet, settings config.Settings, _ []string) error {
		if s.Zone == "" {
			s.Zone = settings.Zone.String()
		}
		if err := s.Check(); err != nil {
			return problem.Usage("collect schedule add: %s", err)
		}
		audit := engine.AuditOf(reason)
		s, err := f.Schedule(ctx, s, audit)
		if err != nil {
			return err
		}
		return a.ordered("schedule add", []string{s.Connector}, true, audit, fmt.Sprintf("%s is due next at %s", words.Clean(s.Connector), words.At(s.Next, time.Now().In(settings.Zone))))
	})
}

func (a *app) scheduleRemoveCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "remove <name>",
		Short: "Take the schedule of a connector away",
		Long: `Remove takes the schedule of a connector away. A turn that is due already stays
due. Who did it, when and why is kept.`,
		Args: exactArgs("<name>"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.inFleet(c.Context(), "collect schedule remove", nil, false, func(_ store.Reader, f *fleet.Fleet, _ config.Settings, _ []string) error {
				audit := engine.AuditOf(reason)
				there, err := f.Unschedule(c.Context(), args[0], audit)
				if err != nil {
					return err
				}
				if !there {
					return problem.Usage("%s has no schedule; see: collect schedule list%s", words.Clean(args[0]), a.repeat())
				}
				return a.ordered("schedule remove", args, true, audit, words.Clean(args[0])+" has no schedule any more; a turn that is due stays")
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the record")
	return c
}

func (a *app) scheduleListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "All schedules, and when each is due next",
		Args:  exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.lookAtFleet(c.Context(), "collect schedule list", func(v fleet.View) (any, string) {
				return fleet.ScheduleLines(v.Schedules), a.schedulesText(v)
			})
		},
	}
}

func (a *app) schedulesText(v fleet.View) string {
	if len(v.Schedules) == 0 {
		return "no schedules; one is made by: collect schedule add NAME '0 * * * *'\n"
	}
	t := term.Table{Head: []string{"CONNECTOR", "CRON", "ZONE", "JITTER", "CATCH-UP", "NEXT"}, Give: []int{0}, Drop: []int{3, 4, 2}}
	for _, s := range v.Schedules {
		jitter := "-"
		if s.Jitter > 0 {
			jitter = words.Span(s.Jitter)
		}
		t.Rows = append(t.Rows, []string{words.Clean(s.Connector), s.Cron, s.Zone, jitter, string(s.CatchUp), words.At(s.Next, v.Now)})
	}
	return t.Render(a.width(), a.caps())
}
