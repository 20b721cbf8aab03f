// Package tokenfile keeps a token that is replaced when it is used.
//
// The file has one line, the token. Who replaces it holds a lock beside it, so
// that no two processes use one token, and reads it after the lock is taken.
// The new token is in the file, through every power cut, before anything goes
// on: it is written beside the file, synced, given the file's name, and the
// folder is synced. The room for it is taken before the old token is used, so
// that a full or read-only disk is found while there is something to keep.
package tokenfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collect/internal/atomicfile"
	"collect/internal/dirsync"
	"collect/internal/filelock"
	"collect/internal/userfile"
	"collect/internal/words"
)

// patience is how long another process may take to replace the token: longer than the
// default of the longest time for a request.
const patience = 2 * time.Minute

// room is taken for a token before it is known. No token is longer: it is sent
// in a header, which servers bound to 8 or 16 KiB.
const room = 16 << 10

// ErrBusy: another process is replacing the token, for longer than that takes.
var ErrBusy = errors.New("another process has been renewing the token for minutes")

// An Error says that a token cannot be kept, or cannot be read.
type Error struct {
	Path  string
	Spent bool // the old token was used, and the new one is lost
	Err   error
}

func (e *Error) Error() string {
	if e.Spent {
		return "the new token is lost: it could not be written to its file: " + words.Cause(e.Err)
	}
	return "the file of the token cannot be used: " + words.Cause(e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Replace calls spend with the token in the file at path, and keeps what it
// returns, in this order and alone among all processes of this host. After an
// error of spend, which it returns, the file is as it was. Other errors are
// [ErrBusy], an [*Error], and the cause of ctx.
func Replace(ctx context.Context, path string, spend func(token string) (next string, err error)) error {
	return alone(ctx, path, func(path string) error {
		token, err := userfile.ReadAtMost(path, room)
		if err != nil {
			return &Error{Path: path, Err: err}
		}
		next, err := reserve(path)
		if err != nil {
			return &Error{Path: path, Err: err}
		}
		defer next.Close() // for the second time, if all went well
		old := strings.TrimSpace(string(token))
		new, err := spend(old)
		if err != nil || new == old {
			_ = os.Remove(next.Name()) // or the next one does
			return err
		}
		if err := keep(next, new); err != nil {
			return &Error{Path: path, Spent: true, Err: err}
		}
		return nil
	})
}

// alone calls do with the path that the links at path lead to, so that a link to the
// file stays one, while no other process of this host changes the token there.
func alone(ctx context.Context, path string, do func(path string) error) error {
	at, special, err := atomicfile.Resolve(path)
	if err == nil && special { // a pipe may never end
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return &Error{Path: path, Err: err}
	}
	lock, err := filelock.AcquireWait(ctx, at+".lock", patience)
	switch {
	case errors.Is(err, filelock.ErrLocked):
		return ErrBusy
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &Error{Path: at, Err: err}
	}
	defer func() { _ = lock.Release() }() // the kernel frees what this cannot
	return do(at)
}

// reserve makes a file for the one at path that has room for a token.
func reserve(path string) (*atomicfile.File, error) {
	f, err := atomicfile.Begin(path, path+".new")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(bytes.Repeat([]byte("\n"), room))
	if err = errors.Join(err, f.Sync(), dirsync.Sync(filepath.Dir(path))); err != nil {
		f.Abort()
		return nil, err
	}
	return f, nil
}

// keep makes the file next, with the token in it, the one that it is for. What
// is there is the old token or the new one, whole.
func keep(next *atomicfile.File, token string) error {
	line := token + "\n"
	if len(line) > room {
		return fmt.Errorf("it is larger than %d KiB", room>>10)
	}
	_, err := next.WriteAt([]byte(line), 0)
	if err = errors.Join(err, next.Truncate(int64(len(line)))); err != nil {
		return err
	}
	return next.Commit()
}
