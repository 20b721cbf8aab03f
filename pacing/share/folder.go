package share

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"collect/internal/filelock"
)

// A folder is the ground of the processes of one user on one host: who leads
// has a lock, which the kernel frees when it dies.
type folder struct {
	path string      // of the lock
	seen os.FileInfo // of the lock that another process had
}

func (f *folder) exists() bool {
	_, err := os.Stat(filepath.Dir(f.path))
	return !errors.Is(err, os.ErrNotExist)
}

func (f *folder) make() error { return os.MkdirAll(filepath.Dir(f.path), 0o700) }

func (f *folder) clock() *clock            { return nil }
func (f *folder) lookEvery() time.Duration { return lookEvery }

func (f *folder) claim(context.Context) (claim, error) {
	lock, err := filelock.Acquire(f.path)
	if errors.Is(err, filelock.ErrLocked) {
		f.seen, _ = os.Stat(f.path)
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	return &locked{lock: lock, path: f.path}, nil
}

func (f *folder) dial(context.Context) (net.Conn, error) { return dial(f.path) }

// depose takes the lock file away from a leader that does not answer, so that
// another can lead. One that was deposed meanwhile is left alone.
func (f *folder) depose(ctx context.Context) error {
	only, err := filelock.AcquireWait(ctx, f.path+".deposing", beatLonger)
	if err != nil {
		return fmt.Errorf("the process that leads does not answer: %w", err)
	}
	now, err := os.Stat(f.path)
	if err == nil && f.seen != nil && os.SameFile(f.seen, now) {
		err = os.Remove(f.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, only.Release())
}

// A locked is the claim of a process that has the lock. The lock file tells guests
// where the socket is.
type locked struct {
	lock   *filelock.Lock
	path   string
	socket string // "": there is none
}

func (k *locked) current() bool {
	current, err := k.lock.Current()
	return err == nil && current
}

func (k *locked) state() ([]byte, error)  { return readState(k.path) }
func (k *locked) save(state []byte) error { return replace(stateFile(k.path), state) }

// killed removes what a leader left behind that was killed.
func (k *locked) killed() bool {
	name, err := os.ReadFile(k.path)
	if err != nil || len(name) == 0 {
		return false
	}
	removeSocket(socketOf(k.path, string(name)))
	return true
}

func (k *locked) listen() (net.Listener, error) {
	l, name, err := listen(k.path)
	if err != nil {
		return nil, err
	}
	k.socket = socketOf(k.path, name)
	return l, os.WriteFile(k.path, []byte(name), 0o600)
}

func (k *locked) end() error {
	if k.socket != "" {
		removeSocket(k.socket)
	}
	return k.lock.Release()
}
