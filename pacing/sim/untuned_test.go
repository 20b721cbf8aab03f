package sim_test

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestOrdinaryModels: latencies have the modes and tails that their families say.
func TestOrdinaryModels(t *testing.T) {
	for _, tc := range []struct {
		family      string
		tenth, half [2]float64 // of the mean
		hundredth   [2]float64 // from above
	}{
		{"two-modes", [2]float64{0.05, 0.3}, [2]float64{0.05, 2}, [2]float64{1.2, 4}},
		{"scattered", [2]float64{0.1, 0.25}, [2]float64{0.5, 0.7}, [2]float64{4, 9}},
		{"one-slow", [2]float64{0.3, 0.6}, [2]float64{0.3, 0.65}, [2]float64{4, 8}},
	} {
		for seed := range uint64(5) {
			p := family(t, tc.family).New(seed)
			var all []float64
			for i := range 4000 {
				all = append(all, p.Ask("/records", 20*float64(i), 1).Latency)
			}
			slices.Sort(all)
			for _, at := range []struct {
				i    int
				want [2]float64
			}{{400, tc.tenth}, {2000, tc.half}, {3960, tc.hundredth}} {
				if got := all[at.i] / mean(all); got < at.want[0] || got > at.want[1] {
					t.Errorf("%s, seed %d: the latency of number %d of 4000 is %.2f of the mean, want %v", tc.family, seed, at.i, got, at.want)
				}
			}
			if flying := p.CapacityOfAll(0) * mean(all); flying > 0.8*sim.Workers {
				t.Errorf("%s, seed %d: the limit needs %.0f in flight, of %d", tc.family, seed, flying, sim.Workers)
			}
		}
	}
}

// TestCached: hits are quick and are granted whatever is left.
func TestCached(t *testing.T) {
	p := family(t, "cached").New(1)
	limit := p.CapacityOfAll(0)
	quick := 0
	for i := range 10_000 {
		a := p.Ask("/records", float64(i)/limit/0.9, 1)
		if a.Status == 200 && a.Latency < 0.05 {
			quick++
		}
	}
	if quick < 2800 || quick > 9200 {
		t.Errorf("of 10000 below the limit %d are answered quickly, want 30 to 90 %%", quick)
	}
	for i := range 1000 { // at once: hits first, and then what is not in the cache
		if a := p.Ask("/records", 1e6, 1); a.Status != 200 {
			break
		} else if i == 999 {
			t.Error("1000 at once are granted")
		}
	}
	for range 100 {
		if a := p.Ask("/records", 1e6, 1); a.Status == 200 {
			t.Errorf("asked for again at once, what was refused is answered after %.3f s", a.Latency)
		}
	}
}

// TestOutages: nothing is answered from the beginning of an outage to its end,
// each in the way of its family, and none of it is a refusal by a limit.
func TestOutages(t *testing.T) {
	for name, status := range map[string]int{"outage-hung": 0, "outage-dead": 0, "outage-503": 503} {
		for seed := range uint64(5) {
			p := family(t, name).New(seed)
			away := 0
			for at := range int(p.Long.Seconds()) {
				gone := p.Capacity("/records", float64(at)) == 0
				if !gone {
					continue
				}
				away++
				if a := p.Ask("/records", float64(at), 1); a.Status != status || a.Refused {
					t.Fatalf("%s, seed %d: away, it answers %d, refused %t", name, seed, a.Status, a.Refused)
				}
			}
			if away < 59 || away > 3601 || p.Capacity("/records", p.Back.Seconds()-1) > 0 || p.Capacity("/records", p.Back.Seconds()+0.001) == 0 {
				t.Errorf("%s, seed %d: away for %d s and back after %v", name, seed, away, p.Back)
			}
		}
	}
}

// TestDeadOutage: who is away without a connection refuses it.
func TestDeadOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "outage-dead").New(1)
		time.Sleep(p.Back - time.Second)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sim.Origin+"/records", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.RoundTrip(req); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a second before the end: %v", err)
		}
	})
}

