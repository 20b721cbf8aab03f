package dst_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors"
	"collect/store"
)

// planted makes the bugs that are planted by standing between two parts of the
// product. Those inside a part are under planted/.
var planted = []func() bug{
	func() bug { return onCommit("unknown commit ignored", unknownIgnored) },
	func() bug { return onCommit("unknown commit repeated unread", unknownRepeated) },
	func() bug {
		full := onCommit("full disk ignored", fullIgnored)
		full.near = 800 // most disks that are full are so for the pace, which is saved beside a slice
		return full
	},
	func() bug { return onDefer("gap of an interrupt dropped", dropping(collection.Interrupted)) },
	func() bug { return onDefer("gap of a bad page dropped", dropping(collection.BadPage)) },
	func() bug { return onDefer("planned stop counted as an attempt", countingAll) },
	func() bug { return inStore("cursor before data", cursorFirst) },
	func() bug { return inStore("older version wins", firstVersionWins()) },
	func() bug { return inStore("gap closed without its data", fillWithoutData) },
	func() bug { return inStore("gap not closed with its data", fillWithoutEnd) },
	func() bug { return inStore("backfill moves the incremental checkpoint", backfillMoves) },
	func() bug { return inStore("quarantine forgotten", withoutRejected) },
	func() bug { return inStore("commit without a look at the epoch", withoutEpoch()) },
	func() bug { return slicesOf("mark promoted before the walk ends", promoteEarly) },
	func() bug { return slicesOf("low-water mark over a hole", skipPage) },
	func() bug { return slicesOf("cursor cleaned", cleanCursor) },
	func() bug { return slicesOf("last record of a page dropped", dropLast) },
	func() bug { return bug{name: "parent skipped", onConnector: skippingParents} },
	func() bug { return bug{name: "freeze forgotten by the next process", onLearned: without("freeze")} },
	func() bug {
		return bug{name: "silence forgotten by the next process", onLearned: without("hold_until")}
	},
	func() bug { return bug{name: "Retry-After cut to a minute", onWire: cutRetryAfter} },
	func() bug { return bug{name: "retry not metered", onWire: retryUnmetered} },
	func() bug {
		return bug{name: "beat ignored", onStore: func(_ *process, l store.Ledger) store.Ledger { return deaf{l} }}
	},
	func() bug { return bug{name: "lease taken by its age", onKeeper: byAge} },
	func() bug {
		return bug{name: "stuck gap counted as success", onOwed: func(g collection.Gap) bool { return g.Reason.Kind() != collection.Stuck }}
	},
}

// A tampered ledger does something else for one of its methods.
type tampered struct {
	store.Ledger
	commit func(store.Ledger, []collection.Slice) ([]collection.Committed, error)
	owe    func(l store.Ledger, worked bool, gaps []collection.Gap) ([]collection.Gap, error)
}

func (t tampered) Commit(ctx context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	if t.commit == nil {
		return t.Ledger.Commit(ctx, group...)
	}
	return t.commit(t.Ledger, group)
}

func (t tampered) Defer(ctx context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error) {
	if t.owe == nil {
		return t.Ledger.Defer(ctx, worked, gaps...)
	}
	return t.owe(t.Ledger, worked, gaps)
}

func onCommit(name string, commit func(store.Ledger, []collection.Slice) ([]collection.Committed, error)) bug {
	return bug{name: name, onLedger: func(_ *process, l store.Ledger) store.Ledger { return tampered{Ledger: l, commit: commit} }}
}

func onDefer(name string, owe func(store.Ledger, bool, []collection.Gap) ([]collection.Gap, error)) bug {
	return bug{name: name, onLedger: func(_ *process, l store.Ledger) store.Ledger { return tampered{Ledger: l, owe: owe} }}
}

func inStore(name string, commit func(*process, store.Ledger, []collection.Slice) ([]collection.Committed, error)) bug {
	return bug{name: name, onStore: func(p *process, l store.Ledger) store.Ledger {
		return tampered{Ledger: l, commit: func(l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
			return commit(p, l, group)
		}}
	}}
}

