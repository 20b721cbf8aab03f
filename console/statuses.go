package console

import (
	"context"
	"slices"
	"sync"
	"time"

	"collect/report"
)

// freshFor is how long facts are shown again without another look, as long as the store
// has not changed: waits pass by themselves, and runs with another database may tell
// something of an account.
const freshFor = 5 * time.Second

// facts are how all connectors stood, for those who look at the same time: with many
// tabs open, the store is read once for all of them.
type facts struct {
	mu    sync.Mutex
	stamp string
	at    time.Time
	began time.Time // the look itself
	all   []report.Status
}

// statuses returns how all connectors stand.
func (l lookup) statuses(ctx context.Context) ([]report.Status, error) {
	if l.db == nil {
		return nil, nil
	}
	f := &l.server.facts
	asked := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.began.After(asked) {
		return slices.Clone(f.all), nil // what others looked for meanwhile is as new
	}
	began, stamp := time.Now(), l.server.Library.Stamp()
	if age := l.now.Sub(f.at); stamp == f.stamp && age >= 0 && age < freshFor {
		return slices.Clone(f.all), nil
	}
	all, err := l.server.Meeting.Statuses(ctx, l.db, "", l.now)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Flags = l.server.Flags
	}
	f.stamp, f.at, f.began, f.all = stamp, l.now, began, all
	return slices.Clone(all), nil
}

// forget drops what is kept.
func (f *facts) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stamp, f.began, f.all = "", time.Time{}, nil
}
