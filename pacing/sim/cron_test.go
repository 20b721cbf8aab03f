package sim_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// TestRunsOfAMinute: a run of 55 s in every minute, as cron starts it, learns what one
// run of an hour does, though most of its runs end while everything is refused, or
// after too few answers for a count.
func TestRunsOfAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		family  string
		seed    uint64
		ceiling int // 0: none is declared
	}{
		{"airtable", 50501, sim.Ceiling}, {"penalty", 50501, sim.Ceiling}, {"interval", 50501, sim.Ceiling}, {"after-minute", 50501, sim.Ceiling},
		{"scattered", 50501, sim.Ceiling}, {"one-slow", 50500, sim.Ceiling},
		{"two-modes", 912000, 0}, {"one-slow", 912000, 0}, {"deploy-502", 912000, 0}, {"noisy", 899000, 0}, {"noisy", 899000, sim.Ceiling},
	} {
		t.Run(fmt.Sprintf("%s %d, ceiling %d", tc.family, tc.seed, tc.ceiling), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				c := sim.Owned(perSecond(tc.ceiling), sim.Workers)
				if tc.ceiling == 0 {
					c = sim.Owned(collection.Provider{}, 0)
				}
				var state []byte
				for range 60 {
					sim.Play(p, c, 55*time.Second, &state)
					time.Sleep(5 * time.Second)
				}
				s := p.Score(0, time.Hour)
				t.Logf("%.0f %% of the work with %d refusals", 100*s.Share, s.Refusals)
				if s.Share < 0.65 || s.Refusals > 80 {
					t.Errorf("%.0f %% of the work with %d refusals, want 65 %% with 80", 100*s.Share, s.Refusals)
				}
			})
		})
	}
}

// TestSlowGatewayInRunsOfAMinute: a server of one thread behind a gateway that gives up, as
// above. What is in flight when a run ends was asked for in vain.
func TestSlowGatewayInRunsOfAMinute(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{1, 2, 3} {
		t.Run(fmt.Sprint(seconds, " s each"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sim.Gateway(1/seconds, 4*seconds)
				c := sim.Owned(collection.Provider{}, 0)
				var state []byte
				for range 60 {
					sim.Play(p, c, 55*time.Second, &state)
					time.Sleep(5 * time.Second)
				}
				s := p.Score(0, time.Hour)
				t.Logf("%.0f %% of the work, %d of %d requests answered 504", 100*s.Share, s.Refusals, s.Requests)
				if s.Share < 0.7 || s.Refusals > 80 {
					t.Errorf("%.0f %% of the work, %d of %d requests answered 504; want 70 %%, and 80", 100*s.Share, s.Refusals, s.Requests)
				}
			})
		})
	}
}

// TestTimeBetweenRunsIsNotCounted: the pace that a first refusal leaves behind is of the time in which
// requests were made, however long the provider was left alone between the runs.
func TestTimeBetweenRunsIsNotCounted(t *testing.T) {
	const length = 19 * time.Second
	for _, every := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10*time.Minute - time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(sim.Bucket(10, 10), ordinary)
				begun := time.Now()
				var state []byte
				refused := 0
				for i := range 12 {
					sim.Play(p, sim.Owned(collection.Provider{}, 0), length, &state)
					s := p.Score(time.Duration(i)*every, time.Duration(i+1)*every)
					if answers := s.Requests - s.Refusals; refused > 0 && answers < 150 {
						t.Errorf("run %d had %d answers, want 150 of 200: something was refused before it", i+1, answers)
					}
					refused += s.Refusals
					time.Sleep(time.Until(begun.Add(time.Duration(i+1) * every)))
				}
				if refused == 0 || refused > 12 {
					t.Errorf("%d refusals in 12 runs, want 1 to 12", refused)
				}
			})
		})
	}
}

// TestSlowGatewayWithACeilingInRunsOfAMinute: so slow a server that a run ends before it is known what became of its requests.
func TestSlowGatewayWithACeilingInRunsOfAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "gateway").New(899000)
		var state []byte
		for range 60 {
			sim.Play(p, sim.Owned(perSecond(sim.Ceiling), sim.Workers), 55*time.Second, &state)
			time.Sleep(5 * time.Second)
		}
		s := p.Score(0, time.Hour)
		if t.Logf("%.0f %% of the work, %d of %d requests answered 504", 100*s.Share, s.Refusals, s.Requests); s.Share < 0.4 || s.Refusals > 300 {
			t.Errorf("%.0f %% of the work, %d of %d requests answered 504; want 40 %%, and 300", 100*s.Share, s.Refusals, s.Requests)
		}
	})
}

// TestOneRefusalInRunsOfSeconds: a lone refusal early on holds up none of the short runs
// after it.
func TestOneRefusalInRunsOfSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sim.Plain(nil, ordinary)
		p.Away(429, 4*time.Second, 5*time.Second)
		var state []byte
		for range 75 {
			sim.Play(p, sim.Owned(perSecond(50), sim.Workers), 3*time.Second, &state)
			time.Sleep(time.Second)
		}
		if refused, requests := p.Refused(); refused == 0 || requests < 8000 {
			t.Errorf("%d requests with %d refusals in 75 runs, want 8,000 and at least one", requests, refused)
		}
	})
}

// TestRunsThatOnlyWait: the third request is refused and the provider asks for a minute, which outlasts two short runs. They learn
// nothing more of that refusal, so that the first run after it is as fast as that of a client that waited.
func TestRunsThatOnlyWait(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 9, 30} {
		synctest.Test(t, func(t *testing.T) {
			p := sim.Plain(sim.Judge((&refusesOnce{n: n}).Take), ordinary).Refuse(429, "", 60)
			var state []byte
			var waited []string
			for range 12 {
				before := p.Score(0, time.Hour).Requests
				sim.Play(p, sim.Owned(perSecond(20), sim.Workers), 20*time.Second, &state)
				if p.Score(0, time.Hour).Requests == before {
					waited = append(waited, string(learned(t, state)))
				}
				time.Sleep(5 * time.Second)
			}
			if len(waited) == 0 {
				t.Fatal("no run ended before the pause did")
			}
			for _, w := range waited[1:] {
				if w != waited[0] {
					t.Errorf("a run without a request learned something:\n%s\n%s", waited[0], w)
				}
			}
			if got := p.Work(4*time.Minute, 5*time.Minute); got < 700 {
				t.Errorf("request %d refused: %v answers in the fifth minute, want 700", n, got)
			}
		})
	}
}

// learned returns what state keeps of the law.
func learned(t *testing.T, state []byte) json.RawMessage {
	var kept struct {
		Plateau json.RawMessage `json:"plateau"`
	}
	if err := json.Unmarshal(state, &kept); err != nil || kept.Plateau == nil {
		t.Fatalf("%s: %v", state, err)
	}
	return kept.Plateau
}
