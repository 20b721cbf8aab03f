package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/dirsync"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/internal/fileformat"
	"collect/store/sqlite/salvage"
)

// The steps of a restore that a test may fail, or be killed at.
const (
	restoreBegun    database.Step = "restore begun"
	restoreStaged   database.Step = "restore staged"
	RestoreClosed   database.Step = "old store closed"
	RestoreKept     database.Step = "old store kept"
	restoreSwitched database.Step = "stores switched"
)

// Restore puts the backup at from in the place of the store at path; see
// [sqlite.Restore]. A test may fail a step by at.
func Restore(ctx context.Context, path, from string, audit store.Audit, at func(database.Step) error) (kept string, err error) {
	r, err := newRestoring(path, from)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.close(err != nil)) }()
	err = play(at,
		part{func() error { return r.lock(ctx) }, restoreBegun},
		part{func() error { return r.stage(ctx, from, audit) }, restoreStaged},
		part{func() error { return r.closeOld(ctx) }, RestoreClosed},
		part{r.keepOld, RestoreKept},
		part{r.switchOver, restoreSwitched},
	)
	if !r.switched {
		return "", err
	}
	return r.kept, err
}

// Drill does all of a restore but for its last step; see [sqlite.Drill].
func Drill(ctx context.Context, path, from string, audit store.Audit) error {
	r, err := newRestoring(path, from)
	if err != nil {
		return err
	}
	r.staged = r.path + ".drill-" + rand.Text()[:8] + ".partial" // a restore, or another drill, may be on
	defer disk.Remove(r.staged)
	if err := r.readOld(ctx); err != nil {
		return err
	}
	return r.stage(ctx, from, audit)
}

// A restoring is one in progress.
type restoring struct {
	path   string
	staged string // the copy of the backup, until it gets its name
	kept   string // where the old store is kept; "" if there is none
	now    time.Time

	file     *disk.File // the old store; nil: there is none
	readable bool       // it can be read, or what of it is not damaged
	switched bool
	runs     map[string]collection.Run // the newest of each connector
	locks    []*filelock.Lock
	old      *sql.DB // holds the old store against everybody else
}

