package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"collect/collection"
	"collect/engine/registry"
	"collect/report/problem"
	"collect/store"
)

// identity returns what a checkpoint means nothing without: the parameters,
// where the provider is, and what each stream is made of. It is kept with each
// run. The names of what is not a parameter are told by isParam.
func identity(t registry.Target) map[string]string {
	identity := merged(t.Meaning, t.Params)
	if origins := t.Connector.Provider().Origins; len(origins) > 0 {
		identity["base_url"] = origins[0]
	}
	return identity
}

// merged returns base as overridden by over.
func merged(base, over map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, over)
	return all
}

// isParam reports whether a name in an identity is that of a parameter.
func isParam(name string) bool { return name != "base_url" && !strings.Contains(name, ".") }

// sameAsBefore finds the run before this one, and refuses to go on from what it
// left if that was collected with other parameters, or by streams that were
// something else: records would be skipped, or mixed, in silence. A stream that
// has stored nothing is started over instead, unless this run holds the lease
// already: another one came between. What a stream owes that is in the file no
// more stays owed: no walk of another stream makes up for it. And a built-in
// connector takes over nothing from a file.
func (r *Run) sameAsBefore(ctx context.Context, leased bool) (err error) {
	if r.before, err = newestThatWorked(ctx, r.Store, r.Target.Name, r.id); err != nil || r.before == nil || r.Options.NewParams {
		return err
	}
	was, now := r.before.Params, identity(r.Target)
	moved := &problem.ParamsError{Connector: r.Target.Name, Was: ofProvider(was), Now: ofProvider(now)}
	elsewhere, changes := !maps.Equal(moved.Was, moved.Now), changedStreams(was, now)
	if !elsewhere && len(changes) == 0 {
		return nil
	}
	if file := r.before.Source; file != "" && r.Target.Source == "" {
		return &problem.MeaningError{Connector: r.Target.Name, Changes: changes, File: file}
	}
	streams, err := r.Store.Streams(ctx, r.Target.Name)
	if err != nil {
		return err
	}
	if elsewhere && slices.ContainsFunc(streams, hasRecords) {
		return moved
	}
	reset, err := r.resetSince(ctx, streams)
	if err != nil {
		return err
	}
	owing, err := r.owing(ctx)
	if err != nil {
		return err
	}
	refused := &problem.MeaningError{Connector: r.Target.Name}
	r.gone = map[string]bool{}
	for _, st := range streams {
		i := slices.IndexFunc(changes, func(c problem.StreamChange) bool { return c.Stream == st.Name })
		switch {
		case i < 0 && !elsewhere, reset[st.Name] && !(i >= 0 && changes[i].Gone() && hasRecords(st)):
			// It is what it was, or nothing is left to misread.
		case hasRecords(st):
			if c := mixing(changes[i], was); changes[i].Gone() || !c.Gone() {
				refused.Changes = append(refused.Changes, c)
			}
		case i >= 0 && changes[i].Gone() && owing[st.Name]:
			r.gone[st.Name] = true
		case elsewhere && leased:
			return moved
		case leased:
			refused.Changes = append(refused.Changes, changes[i])
		default:
			if err := r.startOver(ctx, st); err != nil {
				return err
			}
		}
	}
	if len(refused.Changes) > 0 {
		return refused
	}
	return nil
}

func hasRecords(s store.StreamState) bool { return s.Records > 0 }

// Comparable refuses a target that is not what the stored records of its connector
// were collected with: what it delivers says nothing about them.
func Comparable(ctx context.Context, db store.Reader, t registry.Target) error {
	before, err := newestThatWorked(ctx, db, t.Name, "")
	if err != nil || before == nil {
		return err
	}
	was, now := before.Params, identity(t)
	if moved := (&problem.ParamsError{Connector: t.Name, Was: ofProvider(was), Now: ofProvider(now)}); !maps.Equal(moved.Was, moved.Now) {
		return moved
	}
	refused := &problem.MeaningError{Connector: t.Name}
	for _, change := range changedStreams(was, now) {
		if mixed := mixing(change, was); change.Gone() || !mixed.Gone() {
			refused.Changes = append(refused.Changes, mixed)
		}
	}
	if len(refused.Changes) > 0 {
		return refused
	}
	return nil
}

// newestThatWorked returns the newest run of a connector but the one with that id;
// nil if there is none. One that was refused worked under nothing, and there may be
// any number of them: a timer goes on.
func newestThatWorked(ctx context.Context, db store.Reader, connector, id string) (*collection.Run, error) {
	return newest(ctx, db, connector, func(run collection.Run) bool { return run.ID != id && run.ExitCode != problem.ExitConfig })
}

// newest returns the newest run of a connector that is meant; nil if there is none.
func newest(ctx context.Context, db store.Reader, connector string, meant func(collection.Run) bool) (*collection.Run, error) {
	for n := 10; ; n *= 10 {
		runs, err := db.Runs(ctx, connector, n)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(runs, meant)
		switch {
		case i >= 0:
			return &runs[i], nil
		case len(runs) < n:
			return nil, nil
		}
	}
}

// ofProvider returns what of an identity belongs to no stream.
func ofProvider(identity map[string]string) map[string]string {
	of := maps.Clone(identity)
	maps.DeleteFunc(of, func(name, _ string) bool { return strings.Contains(name, ".") })
	return of
}

