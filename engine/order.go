package engine

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/process"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report/problem"
	"collect/store"
)

// An Order is a change that an operator makes to what is remembered of a
// provider's account.
type Order struct {
	// Apply returns the new state and the events to save with it, or no events
	// if nothing changes. See package gate.
	Apply func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error)

	// Refuse says why the order must not be given as things stand, %s being the
	// provider; "" if it may. nil: it always may.
	Refuse func(gate.Status) string
}

// A Prepared order is one with what it makes of each account as it is now.
type Prepared struct {
	Provider string
	Changes  bool // the order changes something

	changed []changedAccount
	name    string
	typed   string
	audit   store.Audit
}

// A changedAccount is what an order makes of one account.
type changedAccount struct {
	used   accountInUse
	state  []byte
	events []collection.Event
}

// Heard reports whether runs use one of the accounts now, which then obey and record the order
// themselves, a moment later.
func (p Prepared) Heard() bool {
	return slices.ContainsFunc(p.changed, func(c changedAccount) bool { return len(c.used.runs) > 0 })
}

// Prepare finds out what an order makes of the accounts that the newest run of a
// connector used, for who gives it. Typed is the connector as a person named it. An account of several that
// the order is refused for stays as it is; if it is refused for all of them, that is an
// error.
func (m Meeting) Prepare(ctx context.Context, db store.Store, name, typed string, audit store.Audit, o Order) (Prepared, error) {
	all, err := accountsOfNewest(ctx, db, name)
	if err != nil {
		return Prepared{}, err
	}
	p := Prepared{Provider: all[0].provider(), name: name, typed: typed, audit: audit}
	why := ""
	refused := 0
	for _, used := range all {
		state, err := m.stateNow(ctx, db, typed, &used)
		if err != nil {
			return Prepared{}, err
		}
		now := time.Now()
		if o.Refuse != nil && state != nil {
			st, err := gate.Inspect(state, now)
			if err != nil {
				return Prepared{}, err
			}
			if said := o.Refuse(st); said != "" {
				why = cmp.Or(why, said)
				refused++
				continue
			}
		}
		next, events, err := o.Apply(state, now, audit.Why)
		if err != nil {
			return Prepared{}, err
		}
		if len(events) > 0 {
			p.changed, p.Changes = append(p.changed, changedAccount{used, next, events}), true
		}
	}
	if refused == len(all) {
		return Prepared{}, &problem.UsageError{Message: fmt.Sprintf("nothing was changed: "+why, p.Provider)}
	}
	return p, nil
}

// stateNow returns what is remembered of an account: by the runs that use it,
// or else by the database, or by those who share it with other databases if
// they heard of something since. That is what the next run goes on with.
func (m Meeting) stateNow(ctx context.Context, db store.Store, typed string, used *accountInUse) ([]byte, error) {
	if len(used.runs) > 0 {
		return m.reach(ctx, db, typed, used)
	}
	state, err := db.Provider(ctx, used.domain)
	if err != nil {
		return nil, err
	}
	// Without the credential it is not known where to look: then what this
	// database says is all there is.
	if used.shared, err = m.whereShared(ctx, db, typed, used.domain); err != nil {
		return state, nil
	}
	shared, _, err := share.Present(ctx, used.shared)
	if err != nil {
		return state, nil // the leader does not answer; it hears of the order, or that is said
	}
	return gate.Newest(state, shared), nil
}

// CarryOut makes a prepared order that of all who use the accounts, for the
// record, too. Runs that use them now obey at once and record it themselves. The
// note says why runs with another database do not hear of it yet; nil: they do.
func (m Meeting) CarryOut(ctx context.Context, db store.Store, p Prepared) (note, err error) {
	for _, c := range p.changed {
		said, err := m.carryOut(ctx, db, p, c)
		if err != nil {
			return nil, err
		}
		note = cmp.Or(note, said)
	}
	return note, nil
}

func (m Meeting) carryOut(ctx context.Context, db store.Store, p Prepared, c changedAccount) (note, err error) {
	for i := range c.events {
		c.events[i].Provider, c.events[i].Account, c.events[i].Message = p.Provider, c.used.from, p.audit.String()
	}
	if len(c.used.runs) > 0 {
		heard, err := share.Order(ctx, c.used.shared, c.state, c.events...)
		if heard || err != nil {
			return nil, err
		}
	}
	edit := func(stands []byte) ([]byte, error) { return gate.Amend(stands, c.state, time.Now()) }
	if err := db.Override(ctx, p.name, c.used.domain, edit, p.audit, c.events...); err != nil {
		return nil, err
	}
	return m.spread(ctx, db, p.typed, c), nil
}

// An accountInUse is a pacing domain with the runs that use it now.
type accountInUse struct {
	domain string
	from   string // where its credential came from, if it is one of several
	runs   []collection.Run
	shared share.At // where runs share it, once that is known
}

func (u accountInUse) provider() string {
	provider, _, _ := strings.Cut(u.domain, "/")
	return words.Clean(provider)
}

// accountsOfNewest returns the pacing domains that the newest run of a connector
// used, and who uses them now.
func accountsOfNewest(ctx context.Context, db store.Store, name string) (all []accountInUse, err error) {
	runs, err := db.Runs(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, &problem.UsageError{Message: name + " never ran, so it is not known which account it uses"}
	}
	for i, domain := range runs[0].Domains() {
		used := accountInUse{domain: domain}
		if len(runs[0].Accounts) > 0 {
			used.from = runs[0].Accounts[i].From
		}
		all = append(all, used)
	}
	names, err := db.Connectors(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range names {
		newest, err := db.Runs(ctx, other, 1)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if len(newest) == 1 && Uses(newest[0], all[i].domain) {
				all[i].runs = append(all[i].runs, newest[0])
			}
		}
	}
	return all, nil
}

// Uses reports whether a run uses a pacing domain now.
func Uses(run collection.Run, domain string) bool {
	return slices.Contains(run.Domains(), domain) && run.Outcome == collection.Running && !process.Died(run)
}

// AuditOf says that the person at the keyboard changes something by hand, and why.
func AuditOf(why string) store.Audit {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return store.Audit{Who: who, Why: words.Clean(why), Holder: process.This()}
}