func newRestoring(path, from string) (*restoring, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	if from, err = disk.Resolve(from); err != nil {
		return nil, err
	}
	source, err := disk.Find(from)
	if err != nil {
		return nil, err
	}
	r := &restoring{path: path, staged: path + ".restored.partial", runs: map[string]collection.Run{}, now: time.Now().UTC()}
	if err := disk.CreateDir(filepath.Dir(path)); err != nil {
		return nil, disk.NoAccess(path, err)
	}
	if err := disk.RefuseNetwork(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := disk.Find(path)
	if errors.Is(err, store.ErrMissing) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if file.Same(source) {
		return nil, fmt.Errorf("backup %s %w: it is the store that it would replace", from, store.ErrInUse)
	}
	r.file = file
	return r, r.forgetKept()
}

// forgetKept removes the second name that a restore gave the store before it
// was killed.
func (r *restoring) forgetKept() error {
	names, err := filepath.Glob(globQuote(r.path) + ".replaced-*")
	for _, name := range names {
		if info, statErr := os.Stat(name); statErr == nil && r.file.Is(info) && disk.LogSize(name) < 0 {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// lock takes the place of every run there could be. One of a connector that
// never ran has no lock to be found; it notices that the file is replaced, and
// writes nothing.
func (r *restoring) lock(ctx context.Context) error {
	if err := r.readOld(ctx); err != nil {
		return err
	}
	paths := map[string]string{r.path + ".lock": ""} // for first starts and upgrades
	for name := range r.runs {
		paths[disk.LockPath(r.path, name)] = name
	}
	beside, err := filepath.Glob(globQuote(r.path) + ".*.lock")
	if err != nil {
		return err
	}
	for _, path := range beside {
		if _, ok := paths[path]; !ok && path != r.staged+".lock" {
			paths[path] = strings.TrimSuffix(strings.TrimPrefix(path, r.path+"."), ".lock")
		}
	}
	for path, name := range paths {
		l, err := filelock.Acquire(path)
		if errors.Is(err, filelock.ErrLocked) && name == "" {
			return fmt.Errorf("store %s %w", r.path, store.ErrInUse)
		}
		if errors.Is(err, filelock.ErrLocked) {
			run := r.runs[name]
			run.Connector = name
			return &store.HeldError{Run: run}
		}
		if err != nil {
			return disk.NoAccess(r.path, err)
		}
		r.locks = append(r.locks, l)
	}
	return nil
}

// globQuote returns path as a pattern that matches only itself.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// readOld reads who runs what, if the old store can be read.
func (r *restoring) readOld(ctx context.Context) error {
	if r.file == nil || errors.Is(salvage.CheckLog(r.path), store.ErrDamaged) {
		return nil
	}
	s := connect.OpenReaders(&disk.File{Path: r.path}, "ro")
	have, err := connect.Version(ctx, s)
	if r.readable = err == nil && have > 0; r.readable {
		err = s.Query(ctx, func(row database.Scanner) error {
			var run collection.Run
			var id sql.NullString
			err := row.Scan(&run.Connector, &id, &run.Holder.Host, &run.Holder.PID, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt))
			run.ID = id.String
			r.runs[run.Connector] = run
			return err
		}, `SELECT connector, run, host, pid, since, beat_at FROM leases`)
	}
	_ = s.DB.Close() // it was only read
	switch err = s.Classify(err); {
	case errors.Is(err, store.ErrNotDatabase):
		if mine, lookErr := wasOurs(ctx, r.path); lookErr != nil || !mine {
			return errors.Join(err, lookErr) // that file is not ours to move
		}
	case errors.Is(err, store.ErrNoAccess):
		return err
	case err == nil:
		return r.unlessDamaged(connect.Tidy(r.path))
	}
	return nil
}

// wasOurs reports whether a file that SQLite does not know for a database was
// a store, or nothing: all zeros.
func wasOurs(ctx context.Context, path string) (bool, error) {
	if fileformat.IsOurs(path) {
		return true, nil
	}
	blank, err := isBlank(path)
	if err != nil || blank {
		return blank, err
	}
	s, err := salvage.Open(ctx, path)
	if err != nil {
		return false, err
	}
	defer s.Close() // it was only read
	return len(s.Streams()) > 0, nil
}

// isBlank reports whether there is nothing but zeros in a file, as a file
// system leaves it whose data a power cut kept from the disk.
func isBlank(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, disk.NoAccess(path, err)
	}
	defer f.Close() // it was only read
	part := make([]byte, 64<<10)
	for {
		n, err := f.Read(part)
		if len(bytes.Trim(part[:n], "\x00")) > 0 {
			return false, nil
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, disk.Broken(path, err)
		}
	}
}

// unlessDamaged returns an error about the old store, unless it says that the
// store is damaged: that is what a backup is for.
func (r *restoring) unlessDamaged(err error) error {
	if err = connect.Classify(r.file, err); errors.Is(err, store.ErrDamaged) || connect.IsSQL(err) {
		return nil
	}
	return err
}

// closeOld merges the log of the old store and makes sure that no other process
// has it open: two databases must never share a log.
func (r *restoring) closeOld(ctx context.Context) error {
	if r.file == nil || errors.Is(salvage.CheckLog(r.path), store.ErrDamaged) {
		return nil // it cannot be used; its log goes with it
	}
	var err error
	if r.old, err = connect.TakeAlone(ctx, r.path); errors.Is(err, store.ErrInUse) {
		return err
	}
	return r.unlessDamaged(err)
}

// keepOld gives the old store a second name, and moves its log and its shared
// memory, if they are left, out of the way of the new one.
func (r *restoring) keepOld() error {
	if r.file == nil {
		return nil
	}
	r.kept = disk.Beside(r.path, "replaced", r.now)
	if err := secondName(r.path, r.kept); err != nil {
		return disk.NoAccess(r.kept, err)
	}
	for _, end := range disk.Sidecars {
		if err := secondName(r.path+end, r.kept+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.NoAccess(r.kept, err)
		}
	}
	if err := dirsync.Sync(filepath.Dir(r.path)); err != nil {
		return disk.NoAccess(r.kept, err)
	}
	for _, end := range disk.Sidecars {
		if err := os.Remove(r.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.NoAccess(r.path, err)
		}
	}
	return nil
}

// switchOver gives the copy the name of the store.
func (r *restoring) switchOver() error {
	err := publish(r.staged, r.path, true)
	r.switched = err == nil
	return err
}

// secondName makes to the same file as from, or a copy of it where a file can
// have only one name.
func secondName(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// close lets everybody in again.
func (r *restoring) close(failed bool) error {
	var errs []error
	if r.old != nil {
		errs = append(errs, r.unlessDamaged(r.old.Close()))
	}
	if failed {
		disk.Remove(r.staged)
	}
	if r.kept != "" && !r.switched {
		errs = append(errs, r.takeBack())
	}
	for _, l := range r.locks {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}

// takeBack undoes keepOld.
func (r *restoring) takeBack() error {
	for _, end := range disk.Sidecars {
		if disk.Missing(r.kept + end) {
			continue
		}
		if disk.Missing(r.path + end) {
			if err := os.Rename(r.kept+end, r.path+end); err != nil {
				return err
			}
		} else if err := os.Remove(r.kept + end); err != nil {
			return err
		}
	}
	kept, err := os.Stat(r.kept)
	if err != nil {
		return nil // it came to no second name
	}
	if now, err := os.Stat(r.path); err != nil || !os.SameFile(kept, now) {
		return nil // it is the only name, or a copy
	}
	return os.Remove(r.kept)
}
