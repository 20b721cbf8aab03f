package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/share"
	"collect/store"
)

// A Place is where the runs of an account share its pace: in their store, if several
// machines use it, or else in a folder of this host, which the runs of other stores
// use as well.
type Place struct {
	Dir   string       // the folder; "": none
	Store store.Reader // nil: only the folder
}

// directory returns what several machines meet in; nil if the store is one of this host.
func (pl Place) directory() share.Directory {
	if many, ok := pl.Store.(interface{ Meeting() share.Directory }); ok {
		return many.Meeting()
	}
	return nil
}

// exists reports whether runs can meet there.
func (pl Place) exists() bool { return pl.Dir != "" || pl.directory() != nil }

// met reports whether runs ever met there; it makes nothing.
func (pl Place) met() bool {
	if pl.directory() != nil {
		return true
	}
	_, err := os.Stat(filepath.Join(pl.Dir, "salt"))
	return pl.Dir != "" && err == nil
}

// of returns where the account of p is shared. Its name is a hash of the name of the provider,
// its credential and of where it is, under the salt of this host or of the store: it
// tells nothing about any of them.
func (pl Place) of(ctx context.Context, p collection.Provider) (at share.At, err error) {
	at.Dir, at.Directory = pl.Dir, pl.directory()
	var salt []byte
	if at.Directory != nil {
		salt, err = pl.Store.Salt(ctx)
	} else {
		salt, err = hostSalt(pl.Dir)
	}
	if err != nil {
		return share.At{}, err
	}
	domain := pacing.Domain("", strings.Join(append([]string{p.ThirdParty(), p.Account()}, p.Origins...), "\n"), salt)
	_, at.Account, _ = strings.Cut(domain, "/")
	return at, nil
}

// same returns where the account of p is shared that is that of a domain of the store.
func (pl Place) same(ctx context.Context, p collection.Provider, domain string) (share.At, error) {
	salt, err := pl.Store.Salt(ctx)
	if err != nil {
		return share.At{}, err
	}
	for _, one := range p.Each() {
		if domain == pacing.DomainOf(one, salt) || domain == pacing.Domain(one.Name, one.Account(), salt) { // see Run.learned
			return pl.of(ctx, one)
		}
	}
	return share.At{}, errors.New("it has another credential than this process")
}

// sharing returns who shares an account now, which is a domain of the store; nil where that is not
// known: the processes of one host meet in a folder.
func (pl Place) sharing(ctx context.Context, at share.At, domain string) *store.Sharing {
	many, ok := pl.Store.(interface {
		Sharing(ctx context.Context, account, domain string) (*store.Sharing, error)
	})
	if !ok || at.Account == "" {
		return nil
	}
	s, err := many.Sharing(ctx, at.Account, domain)
	if err != nil {
		return nil
	}
	return s
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
