package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"collect/collection"
	"collect/engine/storage"
	"collect/store"
)

// What the large store holds: about 1 GB. Nearly all is of one connector, which has the
// runs of weeks; the others owe pieces.
const (
	orders       = 3_000_000
	ordersOnPage = 100
	details      = 100_000 // each a partition, with a commit of its own
	polls        = 2_000   // runs that found nothing new
	others       = 50      // connectors
	runsOfOthers = 20
	gapsOfOthers = 40
)

// makeLarge makes the large store in a file, unless there is one.
func makeLarge(ctx context.Context, file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, _, err := storage.OpenForRun(ctx, file, storage.CreateInFolder)
	if err != nil {
		return err
	}
	m := &maker{db: db, at: time.Now().Add(-polls * 10 * time.Minute)}
	for _, step := range []func(context.Context) error{m.shop, m.polls, m.others} {
		if err := step(ctx); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

// A maker makes runs, ten minutes apart.
type maker struct {
	db   store.Store
	at   time.Time
	runs int
}

// run makes a run of a connector that does what it is given.
func (m *maker) run(ctx context.Context, connector string, end collection.Outcome, code int, do func(store.Ledger) error) error {
	m.runs++
	m.at = m.at.Add(10 * time.Minute)
	run := collection.Run{ID: fmt.Sprintf("01JD7X%010d", m.runs), Connector: connector, Mode: collection.Forward, Lane: collection.Incremental,
		Domain: connector + "/0123456789ab", StartedAt: m.at}
	l, err := m.db.Begin(ctx, run, []collection.Stream{{Name: "orders"}, {Name: "details", Parent: "orders", Role: collection.Detail}})
	if err != nil {
		return err
	}
	if err := do(l); err != nil {
		return err
	}
	run.Outcome, run.ExitCode, run.EndedAt = end, code, m.at.Add(time.Minute)
	return l.Finish(ctx, run)
}

// page is a slice of n new records of a list.
func page(from, n int) collection.Slice {
	sl := collection.Slice{Place: collection.Place{Stream: "orders", Lane: collection.Incremental},
		From: token(from), Next: token(from + n)}
	for i := from; i < from+n; i++ {
		sl.Records = append(sl.Records, collection.Record{Key: fmt.Sprintf("%09d", i), Data: fmt.Appendf(nil,
			`{"id":"%09d","state":"paid","customer":{"id":%d,"name":"A. Customer"},"total":"%d.90","currency":"EUR","lines":3,"note":null,"at":"2026-11-21T04:07:45Z"}`, i, i%90_000, i%500)})
	}
	return sl
}

// token is the cursor behind n records; that of none is the start.
func token(n int) collection.Cursor {
	if n == 0 {
		return collection.Cursor{}
	}
	return collection.Cursor{Token: fmt.Sprint(n)}
}

// shop makes the list, and a detail of each of its first records.
func (m *maker) shop(ctx context.Context) error {
	return m.run(ctx, "shop", collection.Complete, 0, func(l store.Ledger) error {
		const pages = 16 // in a commit
		for n := 0; n < orders; n += pages * ordersOnPage {
			var group []collection.Slice
			for i := n; i < min(n+pages*ordersOnPage, orders); i += ordersOnPage {
				group = append(group, page(i, ordersOnPage))
			}
			if _, err := l.Commit(ctx, group...); err != nil {
				return err
			}
		}
		const together = 64
		for n := 0; n < details; n += together {
			var group []collection.Slice
			for i := n; i < min(n+together, details); i++ {
				group = append(group, collection.Slice{
					Place: collection.Place{Stream: "details", Lane: collection.Incremental, Partition: collection.Partition(fmt.Sprintf(`{"id":"%09d"}`, i))},
					Next:  collection.Cursor{Version: "1", Done: true},
					Records: []collection.Record{{Key: fmt.Sprintf("%09d", i),
						Data: fmt.Appendf(nil, `{"id":"%09d","shipped":true,"weight":%d,"parcels":[{"carrier":"post","code":"%d"}]}`, i, i%700, i*7)}},
				})
			}
			if _, err := l.Commit(ctx, group...); err != nil {
				return err
			}
		}
		return nil
	})
}

// polls makes runs that asked and found nothing new: a commit each.
func (m *maker) polls(ctx context.Context) error {
	at := orders
	for range polls {
		err := m.run(ctx, "shop", collection.NothingNew, 0, func(l store.Ledger) error {
			sl := page(at, 0)
			at++
			sl.Next = token(at)
			_, err := l.Commit(ctx, sl)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// others makes the other connectors.
func (m *maker) others(ctx context.Context) error {
	reasons := []collection.Reason{collection.BadPage, collection.RateLimited, collection.RequestCap, collection.Forbidden}
	for i := range others {
		name, from := fmt.Sprintf("other-%02d", i), 0
		for range runsOfOthers {
			err := m.run(ctx, name, collection.Blocked, 76, func(l store.Ledger) error {
				if _, err := l.Commit(ctx, page(from, ordersOnPage)); err != nil {
					return err
				}
				from += ordersOnPage
				var owed []collection.Gap
				for j := range gapsOfOthers {
					owed = append(owed, collection.Gap{Place: collection.Place{Stream: "details", Lane: collection.Incremental, Partition: collection.Partition(fmt.Sprintf(`{"id":"%d"}`, j))},
						Shape: collection.DetailGap, Reason: reasons[j%len(reasons)], OpenedAt: m.at})
				}
				_, err := l.Defer(ctx, true, owed...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
