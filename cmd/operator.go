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
	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report/problem"
	"collect/store"
	"collect/store/sqlite"
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

// An order is one such change.
type order struct {
	command string
	means   string // what it will do; %s is the provider
	done    string // what it did, and what ends it; %[1]s is the provider, %[2]s the connector, %[3]s what commands repeat
	idle    string // why it changed nothing; %s is the provider

	// apply returns the new state and the events to save with it, or no events
	// if nothing changes. See package gate.
	apply func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error)

	// refuse says why the order must not be given as things stand; "" if it
	// may. nil: it always may.
	refuse func(gate.Status) string
}

// give carries out an order on the account that the newest run of a connector
// used. Runs that use it now obey at once and record it themselves: see
// [app.reach].
func (a *app) give(ctx context.Context, o operatorOptions, what order) error {
	if err := needReason(what.command, o.reason); err != nil {
		return err
	}
	return a.change(ctx, o.name, func(db *sqlite.Store, name string) error {
		given, err := a.prepare(ctx, db, name, o, what)
		if err != nil {
			return err
		}
		provider := given.used.provider()
		if len(given.events) == 0 {
			fmt.Fprintf(a.err, what.idle+"; nothing was changed\n", provider)
			return nil
		}
		if err := a.agree(o, fmt.Sprintf(what.means, provider)); err != nil {
			return err
		}
		// While a person thinks, runs begin and end.
		if given, err = a.prepare(ctx, db, name, o, what); err != nil {
			return err
		}
		if err := a.carryOut(ctx, db, name, o, given); err != nil {
			return err
		}
		fmt.Fprintf(a.err, what.done+"\n", provider, name, a.repeat())
		return nil
	})
}

// A givenOrder is an order with what it makes of the account as it is now.
type givenOrder struct {
	used   accountInUse
	state  []byte
	events []collection.Event // none: it changes nothing
}

func (a *app) prepare(ctx context.Context, db store.Store, name string, o operatorOptions, what order) (givenOrder, error) {
	used, err := accountOfNewest(ctx, db, name)
	if err != nil {
		return givenOrder{}, err
	}
	state, err := a.stateNow(ctx, db, o.name, &used)
	if err != nil {
		return givenOrder{}, err
	}
	now := time.Now()
	if what.refuse != nil && state != nil {
		st, err := gate.Inspect(state, now)
		if err != nil {
			return givenOrder{}, err
		}
		if why := what.refuse(st); why != "" {
			return givenOrder{}, problem.Usage("nothing was changed: "+why, used.provider())
		}
	}
	next, events, err := what.apply(state, now, o.reason)
	return givenOrder{used, next, events}, err
}

// stateNow returns what is remembered of an account: by the runs that use it,
// or else by the database, or by those who share it with other databases if
// they heard of something since. That is what the next run goes on with.
func (a *app) stateNow(ctx context.Context, db store.Store, arg string, used *accountInUse) ([]byte, error) {
	if len(used.runs) > 0 {
		return a.reach(ctx, db, arg, used)
	}
	state, err := db.Provider(ctx, used.domain)
	if err != nil {
		return nil, err
	}
	// Without the credential it is not known where to look: then what this
	// database says is all there is.
	if used.dir, used.shared, err = a.whereShared(ctx, db, arg, used.domain); err != nil {
		return state, nil
	}
	shared, _, err := share.Present(ctx, used.dir, used.shared)
	if err != nil {
		return state, nil // whoever leads does not answer; it hears of the order, or that is said
	}
	return gate.Newest(state, shared), nil
}

// carryOut makes an order that of all who use the account, for the record, too.
func (a *app) carryOut(ctx context.Context, db store.Store, name string, o operatorOptions, given givenOrder) error {
	audit := store.Audit{Who: whoami(), Why: words.Clean(o.reason), Holder: thisProcess()}
	for i := range given.events {
		given.events[i].Provider, given.events[i].Message = given.used.provider(), audit.Who+": "+audit.Why
	}
	if len(given.used.runs) > 0 {
		heard, err := share.Order(ctx, given.used.dir, given.used.shared, given.state, given.events...)
		if heard || err != nil {
			return err
		}
	}
	edit := func(stands []byte) ([]byte, error) { return gate.Amend(stands, given.state, time.Now()) }
	if err := db.Override(ctx, name, given.used.domain, edit, audit, given.events...); err != nil {
		return err
	}
	a.spread(ctx, o.name, given.state, given.events)
	return nil
}

// An accountInUse is a pacing domain with the runs that use it now.
type accountInUse struct {
	domain string
	runs   []collection.Run
	dir    string // where they share it, once that is known
	shared string // its name there
}

func (u accountInUse) provider() string {
	provider, _, _ := strings.Cut(u.domain, "/")
	return words.Clean(provider)
}

// accountOfNewest returns the pacing domain that the newest run of a connector
// used, and who uses it now.
func accountOfNewest(ctx context.Context, db store.Store, name string) (accountInUse, error) {
	runs, err := db.Runs(ctx, name, 1)
	if err != nil {
		return accountInUse{}, err
	}
	if len(runs) == 0 {
		return accountInUse{}, problem.Usage("%s never ran, so it is not known which account it uses", name)
	}
	used := accountInUse{domain: runs[0].Domain}
	names, err := db.Connectors(ctx)
	if err != nil {
		return accountInUse{}, err
	}
	for _, other := range names {
		newest, err := db.Runs(ctx, other, 1)
		if err != nil {
			return accountInUse{}, err
		}
		if len(newest) == 1 && uses(newest[0], used.domain) {
			used.runs = append(used.runs, newest[0])
		}
	}
	return used, nil
}

// uses reports whether a run uses a pacing domain now.
func uses(run collection.Run, domain string) bool {
	return run.Domain == domain && run.Outcome == collection.Running && !died(run)
}

// agree asks a person whether to go on. Where nobody can be asked, --yes must
// have said so.
func (a *app) agree(o operatorOptions, means string) error {
	if o.yes {
		return nil
	}
	if !a.terminal || o.noInput || term.Truthy(a.env("COLLECT_NO_INPUT")) {
		return problem.Usage("not confirmed; nothing was changed. No terminal: add --yes")
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
	return problem.Usage("not confirmed; nothing was changed")
}
