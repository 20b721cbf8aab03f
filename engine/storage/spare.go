package storage

import (
	"context"

	"collect/store"
)

// SpareOf returns how many bytes of a store are free for what is stored next, and how
// many it takes; ok is false if that cannot be measured.
func SpareOf(ctx context.Context, db store.Reader, name string) (free, size int64, ok bool) {
	known, ok := db.(Sparer)
	if !ok {
		return 0, 0, false
	}
	free, err := known.Spare(ctx)
	room, ok := RoomOf(name)
	return free, room.Size, ok && err == nil
}
