package runner

import (
	"context"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors"
)

// work does the work of the run's lane, and then goes on with a backfill that was
// begun: nobody would else, and what is owed is not left to people who remember it.
func (r *Runner) work(ctx context.Context) error {
	r.commits.start()
	defer r.commits.close()

	// An interrupt waits for it: whatever ends the run, it owes what it would have
	// gone on with, and nothing of what had come to its end before.
	if err := r.goOn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := r.probe(ctx); err != nil || r.ended() != nil {
		return err
	}
	if err := r.workLane(ctx); err != nil || r.ended() != nil || !r.Onward || r.lane == collection.Backfill {
		return err
	}
	return r.backfill(ctx)
}

// backfill goes on with the streams whose backfill was begun and has not come to its
// end, and fills the gaps of that lane that are due.
func (r *Runner) backfill(ctx context.Context) error {
	r.lane, r.begunBefore = collection.Backfill, map[string]bool{}
	all, begun := r.streams, []collection.Stream(nil)
	for _, stream := range all {
		state, err := r.state(ctx, stream)
		if err != nil {
			return err
		}
		if !state.Checkpoint.Done && (state.Owed || state.Left != "" || state.Checkpoint.Cursor != (collection.Cursor{})) {
			begun = append(begun, stream)
		}
	}
	if err := r.recover(ctx, r.names()); err != nil || len(begun) == 0 {
		return err
	}
	r.streams = begun // what ends the run now owes nothing of the others
	if err := r.goOn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return r.workLane(ctx)
}

// workLane does forward work and recovery in one lane, in the order of the run's mode.
func (r *Runner) workLane(ctx context.Context) error {
	if r.Run.Mode == collection.Resume || r.GapsFirst {
		if err := r.recover(ctx, r.names()); err != nil {
			return err
		}
	}
	for _, stream := range r.streams {
		if err := r.forward(ctx, stream); err != nil {
			return err
		}
		if err := r.recover(ctx, []string{stream.Name}); err != nil {
			return err
		}
	}
	return r.lookAgain(ctx)
}

// probe asks whether the account is the right one, if the connector knows how.
// Without an answer the run ends, whatever the reason: a provider shows strangers
// less, and less would be taken for everything.
func (r *Runner) probe(ctx context.Context) error {
	prober, ok := r.Connector.(connectors.Prober)
	if !ok {
		return nil
	}
	err := prober.Probe(ctx, r.client)
	if err == nil {
		return nil
	}
	stop, err := asStop(ctx, err)
	if err != nil {
		return err
	}
	r.met(collection.Place{}, stop)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		r.stop = stop
	}
	return nil
}

// goOn makes the run continue what the runs before it began. As long as one
// stream has not come to its end, those that have are not walked again: the
// work that is unfinished comes first, whatever it costs in runs. Only when
// all have come to their ends does a run begin all of them anew. A stream that
// stands at a gap waits for recovery, and holds up no other stream.
//
// A pass that came to its end is looked at again all the same: partitions may
// have joined it since, from what its parents' walk was late to find, and a
// run that did not take them on would call itself complete without them.
func (r *Runner) goOn(ctx context.Context) error {
	homes := make([]collection.Place, len(r.streams))
	for i, stream := range r.streams {
		homes[i] = r.home(stream)
	}
	states, err := r.Ledger.Places(ctx, homes)
	if err != nil {
		return err
	}
	unfinished := func(s collection.PlaceState) bool { return !s.Checkpoint.Done && !s.Owed || r.lost(s) }
	anew := !slices.ContainsFunc(states, unfinished)
	r.anew = anew && r.lane != collection.Backfill // a backfill is finished once
	for i, state := range states {
		begun := state.Checkpoint.Cursor != (collection.Cursor{}) && !r.lost(state)
		if !anew && begun && state.Checkpoint.Done && r.streams[i].Parent == "" {
			r.finish(homes[i])
		}
		if begun && (!anew || !state.Checkpoint.Done) { // else this run begins it
			r.begunBefore[r.streams[i].Name] = true
		}
	}
	return nil
}

