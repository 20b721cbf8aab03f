package sim_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

var (
	seeds    = flag.Int("score.seeds", 2, "instances of each family")
	first    = flag.Uint64("score.first", 2000, "the first seed")
	clients  = flag.String("score.clients", law.Plateau, "comma-separated `names` of clients; all: every one")
	families = flag.String("score.families", "", "comma-separated `names` of families; none: every one")
	rows     = flag.String("score.rows", "", "append a row for each client and family to this `file`")
	label    = flag.String("score.label", "", "the `name` of the client in the rows, if not its own")
	gateRows = flag.String("score.gates", "", "append the gates to this `file` instead of failing at one that is missed")
)

// A tally is what a client made of the instances of a family.
type tally struct {
	family                         sim.Family
	shares, reached, latency, cold []float64
	after, quiet                   []float64 // refusals in 5 minutes after a cut, and the seconds until few were refused
	refusals, requests             int
	bans, early                    int
}

// play lets c work for long at so many instances of f.
func play(t *testing.T, f sim.Family, c sim.Client, long time.Duration, instances int) *tally {
	a := &tally{family: f}
	for i := range instances {
		synctest.Test(t, func(t *testing.T) {
			p := f.New(*first + uint64(i))
			var state []byte
			sim.Play(p, c, long, &state)
			a.add(t, c.Name, p, long)
		})
	}
	return a
}

func (a *tally) add(t *testing.T, client string, p *sim.Provider, long time.Duration) {
	whole, begin := p.Score(0, long), p.Score(0, 5*time.Minute)
	a.shares = append(a.shares, whole.Share)
	a.reached = append(a.reached, whole.Reached)
	a.latency = append(a.latency, whole.Latency)
	a.cold = append(a.cold, float64(begin.Refusals))
	a.refusals += whole.Refusals
	a.requests += whole.Requests
	a.early += whole.Early
	if whole.Banned {
		a.bans++
	}
	if p.Cut > 0 {
		a.after = append(a.after, float64(p.Score(p.Cut, p.Cut+5*time.Minute).Refusals))
		a.quiet = append(a.quiet, p.Quiet(p.Cut, p.Cut+10*time.Minute, 0.02))
	}
	t.Logf("%s at %s, seed %d: %.1f %% of %d, %d refused, 90 %% after %.0f s, latency ×%.1f, banned %t, early %d, cold %d",
		client, p.Family, p.Seed, 100*whole.Share, whole.Requests, whole.Refusals, whole.Reached, whole.Latency, whole.Banned, whole.Early, begin.Refusals)
}

func (a *tally) refused() float64 { return 1000 * float64(a.refusals) / float64(max(1, a.requests)) }

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(1, len(v)))
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func chosen(list, name string) bool {
	return list == "" || list == "all" || slices.Contains(strings.Split(list, ","), name)
}

// scored returns the families that were chosen; if none was, those that the
// score is over.
func scored() []sim.Family {
	if *families == "" {
		return sim.Families()
	}
	return slices.DeleteFunc(sim.Kinds(), func(f sim.Family) bool {
		return !chosen(*families, f.Name)
	})
}

// TestScore plays an hour at instances of every family, and checks the gates
// of the default law. The whole table is made by scripts/score.
func TestScore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	for _, c := range sim.Contenders() {
		if !chosen(*clients, c.Name) {
			continue
		}
		var all []*tally
		for _, f := range scored() {
			got := play(t, f, c, time.Hour, *seeds)
			record(t, c.Name, got)
			all = append(all, got)
		}
		if c.Name == law.Plateau && *label == "" && *families == "" {
			pass(t, gatesOf(all))
		}
	}
}

// record appends a row for people and scripts to sort.
func record(t *testing.T, client string, a *tally) {
	if *label != "" {
		client = *label
	}
	reached := median(a.reached)
	if math.IsInf(reached, 1) {
		reached = -1
	}
	appendTo(t, *rows, fmt.Sprintf("%s\t%s\t%t\t%.1f\t%.1f\t%.2f\t%d\t%d\t%.1f\t%.0f\t%.1f\n", client, a.family.Name, a.family.Learnable,
		100*mean(a.shares), 100*slices.Min(a.shares), a.refused(), a.bans, a.early, slices.Max(a.cold), reached, mean(a.latency)))
}

func appendTo(t *testing.T, file, line string) {
	if file == "" {
		return
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.WriteString(line); err != nil {
		t.Fatal(err)
	}
}
