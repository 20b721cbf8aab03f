package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/process"
	"collect/internal/words"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report/problem"
	"collect/store"
)

// A Meeting is where the runs of one user share the pace of an account,
// whichever database they use.
type Meeting struct {
	Dir      string // "": there is no such place, and each run paces itself alone
	Registry *registry.Registry
}

// share takes part in the account of p with the other runs of this user. It
// returns nil if there is nowhere to meet, or with a warning if that fails: then
// this run paces itself alone.
func (r *Run) share(ctx context.Context, p collection.Provider, learned []byte, obeyed func([]collection.Event)) *share.Desk {
	desk, err := Join(ctx, r.Meeting, p, share.Config{Known: learned, Concurrency: r.Options.Concurrency, Obeyed: obeyed}, r.observe)
	if err != nil {
		r.observe(collection.Event{Kind: collection.WarningRaised, Provider: p.Name,
			Message: "the pace is not shared with other runs of this account: " + words.Cause(err)})
	} else if desk != nil && desk.Temporary() {
		r.observe(collection.Event{Kind: collection.WarningRaised, Provider: p.Name, Code: collection.MeetsApart,
			Message: "the runs of this account meet in a temporary folder: one with another temporary folder (PrivateTmp, a container) does not see this run, and they disturb each other's pace. " +
				"Put XDG_STATE_HOME on a file system that has sockets"})
	}
	return desk
}

// CertificateEnds says that a client certificate ends soon, and what to do.
func CertificateEnds(ends time.Time) string {
	return fmt.Sprintf("the client certificate ends on %s: get a new one from the provider, and put it where `provider.tls` of the connector file says", ends.UTC().Format(time.DateOnly))
}

// Join takes part in the account of p in the folder dir; nil if that is "". What
// c says of the place and of the gate is set here.
func Join(ctx context.Context, dir string, p collection.Provider, c share.Config, observe func(collection.Event)) (*share.Desk, error) {
	if c.Dir = dir; dir == "" {
		return nil, nil
	}
	var err error
	if c.Account, err = account(c.Dir, p); err != nil {
		return nil, err
	}
	c.Ceilings = p.Ceilings
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
	if m.Dir == "" {
		return nil
	}
	m, err := m.Reading(ctx, db, name)
	if err != nil {
		return err
	}
	target, err := m.Registry.Resolve(ctx, name, nil)
	if err != nil {
		return err
	}
	shared, err := sameAccount(ctx, db, m.Dir, target.Connector.Provider(), c.used.domain)
	if err != nil {
		return err
	}
	_, err = share.Order(ctx, m.Dir, shared, c.state, c.events...)
	return err
}

// whereShared returns the name under which an account is shared. Its error says
// what is missing for that.
func (m Meeting) whereShared(ctx context.Context, db store.Store, name, domain string) (shared string, err error) {
	if m.Dir == "" {
		return "", errors.New("there is no folder for the state of programs (HOME, XDG_STATE_HOME) where the run could be reached")
	}
	if m, err = m.Reading(ctx, db, name); err != nil {
		return "", err
	}
	target, err := m.Registry.Resolve(ctx, name, nil)
	if err != nil {
		return "", fmt.Errorf("without its credential the run cannot be reached: %s", words.Cause(err))
	}
	return sameAccount(ctx, db, m.Dir, target.Connector.Provider(), domain)
}

// sameAccount returns the name in dir of the account of p that is that of a domain of the
// database.
func sameAccount(ctx context.Context, db store.Reader, dir string, p collection.Provider, domain string) (string, error) {
	salt, err := db.Salt(ctx)
	if err != nil {
		return "", err
	}
	for _, one := range p.Each() {
		if pacing.Domain(one.Name, one.Account(), salt) == domain {
			return account(dir, one)
		}
	}
	return "", errors.New("it has another credential than this process")
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
	state, pids, err := share.Present(ctx, m.Dir, used.shared)
	if err != nil {
		return nil, busy(used.runs[0], words.Cause(err))
	}
	for _, run := range used.runs {
		if run.Holder.Host != process.This().Host || !slices.Contains(pids, run.Holder.PID) {
			return nil, busy(run, "it does not share its pace")
		}
	}
	return state, nil
}

// Kept returns what the runs of this user that share an account of the newest run of a connector
// saved of it last, whichever database they use; nil where that is not known.
// Who looks makes no file, asks no run, and runs no command for a secret.
func (m Meeting) Kept(ctx context.Context, db store.Reader, newest collection.Run, domain string) []byte {
	if _, err := os.Stat(filepath.Join(m.Dir, "salt")); m.Dir == "" || err != nil {
		return nil
	}
	m = m.knowing(newest)
	_, spec, err := m.Registry.Find(ctx, newest.Connector)
	if err != nil || slices.ContainsFunc(spec.Secrets(), func(secret declarative.Secret) bool {
		return m.Registry.SecretSource(spec.ProviderName(), secret).Command != ""
	}) {
		return nil
	}
	target, err := m.Registry.Resolve(ctx, newest.Connector, ParamsOf(m.Registry, newest))
	if err != nil {
		return nil
	}
	shared, err := sameAccount(ctx, db, m.Dir, target.Connector.Provider(), domain)
	if err != nil {
		return nil
	}
	state, err := share.Kept(m.Dir, shared)
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

// account names the account of p by a hash of its name, its credential and of
// where it is, under a salt of this host: it tells nothing about any of them.
func account(dir string, p collection.Provider) (string, error) {
	salt, err := hostSalt(dir)
	if err != nil {
		return "", err
	}
	domain := pacing.Domain("", strings.Join(append([]string{p.Name, p.Account()}, p.Origins...), "\n"), salt)
	_, hash, _ := strings.Cut(domain, "/")
	return hash, nil
}

// hostSalt returns the salt of this host, which the first run makes.
func hostSalt(dir string) ([]byte, error) {
	path := filepath.Join(dir, "salt")
	salt, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return salt, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "salt.*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	salt = make([]byte, 16)
	rand.Read(salt)
	if _, err = f.Write(salt); err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(path) // another run was first
	} else if err != nil {
		return nil, err
	}
	return salt, nil
}
