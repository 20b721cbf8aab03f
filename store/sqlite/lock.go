package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A lock is a file that at most one holder in all processes has locked. The
// kernel frees it when the holder dies.
type lock struct {
	path string
	file *flock.Flock
}

// errLocked: another holder has the lock.
var errLocked = errors.New("locked")

// acquire locks the file at path, making it if need be. It returns errLocked
// if another holder has it.
//
// A holder removes the file before it lets go. Whoever opened it before, and
// gets the lock after, holds a file that no one else will find; so the lock
// counts only if the path still leads to the file that is locked.
func acquire(path string) (*lock, error) {
	for {
		l := &lock{path, flock.New(path, flock.SetPermissions(0o600))}
		ok, err := l.file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock: %w", errors.Join(err, l.file.Close()))
		}
		if !ok {
			return nil, errors.Join(errLocked, l.file.Close())
		}
		current, err := l.isCurrent()
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

// acquireWait locks the file at path as soon as its holder lets go, or returns
// an error after patience.
func acquireWait(ctx context.Context, path string, patience time.Duration) (*lock, error) {
	for deadline := time.Now().Add(patience); ; {
		l, err := acquire(path)
		if !errors.Is(err, errLocked) || time.Now().After(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// lockPoll is how often a lock that is held is looked at again.
const lockPoll = 5 * time.Millisecond

// isCurrent reports whether the path leads to the locked file.
func (l *lock) isCurrent() (bool, error) {
	held, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(held, named), nil
}

// release removes the file and lets go of the lock. If someone removed the
// file by hand, the path may lead to the lock of another by now, and stays.
func (l *lock) release() error {
	current, err := l.isCurrent()
	if current {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.file.Close())
}

// abandon lets go of the lock like a holder that dies: the file stays.
func (l *lock) abandon() error { return l.file.Close() }

// lockPath names the lock file of a connector beside the database at path.
// Different connectors have different names, also where the file system does
// not tell upper from lower case.
func lockPath(path, connector string) string {
	const longest = 100 // leaves room in the 255 bytes of a name
	var b strings.Builder
	for _, c := range []byte(connector) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	if len(name) > longest {
		sum := sha256.Sum256([]byte(connector))
		name = name[:32] + "~" + hex.EncodeToString(sum[:])
	}
	return path + "." + name + ".lock"
}