// mixing returns c with the keys alone whose old records would be mixed with
// others. After a change of the rest the walk begins anew by itself, unless the
// run that had the stream as in was is of a version that noted nothing for that.
func mixing(c problem.StreamChange, was map[string]string) problem.StreamChange {
	_, noted := was[c.Stream+".records"]
	kept := problem.StreamChange{Stream: c.Stream}
	for _, k := range c.Keys {
		switch k.Key {
		case "get", "key", "each":
		case "records", "page":
			continue
		default:
			if noted {
				continue
			}
		}
		kept.Keys = append(kept.Keys, k)
	}
	return kept
}

// changedStreams returns what became of the streams that a run knew. One that
// it did not know, because it is new or because that run was of an older
// version, has not changed.
func changedStreams(was, now map[string]string) []problem.StreamChange {
	before, after := byStream(was), byStream(now)
	var changes []problem.StreamChange
	for _, stream := range slices.Sorted(maps.Keys(before)) {
		change := problem.StreamChange{Stream: stream}
		for _, key := range slices.Sorted(maps.Keys(merged(before[stream], after[stream]))) {
			_, noted := before[stream][key]
			if old, fresh := before[stream][key], after[stream][key]; old != fresh && (noted || key != "records" && key != "page") {
				change.Keys = append(change.Keys, problem.KeyChange{Key: key, Was: old, Now: fresh})
			}
		}
		if after[stream] == nil {
			change.Keys = nil
		}
		if after[stream] == nil || len(change.Keys) > 0 {
			changes = append(changes, change)
		}
	}
	return changes
}

// byStream returns what of an identity belongs to each stream.
func byStream(identity map[string]string) map[string]map[string]string {
	streams := map[string]map[string]string{}
	for name, value := range identity {
		if stream, key, ok := strings.Cut(name, "."); ok {
			if streams[stream] == nil {
				streams[stream] = map[string]string{}
			}
			streams[stream][key] = value
		}
	}
	return streams
}

// operations is how many events back a reset since the last run is looked for:
// between two runs there are only those of an operator.
const operations = 200

// resetSince returns the streams that were reset since the run before in each
// lane that they have, or have none: nothing is left to misread.
func (r *Run) resetSince(ctx context.Context, streams []store.StreamState) (map[string]bool, error) {
	events, err := r.Store.Events(ctx, r.Target.Name, operations)
	if err != nil {
		return nil, err
	}
	done := map[collection.Place]bool{}
	for _, e := range events {
		if e.Kind == collection.CheckpointReset && !e.Time.Before(r.before.StartedAt) {
			done[collection.Place{Stream: e.Stream, Partition: e.Partition, Lane: e.Lane}] = true
		}
	}
	reset := map[string]bool{}
	for _, stream := range streams {
		lanes, err := r.lanesOf(ctx, stream)
		if err != nil {
			return nil, err
		}
		reset[stream.Name] = !slices.ContainsFunc(lanes, func(lane collection.Lane) bool {
			return !done[collection.Place{Stream: stream.Name, Lane: lane}]
		})
	}
	return reset, nil
}

// owing returns the streams that owe something.
func (r *Run) owing(ctx context.Context) (map[string]bool, error) {
	owed, err := r.Store.Gaps(ctx, r.Target.Name)
	owing := map[string]bool{}
	for _, gap := range owed {
		if !gap.Waived() {
			owing[gap.Stream] = true
		}
	}
	return owing, err
}

// meaningOfGone returns what the streams were made of that are in the file no more, and
// owe something: noted by this run, too, it tells a later one whether a stream that
// comes back is the same.
func (r *Run) meaningOfGone() map[string]string {
	meaning := map[string]string{}
	for stream := range r.gone {
		for key, value := range byStream(r.before.Params)[stream] {
			meaning[stream+"."+key] = value
		}
	}
	return meaning
}

// lanesOf returns the lanes in which a stream has checkpoints or owes something.
func (r *Run) lanesOf(ctx context.Context, stream store.StreamState) ([]collection.Lane, error) {
	var lanes []collection.Lane
	for _, lane := range stream.Lanes {
		lanes = append(lanes, lane.Lane)
	}
	owed, err := r.Store.Gaps(ctx, r.Target.Name)
	for _, gap := range owed {
		if gap.Stream == stream.Name && !slices.Contains(lanes, gap.Lane) {
			lanes = append(lanes, gap.Lane)
		}
	}
	return lanes, err
}

// startOver forgets where the walks of a stream stand that has stored nothing,
// and what it owes. Another run that is on now is waited for as by any run.
func (r *Run) startOver(ctx context.Context, stream store.StreamState) error {
	lanes, err := r.lanesOf(ctx, stream)
	if err != nil {
		return err
	}
	audit := AuditOf("the connector file was corrected, and nothing was stored before")
	for _, lane := range lanes {
		err := r.Store.Reset(ctx, r.Target.Name, collection.Place{Stream: stream.Name, Lane: lane}, collection.Cursor{}, audit)
		if _, held := errors.AsType[*store.HeldError](err); err != nil && !held {
			return err
		}
	}
	r.corrected = append(r.corrected, stream.Name)
	return nil
}
