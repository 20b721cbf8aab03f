package sim_test

import (
	"encoding/json"
	"flag"
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
	families = flag.String("score.families", "", "comma-separated `names` of families, or tuned, untuned, jobs; none: those of the short form")
	longest  = flag.Duration("score.longest", 0, "the longest that a client works at an instance; 0: as long as its family tells")
	label    = flag.String("score.label", "", "the `name` of the client in the rows, if not its own")
	rows     = flag.String("score.rows", "", "append a row for each instance to this `file`, and judge nothing")
	gateRows = flag.String("score.gates", "", "append the gates to this `file` instead of failing at one that is missed")
)

// An instance is what a client made of one provider.
type instance struct {
	Client    string
	Family    string
	Learnable bool
	Seed      uint64

	Share              float64
	Requests, Refusals int
	Early, Rises       int
	Banned             bool
	Latency            float64
	Reached            float64 // -1: never
	Cold               float64 // refusals in the first 5 minutes

	After, Quiet *float64  // refusals in 5 minutes after a cut, and the seconds until few were refused
	Asked        *float64  // seconds from the end of an outage to the next request
	Runs         []sim.Run // of a job
}

// A tally is what a client made of the instances of a family.
type tally struct {
	family sim.Family
	all    []instance
}

func (a *tally) each(value func(instance) float64) []float64 {
	var values []float64
	for _, i := range a.all {
		values = append(values, value(i))
	}
	return values
}

func (a *tally) shares() []float64 {
	return a.each(func(i instance) float64 { return 100 * i.Share })
}

func (a *tally) refusals() (n int) {
	for _, i := range a.all {
		n += i.Refusals
	}
	return n
}

func (a *tally) refused() float64 {
	requests := 0
	for _, i := range a.all {
		requests += i.Requests
	}
	return 1000 * float64(a.refusals()) / float64(max(1, requests))
}

// play lets c work for long at so many instances of f; 0 is as long as tells.
func play(t *testing.T, f sim.Family, c sim.Client, long time.Duration, instances int) *tally {
	a := &tally{family: f}
	for i := range instances {
		synctest.Test(t, func(t *testing.T) {
			p := f.New(*first + uint64(i))
			one := instance{Client: c.Name, Family: f.Name, Learnable: f.Learnable, Seed: p.Seed}
			if p.Job.Requests > 0 {
				one.work(p, c)
			} else {
				one.play(p, c, long)
			}
			a.all = append(a.all, one)
			t.Logf("%s at %s, seed %d: %.1f %% of %d, %d refused, 90 %% after %.0f s, latency ×%.1f, banned %t, early %d, cold %.0f",
				c.Name, f.Name, p.Seed, 100*one.Share, one.Requests, one.Refusals, one.Reached, one.Latency, one.Banned, one.Early, one.Cold)
		})
	}
	return a
}

// play lets c have as much of p as it can in so long.
func (i *instance) play(p *sim.Provider, c sim.Client, long time.Duration) {
	if long == 0 || long > p.Long {
		long = p.Long
	}
	var state []byte
	sim.Play(p, c, long, &state)
	i.note(p, long)
	if p.Cut > 0 && p.Cut+10*time.Minute <= long {
		const look = 10 * time.Minute
		after, quiet := float64(p.Score(p.Cut, p.Cut+5*time.Minute).Refusals), p.Quiet(p.Cut, p.Cut+look, 0.02)
		quiet = min(quiet, look.Seconds()) // which may be never, and JSON has no infinity
		i.After, i.Quiet = &after, &quiet
	}
	if p.Back > 0 && p.Back < long {
		asked := min(p.AskedAfter(p.Back), long-p.Back).Seconds()
		i.Asked = &asked
	}
}

// work lets c do the job of p, whose best is that of its runs.
func (i *instance) work(p *sim.Provider, c sim.Client) {
	var state []byte
	begun := time.Now()
	i.Runs = sim.Repeat(p, c, p.Job, &state)
	i.note(p, time.Since(begun))
	i.Share = sim.ShareOf(i.Runs)
}

func (i *instance) note(p *sim.Provider, long time.Duration) {
	whole, begin := p.Score(0, long), p.Score(0, 5*time.Minute)
	i.Share, i.Requests, i.Refusals = whole.Share, whole.Requests, whole.Refusals
	i.Early, i.Rises, i.Banned, i.Latency = whole.Early, whole.Rises, whole.Banned, whole.Latency
	if i.Reached = whole.Reached; math.IsInf(i.Reached, 1) {
		i.Reached = -1
	}
	i.Cold = float64(begin.Refusals)
}

func (i *instance) slowest() float64 {
	_, ratio := sim.SlowestOf(i.Runs)
	return ratio
}

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

// halves are the families by the name of the half that they belong to.
var halves = map[string][]sim.Family{"tuned": sim.Tuned(), "untuned": sim.Untuned(), "jobs": sim.Jobs()}

// scored returns the families that were chosen.
func scored(t *testing.T) []sim.Family {
	if *families == "" {
		return sim.Families()
	}
	var all []sim.Family
	for name := range strings.SplitSeq(*families, ",") {
		if half, ok := halves[name]; ok {
			all = append(all, half...)
		} else {
			all = append(all, family(t, name))
		}
	}
	return all
}

// TestScore plays instances of families, and checks the gates of the default law.
// The whole page is made by scripts/score.
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
		for _, f := range scored(t) {
			got := play(t, f, c, *longest, *seeds)
			record(t, got)
			all = append(all, got)
		}
		if *rows == "" && *families == "" && c.Name == law.Plateau {
			pass(t, slices.Concat(neverGates(all), startGates(all), workGates(all)))
		}
	}
}

// record appends what was played for TestPage to judge.
func record(t *testing.T, a *tally) {
	for _, i := range a.all {
		if *label != "" {
			i.Client = *label
		}
		line, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		appendTo(t, *rows, string(line)+"\n")
	}
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
