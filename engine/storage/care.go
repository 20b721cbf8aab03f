package storage

import (
	"context"
	"os"
	"path/filepath"

	"collect/internal/freespace"
	"collect/report"
	"collect/store"
)

// RoomOf returns the room of a store; ok is false if that cannot be measured.
func RoomOf(name string) (r report.Room, ok bool) {
	if !IsFile(name) {
		return r, false
	}
	for _, path := range []string{name, name + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			r.Size += info.Size()
		}
	}
	var err error
	r.Free, err = freespace.Of(filepath.Dir(name))
	return r, err == nil
}

// CareOf returns how a store is looked after. db is that store; nil: there is none yet.
func CareOf(ctx context.Context, name string, db store.Reader) (c report.Care, err error) {
	if room, ok := RoomOf(name); ok {
		c.Room = &room
	}
	if !IsFile(name) {
		c.Dump = Dump(name)
	}
	if db == nil {
		return c, nil
	}
	if copier, ok := db.(Copier); ok {
		copies, err := copier.Copies(ctx)
		if err != nil {
			return c, err
		}
		c.Copies = &copies
	}
	c.Restored, err = report.Restored(ctx, db)
	return c, err
}
