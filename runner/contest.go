package runner

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"collect/collection"
)

// decide finds out whether the contested records of a place moved there: it reads the partitions that have them, and
// then its own. Of what comes only the records in question are stored, so that no walk is disturbed. One place is
// decided about after the other: where a key is found to be shared, the file is wrong, and nothing more is read in
// its stream.
func (r *Runner) decide(ctx context.Context, stream collection.Stream, gap collection.Gap) error {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if r.ended() != nil {
		return nil
	}
	slice := collection.Slice{Place: gap.Place, From: gap.Cursor, Next: gap.Cursor, Fills: gap.ID, Decides: &collection.Decision{Shared: r.shared[stream.Name]}}
	if !slice.Decides.Shared {
		err := r.readContested(ctx, &slice)
		switch stop, _ := asStop(ctx, err); {
		case stop == nil:
		case stop.EndsRun():
			r.met(gap.Place, stop)
			return nil // the gap stays as it is
		case stop.Reason == collection.Gone:
			slice.Decides, err = nil, nil // what its list had stays in quarantine
		case stop.Reason.Withheld(): // its own walk was answered, and says when it is not any more
			err = &collection.Stop{Reason: collection.UpstreamPressure, Status: stop.Status, Detail: "a list that was to be read again was refused", Err: stop}
		}
		if err != nil {
			return r.failAgain(ctx, stream, gap, err)
		}
	}
	done, err := r.commit(slice)
	if err != nil {
		return r.failAgain(ctx, stream, gap, err)
	}
	r.shared[stream.Name] = r.shared[stream.Name] || done.Rejected > 0
	return nil
}

// readContested adds to a slice the contested records that the list of its place shows, and the keys of those that moved
// there: the other list does not show them, or has the same bytes.
func (r *Runner) readContested(ctx context.Context, slice *collection.Slice) error {
	contests, err := r.Ledger.Contested(ctx, slice.Place)
	if err != nil || len(contests) == 0 {
		return err
	}
	var keys []string
	others, missing := map[string]collection.Record{}, map[string]bool{} // missing: keys of a list that is not there any more
	for _, c := range contests {
		keys = append(keys, c.Keys...)
		if c.Partition == slice.Partition {
			continue
		}
		at := slice.Place
		at.Partition = c.Partition
		shown, err := r.find(collection.WithPlace(ctx, at), at, c.Keys)
		if stop, _ := asStop(ctx, err); stop != nil && (stop.Reason == collection.NotFound || stop.Reason == collection.Gone) {
			err = nil
			for _, key := range c.Keys {
				missing[key] = true
			}
		}
		if err != nil {
			return err
		}
		maps.Copy(others, shown)
	}
	own, err := r.find(ctx, slice.Place, keys)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		other, stays := others[key]
		here, shown := own[key]
		switch {
		case missing[key] && !shown:
			slice.Decides.Unknown = append(slice.Decides.Unknown, key)
		case !stays || shown && bytes.Equal(here.Data, other.Data):
			slice.Decides.Moved = append(slice.Decides.Moved, key)
		}
		if shown {
			slice.Records = append(slice.Records, here)
		}
	}
	return nil
}

// find reads a partition from its start to its end, or until it has shown all keys, and returns their records.
func (r *Runner) find(ctx context.Context, at collection.Place, keys []string) (map[string]collection.Record, error) {
	found, wanted, guard := map[string]collection.Record{}, map[string]bool{}, r.newRepeats()
	for _, key := range keys {
		wanted[key] = true
	}
	start, _ := r.restart(at, collection.Cursor{})
	for slice, err := range r.Connector.Slices(ctx, r.client, at, start) {
		if err == nil {
			err = lacks(&slice)
		}
		if stop := guard.see(&slice, r.counted(at, slice.From)); err == nil && stop != nil {
			err = stop
		}
		if err != nil {
			return nil, err
		}
		for _, record := range slice.Records {
			if delete(found, record.Key); wanted[record.Key] && !record.Deleted {
				found[record.Key] = record
			}
		}
		if slice.Next.Done || len(found) == len(wanted) {
			return found, nil
		}
		if stop := cmp.Or(r.ended(), guard.full()); stop != nil {
			return nil, stop
		}
	}
	return nil, errEnd
}
