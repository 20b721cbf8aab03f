package engine

import (
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// A GapOrder is what a person orders for gaps of a connector: that the next run
// tries them again, or that they are given up. It is for the gaps that are named,
// or else for all that no run tries by itself, or not yet.
type GapOrder struct {
	Connector string
	Waive     bool    // give them up; else they are tried again
	Gaps      []int64 // none: all
	Stream    string  // "": all
	Gone      bool    // try again what is gone for good, too; named gaps are in any case
	Waived    bool    // try again what was waived, too; named gaps are in any case
	Flags     string  // what commands to copy must repeat
	Now       time.Time
}

// verb is the subcommand of the order.
func (o GapOrder) verb() string {
	if o.Waive {
		return "waive"
	}
	return "retry"
}

// Choose returns those of all gaps that are owed which the order is for, and if
// there are none, why. A gap that is named and not owed by the connector, or that
// cannot be waived, is a *[problem.UsageError].
func (o GapOrder) Choose(owed []store.OwnedGap) (chosen []store.OwnedGap, idle string, err error) {
	asked := slices.DeleteFunc(slices.Clone(owed), func(g store.OwnedGap) bool {
		return g.Connector != o.Connector || o.Stream != "" && g.Stream != o.Stream
	})
	if len(o.Gaps) > 0 {
		if asked, err = o.named(owed); err != nil {
			return nil, "", err
		}
	}
	what := words.Clean(o.Connector)
	if o.Stream != "" {
		what += "/" + words.Clean(o.Stream)
	}
	if o.Waive {
		chosen, idle = o.toWaive(asked, what)
	} else {
		chosen, idle = o.toRetry(asked, what)
	}
	if len(asked) == 0 {
		idle = "nothing is owed for " + what
	}
	return chosen, idle, nil
}

// toRetry returns the gaps of those asked for that the next run is to try again.
func (o GapOrder) toRetry(asked []store.OwnedGap, what string) (dead []store.OwnedGap, idle string) {
	gone, waived, asks, yours := 0, 0, 0, int64(0)
	for _, gap := range asked {
		switch {
		case gap.Cools(o.Now):
			dead = append(dead, gap)
		case gap.Reason == collection.RetryAfter && gap.NotBefore.After(o.Now):
			asks++
		case !gap.Retriable(o.Now):
			if gap.Kind() == collection.Stuck && !gap.Revived() {
				yours = gap.ID
			}
		case gap.Waived() && !o.Waived && len(o.Gaps) == 0:
			waived++
		case gap.Reason.Settled() && !gap.Waived() && !o.Gone && len(o.Gaps) == 0:
			gone++
		default:
			dead = append(dead, gap)
		}
	}
	switch {
	case asks > 0 && asks == len(asked):
		idle = "nothing is sent before the provider's pause is over; if it has granted more since, let one request ask: `" +
			problem.Command("freeze release", o.Connector, o.Flags) + " --reason WHY`"
	case yours != 0:
		idle = "runs try " + words.GapName(yours) + " by themselves, which helps once its cause is settled; what to do: `" +
			problem.Command("explain", words.GapName(yours), o.Flags) + "`"
	case len(o.Gaps) == 1:
		idle = words.GapName(o.Gaps[0]) + " needs no order: runs try it by themselves"
	case len(o.Gaps) > 1:
		idle = "these gaps need no order: runs try them by themselves"
	case gone == len(asked):
		idle = "all that is left of " + what + " is gone for good, which --gone retries, too"
	case waived > 0 && gone+waived == len(asked):
		idle = "all that is left of " + what + " was waived, which --waived takes back, or is gone for good"
	default:
		idle = "no gap of " + what + " needs an order: runs retry what is owed by themselves"
	}
	return dead, idle
}

// toWaive returns the gaps of those asked for that are to be given up: of a whole
// stream, those that no run tries by itself.
func (o GapOrder) toWaive(asked []store.OwnedGap, what string) (waived []store.OwnedGap, idle string) {
	for _, gap := range asked {
		if !gap.Settled() && gap.Waivable() && (len(o.Gaps) > 0 || gap.State == collection.GapDead) {
			waived = append(waived, gap)
		}
	}
	switch {
	case len(o.Gaps) == 1:
		idle = words.GapName(o.Gaps[0]) + " is not owed any more: it was waived, or is gone for good"
	case len(o.Gaps) > 1:
		idle = "these gaps are not owed any more: they were waived, or are gone for good"
	default:
		idle = "no gap of " + what + " is left to you that can be waived"
	}
	return waived, idle
}

// named returns the gaps that are named, each once.
func (o GapOrder) named(owed []store.OwnedGap) (gaps []store.OwnedGap, err error) {
	for _, id := range o.Gaps {
		i := slices.IndexFunc(owed, func(g store.OwnedGap) bool { return g.ID == id })
		switch {
		case i < 0:
			return nil, problem.Usage("collect gaps %s: no gap %s is owed: it was filled, or there was none; nothing was changed; see `%s`",
				o.verb(), words.GapName(id), problem.Command("gaps", o.Connector, o.Flags))
		case owed[i].Connector != o.Connector:
			return nil, problem.Usage("collect gaps %s: %s is a gap of %s; nothing was changed; for it: %s", o.verb(),
				words.GapName(id), words.Clean(owed[i].Connector), problem.GapCommand(o.verb(), owed[i].Connector, o.Flags, id))
		case o.Waive && !owed[i].Waivable():
			return nil, problem.Usage("collect gaps waive: the walk of %s/%s stands at %s: all that comes behind it would never be collected; nothing was changed; what to do: `%s`",
				words.Clean(o.Connector), words.Clean(owed[i].Stream), words.GapName(id), problem.Command("explain", words.GapName(id), o.Flags))
		case !slices.ContainsFunc(gaps, func(g store.OwnedGap) bool { return g.ID == id }):
			gaps = append(gaps, owed[i])
		}
	}
	return gaps, nil
}

// CarryOut gives the order for the gaps that were chosen, in the name of who the audit
// says, and returns those that it was not too late for. Which ones is decided before: what
// dies while a person thinks was not agreed to.
func (o GapOrder) CarryOut(ctx context.Context, db store.Store, audit store.Audit, chosen []store.OwnedGap) (changed []store.OwnedGap, err error) {
	ids := make([]int64, len(chosen))
	for i, gap := range chosen {
		ids[i] = gap.ID
	}
	do := db.Revive
	if o.Waive {
		do = db.Waive
	}
	gaps, err := do(ctx, o.Connector, ids, audit)
	for _, gap := range gaps {
		changed = append(changed, store.OwnedGap{Connector: o.Connector, Gap: gap})
	}
	return changed, err
}
