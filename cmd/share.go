package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
)

// share takes part in the account of p with the other runs of this user,
// whichever database they use. It returns nil if there is nowhere to meet, or
// with a warning if that fails: then this run paces itself alone.
func (s *session) share(ctx context.Context, p collection.Provider, learned []byte) *share.Desk {
	dir := meetingPlace(s.env)
	if dir == "" {
		return nil
	}
	account, err := account(dir, p)
	if err == nil {
		var desk *share.Desk
		desk, err = share.Join(ctx, share.Config{
			Dir: dir, Account: account, Known: learned, Ceilings: p.Ceilings, Concurrency: s.options.concurrency,
			Open: func(state []byte) (*gate.Gate, error) {
				return pacing.NewGate(pacing.Config{Provider: p, Concurrency: s.options.concurrency, Restore: state, Observe: s.show.observe})
			},
		})
		if err == nil {
			return desk
		}
	}
	s.show.observe(collection.Event{Time: time.Now(), Kind: collection.WarningRaised, Provider: p.Name,
		Message: "the pace is not shared with other runs of this account: " + plainError(err)})
	return nil
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
func (a *app) spread(ctx context.Context, name string, state []byte) {
	dir := meetingPlace(a.env)
	settings, err := a.settings()
	if err != nil || dir == "" {
		return
	}
	target, err := a.resolve(settings, name, nil, false)
	if err == nil {
		var acc string
		if acc, err = account(dir, target.connector.Provider()); err == nil {
			err = share.Order(ctx, dir, acc, state)
		}
	}
	if err != nil {
		fmt.Fprintf(a.err, "note: runs with another database hear of it when %s runs next: %s\n", name, plainError(err))
	}
}

// meetingPlace is where the runs of a user meet; "" if there is no such place.
func meetingPlace(env func(string) string) string {
	if state := xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")); state != "" {
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
