package report

import (
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// A Room is what a store takes of its disk, and what is left there, in bytes.
type Room struct{ Size, Free int64 }

// A Care says how a store is looked after.
type Care struct {
	Room     *Room         // nil: not measured
	Copies   *store.Copies // nil: not measured, as others copy the store
	Dump     string        // the command that copies it, of a database server; "": collect backup does
	Restored time.Time     // zero: never, as far as is on record
}

// ordersKept is how many of the newest orders are looked through for a restore.
const ordersKept = 1000

// Restored returns when the store was restored last; zero if that is not on record.
func Restored(ctx context.Context, db store.Reader) (time.Time, error) {
	orders, err := db.Orders(ctx, "", ordersKept)
	i := slices.IndexFunc(orders, func(e collection.Event) bool { return e.Kind == collection.StoreRestored })
	if i < 0 || err != nil {
		return time.Time{}, err
	}
	return orders[i].Time, nil
}

// Sentence says it: last backup 3 days ago; last restore drill not on record.
func (c Care) Sentence(now time.Time) string {
	if c.Copies == nil {
		text := "last backup and restore drill are not measured"
		if c.Dump != "" {
			text += "; to make a backup: " + c.Dump
		}
		return text
	}
	return "last backup " + noted(c.Copies.BackedUp, now) + "; last restore drill " + noted(c.Copies.Drilled, now)
}

func noted(at, now time.Time) string {
	if at.IsZero() {
		return "not on record"
	}
	return words.Ago(at, now)
}
