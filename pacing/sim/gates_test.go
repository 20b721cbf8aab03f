package sim_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// A gate is something that the default law is to reach.
type gate struct {
	what string
	want float64
	got  float64
	unit string
	from bool // want is the least, and not the most

	// now is where the law is on the seeds of the short form, if that is not
	// where it is wanted: it must not get worse unseen. A change of the law
	// makes other histories of them, so whoever makes one notes here where it
	// is then, better or worse.
	now float64

	// slack is what is forgiven where this was never measured. One seed is one
	// history, but on other processors the last bit of a number may be another,
	// because a product is fused with a sum: a request that so moves past
	// another begins a different history, and this is how far those scatter.
	// On amd64, with fused products (GOAMD64=v3) and without (GODEBUG=cpu.fma=off),
	// the figures were the same.
	slack float64
}

// met reports whether what was reached is within bound, and more.
func (g gate) met(bound, more float64) bool {
	if g.from {
		return g.got >= bound-more
	}
	return g.got <= bound+more
}

// holds reports whether g is where it is wanted, or where it was.
func (g gate) holds() bool {
	more := 0.0
	if runtime.GOARCH != "amd64" {
		more = g.slack
	}
	return g.met(g.want, more) || g.now != 0 && g.met(g.now, more)
}

func (g gate) row() string {
	bound, met := "at most", "yes"
	if g.from {
		bound = "at least"
	}
	if !g.met(g.want, 0) {
		met = "**no**"
	}
	return fmt.Sprintf("| %s | %s %.4g%s | %.4g%s | %s |\n", g.what, bound, g.want, g.unit, g.got, g.unit, met)
}

// pass fails for each gate that is missed, or writes all of them down.
func pass(t *testing.T, gates []gate) {
	for _, g := range gates {
		appendTo(t, *gateRows, g.row())
		t.Logf("%s: %.4g%s, want %.4g%s", g.what, g.got, g.unit, g.want, g.unit)
		if !g.holds() && *gateRows == "" {
			t.Errorf("%s: %.4g%s, want %.4g%s, or the %.4g%s that it was", g.what, g.got, g.unit, g.want, g.unit, cmp.Or(g.now, g.want), g.unit)
		}
	}
}

// Families that punish, or that take their limit back and forth: nobody gets
// all of it, so less is asked for.
var hard = []string{"penalty", "baseless", "co-tenant"}

// Families whose answers say when there is more, or whose bucket is quick to
// refill.
var quick = []string{"window-after", "bucket", "bucket-after", "bucket-zero", "bucket-rate", "ban-refusals"}

// gatesOf returns what must hold of an hour at each family.
func gatesOf(all []*tally) []gate {
	var shares, hardShares, refused, reached, cold, coldQuick, after, quiet []float64
	var queue, tarpit float64
	worst, bans, early, announced := 100.0, 0, 0, 0
	for _, a := range all {
		name := a.family.Name
		bans, early = bans+a.bans, early+a.early
		if slices.Contains(quick, name) {
			coldQuick = append(coldQuick, a.cold...)
		} else {
			cold = append(cold, a.cold...)
		}
		after, quiet = append(after, a.after...), append(quiet, a.quiet...)
		switch name {
		case "queue":
			queue = mean(a.latency)
		case "tarpit":
			tarpit = mean(a.latency)
		case "window-headers", "window-ietf":
			announced += a.refusals
		}
		if !a.family.Learnable {
			continue
		}
		shares, refused, reached = append(shares, 100*mean(a.shares)), append(refused, a.refused()), append(reached, a.reached...)
		worst = min(worst, 100*slices.Min(a.shares))
		if slices.Contains(hard, name) {
			hardShares = append(hardShares, shares[len(shares)-1])
		}
	}
	easy := slices.DeleteFunc(slices.Clone(shares), func(s float64) bool { return slices.Contains(hardShares, s) })
	return []gate{
		{what: "accounts banned where a signal exists", want: 0, got: float64(bans)},
		{what: "requests inside a Retry-After", want: 0, got: float64(early)},
		{what: "refusals where fields announce a window", want: float64(len(all[0].shares)), got: float64(announced)},
		{what: "work, mean of the families", want: 92, got: mean(shares), unit: " %", from: true, slack: 2},
		{what: "work, every family but the hard ones", want: 84, got: slices.Min(easy), unit: " %", from: true, slack: 6},
		{what: "work, hard families: penalty boxes, refusals for nothing, a co-tenant in bursts", want: 80, got: slices.Min(hardShares), unit: " %", from: true, slack: 6},
		{what: "work, worst instance", want: 75, got: worst, unit: " %", from: true, slack: 6},
		// Of 1200 requests, which are an hour at a limit of one in three seconds,
		// twenty refusals are sixteen of 1000: bucket-zero, bucket-after, sliding.
		{what: "refused of 1000, mean of the families", want: 2.5, now: 2.51, got: mean(refused), slack: 2},
		{what: "refused of 1000, median of the families", want: 1.5, got: median(refused), slack: 1},
		// window-after: 150 in ten seconds.
		{what: "cold: refusals in 5 minutes, worst, with Retry-After or a bucket", want: 8, now: 9, got: slices.Max(coldQuick), slack: 12},
		{what: "cold: refusals in 5 minutes, worst, of all others", want: 20, got: slices.Max(cold), slack: 15},
		{what: "cold: 90 % of the limit, median", want: 120, got: median(reached), unit: " s"},
		{what: "limit cut to a quarter: few refused again, median", want: 60, got: median(quiet), unit: " s", slack: 60},
		{what: "limit cut to a quarter: refusals in 5 minutes, median", want: 8, got: median(after), slack: 6},
		{what: "latency of a queue, as a multiple", want: 2, got: queue, slack: 0.5},
		{what: "latency of a tarpit, as a multiple", want: 3, got: tarpit, slack: 1},
	}
}