func unknownIgnored(l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	done, err := l.Commit(context.Background(), group...)
	if errors.Is(err, collection.ErrUnknown) {
		return asIfCommitted(group), nil
	}
	return done, err
}

func unknownRepeated(l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	done, err := l.Commit(context.Background(), group...)
	if errors.Is(err, collection.ErrUnknown) {
		return l.Commit(context.Background(), group...)
	}
	return done, err
}

func fullIgnored(l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	done, err := l.Commit(context.Background(), group...)
	if errors.Is(err, collection.ErrFull) {
		return asIfCommitted(group), nil
	}
	return done, err
}

// asIfCommitted is what a store answers that committed a group.
func asIfCommitted(group []collection.Slice) []collection.Committed {
	done := make([]collection.Committed, len(group))
	for i, s := range group {
		done[i].Next = s.Next
	}
	return done
}

func dropping(reason collection.Reason) func(store.Ledger, bool, []collection.Gap) ([]collection.Gap, error) {
	return func(l store.Ledger, worked bool, gaps []collection.Gap) ([]collection.Gap, error) {
		kept := slices.DeleteFunc(slices.Clone(gaps), func(g collection.Gap) bool { return g.Reason == reason })
		return l.Defer(context.Background(), worked, kept...)
	}
}

func countingAll(l store.Ledger, _ bool, gaps []collection.Gap) ([]collection.Gap, error) {
	return l.Defer(context.Background(), true, gaps...)
}

// cursorFirst commits checkpoints, and then records. Only a process that dies
// between the two shows the difference.
func cursorFirst(p *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	bare := slices.Clone(group)
	for i := range bare {
		bare[i].Records = nil
	}
	done, err := l.Commit(context.Background(), bare...)
	if err != nil {
		return nil, err
	}
	if p.h.plan.chance(p.h.wire.arrived(), "between ", p.name) < 0.02 {
		p.h.took(bare, done) // what a store that is asked would say
		p.kill("between cursor and data")
		return nil, errKilled
	}
	for _, s := range group {
		s.Fills, s.Leaves, s.From = -1, nil, collection.Cursor{Token: "nowhere"}
		if _, err := l.Commit(context.Background(), s); err != nil {
			return nil, err
		}
	}
	return done, nil
}

func firstVersionWins() func(*process, store.Ledger, []collection.Slice) ([]collection.Committed, error) {
	seen := map[string]bool{}
	return func(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
		group = slices.Clone(group)
		for i := range group {
			s := &group[i]
			s.Records = slices.DeleteFunc(slices.Clone(s.Records), func(r collection.Record) bool {
				was := seen[s.Stream+" "+r.Key]
				seen[s.Stream+" "+r.Key] = true
				return was
			})
		}
		return l.Commit(context.Background(), group...)
	}
}

func fillWithoutData(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	group = slices.Clone(group)
	for i := range group {
		if group[i].Fills != 0 {
			group[i].Records = nil
		}
	}
	return l.Commit(context.Background(), group...)
}

func fillWithoutEnd(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	group = slices.Clone(group)
	for i := range group {
		if group[i].Fills != 0 {
			group[i].Fills, group[i].From.Token = -1, "nowhere"
		}
	}
	return l.Commit(context.Background(), group...)
}

func backfillMoves(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	done, err := l.Commit(context.Background(), group...)
	for _, s := range group {
		if err != nil || s.Lane != collection.Backfill {
			continue
		}
		s.Lane = collection.Incremental
		at, _ := l.Checkpoint(context.Background(), s.Place)
		s.From, s.Fills, s.Leaves = at.Cursor, 0, nil
		_, err = l.Commit(context.Background(), s)
	}
	return done, err
}

func withoutRejected(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
	group = slices.Clone(group)
	for i := range group {
		group[i].Rejected = nil
	}
	return l.Commit(context.Background(), group...)
}

