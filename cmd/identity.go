package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/collection"
)

// identity returns what a checkpoint means nothing without: the parameters,
// where the provider is, and what each stream is made of. It is kept with each
// run. The names of what is not a parameter are told by isParam.
func (t target) identity() map[string]string {
	identity := mergeParams(t.meaning, t.params)
	if origins := t.connector.Provider().Origins; len(origins) > 0 {
		identity["base_url"] = origins[0]
	}
	return identity
}

// isParam reports whether a name in an identity is that of a parameter.
func isParam(name string) bool { return name != "base_url" && !strings.Contains(name, ".") }

// sameAsBefore finds the run before this one, and refuses to go on from its
// checkpoints if they were reached with other parameters, or by streams that
// were something else: records would be skipped, or mixed, in silence.
func (s *session) sameAsBefore(ctx context.Context) (err error) {
	if s.before, err = s.newestThatWorked(ctx); err != nil || s.before == nil || s.options.newParams {
		return err
	}
	was, now := s.before.Params, s.target.identity()
	if e := (&paramsError{Connector: s.target.name, Was: ofProvider(was), Now: ofProvider(now)}); !maps.Equal(e.Was, e.Now) {
		return e
	}
	changes, err := s.withoutReset(ctx, changedStreams(was, now))
	if err != nil || len(changes) == 0 {
		return err
	}
	return &meaningError{Connector: s.target.name, Changes: changes}
}

// newestThatWorked returns the run before this one; nil if there is none. One
// that was refused worked under nothing, and there may be any number of them:
// a timer goes on.
func (s *session) newestThatWorked(ctx context.Context) (*collection.Run, error) {
	for n := 10; ; n *= 10 {
		runs, err := s.store.Runs(ctx, s.target.name, n)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(runs, func(r collection.Run) bool { return r.ID != s.record.ID && r.ExitCode != exitConfig })
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

// A paramsError says that a connector was collected with other parameters, so
// that its checkpoints mean nothing now.
type paramsError struct {
	Connector string
	Was, Now  map[string]string
}

func (e *paramsError) Error() string {
	var changed []string
	for _, name := range sortedKeys(mergeParams(e.Was, e.Now)) {
		was, had := e.Was[name]
		switch now, has := e.Now[name]; {
		case !has:
			changed = append(changed, fmt.Sprintf("%s was %q and is not given now", name, was))
		case !had:
			changed = append(changed, fmt.Sprintf("%s was not given and is now %q", name, now))
		case was != now:
			changed = append(changed, fmt.Sprintf("%s was %q and is now %q", name, was, now))
		}
	}
	return fmt.Sprintf("%s was collected with other parameters: %s", e.Connector, strings.Join(changed, ", "))
}

// A meaningError says that streams of a connector are not what they were when
// their records were stored.
type meaningError struct {
	Connector string
	Changes   []streamChange
}

// A streamChange is what became of a stream: Keys of its file have other
// values now, or, if there are none, it is not there any more.
type streamChange struct {
	Stream string
	Keys   []keyChange
}

// A keyChange is another value of a key of a connector file. Was and Now are
// for people only where both are set.
type keyChange struct{ Key, Was, Now string }

func (e *meaningError) Error() string {
	var said []string
	for _, change := range e.Changes {
		said = append(said, change.String())
	}
	return fmt.Sprintf("%s is not what it was: %s", e.Connector, strings.Join(said, "; "))
}

func (c streamChange) String() string {
	if len(c.Keys) == 0 {
		return fmt.Sprintf("it has no stream `%s` any more", c.Stream)
	}
	var said []string
	for _, key := range c.Keys {
		switch {
		case key.Key == "key" || key.Key == "since" && key.Was != "" && key.Now != "":
			said = append(said, fmt.Sprintf("`%s` of %s was %s and is now %s", key.Key, c.Stream, key.Was, key.Now))
		default:
			said = append(said, fmt.Sprintf("`%s` of %s has changed", key.Key, c.Stream))
		}
	}
	return strings.Join(said, ", ")
}

// changedStreams returns what became of the streams that a run knew. One that
// it did not know, because it is new or because that run was of an older
// version, has not changed.
func changedStreams(was, now map[string]string) []streamChange {
	before, after := byStream(was), byStream(now)
	var changes []streamChange
	for _, stream := range sortedKeys(before) {
		change := streamChange{Stream: stream}
		for _, key := range sortedKeys(mergeParams(before[stream], after[stream])) {
			if old, fresh := before[stream][key], after[stream][key]; old != fresh {
				change.Keys = append(change.Keys, keyChange{key, old, fresh})
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

// withoutReset takes away the changes of streams that were reset since the run
// before in each lane that they have: no checkpoint is left to misread.
func (s *session) withoutReset(ctx context.Context, changes []streamChange) ([]streamChange, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	streams, err := s.store.Streams(ctx, s.target.name)
	if err != nil {
		return nil, err
	}
	events, err := s.store.Events(ctx, s.target.name, operations)
	if err != nil {
		return nil, err
	}
	reset := map[collection.Place]bool{}
	for _, e := range events {
		if e.Kind == collection.CheckpointReset && !e.Time.Before(s.before.StartedAt) {
			reset[collection.Place{Stream: e.Stream, Partition: e.Partition, Lane: e.Lane}] = true
		}
	}
	for _, stream := range streams {
		left := false
		for _, lane := range stream.Lanes {
			left = left || !reset[collection.Place{Stream: stream.Name, Lane: lane.Lane}]
		}
		if !left {
			changes = slices.DeleteFunc(changes, func(c streamChange) bool { return c.Stream == stream.Name && len(c.Keys) > 0 })
		}
	}
	return changes, nil
}
