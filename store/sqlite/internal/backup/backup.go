// Package backup writes a store to a file of its own, and puts such a file back
// in the place of a store.
package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"collect/internal/atomicfile"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/salvage"
)

// The steps of a backup that a test may fail, or be killed at.
const (
	backupBegun   database.Step = "backup begun"
	backupCopied  database.Step = "backup copied"
	backupOnDisk  database.Step = "backup on disk"
	backupVisible database.Step = "backup visible"
)

// Write copies the store that readers belong to; see [sqlite.Store.Backup]. A test
// may fail a step by at.
func Write(ctx context.Context, s *connect.DB, path string, replace bool, at func(database.Step) error) (err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // a folder is refused below
		at, special, err := atomicfile.Resolve(path)
		switch {
		case err != nil:
			return disk.NoAccess(path, err)
		case special:
			return backupInto(ctx, s, path)
		}
		path = at
	}
	if path, err = disk.Resolve(path); err != nil {
		return err
	}
	if err := mayReplace(s.File, path, replace); err != nil {
		return err
	}
	l, err := filelock.Acquire(path + ".lock")
	if errors.Is(err, filelock.ErrLocked) {
		return fmt.Errorf("backup %s %w: another backup is being written there", path, store.ErrInUse)
	}
	if err != nil {
		return disk.NoAccess(path, err)
	}
	defer l.Release() // the kernel frees it in any case

	partial := path + ".partial"
	defer func() {
		if err != nil {
			disk.Remove(partial)
		}
	}()
	return play(at,
		part{func() error { return nil }, backupBegun},
		part{func() error { return connect.CopyTo(ctx, s.Readers, partial) }, backupCopied},
		part{func() error {
			if err := salvage.ExamineCopy(ctx, partial); err != nil {
				return err
			}
			return flush(partial, path)
		}, backupOnDisk},
		part{func() error { return publish(partial, path, replace) }, backupVisible},
	)
}

// A part is one part of the work, and the step that it ends with.
type part struct {
	do      func() error
	reached database.Step
}

// play does one part after another. A test may fail a step by at.
func play(at func(database.Step) error, parts ...part) error {
	for _, s := range parts {
		if err := s.do(); err != nil {
			return err
		}
		if err := at(s.reached); err != nil {
			return err
		}
	}
	return nil
}

// backupInto writes a backup to something other than a regular file, such as a
// pipe or /dev/stdout. The copy is made and examined beside the store before its first
// byte goes there.
func backupInto(ctx context.Context, s *connect.DB, path string) error {
	partial := s.File.Path + ".backup-" + rand.Text()[:8] + ".partial"
	defer disk.Remove(partial)
	if err := connect.CopyTo(ctx, s.Readers, partial); err != nil {
		return err
	}
	if err := salvage.ExamineCopy(ctx, partial); err != nil {
		return err
	}
	f, err := os.Open(partial)
	if err != nil {
		return disk.NoAccess(path, err)
	}
	defer f.Close()
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	if err != nil {
		return disk.NoAccess(path, err)
	}
	return nil
}

// mayReplace refuses to write over anything but a backup.
func mayReplace(from *disk.File, path string, replace bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return disk.NoAccess(path, err)
	case from.Is(info) || disk.LogSize(path) >= 0:
		return fmt.Errorf("backup %s %w: it is a database that is open, or was when a run was killed", path, store.ErrInUse)
	case !replace:
		return fmt.Errorf("backup %s: %w", path, fs.ErrExist)
	case !info.Mode().IsRegular():
		return fmt.Errorf("backup %s %w: it is not a regular file", path, store.ErrNotDatabase)
	}
	return nil
}

// publish gives a file its name, durably: at every moment there is what was
// there before, or all of the new one.
func publish(partial, path string, replace bool) error {
	err := atomicfile.Publish(partial, path, replace)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist) && !replace:
		return fmt.Errorf("backup %s: %w", path, fs.ErrExist)
	}
	return disk.NoAccess(path, err)
}

// Place gives a database that is closed its name, which nothing has, once it is on the disk.
func Place(partial, path string) error {
	if err := flush(partial, path); err != nil {
		return err
	}
	err := publish(partial, path, false)
	if errors.Is(err, fs.ErrExist) {
		return &store.OccupiedError{Name: path, What: "a file"}
	}
	return err
}

// flush waits until a file, which is for the store at path, is on the disk.
func flush(file, path string) error {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return disk.NoAccess(path, err)
	}
	return nil
}
