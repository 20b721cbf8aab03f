package coordinator

import (
	"fmt"
	"slices"
)

// Rules say how the limits of the nodes become one, and how it is divided. All
// nodes of a key should have the same; where they differ, the promises hold
// for the highest L. The zero Rules are [Median] and [Equal].
type Rules struct {
	Aggregate Aggregate
	Split     Split
}

// An Aggregate makes one limit of those that the nodes infer.
type Aggregate string

const (
	Median Aggregate = "median" // the lower one, so that of two nodes the lower counts
	Min    Aggregate = "min"    // the smallest: one slow node slows all
)

// A Split divides the limit.
type Split string

const (
	Equal  Split = "equal"  // the same for all; what is left over goes to the first by ID
	Demand Split = "demand" // a node that does not use its share keeps one more than it uses; the others divide the rest
)

// Check returns an error if a rule is unknown.
func (r Rules) Check() error {
	if r.Aggregate != "" && r.Aggregate != Median && r.Aggregate != Min {
		return fmt.Errorf("no aggregate is called %q: there are %s, %s", r.Aggregate, Median, Min)
	}
	if r.Split != "" && r.Split != Equal && r.Split != Demand {
		return fmt.Errorf("no split is called %q: there are %s, %s", r.Split, Equal, Demand)
	}
	return nil
}

func (r Rules) limit(nodes []Record) int {
	limits := make([]int, len(nodes))
	for i, n := range nodes {
		limits[i] = n.Limit
	}
	slices.Sort(limits)
	if r.Aggregate == Min {
		return limits[0]
	}
	return limits[(len(limits)-1)/2]
}

// fair returns the share of a node if nothing were reserved for others. By
// demand it is at least 1, so that each node can show that it wants more; the
// cap keeps the sum.
func (r Rules) fair(nodes []Record, self, limit int) int {
	if r.Split != Demand {
		return part(limit, len(nodes), self)
	}
	rest, hungry, before := limit, 0, 0
	for i, n := range nodes {
		if n.satisfied(part(limit, len(nodes), i)) {
			rest -= n.InFlight + 1
			continue
		}
		hungry++
		if i < self {
			before++
		}
	}
	if n := nodes[self]; hungry > 0 && n.satisfied(part(limit, len(nodes), self)) {
		return n.InFlight + 1
	} else if hungry > 0 {
		return max(1, part(rest, hungry, before))
	}
	return max(1, part(limit, len(nodes), self))
}

// satisfied reports whether a node leaves a part of its share unused.
func (n Record) satisfied(equal int) bool { return n.InFlight < min(n.Share, equal) }

// part returns the i-th of n parts of a whole.
func part(whole, n, i int) int {
	p := whole / n
	if i < whole%n {
		p++
	}
	return p
}
