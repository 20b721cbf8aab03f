package cmd

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/pacing/gate"
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
	flags.StringVar(&o.reason, "reason", "", "why, for the record; required")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.noInput, "no-input", false, "never ask: without --yes, change nothing")
}

// An order is one such change.
type order struct {
	command string
	means   string // what it will do; %s is the provider
	done    string // what it did, and what ends it; %[1]s is the provider, %[2]s the connector
	idle    string // why it changed nothing; %s is the provider

	// apply returns the new state and the events to save with it, or no events
	// if nothing changes. See package gate.
	apply func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error)

	// refuse says why the order must not be given as things stand; "" if it
	// may. nil: it always may.
	refuse func(gate.Status) string
}

// give carries out an order on the account that the newest run of a connector
// used. It refuses while a run uses that account: the run would not hear of
// it, and would overwrite it when it saves.
func (a *app) give(ctx context.Context, o operatorOptions, what order) error {
	if strings.TrimSpace(o.reason) == "" {
		return &usageError{what.command + ": missing --reason"}
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		domain, state, err := accountOfNewest(ctx, db, name)
		if err != nil {
			return err
		}
		provider, _, _ := strings.Cut(domain, "/")
		provider = clean(provider)
		now := time.Now()
		if what.refuse != nil && state != nil {
			st, err := gate.Inspect(state, now)
			if err != nil {
				return err
			}
			if why := what.refuse(st); why != "" {
				return &usageError{fmt.Sprintf("nothing was changed: "+why, provider)}
			}
		}
		next, events, err := what.apply(state, now, o.reason)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			fmt.Fprintf(a.err, what.idle+"; nothing was changed\n", provider)
			return nil
		}
		if err := a.agree(o, fmt.Sprintf(what.means, provider)); err != nil {
			return err
		}
		for i := range events {
			events[i].Provider = provider
		}
		audit := store.Audit{Who: whoami(), Why: clean(o.reason), Holder: thisProcess()}
		if err := db.Override(ctx, name, domain, next, audit, events...); err != nil {
			return err
		}
		a.spread(ctx, o.name, next)
		fmt.Fprintf(a.err, what.done+"\n", provider, name)
		return nil
	})
}

// accountOfNewest returns the pacing domain that the newest run of a connector
// used, with its state; nil if nothing is known of it. It fails with a
// *busyError if a run of any connector uses it now.
func accountOfNewest(ctx context.Context, db store.Store, name string) (domain string, state []byte, err error) {
	runs, err := db.Runs(ctx, name, 1)
	if err != nil {
		return "", nil, err
	}
	if len(runs) == 0 {
		return "", nil, &usageError{name + " never ran, so it is not known which account it uses"}
	}
	domain = runs[0].Domain
	names, err := db.Connectors(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, other := range names {
		newest, err := db.Runs(ctx, other, 1)
		if err != nil {
			return "", nil, err
		}
		if len(newest) == 1 && newest[0].Domain == domain && newest[0].Outcome == collection.Running && !died(newest[0]) {
			return "", nil, &busyError{newest[0]}
		}
	}
	state, err = db.Provider(ctx, domain)
	return domain, state, err
}

// A busyError says which run must end before its account can be changed.
type busyError struct{ Run collection.Run }

func (e *busyError) Error() string {
	return fmt.Sprintf("run %s of %s uses this account (pid %d on %s)", e.Run.ID, e.Run.Connector, e.Run.Holder.PID, e.Run.Holder.Host)
}

// agree asks a person whether to go on. Where nobody can be asked, --yes must
// have said so.
func (a *app) agree(o operatorOptions, means string) error {
	if o.yes {
		return nil
	}
	if !a.terminal || o.noInput || truthy(a.env("COLLECT_NO_INPUT")) {
		return &usageError{"not confirmed; nothing was changed. No terminal: add --yes"}
	}
	fmt.Fprintf(a.err, "%s\nGo on? [y/N] ", means)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &usageError{"not confirmed; nothing was changed"}
}
