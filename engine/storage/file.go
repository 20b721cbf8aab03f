package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// A Copier is a store that can be copied to a file while others write to it, and knows
// when that was done; see [sqlite.Store.Backup] and [sqlite.Store.Copies].
type Copier interface {
	Backup(ctx context.Context, path string, replace bool) error
	Copies(ctx context.Context) (store.Copies, error)
}

// A Describer is a store that says in SQL how its tables are made.
type Describer interface {
	Schema(ctx context.Context) (string, error)
}

// A Sparer is a store that says how many of its bytes are free for what is stored next.
type Sparer interface {
	Spare(ctx context.Context) (int64, error)
}

// A File is the path of a store that is one file. What is done with it here needs no
// store that can be opened.
type File string

// FileOf returns the file that the store name is kept in; ok is false if it is kept
// on a database server.
func FileOf(name string) (f File, ok bool) { return File(name), IsFile(name) }

// A Report says how a store is that is a file.
type Report = salvage.Report

// Examine says how the store is; see [salvage.Examine].
func (f File) Examine(ctx context.Context) (Report, error) {
	r, err := salvage.Examine(ctx, string(f))
	return r, begun(ctx, string(f), err)
}

// Salvage reads what a damaged store still holds; see [salvage.Open].
func (f File) Salvage(ctx context.Context) (*salvage.Reader, error) {
	return salvage.Open(ctx, string(f))
}

// Restore puts a backup in the place of the store; see [sqlite.Restore].
func (f File) Restore(ctx context.Context, backup string, audit store.Audit) (kept string, err error) {
	return sqlite.Restore(ctx, string(f), backup, audit)
}

// Drill tries a backup as a restore would, and puts it nowhere; see [sqlite.Drill].
func (f File) Drill(ctx context.Context, backup string, audit store.Audit) error {
	return sqlite.Drill(ctx, string(f), backup, audit)
}

// Note keeps when the store was copied; see [sqlite.Store.Note]. A store of an older
// version is left as it is: that is store.ErrOlder.
func (f File) Note(ctx context.Context, c store.Copies) (err error) {
	db, err := Look(ctx, string(f))
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if db, err = Open(ctx, string(f)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.(*sqlite.Store).Note(ctx, c) // a file is one
}

// Shrink gives the free bytes of the store back to the disk; see [sqlite.Shrink].
func (f File) Shrink(ctx context.Context) error {
	if room, ok := RoomOf(string(f)); ok && room.Free < 2*room.Size {
		return fmt.Errorf("%w: writing %d bytes anew needs twice as many, and %d are free", collection.ErrFull, room.Size, room.Free)
	}
	return sqlite.Shrink(ctx, string(f))
}

// Beside returns a path beside the file that is free; see [sqlite.Beside].
func (f File) Beside(what string, now time.Time) string { return sqlite.Beside(string(f), what, now) }

// Spool returns the folder beside a store for answers that are too large for memory;
// "" if it is kept on a database server.
func Spool(name string) string {
	if !IsFile(name) {
		return ""
	}
	return name + "-spool"
}

// Stamp returns a text that is another one after each change of a store that is a
// file. It opens nothing: it is made of the sizes and times of the file and its log.
// For any other store it is another text each second.
func Stamp(name string) string {
	if !IsFile(name) {
		return time.Now().Truncate(time.Second).String()
	}
	var text strings.Builder
	for _, path := range []string{name, name + "-wal"} {
		// Who opens a store to look at it makes an empty log.
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			fmt.Fprintf(&text, "%d %d;", info.Size(), info.ModTime().UnixNano())
		}
	}
	return text.String()
}
