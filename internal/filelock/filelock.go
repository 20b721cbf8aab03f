// Package filelock locks a file for one holder among all processes of a host.
// The kernel frees the lock when its holder dies, however it does.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// A Lock is a file that at most one holder in all processes has locked. The
// kernel frees it when the holder dies.
type Lock struct {
	path string
	file *flock.Flock
	held fs.FileInfo // of the locked file, which stays the same as long as it is open
}

// ErrLocked: another holder has the lock.
var ErrLocked = errors.New("locked")

// Acquire locks the file at path, making it if need be. It returns ErrLocked
// if another holder has it.
//
// A holder removes the file before it lets go. A process that opened it before,
// and gets the lock after, holds a file that no other will find; so the lock
// counts only if the path still leads to the locked file.
func Acquire(path string) (*Lock, error) {
	for {
		l := &Lock{path: path, file: flock.New(path, flock.SetPermissions(0o600))}
		ok, err := l.file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock: %w", errors.Join(err, l.file.Close()))
		}
		if !ok {
			return nil, errors.Join(ErrLocked, l.file.Close())
		}
		current := false
		if l.held, err = l.file.Stat(); err == nil {
			current, err = l.Current()
		}
		if err != nil {
			return nil, fmt.Errorf("lock: %w", errors.Join(err, l.file.Close()))
		}
		if current {
			return l, os.Chmod(path, 0o600) // whatever the umask
		}
		if err := l.file.Close(); err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
}

// AcquireWait locks the file at path as soon as its holder lets go, or returns
// an error after patience.
func AcquireWait(ctx context.Context, path string, patience time.Duration) (*Lock, error) {
	for deadline := time.Now().Add(patience); ; {
		l, err := Acquire(path)
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// poll is how often a lock that is held is looked at again.
const poll = 5 * time.Millisecond

// Current reports whether the path still leads to the locked file. If it does
// not, somebody took it away, and another may hold a lock of this name.
func (l *Lock) Current() (bool, error) {
	named, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(l.held, named), nil
}

// Room makes the file n bytes large, so that a disk that is full has room for about
// as much once it is made smaller. Whatever the size, the file is locked.
func (l *Lock) Room(n int64) error {
	current, err := l.Current()
	if err != nil || !current {
		return err // what is at the path, if anything, is not ours
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(min(n, lockedByte)); err == nil && n > lockedByte {
		// A file that was only made longer has no blocks of the disk.
		_, err = f.WriteAt(make([]byte, n-lockedByte), lockedByte)
	}
	return errors.Join(err, f.Close())
}

// lockedByte is what Windows lets nobody write to, through another handle.
const lockedByte = 1

// Release removes the file and lets go of the lock. If someone removed the
// file by hand, the path may lead to the lock of another by now, and stays.
func (l *Lock) Release() error {
	current, err := l.Current()
	if current {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.file.Close())
}

// Abandon lets go of the lock like a holder that dies: the file stays.
func (l *Lock) Abandon() error { return l.file.Close() }
