package law_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/pacing/law"
)

var update = flag.Bool("update", false, "write what the laws do now as what they should do")

// TestTrajectories plays the worlds and compares what becomes of the pace with
// testdata/trajectories.*: a history always ends in the same pace, so whoever
// changes the code and not the law changes no line there, and whoever changes
// the law reads in the difference what it does now. Whether that is better,
// docs/pacing-score.md says.
func TestTrajectories(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("elsewhere a product and a sum may be rounded once, and histories part")
	}
	for _, name := range law.Laws() {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, w := range worlds {
				if w.only == "" || w.only == name {
					fmt.Fprintf(&got, "-- %s --\n%s", w.name, w.play(t, name))
				}
			}
			golden := filepath.Join("testdata", "trajectories."+name)
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			world, lines := "", strings.Split(string(want), "\n")
			for i, line := range strings.Split(got.String(), "\n") {
				if strings.HasPrefix(line, "--") {
					world = line
				}
				if i >= len(lines) || line != lines[i] {
					t.Fatalf("%s:%d, in the world %s\n got %s\nwant %s", golden, i+1, world, line, lines[min(i, len(lines)-1)])
				}
			}
		})
	}
}

// A flight is a request on its way, and what becomes of it.
type flight struct {
	law.Ticket
	ends    law.Moment
	outcome law.Outcome
}

// A run is a world that is played.
type run struct {
	*testing.T
	world
	law      law.Law
	provider *provider
	now      law.Moment
	silent   law.Moment // nothing is sent before
	flights  []flight
	sent     int

	answered, refused, news int // since the last report
	out                     strings.Builder
}

// play plays w under a law and tells, for each five minutes, how many requests
// were answered and refused, and the pace; and at the end what is remembered.
func (w world) play(t *testing.T, name string) string {
	begin := func() law.Law {
		l, err := law.New(name, w.start, w.ceiling, func() float64 { return 0.5 })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const since, every = time.Hour, 5 * time.Minute
	r := &run{T: t, world: w, law: begin(), provider: &provider{chance: rand.New(rand.NewPCG(1, 2))}, now: since}
	report := since + every
	for r.now < since+w.lasts {
		r.step()
		for ; r.now >= report; report += every {
			fmt.Fprintf(&r.out, "%v: %d answered, %d refused, %d of them news, %.4g/s of %.4g\n",
				report-since, r.answered, r.refused, r.news, r.law.Rate(), r.law.Most())
			r.answered, r.refused, r.news = 0, 0, 0
		}
		if r.restart > 0 && r.now >= since+r.restart {
			m := r.law.Keep()
			r.law = begin()
			believed := r.law.Restore(m, w.age)
			fmt.Fprintf(&r.out, "again after %v: %.4g/s, believed: %t\n", w.age, r.law.Rate(), believed)
			r.flights, r.restart = nil, 0
		}
	}
	kept, err := json.Marshal(r.law.Keep())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&r.out, "%s, %d requests\n", kept, r.law.Latest())
	return r.out.String()
}

// step lets the next request leave, or the first of those in flight end.
func (r *run) step() {
	first := -1
	for i, f := range r.flights {
		if first < 0 || f.ends < r.flights[first].ends {
			first = i
		}
	}
	at, open := r.law.Next(r.now)
	at = max(at, r.now, r.silent)
	switch {
	case open && len(r.flights) < max(1, r.workers) && (first < 0 || at < r.flights[first].ends):
		r.now = at
		r.send()
	case first < 0:
		r.Fatal("it waits for a request in flight, and there is none")
	default:
		f := r.flights[first]
		r.flights = slices.Delete(r.flights, first, first+1)
		r.now = f.ends
		r.settle(f)
	}
}

func (r *run) send() {
	weight := 1.0
	if r.weights != nil {
		weight = r.weights[r.sent%len(r.weights)]
	}
	r.sent++
	ticket := r.law.OnSend(r.now, weight)
	r.provider.now, r.provider.weight = r.now, weight
	o, took := r.answer(r.provider)
	r.flights = append(r.flights, flight{ticket, r.now + took, o})
}

func (r *run) settle(f flight) {
	if r.tell != nil {
		r.tell(&f.outcome, r.now)
	}
	if f.outcome.Signal == law.Throttled || f.outcome.Refused {
		r.refused++
		if !r.law.Known(f.Ticket, f.outcome) {
			r.news++
		}
	} else {
		r.answered++
	}
	if hold := r.law.OnResult(f.Ticket, f.outcome, r.now); hold > 0 {
		r.silent = max(r.silent, r.now+hold)
	}
}
