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

	"collect/pacing/sim"
)

var (
	seeds    = flag.Int("score.seeds", 1, "instances of each family")
	first    = flag.Uint64("score.first", 1000, "the first seed")
	clients  = flag.String("score.clients", "plateau", "comma-separated `names` of clients; all: every one")
	families = flag.String("score.families", "", "comma-separated `names` of families; none: every one")
	rows     = flag.String("score.rows", "", "append a row for each client and family to this `file`")
	label    = flag.String("score.label", "", "the `name` of the client in the rows, if not its own")
)

// A tally is what a client made of the instances of a family.
type tally struct {
	shares, reached, latency, cold []float64
	refusals, requests             int
	bans, early                    int
}

func (a *tally) add(whole, begin sim.Score) {
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
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func (a *tally) refused() float64 { return 1000 * float64(a.refusals) / float64(max(1, a.requests)) }

// play lets c work for an hour at the instances of f.
func play(t *testing.T, f sim.Family, c sim.Client) *tally {
	var sum tally
	for i := range *seeds {
		synctest.Test(t, func(t *testing.T) {
			p := f.New(*first + uint64(i))
			var state []byte
			sim.Play(p, c, time.Hour, &state)
			s := p.Score(0, time.Hour)
			begin := p.Score(0, 5*time.Minute)
			sum.add(s, begin)
			t.Logf("%s at %s, seed %d: %.1f %% of %d, %d refused, 90 %% after %.0f s, latency ×%.1f, banned %t, early %d, cold %d",
				c.Name, f.Name, p.Seed, 100*s.Share, s.Requests, s.Refusals, s.Reached, s.Latency, s.Banned, s.Early, begin.Refusals)
		})
	}
	return &sum
}

func chosen(list, name string) bool {
	return list == "" || list == "all" || slices.Contains(strings.Split(list, ","), name)
}

// TestScore plays an hour at an instance of every family and checks what must
// hold whatever the draw. The whole table is made by scripts/score.
func TestScore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	for _, c := range sim.Contenders() {
		if !chosen(*clients, c.Name) {
			continue
		}
		var shares, refused []float64
		for _, f := range sim.Families() {
			if !chosen(*families, f.Name) {
				continue
			}
			got := play(t, f, c)
			record(t, c.Name, f, got)
			if f.Learnable {
				shares = append(shares, mean(got.shares))
				refused = append(refused, got.refused())
			}
			if c.Name != "plateau" || *label != "" {
				continue
			}
			if got.bans > 0 || got.early > 0 {
				t.Errorf("%s: %d bans, %d requests while it had asked for silence, want none", f.Name, got.bans, got.early)
			}
			if f.Announced && got.refusals > 3**seeds {
				t.Errorf("%s: %d refusals, though headers announce the limit, want 3 in an hour at most", f.Name, got.refusals)
			}
		}
		t.Logf("%s: mean of the learnable families %.1f %%, refused of 1000: mean %.1f, median %.1f",
			c.Name, 100*mean(shares), mean(refused), median(refused))
		// The gates of the table are 92 % and 2.5; one instance of each family
		// scatters.
		if c.Name == "plateau" && *label == "" && *families == "" && (mean(shares) < 0.88 || median(refused) > 5) {
			t.Errorf("the mean share is %.3f and the median refused %.1f, want at least 0.88 and at most 5", mean(shares), median(refused))
		}
	}
}

// record appends a row for people and scripts to sort.
func record(t *testing.T, client string, f sim.Family, a *tally) {
	if *rows == "" {
		return
	}
	if *label != "" {
		client = *label
	}
	out, err := os.OpenFile(*rows, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	reached := median(a.reached)
	if math.IsInf(reached, 1) {
		reached = -1
	}
	fmt.Fprintf(out, "%s\t%s\t%t\t%.1f\t%.1f\t%.2f\t%d\t%d\t%.1f\t%.0f\t%.1f\n", client, f.Name, f.Learnable,
		100*mean(a.shares), 100*slices.Min(a.shares), a.refused(), a.bans, a.early, slices.Max(a.cold), reached, mean(a.latency))
}
