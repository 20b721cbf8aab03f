package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"collect/cmd/internal/chart"
	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/pacing/law"
	"collect/pacing/sim"
	"collect/report/problem"
)

// simulateOptions are the flags of simulate.
type simulateOptions struct {
	families    []string
	laws        []string
	seeds       int
	time        time.Duration
	ceiling     float64
	concurrency int
	connector   string
	svg         string

	requests int // of a job; 0: as many as fit in time
	every    time.Duration
	runs     int
}

// allFamilies stands for every kind of provider there is.
const allFamilies = "all"

// Bounds of a simulation: what a machine does while a person waits.
const (
	mostSeeds = 1000
	mostTime  = 24 * time.Hour

	leastCeiling = 0.01
	mostCeiling  = 1000

	mostRequests = 100_000 // of a run
	mostEvery    = 31 * 24 * time.Hour
	mostRuns     = 1000
)

func (a *app) simulateCommand() *cobra.Command {
	o := simulateOptions{families: []string{"step"}, laws: law.Laws()[:1], seeds: 1, time: time.Hour, every: 24 * time.Hour, runs: 30}
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Try what you allow on models of providers; nothing is sent",
		Long: `Simulate lets the client of "collect run" work at a model of a provider. An
hour passes in a second or so, and nothing leaves the machine. It shows how much
of the work that the best possible client could do was done, and how often the
provider had to refuse.

With --requests the client works at a job instead: that many requests, again and
again, with what it learned kept from one run to the next. It shows whether a run
is slower than the second one was.

Each seed draws another provider of its family: its limit, window and latency.
The client's chance is drawn from it, too, so the same command shows the same
figures each time.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("ceiling") && o.ceiling == 0 {
				return problem.Usage("--ceiling: under 0 requests a second nothing would ever be sent; leave it out for the default of 20")
			}
			for _, name := range []string{"every", "runs"} {
				if c.Flags().Changed(name) && o.requests == 0 {
					return problem.Usage("--%s is of a job: add --requests", name)
				}
			}
			for _, name := range []string{"time", "svg"} {
				if c.Flags().Changed(name) && o.requests != 0 {
					return problem.Usage("--%s is not of a job: leave out --requests", name)
				}
			}
			if c.Flags().Changed("requests") && o.requests == 0 {
				o.requests = -1
			}
			return a.simulate(c.Context(), o, c.Flags().Changed("law"))
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&o.families, "family", o.families, "the `kind` of provider, or all; repeatable")
	flags.StringArrayVar(&o.laws, "law", o.laws, "the `law` of the pace: "+strings.Join(law.Laws(), ", ")+"; repeatable")
	flags.IntVar(&o.seeds, "seeds", o.seeds, "try `n` providers of each kind")
	flags.Var((*config.DurationFlag)(&o.time), "time", "let the client work for this `duration`, at most 1d")
	flags.Float64Var(&o.ceiling, "ceiling", 0, "allow `n` requests a second (default 20)")
	flags.IntVar(&o.concurrency, "concurrency", 0, "allow `n` requests in flight (default 32; with --connector as a run has)")
	flags.StringVar(&o.connector, "connector", "", "allow what this `name or file` allows")
	flags.StringVar(&o.svg, "svg", "", "write the picture to this `file`, too")
	flags.IntVar(&o.requests, "requests", 0, "let the client work at a job of `n` requests (default: all it can in --time)")
	flags.Var((*config.DurationFlag)(&o.every), "every", "run the job again after this `duration`, at most 31d")
	flags.IntVar(&o.runs, "runs", o.runs, "run the job `n` times")
	c.SetHelpFunc(func(c *cobra.Command, args []string) { // which no other command waits for
		c.Long += "\n\nThe families:\n" + familyHelp()
		c.Parent().HelpFunc()(c, args)
	})
	return c
}

// familyHelp lists the families for people.
func familyHelp() string {
	var b strings.Builder
	for _, f := range sim.Kinds() {
		for _, line := range term.Wrap(fmt.Sprintf("  %-15s ", f.Name), f.About, 80) {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// simulate plays o. If no law was asked for, it is the one of the connector.
func (a *app) simulate(ctx context.Context, o simulateOptions, lawGiven bool) error {
	families, err := o.check()
	if err != nil {
		return err
	}
	setup := sim.Setup{For: o.time, Moments: chart.Moments, Concurrency: o.concurrency}
	if o.requests > 0 {
		setup.Job = sim.Schedule{Requests: o.requests, Every: o.every, Runs: o.runs}
	}
	if o.connector != "" {
		if setup.Owner, err = a.allowed(o.connector); err != nil {
			return err
		}
		if setup.Owner.Law != "" && !lawGiven {
			o.laws = []string{setup.Owner.Law}
		}
	}
	if o.ceiling > 0 {
		if setup.Owner == nil {
			setup.Owner = &collection.Provider{}
			setup.Concurrency = cmp.Or(o.concurrency, sim.Workers)
		}
		setup.Owner.Ceilings = append(setup.Owner.Ceilings, perSecond(o.ceiling))
	}
	results, err := a.trials(ctx, families, o.laws, o.seeds, setup)
	if err != nil {
		return err
	}
	if o.svg != "" {
		draw := func(w io.Writer) error {
			_, err := io.WriteString(w, results[0].SVG())
			return err
		}
		if err := a.writeTo(o.svg, draw); err != nil {
			return err
		}
	}
	return a.result(chart.JSON(results), chart.Text(results, setup, o.seeds, a.width(), a.caps()))
}

// check refuses what cannot be meant, and returns the families.
func (o *simulateOptions) check() ([]sim.Family, error) {
	var families []sim.Family
	var names []string
	for _, f := range sim.Kinds() {
		names = append(names, f.Name)
		if slices.Contains(o.families, f.Name) || slices.Contains(o.families, allFamilies) {
			families = append(families, f)
		}
	}
	for _, name := range o.families {
		if !slices.Contains(names, name) && name != allFamilies {
			return nil, oneOf("--family", name, append([]string{allFamilies}, names...))
		}
	}
	for _, name := range o.laws {
		if !slices.Contains(law.Laws(), name) {
			return nil, oneOf("--law", name, law.Laws())
		}
	}
	switch {
	case o.seeds < 1 || o.seeds > mostSeeds:
		return nil, problem.Usage("--seeds: %d is not between 1 and %d", o.seeds, mostSeeds)
	case o.time < time.Minute || o.time > mostTime:
		return nil, problem.Usage("--time: %s is not between 1m and 1d", o.time)
	case o.ceiling != 0 && !(o.ceiling >= leastCeiling && o.ceiling <= mostCeiling):
		return nil, problem.Usage("--ceiling: %v is not between %v and %v requests a second", o.ceiling, leastCeiling, mostCeiling)
	case o.concurrency < 0 || o.concurrency > maxConcurrency:
		return nil, problem.Usage("--concurrency: %d is not between 1 and %d", o.concurrency, maxConcurrency)
	case o.requests < 0 || o.requests > mostRequests:
		return nil, problem.Usage("--requests: it must be between 1 and %d", mostRequests)
	case o.every < time.Minute || o.every > mostEvery:
		return nil, problem.Usage("--every: %s is not between 1m and 31d", o.every)
	case o.runs < 3 || o.runs > mostRuns:
		return nil, problem.Usage("--runs: %d is not between 3 and %d", o.runs, mostRuns)
	case o.svg != "" && !replaceable(o.svg):
		return nil, problem.Usage("--svg: there is a file at %s that is no picture; nothing was written", o.svg)
	case o.svg != "" && len(families)*len(o.laws) != 1:
		return nil, problem.Usage("--svg: a picture is of one family under one law")
	}
	return families, nil
}

// allowed returns what the owner of a connector allows, from its file and
// collect.yaml. No secret is looked up. What is of one route or of one answer is
// left out, because a model has its own.
func (a *app) allowed(name string) (*collection.Provider, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	_, spec, err := settings.Find(context.Background(), name)
	if err != nil {
		return nil, err
	}
	p := spec.Provider(settings.Overrides(spec.ProviderName()))
	if p.Unpaced {
		return nil, problem.Usage("--connector: %s has `pace: off`; there is nothing to try", name)
	}
	return &collection.Provider{
		Ceilings: slices.Clone(p.Ceilings), Law: p.Law, StartPerSecond: p.StartPerSecond, Concurrency: p.Concurrency,
		Clamp: p.Clamp, Reserve: p.Reserve, Forbidden: p.Forbidden, Limits: p.Limits,
	}, nil
}

// perSecond returns the ceiling of rate requests a second. A rate below one,
// or with a fraction, is a longer window.
func perSecond(rate float64) collection.Ceiling {
	if rate == math.Trunc(rate) {
		return collection.Ceiling{Count: int(rate), Per: time.Second}
	}
	return collection.Ceiling{Count: 1, Per: time.Duration(float64(time.Second) / rate)}
}

// trials plays every family under every law, as many at once as there are
// processors. An interruption ends it after those under way.
func (a *app) trials(ctx context.Context, families []sim.Family, laws []string, seeds int, setup sim.Setup) ([]chart.Result, error) {
	var results []chart.Result
	for _, f := range families {
		for _, name := range laws {
			results = append(results, chart.Result{Family: f, Law: name, Trials: make([]sim.Trial, seeds)})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range results {
		for i := range r.Trials {
			group.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				s := setup
				s.Law = r.Law
				return sim.Virtual(func() { r.Trials[i] = sim.Try(r.Family, uint64(i+1), s) })
			})
		}
	}
	return results, group.Wait()
}

// replaceable reports whether a picture may be written at path: nothing is
// there, or a picture. A slip must not cost somebody a connector file.
func replaceable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return true // what cannot be written is said where it is written
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, len("<svg"))
	_, err = io.ReadFull(file, start)
	return err == nil && string(start) == "<svg"
}
