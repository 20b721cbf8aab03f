package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// tell says what the walk of a stream has shown.
func (v *verification) tell(ctx context.Context, l *ledger, told *report.VerificationStream) error {
	read := l.places[l.at].Done
	told.Warnings, told.Of = l.warned, l.all
	for _, gap := range l.left {
		if gap.Partition != "" && (gap.Reason == collection.Gone || gap.Reason == collection.NotFound) {
			l.places[gap.Place] = collection.Checkpoint{Cursor: collection.Cursor{Done: true}} // its records are no longer there
			continue
		}
		read = false
		if told.Reason == "" || told.Reason.Kind() == collection.Planned {
			told.Reason = gap.Reason
		}
	}
	for partition := range l.versions {
		if l.done(partition) {
			told.Partition++
		}
	}
	told.Whole = read && told.Partition == int64(len(l.versions))
	if !told.Whole {
		told.Why = "not read to the end"
		if told.Reason != "" {
			told.Why += ": " + problem.Brief(told.Reason)
		}
	}
	if doubt := l.places[l.at].Evidence.Doubt(); doubt == collection.NoTotal {
		told.Unsure = "the pages are numbered and no total is told, so that a record may have moved from one page to another unseen"
	}
	whole := func(p collection.Partition) bool {
		if l.stream.Parent == "" {
			return told.Whole
		}
		return l.done(p)
	}
	told.Delivered, told.Rejected = l.distinct, l.rejected
	told.Follows = told.Follows || l.tombstones
	if l.looksAgain(whole) {
		for record, err := range v.Store.Records(ctx, v.Target.Name, l.stream.Name) {
			if err != nil {
				return err
			}
			if !record.Deleted {
				l.lookAgain(record, whole, told)
			}
		}
		l.tellMissing(told)
	}
	told.Equal = l.distinct - told.Missing - told.Stale - told.Ahead - told.Owed - told.Older - (told.Rejected - l.rejected) + l.leaving
	v.repairs(l, told)
	return nil
}

// done reports whether a partition was read to its end.
func (l *ledger) done(p collection.Partition) bool {
	return l.places[collection.Place{Stream: l.at.Stream, Partition: p, Lane: l.at.Lane}].Done
}

// looksAgain reports whether anything may differ.
func (l *ledger) looksAgain(whole func(collection.Partition) bool) bool {
	if len(l.differing) > 0 {
		return true
	}
	read := map[uint64]bool{l.hash(""): l.stream.Parent == "" && whole("")}
	for p := range l.versions {
		read[l.hash(string(p))] = whole(p)
	}
	for _, at := range l.keys {
		if at.delivered == 0 && read[at.partition] {
			return true
		}
	}
	return false
}

// repairs makes the gaps that let the next run have what is missing or stale: the
// whole list, or the partitions that it is in.
func (v *verification) repairs(l *ledger, told *report.VerificationStream) {
	for partition, n := range l.wrong {
		gap := collection.Gap{
			Place: collection.Place{Stream: l.at.Stream, Partition: partition, Lane: l.at.Lane}, Shape: l.stream.Role.Shape(partition), Reason: collection.Differs,
			Detail: fmt.Sprintf("a verification found that %s stored as the provider has them", words.Counted(n, "record is not", "records are not")),
		}
		if l.stream.Refresh == collection.WhenChanged {
			gap.Version = l.versions[partition]
		}
		v.result.repairs = append(v.result.repairs, gap)
	}
	slices.SortFunc(v.result.repairs, func(a, b collection.Gap) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Partition, b.Partition))
	})
}

// Repair leaves gaps for what is missing or stale, so that the next run walks there
// from the start. It takes the lease for the moment that it needs, and fails with a
// *[store.HeldError] while a run is under way.
func (r *Result) Repair(ctx context.Context, db store.Store) error {
	if len(r.repairs) == 0 {
		return nil
	}
	audit := engine.AuditOf("collect verify --repair")
	for i := range r.repairs {
		r.repairs[i].Detail += " (" + audit.String() + ")"
	}
	left, err := db.Redo(ctx, r.Connector, r.repairs, audit)
	for _, gap := range left {
		for i := range r.Streams {
			if r.Streams[i].Stream == gap.Stream {
				r.Streams[i].Gaps++
			}
		}
	}
	return err
}
