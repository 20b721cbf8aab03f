package sim

import (
	"context"
	"time"

	"collect/collection"
	"collect/pacing"
)

// A Setup is how a client goes to work at a provider: what its owner declares,
// and for how long. Zero fields select what the score is over.
type Setup struct {
	Law         string
	Owner       *collection.Provider // nil: [Ceiling] a second
	Concurrency int                  // requests in flight that a user allows; 0: as the owner declares, or [Workers] without one
	For         time.Duration        // 0: an hour
	Moments     int                  // in which the time is cut to be looked at; 0: 60
	Job         Schedule             // what the client works at; no requests: as much as it can in the time
}

// A Trial is what came of a setup at one provider.
type Trial struct {
	Score
	Begin   int           // refusals in the first five minutes
	Moments []Moment      // of the time
	Asked   time.Duration // from the end of an outage to the next request; negative: there was no outage
	Runs    []Run         // of a job
}

// A Moment is one of the equal parts of a trial. Rates are per second.
type Moment struct {
	From     time.Duration // since the start of the trial
	Sent     float64       // requests
	Answered float64       // of them, with what was asked for
	Refused  int           // requests, by the provider's limit
	Capacity float64       // what the best client would get, in requests of the usual cost
	Pace     float64       // learned, at the end; 0: not paced
}

// Try plays s at the instance of f that seed draws. Like everything here, it is
// for virtual time.
func Try(f Family, seed uint64, s Setup) Trial {
	s = s.withDefaults()
	p := f.New(seed)
	p.owner = *s.Owner
	if s.Job.Requests > 0 {
		return s.repeat(p)
	}
	part := s.For / time.Duration(s.Moments)
	paces := make([]float64, s.Moments)
	ctx, cancel := context.WithCancel(context.Background())
	sampled := make(chan struct{})
	watch := func(g *pacing.Governor) {
		go func() {
			defer close(sampled)
			sample(ctx, g, part, paces)
		}()
	}
	var state []byte
	Play(p, governed(p.owner, s.Law, s.Concurrency, watch), s.For, &state)
	cancel()
	<-sampled
	t := Trial{Score: p.Score(0, s.For), Begin: p.Score(0, 5*time.Minute).Refusals, Moments: p.moments(part, paces), Asked: -1}
	if p.Back > 0 && p.Back < s.For {
		t.Asked = min(p.AskedAfter(p.Back), s.For-p.Back)
	}
	return t
}

// repeat plays the job of s, where nothing goes wrong for no reason, as at Jobs.
func (s Setup) repeat(p *Provider) Trial {
	p.sound = true
	begun := time.Now()
	var state []byte
	runs := Repeat(p, governed(p.owner, s.Law, s.Concurrency, func(*pacing.Governor) {}), s.Job, &state)
	t := Trial{Score: p.Score(0, time.Since(begun)), Runs: runs, Asked: -1}
	t.Share = ShareOf(runs)
	return t
}

func (s Setup) withDefaults() Setup {
	if s.Owner == nil {
		owner := lab()
		s.Owner = &owner
		if s.Concurrency <= 0 {
			s.Concurrency = Workers
		}
	}
	if s.For <= 0 {
		s.For = time.Hour
	}
	if s.Moments <= 0 {
		s.Moments = 60
	}
	return s
}

// sample notes the pace at the end of each part, until there are enough.
func sample(ctx context.Context, g *pacing.Governor, part time.Duration, paces []float64) {
	tick := time.NewTicker(part)
	defer tick.Stop()
	for i := range paces {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		watcher.turn()
		paces[i] = g.Status().PerSecond // of the end, if that came before
	}
}

// moments reads from the log what happened in each part.
func (p *Provider) moments(part time.Duration, paces []float64) []Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Moment, len(paces))
	for i := range all {
		from := time.Duration(i) * part
		all[i] = Moment{From: from, Pace: paces[i], Capacity: p.mean(from.Seconds(), (from + part).Seconds())}
	}
	for _, r := range p.log {
		i := int(r.at / part.Seconds())
		if i >= len(all) {
			continue
		}
		all[i].Sent += 1 / part.Seconds()
		if r.status == 200 {
			all[i].Answered += 1 / part.Seconds()
		}
		if r.refused {
			all[i].Refused++
		}
	}
	return all
}

// mean returns the mean capacity from a to b, in seconds since the start.
func (p *Provider) mean(a, b float64) float64 {
	const looks = 10
	sum := 0.0
	for i := range looks {
		sum += p.capacity(a + (b-a)*(float64(i)+0.5)/looks)
	}
	return sum / looks
}
