package cmd

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"collect/cmd/internal/term"
	"collect/engine"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// operatorOptions are the flags of every change that an operator makes to what
// is remembered of a provider.
type operatorOptions struct {
	name    string
	reason  string
	yes     bool
	noInput bool
}

func (o *operatorOptions) addFlags(c *cobra.Command) {
	flags := c.Flags()
	reasonFlag(flags, &o.reason)
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.noInput, "no-input", false, "never ask: without --yes, change nothing")
}

// reasonFlag adds --reason. Every command that changes by hand what is stored or
// remembered needs it: it is kept with who did it and when.
func reasonFlag(flags *pflag.FlagSet, reason *string) {
	flags.StringVar(reason, "reason", "", "`why`, for the record (required)")
}

// needReason refuses a command that was given no reason.
func needReason(command, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return problem.Usage("%s: missing --reason", command)
	}
	return nil
}

// give carries out an order on the account that the newest run of a connector
// used. Runs that use it now obey at once and record it themselves.
func (a *app) give(ctx context.Context, o operatorOptions, what engine.AccountOrder) error {
	return a.giveAs(ctx, o, what.Command, func(context.Context, engine.Meeting, store.Reader, string, time.Time) (engine.AccountOrder, error) {
		return what, nil
	})
}

// An orderMaker makes an order on the account of a connector of how things stand.
type orderMaker func(context.Context, engine.Meeting, store.Reader, string, time.Time) (engine.AccountOrder, error)

// giveAs carries out an order that is made of how things stand.
func (a *app) giveAs(ctx context.Context, o operatorOptions, command string, made orderMaker) error {
	if err := needReason("collect "+command, o.reason); err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	meeting, audit := a.meeting(&settings), engine.AuditOf(o.reason)
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		what, err := made(ctx, meeting, db, name, time.Now().In(settings.Zone))
		if err != nil {
			return err
		}
		given, err := meeting.Prepare(ctx, db, name, o.name, audit, what.Order)
		if err != nil {
			return err
		}
		if !given.Changes {
			return a.ordered(command, []string{name}, false, audit, fmt.Sprintf(what.Idle+"; nothing was changed", given.Provider))
		}
		if err := a.agree(ctx, o, fmt.Sprintf(what.Means, given.Provider)); err != nil {
			return err
		}
		// While a person thinks, runs begin and end.
		if given, err = meeting.Prepare(ctx, db, name, o.name, audit, what.Order); err != nil {
			return err
		}
		note, err := meeting.CarryOut(ctx, db, given)
		if err != nil {
			return err
		}
		if note != nil {
			a.inform("note: ", fmt.Sprintf("runs with another database learn of it when %s runs next: %s", o.name, words.Cause(note)))
		}
		return a.ordered(command, []string{name}, true, audit, fmt.Sprintf(what.Done, given.Provider, name, a.repeat()))
	})
}

// mustNotAsk reports whether no question may be asked, even where a person is.
func (a *app) mustNotAsk(o operatorOptions) bool {
	return o.noInput || term.Truthy(a.env("COLLECT_NO_INPUT"))
}

// agree asks a person whether to go on. Without a terminal, --yes must
// have said so.
func (a *app) agree(ctx context.Context, o operatorOptions, means string) error {
	if o.yes {
		return nil
	}
	if !a.terminal || a.mustNotAsk(o) {
		return problem.Usage("not confirmed; nothing was changed. No terminal: add --yes")
	}
	a.inform("", means)
	fmt.Fprint(a.err, "Go on? [y/N] ")
	line, err := a.reply(ctx)
	if err != nil {
		fmt.Fprintln(a.err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return problem.Usage("not confirmed; nothing was changed")
}

// reply returns the line that a person types, until ctx ends.
func (a *app) reply(ctx context.Context) (string, error) {
	return userfile.Await(ctx, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
}