// withoutEpoch lets a run that lost its lease write under the one that has it.
func withoutEpoch() func(*process, store.Ledger, []collection.Slice) ([]collection.Committed, error) {
	var newest shared[store.Ledger]
	return func(_ *process, l store.Ledger, group []collection.Slice) ([]collection.Committed, error) {
		if has := newest.get(); has == nil || l.Epoch() > has.Epoch() {
			newest.set(l)
		}
		done, err := l.Commit(context.Background(), group...)
		if errors.Is(err, collection.ErrFenced) {
			return newest.get().Commit(context.Background(), group...)
		}
		return done, err
	}
}

// An altered connector changes the slices of the one behind it.
type altered struct {
	connectors.Connector
	alter func(connectors.Connector, *collection.Slice)
}

func slicesOf(name string, alter func(connectors.Connector, *collection.Slice)) bug {
	return bug{name: name, onConnector: func(c connectors.Connector) connectors.Connector { return altered{c, alter} }}
}

func (a altered) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for {
			for s, err := range a.Connector.Slices(ctx, client, at, from) {
				if err == nil {
					a.alter(a.Connector, &s)
				}
				if !yield(s, err) || err != nil || s.Next.Done {
					return
				}
				from = s.Next
				break // so that the next slice is the one behind the altered cursor
			}
		}
	}
}

func (a altered) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	return a.Connector.(connectors.Aheader).Ahead(at, from, n)
}

func (a altered) Before(at collection.Place, from collection.Cursor) (collection.Cursor, bool) {
	return a.Connector.(connectors.Aheader).Before(at, from)
}

func promoteEarly(_ connectors.Connector, s *collection.Slice) {
	for _, r := range s.Records {
		if changed := gjson.GetBytes(r.Data, "updated_at").Str; s.Stream == "items" && s.Next.High != "" {
			s.Next.Since = max(s.Next.Since, changed)
		}
	}
}

func skipPage(c connectors.Connector, s *collection.Slice) {
	if s.From.Token == "" && !s.Next.Done {
		if next := c.(connectors.Aheader).Ahead(s.Place, s.Next, 1); len(next) == 1 {
			s.Next = next[0]
		}
	}
}

func cleanCursor(_ connectors.Connector, s *collection.Slice) {
	s.Next.Token = strings.TrimRight(s.Next.Token, "=")
}

func dropLast(_ connectors.Connector, s *collection.Slice) {
	if n := len(s.Records); n > 1 && s.Stream == "notes" {
		s.Records = s.Records[:n-1]
	}
}

// skipping is a connector that does not want every parent.
type skipping struct{ connectors.Connector }

func skippingParents(c connectors.Connector) connectors.Connector { return skipping{c} }

func (s skipping) Partition(stream string, parent collection.Parent) (collection.Partition, string, bool, error) {
	p, version, ok, err := s.Connector.Partition(stream, parent)
	return p, version, ok && !strings.HasSuffix(parent.Key, "3"), err
}

// without forgets a field of what was learned.
func without(field string) func([]byte) []byte {
	return func(state []byte) []byte {
		var fields map[string]json.RawMessage
		if json.Unmarshal(state, &fields) != nil {
			return state
		}
		delete(fields, field)
		less, err := json.Marshal(fields)
		if err != nil {
			panic(err) // it was valid before
		}
		return less
	}
}

// sender is a RoundTripper made of a function.
type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func cutRetryAfter(next http.RoundTripper) http.RoundTripper {
	return sender(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			if n, _ := strconv.Atoi(resp.Header.Get("Retry-After")); n > 60 {
				resp.Header.Set("Retry-After", "60")
			}
		}
		return resp, err
	})
}

func retryUnmetered(next http.RoundTripper) http.RoundTripper {
	return sender(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusInternalServerError {
			_, _ = io.Copy(io.Discard, resp.Body)
			time.Sleep(time.Second)
			return next.RoundTrip(req)
		}
		return resp, err
	})
}
