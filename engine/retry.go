package engine

import (
	"context"
	"slices"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// A Retry says which gaps of a connector are to be tried again: those that are
// named, or else all that no run tries by itself.
type Retry struct {
	Connector string
	Gaps      []int64 // none: all
	Stream    string  // "": all
	Gone      bool    // also what is gone for good; named gaps are in any case
	Flags     string  // what commands to copy must repeat
}

// Choose returns those of all gaps that are owed which the order is for, and if
// there are none, why. A gap that is named and not owed by the connector is a
// *[problem.UsageError].
func (o Retry) Choose(owed []store.OwnedGap) (dead []store.OwnedGap, idle string, err error) {
	asked := slices.DeleteFunc(slices.Clone(owed), func(g store.OwnedGap) bool {
		return g.Connector != o.Connector || o.Stream != "" && g.Stream != o.Stream
	})
	if len(o.Gaps) > 0 {
		if asked, err = o.named(owed); err != nil {
			return nil, "", err
		}
	}
	gone := 0
	for _, gap := range asked {
		switch {
		case gap.State != collection.GapDead:
		case gap.Reason.Settled() && !o.Gone && len(o.Gaps) == 0:
			gone++
		default:
			dead = append(dead, gap)
		}
	}
	what := words.Clean(o.Connector)
	if o.Stream != "" {
		what += "/" + words.Clean(o.Stream)
	}
	switch {
	case len(asked) == 0:
		idle = "nothing is owed for " + what
	case len(o.Gaps) == 1:
		idle = words.GapName(o.Gaps[0]) + " needs no order: runs try it by themselves"
	case len(o.Gaps) > 1:
		idle = "these gaps need no order: runs try them by themselves"
	case gone == len(asked):
		idle = "all that is left of " + what + " is gone for good, which --gone retries, too"
	default:
		idle = "no gap of " + what + " needs an order: runs retry what is owed by themselves"
	}
	return dead, idle, nil
}

// named returns the gaps that are named, each once.
func (o Retry) named(owed []store.OwnedGap) (gaps []store.OwnedGap, err error) {
	for _, id := range o.Gaps {
		i := slices.IndexFunc(owed, func(g store.OwnedGap) bool { return g.ID == id })
		switch {
		case i < 0:
			return nil, problem.Usage("collect gaps retry: no gap %s is owed: it was filled, or there was none; nothing was changed; see `%s`",
				words.GapName(id), problem.Command("gaps", o.Connector, o.Flags))
		case owed[i].Connector != o.Connector:
			return nil, problem.Usage("collect gaps retry: %s is a gap of %s; nothing was changed; for it: %s",
				words.GapName(id), words.Clean(owed[i].Connector), problem.RetryCommand(owed[i].Connector, o.Flags, id))
		case !slices.ContainsFunc(gaps, func(g store.OwnedGap) bool { return g.ID == id }):
			gaps = append(gaps, owed[i])
		}
	}
	return gaps, nil
}

// Revive lets the next run try dead gaps of a connector again, for the record, and
// returns those that it was not too late for. Which ones is decided before: what
// dies while a person thinks was not agreed to.
func Revive(ctx context.Context, db store.Store, connector, why string, dead []store.OwnedGap) (revived []store.OwnedGap, err error) {
	ids := make([]int64, len(dead))
	for i, gap := range dead {
		ids[i] = gap.ID
	}
	gaps, err := db.Revive(ctx, connector, ids, AuditOf(why))
	for _, gap := range gaps {
		revived = append(revived, store.OwnedGap{Connector: connector, Gap: gap})
	}
	return revived, err
}
