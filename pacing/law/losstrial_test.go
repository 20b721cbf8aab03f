package law_test

import (
	"fmt"
	"testing"
	"time"

	"collect/pacing/law"
)

// gone is the outcome of a request that a gateway answers with a 502.
var gone = law.Outcome{Signal: law.Failed, Overdue: true, Hold: -1}

// TestBrokenServerAmongOthers: a share of the requests is answered with a 502 or a bare 503, whatever the pace is, as
// one of several servers is broken. What is left is asked for at the pace of the owner, also by runs
// that are ended again and again, and a limit that is met then is found.
func TestBrokenServerAmongOthers(t *testing.T) {
	const ceiling = 10
	busy := law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}
	for _, tc := range []struct {
		status int
		o      law.Outcome
		shares []float64
	}{
		{502, gone, []float64{0.05, 0.1, 0.2}},
		{503, busy, []float64{0.03, 0.05, 0.1, 0.2, 0.33}},
	} {
		for _, share := range tc.shares {
			for _, restart := range []time.Duration{0, 2 * time.Minute} {
				t.Run(fmt.Sprintf("%d to %v, again after %v", tc.status, share, restart), func(t *testing.T) {
					answered, refused := 0, 0
					w := world{start: 1, ceiling: ceiling, workers: 16, lasts: 90 * time.Minute, restart: restart, age: s, answer: func(p *provider) (law.Outcome, time.Duration) {
						late := p.now > 2*time.Hour // all worlds begin after an hour
						switch {
						case p.chance.Float64() < share:
							return tc.o, 20 * ms
						case late && !p.bucket(2, 5):
							refused++
							return granted(false), 20 * ms
						case !late:
							answered++
						}
						return granted(true), 100 * ms
					}}
					w.play(t, law.Plateau)
					if got := float64(answered) / (ceiling * (1 - share) * 3600); got < 0.8 {
						t.Errorf("%.0f %% of what the other servers allow is answered, want 80 %%", 100*got)
					}
					if refused > 60 {
						t.Errorf("%d requests are refused in the half hour of the limit, want 60", refused)
					}
				})
			}
		}
	}
}

// TestDroppedAtOnceIsRefused: what is above a limit is answered with a 502 at once, as by a server whose queue is full.
// That is no broken server: at the slower pace of a trial nothing is lost.
func TestDroppedAtOnceIsRefused(t *testing.T) {
	var all float64
	rates, bursts := []float64{0.7, 1, 1.3, 2, 3, 5, 8}, []float64{1, 3, 5, 8, 12, 20}
	for _, rate := range rates {
		for _, burst := range bursts {
			answered, lost := 0, 0
			w := world{start: 1, ceiling: 20, workers: 16, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
				if !p.bucket(rate, burst) {
					lost++
					return gone, 20 * ms
				}
				answered++
				return granted(true), 100 * ms
			}}
			w.play(t, law.Plateau)
			if share := float64(answered) / (rate * 3600); share < 0.85 {
				t.Errorf("of %v/s, %v at once, %.0f %% is answered, want 85 %%", rate, burst, 100*share)
			}
			of := 1000 * float64(lost) / float64(lost+answered)
			if all += of; of > 200 {
				t.Errorf("of %v/s, %v at once, %.0f of 1000 are lost, want 200", rate, burst, of)
			}
		}
	}
	if mean := all / float64(len(rates)*len(bursts)); mean > 30 {
		t.Errorf("%.0f of 1000 are lost in the mean, want 30", mean)
	}
}

// TestAwayBehindAGateway: where a gateway answers 502 to everything for minutes, as nobody is behind it, the pace is
// what it was when that is over, however often it comes.
func TestAwayBehindAGateway(t *testing.T) {
	answered := 0
	w := world{start: 1, ceiling: 10.0 / 60, workers: 1, lasts: 24 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		if p.now%time.Hour < 4*time.Minute {
			return gone, 20 * ms
		}
		answered++
		return granted(true), 100 * ms
	}}
	w.play(t, law.Plateau)
	if share := float64(answered) / (24 * 560); share < 0.9 {
		t.Errorf("%.0f %% of what is allowed is answered, want 90 %%", 100*share)
	}
}
