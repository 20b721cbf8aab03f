package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/process"
	"collect/internal/words"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A Meeting is where the runs of one user share the pace of an account,
// whichever database they use.
type Meeting struct {
	Dir      string // "": there is no such place, and each run paces itself alone
	Registry *registry.Registry

	Fleet func(ctx context.Context, db store.Reader) report.Fleet // beside a store; nil: nobody asks
}

// share takes part in the account of p with the other runs of this user. It
// returns nil if there is nowhere to meet, or with a warning if that fails: then
// this run paces itself alone.
func (r *Run) share(ctx context.Context, p collection.Provider, learned []byte, obeyed func([]collection.Event)) *share.Desk {
	warn := func(code collection.WarningCode, text string) {
		r.observe(collection.Event{Kind: collection.WarningRaised, Provider: p.Name, Code: code, Message: text})
	}
	config := share.Config{Known: learned, Concurrency: r.Options.Concurrency, Obeyed: obeyed, Away: func(err error) {
		if err == nil {
			warn(collection.PaceShared, "the pace is shared with the other runs of this account again, and requests go on")
		} else {
			warn(collection.PaceAway, "the store does not answer, so that the pace cannot be shared with the other runs of this account: no request leaves until it does: "+words.Cause(err))
		}
	}}
	desk, err := Join(ctx, Place{r.Meeting, r.Store}, p, config, r.observe)
	if err != nil {
		warn("", "the pace is not shared with other runs of this account: "+words.Cause(err))
	} else if desk != nil && desk.Temporary() {
		warn(collection.MeetsApart, "the runs of this account meet in a temporary folder: one with another temporary folder (PrivateTmp, a container) does not see this run, and they disturb each other's pace. "+
			"Put XDG_STATE_HOME on a file system that has sockets")
	}
	return desk
}

// CertificateEnds says that a client certificate ends soon, and what to do.
func CertificateEnds(ends time.Time) string {
	return fmt.Sprintf("the client certificate ends on %s: get a new one from the provider, and put it where `provider.tls` of the connector file says", ends.UTC().Format(time.DateOnly))
}

// Join takes part in the account of p at a place; nil if it is none. What c says
// of the place and of the gate is set here.
func Join(ctx context.Context, at Place, p collection.Provider, c share.Config, observe func(collection.Event)) (*share.Desk, error) {
	if !at.exists() {
		return nil, nil
	}
	var err error
	if c.At, err = at.of(ctx, p); err != nil {
		return nil, err
	}
	c.Host, c.Ceilings = process.This().Host, p.Ceilings
	c.Open = func(state []byte) (*gate.Gate, error) {
		return pacing.NewGate(pacing.Config{Provider: p, Concurrency: c.Concurrency, Restore: state, Observe: observe})
	}
	desk, err := share.Join(ctx, c)
	if err != nil {
		return nil, err
	}
	return desk, nil
}

// spread tells the runs of other databases that use the account of a connector
// what an operator ordered. Without the connector's credential it is not known
// which account that is: then they hear of it from the next run of this one, and
// the error says why.
func (m Meeting) spread(ctx context.Context, db store.Store, name string, c changedAccount) error {
	if !(Place{m.Dir, db}).exists() {
		return nil
	}
	shared, err := m.whereShared(ctx, db, name, c.used.domain)
	if err != nil {
		return err
	}
	_, err = share.Order(ctx, shared, c.state, c.events...)
	return err
}

// whereShared returns where an account is shared. Its error says what is missing
// for that.
func (m Meeting) whereShared(ctx context.Context, db store.Store, name, domain string) (shared share.At, err error) {
	at := Place{m.Dir, db}
	if !at.exists() {
		return shared, errors.New("there is no folder for the state of programs (HOME, XDG_STATE_HOME) where the run could be reached")
	}
	m = m.Reading(db)
	target, err := m.Registry.Resolve(ctx, name, nil)
	if err != nil {
		return shared, fmt.Errorf("without its credential the run cannot be reached: %s", words.Cause(err))
	}
	return at.same(ctx, target.Connector.Provider(), domain)
}

// reach finds out where the runs that use an account share it, and returns the
// state that they have of it. It fails with a *problem.BusyError if one of them cannot
// be told anything: that run would overwrite what it did not hear of.
func (m Meeting) reach(ctx context.Context, db store.Store, name string, used *accountInUse) ([]byte, error) {
	busy := func(run collection.Run, why string) error { return &problem.BusyError{Run: run, Why: why} }
	var err error
	if used.shared, err = m.whereShared(ctx, db, name, used.domain); err != nil {
		return nil, busy(used.runs[0], words.Cause(err))
	}
	state, present, err := share.Present(ctx, used.shared)
	if err != nil {
		return nil, busy(used.runs[0], words.Cause(err))
	}
	for _, run := range used.runs {
		if !slices.Contains(present, run.Holder) {
			return nil, busy(run, "it does not share its pace")
		}
	}
	return state, nil
}

// metAt returns where the runs share an account of the newest run of a connector; nothing where
// that is not known. Who looks makes no file, asks no run, and runs no command for a secret.
func (m Meeting) metAt(ctx context.Context, db store.Reader, newest collection.Run, domain string) (at share.At) {
	place := Place{m.Dir, db}
	if !place.met() {
		return at
	}
	m = m.knowing(newest)
	_, spec, err := m.Registry.Find(ctx, newest.Connector)
	if err != nil || slices.ContainsFunc(spec.Secrets(), func(secret declarative.Secret) bool {
		return m.Registry.SecretSource(spec.ProviderName(), secret).Command != ""
	}) {
		return at
	}
	target, err := m.Registry.Resolve(ctx, newest.Connector, ParamsOf(m.Registry, newest))
	if err != nil {
		return at
	}
	if at, err = place.same(ctx, target.Connector.Provider(), domain); err != nil {
		return share.At{}
	}
	return at
}

// keptAt returns what the runs that share an account saved of it last, whichever database they
// use; nil where that is not known.
func keptAt(ctx context.Context, at share.At) []byte {
	if at.Account == "" {
		return nil
	}
	state, err := share.Kept(ctx, at)
	if err != nil {
		return nil
	}
	return state
}

// ParamsOf returns the parameters of a run of a connector that is not
// configured: they were given by hand then.
func ParamsOf(r *registry.Registry, run collection.Run) map[string]string {
	if _, configured := r.Entries[run.Connector]; configured {
		return nil
	}
	params := maps.Clone(run.Params)
	maps.DeleteFunc(params, func(name, _ string) bool { return !isParam(name) })
	return params
}
