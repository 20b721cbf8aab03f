package engine

import (
	"context"
	"fmt"
	"os/user"
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

// A Prepared order is one with what it makes of the account as it is now.
type Prepared struct {
	Provider string
	Changes  bool // the order changes something

	used   accountInUse
	state  []byte
	events []collection.Event // none: it changes nothing
	name   string
	typed  string
	audit  store.Audit
}

// Heard reports whether runs use the account now, which then obey and record the order
// themselves, a moment later.
func (p Prepared) Heard() bool { return len(p.used.runs) > 0 }

// Prepare finds out what an order makes of the account that the newest run of a
// connector used, for who gives it. Typed is the connector as a person named it.
func (m Meeting) Prepare(ctx context.Context, db store.Store, name, typed string, audit store.Audit, o Order) (Prepared, error) {
	used, err := accountOfNewest(ctx, db, name)
	if err != nil {
		return Prepared{}, err
	}
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
		if why := o.Refuse(st); why != "" {
			return Prepared{}, &problem.UsageError{Message: fmt.Sprintf("nothing was changed: "+why, used.provider())}
		}
	}
	next, events, err := o.Apply(state, now, audit.Why)
	return Prepared{
		Provider: used.provider(), Changes: len(events) > 0,
		used: used, state: next, events: events, name: name, typed: typed, audit: audit,
	}, err
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
	shared, _, err := share.Present(ctx, m.Dir, used.shared)
	if err != nil {
		return state, nil // the leader does not answer; it hears of the order, or that is said
	}
	return gate.Newest(state, shared), nil
}

// CarryOut makes a prepared order that of all who use the account, for the
// record, too. Runs that use it now obey at once and record it themselves. The
// note says why runs with another database do not hear of it yet; nil: they do.
func (m Meeting) CarryOut(ctx context.Context, db store.Store, p Prepared) (note, err error) {
	for i := range p.events {
		p.events[i].Provider, p.events[i].Message = p.Provider, p.audit.String()
	}
	if len(p.used.runs) > 0 {
		heard, err := share.Order(ctx, m.Dir, p.used.shared, p.state, p.events...)
		if heard || err != nil {
			return nil, err
		}
	}
	edit := func(stands []byte) ([]byte, error) { return gate.Amend(stands, p.state, time.Now()) }
	if err := db.Override(ctx, p.name, p.used.domain, edit, p.audit, p.events...); err != nil {
		return nil, err
	}
	return m.spread(ctx, p.typed, p.state, p.events), nil
}

// An accountInUse is a pacing domain with the runs that use it now.
type accountInUse struct {
	domain string
	runs   []collection.Run
	shared string // its name where runs meet, once that is known
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
		return accountInUse{}, &problem.UsageError{Message: name + " never ran, so it is not known which account it uses"}
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
		if len(newest) == 1 && Uses(newest[0], used.domain) {
			used.runs = append(used.runs, newest[0])
		}
	}
	return used, nil
}

// Uses reports whether a run uses a pacing domain now.
func Uses(run collection.Run, domain string) bool {
	return run.Domain == domain && run.Outcome == collection.Running && !process.Died(run)
}

// AuditOf says that the person at the keyboard changes something by hand, and why.
func AuditOf(why string) store.Audit {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return store.Audit{Who: who, Why: words.Clean(why), Holder: process.This()}
}
