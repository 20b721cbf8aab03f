package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/connectors/declarative"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report/problem"
	"collect/store"
)

// share takes part in the account of p with the other runs of this user,
// whichever database they use. It returns nil if there is nowhere to meet, or
// with a warning if that fails: then this run paces itself alone.
func (s *session) share(ctx context.Context, p collection.Provider, learned []byte, obeyed func([]collection.Event)) *share.Desk {
	desk, err := s.join(ctx, p, share.Config{Known: learned, Concurrency: s.options.concurrency, Obeyed: obeyed}, s.show.observe)
	if err != nil {
		s.show.observe(collection.Event{Time: time.Now(), Kind: collection.WarningRaised, Provider: p.Name,
			Message: "the pace is not shared with other runs of this account: " + plainError(err)})
	} else if desk != nil && desk.Temporary() {
		s.show.observe(collection.Event{Time: time.Now(), Kind: collection.WarningRaised, Provider: p.Name, Code: collection.MeetsApart,
			Message: "the runs of this account meet in a temporary folder: one with another temporary folder (PrivateTmp, a container) does not see this run, and they disturb each other's pace. " +
				"Put XDG_STATE_HOME on a file system that has sockets"})
	}
	return desk
}

// join takes part in the account of p; nil if there is nowhere to meet. What c
// says of the place and of the gate is set here.
func (a *app) join(ctx context.Context, p collection.Provider, c share.Config, observe func(collection.Event)) (*share.Desk, error) {
	if c.Dir = meetingPlace(a.env); c.Dir == "" {
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

// plainError is what went wrong, without the path, which says nothing to those
// who watch and something to those who read along.
func plainError(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// spread tells the runs of other databases that use the account of a connector
// what an operator ordered. Without the connector's credential it is not known
// which account that is: then they hear of it from the next run of this one.
func (a *app) spread(ctx context.Context, name string, state []byte, events []collection.Event) {
	dir := meetingPlace(a.env)
	if dir == "" {
		return
	}
	p, err := a.providerOf(ctx, name)
	if err == nil {
		var shared string
		if shared, err = account(dir, p); err == nil {
			_, err = share.Order(ctx, dir, shared, state, events...)
		}
	}
	if err != nil {
		fmt.Fprintf(a.err, "note: runs with another database learn of it when %s runs next: %s\n", name, plainError(err))
	}
}

// providerOf returns the provider of a connector with its credential.
func (a *app) providerOf(ctx context.Context, name string) (collection.Provider, error) {
	settings, err := a.settings()
	if err != nil {
		return collection.Provider{}, err
	}
	target, err := a.resolve(ctx, settings, name, nil)
	if err != nil {
		return collection.Provider{}, err
	}
	return target.connector.Provider(), nil
}

// whereShared returns the folder where an account is shared, and its name
// there. Its error says what is missing for that.
func (a *app) whereShared(ctx context.Context, db store.Store, name, domain string) (dir, shared string, err error) {
	if dir = meetingPlace(a.env); dir == "" {
		return "", "", errors.New("there is no folder for the state of programs (HOME, XDG_STATE_HOME) where the run could be reached")
	}
	p, err := a.providerOf(ctx, name)
	if err != nil {
		return "", "", fmt.Errorf("without its credential the run cannot be reached: %s", plainError(err))
	}
	shared, err = sameAccount(ctx, db, dir, p, domain)
	return dir, shared, err
}

// sameAccount returns the name in dir of the account that p uses, which must be
// that of a domain of the database.
func sameAccount(ctx context.Context, db store.Reader, dir string, p collection.Provider, domain string) (string, error) {
	salt, err := db.Salt(ctx)
	if err != nil {
		return "", err
	}
	if pacing.Domain(p.Name, p.Credential, salt) != domain {
		return "", errors.New("it has another credential than this process")
	}
	return account(dir, p)
}

// reach finds out where the runs that use an account share it, and returns the
// state that they have of it. It fails with a *busyError if one of them cannot
// be told anything: that run would overwrite what it did not hear of.
func (a *app) reach(ctx context.Context, db store.Store, name string, used *accountInUse) ([]byte, error) {
	busy := func(run collection.Run, why string) error { return &problem.BusyError{Run: run, Why: why} }
	var err error
	if used.dir, used.shared, err = a.whereShared(ctx, db, name, used.domain); err != nil {
		return nil, busy(used.runs[0], plainError(err))
	}
	state, pids, err := share.Present(ctx, used.dir, used.shared)
	if err != nil {
		return nil, busy(used.runs[0], plainError(err))
	}
	for _, run := range used.runs {
		if run.Holder.Host != thisProcess().Host || !slices.Contains(pids, run.Holder.PID) {
			return nil, busy(run, "it does not share its pace")
		}
	}
	return state, nil
}

// kept returns what the runs of this user that share the account of a connector
// saved of it last, whichever database they use; nil where that is not known.
// Who looks makes no file, asks no run, and runs no command for a secret.
func (a *app) kept(ctx context.Context, db store.Reader, newest collection.Run) []byte {
	dir := meetingPlace(a.env)
	if _, err := os.Stat(filepath.Join(dir, "salt")); dir == "" || err != nil {
		return nil
	}
	s, err := a.settings()
	if err != nil {
		return nil
	}
	_, spec, err := a.find(s, newest.Connector)
	if err != nil || slices.ContainsFunc(spec.Secrets(), func(secret declarative.Secret) bool {
		return s.SecretSource(spec.ProviderName(), secret).Command != ""
	}) {
		return nil
	}
	target, err := a.resolve(ctx, s, newest.Connector, paramsOf(s, newest))
	if err != nil {
		return nil
	}
	shared, err := sameAccount(ctx, db, dir, target.connector.Provider(), newest.Domain)
	if err != nil {
		return nil
	}
	state, err := share.Kept(dir, shared)
	if err != nil {
		return nil
	}
	return state
}

// meetingPlace is where the runs of a user meet; "" if there is no such place.
func meetingPlace(env func(string) string) string {
	if state := config.Xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")); state != "" {
		return filepath.Join(state, "collect", "pace")
	}
	return ""
}

// account names the account of p by a hash of its name, its credential and of
// where it is, under a salt of this host: it tells nothing about any of them.
func account(dir string, p collection.Provider) (string, error) {
	salt, err := hostSalt(dir)
	if err != nil {
		return "", err
	}
	domain := pacing.Domain("", strings.Join(append([]string{p.Name, p.Credential}, p.Origins...), "\n"), salt)
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