// TestOfficeHours: for eight hours of a day three tenths are left.
func TestOfficeHours(t *testing.T) {
	for seed := range uint64(5) {
		p := family(t, "office-hours").New(seed)
		most, busy := 0.0, 0
		for at := range 24 * 60 {
			most = max(most, p.Capacity("/records", float64(60*at)))
		}
		for at := range 24 * 60 {
			switch c := p.Capacity("/records", float64(60*at)) / most; {
			case math.Abs(c-0.3) < 1e-9:
				busy++
			case c != 1:
				t.Errorf("seed %d: %.2f of the most", seed, c)
			}
		}
		if busy < 479 || busy > 481 {
			t.Errorf("seed %d: busy for %d minutes of a day, want 480", seed, busy)
		}
	}
}

// TestJobFamilies: jobs have the size and the spacing that they say, which leaves
// them time enough, and each run meets the same provider.
func TestJobFamilies(t *testing.T) {
	for _, f := range sim.Jobs() {
		for seed := range uint64(2000) {
			p := f.New(seed)
			job := p.Job
			if f.Name == "undeclared" || f.Name == "declared-200" {
				if job.Requests != 2020 || job.Runs != 2 || p.CapacityOfAll(0) != 50 {
					t.Errorf("%s: %+v at %v/s", f.Name, job, p.CapacityOfAll(0))
				}
				continue
			}
			least, most := 15*time.Minute, 25*time.Hour
			if f.Name == "job-weekly" {
				most = 7 * 24 * time.Hour
			}
			if job.Requests < 10 || job.Requests > 600 || job.Runs != 30 || job.Every < least || job.Every > most || job.Every%(5*time.Minute) != 0 {
				t.Errorf("%s, seed %d: %+v", f.Name, seed, job)
			}
			if need := float64(job.Requests) / p.CapacityOfAll(0); need > job.Every.Seconds()/2+1 {
				t.Errorf("%s, seed %d: %+v needs %.0f s", f.Name, seed, job, need)
			}
		}
	}
}

// TestRepeat: a client that does not listen takes as long for each run of a job,
// and the runs begin at their hours.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sim.Plain(sim.Window(300, 60), ordinary)
		var at []time.Duration
		begun := time.Now()
		c := sim.Spy(func(*http.Request) { at = append(at, time.Since(begun)) })
		var state []byte
		runs := sim.Repeat(p, c, sim.Schedule{Requests: 10, Every: time.Hour, Runs: 3}, &state)
		for i, r := range runs {
			if r.Took <= 0 || r.Took > 2*time.Second || r.Requests != 10 || r.Refusals != 0 {
				t.Errorf("run %d: %+v", i, r)
			}
			if got := at[10*i].Truncate(time.Minute); got != time.Duration(i)*time.Hour {
				t.Errorf("run %d begins after %v", i, got)
			}
		}
		if got := time.Since(begun).Truncate(time.Minute); got != 3*time.Hour {
			t.Errorf("three hours took %v", got)
		}
	})
}

// TestQuotasOfHours: of an hour of which little is left nobody is asked to take all.
func TestQuotasOfHours(t *testing.T) {
	short := 0
	for seed := range uint64(200) {
		p := family(t, "hour-quota").New(seed)
		h := p.Ask("/records", 0, 1).Header
		limit, err1 := strconv.ParseFloat(h.Get("X-RateLimit-Limit"), 64)
		until, err2 := strconv.ParseFloat(h.Get("X-RateLimit-Reset"), 64)
		now, err3 := http.ParseTime(h.Get("Date"))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		left := until - float64(now.Unix())
		if left*sim.Ceiling < limit {
			short++
		}
		want := min(limit, left*sim.Ceiling) + 2*limit
		if got := p.CapacityOfAll(0) * p.Long.Seconds(); math.Abs(got-want) > 2*sim.Ceiling+1 {
			t.Errorf("seed %d: the best client has %.0f of %.0f an hour, of which the first has %.0f s left; want %.0f", seed, got, limit, left, want)
		}
	}
	if short == 0 {
		t.Error("no instance begins with little of an hour left")
	}
}

// TestContendersComeBack: the clients to compare give up what hangs, and ask again
// after an outage.
func TestContendersComeBack(t *testing.T) {
	for _, c := range sim.Contenders() {
		if c.Name != "aws-adaptive" && c.Name != "autothrottle" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			p := sim.Plain(sim.Bucket(5, 5), ordinary)
			p.Away(0, time.Minute, 6*time.Minute)
			var state []byte
			sim.Play(p, c, 20*time.Minute, &state)
			if got := p.AskedAfter(6 * time.Minute); got > 4*time.Minute {
				t.Errorf("%s asks again %v after the end of an outage", c.Name, got)
			}
		})
	}
}