// lookAgain asks once for new records in the streams that came to their ends when, or
// before, the run finished what an earlier one had begun: without it, the run would
// call itself complete as of then. It asks from the marks of streams that
// have one; a list without a mark would be walked whole.
func (r *Runner) lookAgain(ctx context.Context) error {
	if r.lane == collection.Backfill {
		return nil
	}
	looked := map[string]bool{} // streams that were asked once more, and may have new parents
	for _, stream := range r.streams {
		if !r.begunBefore[stream.Name] && !looked[stream.Parent] {
			continue
		}
		state, err := r.state(ctx, stream)
		if err != nil {
			return err
		}
		if r.ended() != nil || !state.Checkpoint.Done || state.Owed {
			continue
		}
		if state.Checkpoint.Since == "" && stream.Parent == "" {
			continue
		}
		r.unfinish(r.home(stream))
		looked[stream.Name] = true
		if err := r.takeOn(ctx, stream, state.Checkpoint.Cursor); err != nil {
			return err
		}
		if err := r.recover(ctx, []string{stream.Name}); err != nil {
			return err
		}
	}
	return nil
}

// lost reports whether the cursor of a place means nothing any more: however far
// the walk was, it begins anew.
func (r *Runner) lost(state collection.PlaceState) bool {
	_, lost := r.restart(state.Checkpoint.Place, state.Checkpoint.Cursor)
	return lost
}

// forward takes one stream on from its checkpoint.
func (r *Runner) forward(ctx context.Context, stream collection.Stream) error {
	if r.ended() != nil || r.finished(r.home(stream)) {
		return nil
	}
	state, err := r.state(ctx, stream)
	if err != nil {
		return err
	}
	switch {
	case stream.Parent != "": // partitions may have joined
	case r.lost(state): // its gaps were those of another list
	case state.Checkpoint.Done && !r.anew:
		return nil
	case state.Owed:
		return nil // the walk stands at a gap, which only recovery takes
	}
	return r.takeOn(ctx, stream, state.Checkpoint.Cursor)
}

// takeOn takes the walk of a stream, or the pass over its partitions, on from its
// checkpoint.
func (r *Runner) takeOn(ctx context.Context, stream collection.Stream, checkpoint collection.Cursor) error {
	if stream.Parent != "" {
		return r.pass(ctx, stream, checkpoint)
	}
	return r.walk(ctx, stream, r.home(stream), checkpoint, "")
}

// state returns how a stream's own walk or pass stands.
func (r *Runner) state(ctx context.Context, stream collection.Stream) (collection.PlaceState, error) {
	states, err := r.Ledger.Places(ctx, []collection.Place{r.home(stream)})
	if err != nil {
		return collection.PlaceState{}, err
	}
	return states[0], nil
}

// leaveRest leaves a gap for every stream that the run did not finish, with
// the reason that ended the run. The gap marks where forward work goes on; it
// was not tried, so its attempts do not count.
func (r *Runner) leaveRest(ctx context.Context) error {
	var gaps []collection.Gap
	stop := *r.ended()
	if refused := r.refused(); refused != "" { // the gap is that of the pass
		stop.Detail = strings.TrimSuffix(refused+"; "+stop.Detail, "; ")
	}
	for _, stream := range r.streams {
		at := r.home(stream)
		state, err := r.state(ctx, stream)
		if err != nil {
			return err
		}
		done := r.lane == collection.Backfill && state.Checkpoint.Done
		if done || state.Owed || r.unsent() && state.Left == r.ended().Reason || r.settled(at) {
			continue
		}
		gaps = append(gaps, r.gap(stream, at, state.Checkpoint.Cursor, &stop))
	}
	if len(gaps) == 0 {
		return nil
	}
	return r.deferGaps(ctx, false, gaps...)
}

// home returns the place of a stream's own walk or pass.
func (r *Runner) home(stream collection.Stream) collection.Place {
	return collection.Place{Stream: stream.Name, Lane: r.lane}
}
