package runner

import (
	"context"
	"fmt"

	"collect/collection"
	"collect/connectors"
)

// mostStale bounds the stale partitions that a pass counts.
const mostStale = 10_000

// A stale is how many partitions that are collected once have a parent whose bytes were
// stored after they were collected.
type stale struct {
	parents map[collection.Partition]int  // how many parents stand for each
	fresh   map[collection.Partition]bool // those of a parent that changed since told
	told    int64                         // the commit up to which a pass before told of them
	example string                        // the key of one of these parents
}

func (s *stale) add(t task) {
	if s.parents == nil {
		s.parents, s.fresh, s.example = map[collection.Partition]int{}, map[collection.Partition]bool{}, t.parent
	}
	if len(s.parents) < mostStale {
		s.parents[t.at.Partition], s.fresh[t.at.Partition] = 0, t.stored > s.told
	}
}

// toldOfStale returns the commit up to which a pass before told of stale partitions: the
// one that began the pass which is done at checkpoint. A pass that stands in the middle
// has told of none yet.
func (r *Runner) toldOfStale(ctx context.Context, stream collection.Stream, checkpoint collection.Cursor) (int64, error) {
	if !checkpoint.Done || stream.Refresh != collection.Once {
		return 0, nil
	}
	done, err := r.Ledger.Checkpoint(ctx, r.home(stream))
	return done.Begun(), err
}

// tellStale warns of partitions that are collected once and whose parents changed since,
// if one of them changed after the pass before told of the others.
// One that several parents stand for, as a user stands behind many tickets, is not meant: a
// parent of it that is new looks the same here as one that changed.
func (r *Runner) tellStale(ctx context.Context, p *passage) error {
	if len(p.stale.parents) == 0 {
		return nil
	}
	for after := ""; ; {
		parents, err := r.Ledger.Parents(ctx, p.stream.Parent, after, parentsPage)
		if err != nil {
			return err
		}
		if len(parents) == 0 {
			break
		}
		for _, parent := range parents {
			after = parent.Key
			partition, _, ok, err := r.Connector.Partition(p.stream.Name, parent)
			if _, is := p.stale.parents[partition]; is && ok && err == nil {
				p.stale.parents[partition]++
			}
		}
	}
	n, fresh := 0, false
	for partition, parents := range p.stale.parents {
		if parents == 1 {
			n, fresh = n+1, fresh || p.stale.fresh[partition]
		}
	}
	if !fresh {
		return nil
	}
	parent, _, err := r.parent(ctx, p.stream.Parent, p.stale.example)
	if err != nil {
		return err
	}
	r.warn(p.home, collection.Warning{Code: collection.FetchedOnce, Text: r.staleWords(p.stream, n, parent)})
	return nil
}

func (r *Runner) staleWords(stream collection.Stream, n int, parent collection.Parent) string {
	text := fmt.Sprintf("%d records of `%s` changed after their details were fetched", n, stream.Parent)
	switch {
	case n == 1:
		text = fmt.Sprintf("1 record of `%s` changed after its details were fetched", stream.Parent)
	case n == mostStale:
		text = fmt.Sprintf("%d or more records of `%s` changed after their details were fetched", n, stream.Parent)
	}
	text += fmt.Sprintf(". A detail of `%s` is fetched once, so that these stay as they were", stream.Name)
	if reminder, ok := r.Connector.(connectors.Reminder); ok {
		if write, _ := reminder.WithChanged(stream.Name, parent.Data); write != "" {
			text += fmt.Sprintf(". To have them fetched again when their records change: `%s`; the next run then fetches each once more", write)
		}
	}
	return text
}
