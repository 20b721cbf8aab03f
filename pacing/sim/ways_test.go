package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/law"
	"collect/pacing/sim"
)

// A way is one of the ways in which people use a provider for an hour: its limit
// written down or not, in one run or from cron.
type way struct {
	name       string
	undeclared bool
	paged      bool // one request at a time for each stream
	run, pause time.Duration
}

const used = time.Hour

var ways = []way{
	{"one run, a ceiling declared", false, false, used, 0},
	{"one run, nothing declared", true, false, used, 0},
	{"60 runs of 55 s, a ceiling declared", false, false, 55 * time.Second, 5 * time.Second},
	{"60 runs of 55 s, nothing declared", true, false, 55 * time.Second, 5 * time.Second},
	{"one run, a list, a ceiling declared", false, true, used, 0},
	{"one run, a list, nothing declared", true, true, used, 0},
}

// TestWays plays each family in each way, for TestPage to tell. It judges nothing.
func TestWays(t *testing.T) {
	if *rows == "" {
		t.Skip("nobody asked for rows")
	}
	for _, f := range scored(t) {
		for _, w := range ways {
			a := &tally{family: f}
			for i := range *seeds {
				synctest.Test(t, func(t *testing.T) {
					p := f.New(*first + uint64(i))
					if !f.Learnable || p.Job.Requests > 0 {
						return
					}
					one := instance{Client: w.name, Family: f.Name, Learnable: true, Seed: p.Seed}
					one.use(p, w)
					a.all = append(a.all, one)
					t.Logf("%s, seed %d, %s: %.1f %% of %d, %d refused", f.Name, p.Seed, w.name, 100*one.Share, one.Requests, one.Refusals)
				})
			}
			record(t, a)
		}
	}
}

// use lets the default law use p in a way.
func (i *instance) use(p *sim.Provider, w way) {
	c := sim.Governed(law.Plateau)
	if w.undeclared {
		c = sim.Owned(collection.Provider{}, 0)
	}
	if w.paged {
		p.PageByPage()
	}
	var state []byte
	for begun := time.Now(); time.Since(begun) < used; {
		began := time.Now()
		sim.Play(p, c, w.run, &state) // which ends at once where a person must act
		time.Sleep(time.Until(began.Add(w.run + w.pause)))
	}
	i.note(p, used)
}

// waysText returns a line for each family of which less than wanted is had in one of
// the ways, the worst of its instances in each, and one for all families.
func waysText(all []*client) string {
	const wanted = 70
	var b, rule strings.Builder
	b.WriteString("| family |")
	rule.WriteString("|---|")
	worst := map[string][]string{}
	below := map[string]bool{}
	var total strings.Builder
	for _, w := range ways {
		fmt.Fprintf(&b, " %s |", w.name)
		rule.WriteString("--:|")
		var shares, refused []float64
		for _, c := range all {
			if c.name != w.name {
				continue
			}
			for _, a := range c.tallies {
				least := slices.Min(a.shares())
				worst[a.family.Name] = append(worst[a.family.Name], fmt.Sprintf("%.0f %%", least))
				below[a.family.Name] = below[a.family.Name] || least < wanted
				shares, refused = append(shares, mean(a.shares())), append(refused, a.refused())
			}
		}
		total.WriteString(fmt.Sprintf(" %.1f %%, %.2f of 1000 refused |", mean(shares), mean(refused)))
	}
	fmt.Fprintf(&b, "\n%s\n| mean of all families |%s\n", rule.String(), total.String())
	for _, f := range sim.Kinds() {
		if below[f.Name] {
			fmt.Fprintf(&b, "| %s, worst | %s |\n", f.Name, strings.Join(worst[f.Name], " | "))
		}
	}
	return b.String()
}
