package sim

import "time"

// A Schedule is a job that is run again and again: the requests of each run, and the
// time from the beginning of one run to that of the next.
type Schedule struct {
	Requests int
	Every    time.Duration
	Runs     int
}

// A Run is one run of a job.
type Run struct {
	Took               time.Duration
	Best               time.Duration // what the best client takes, not counting what a bucket has saved up
	Requests, Refusals int
}

// ShareOf returns how much less time the best client would take for runs.
func ShareOf(runs []Run) float64 {
	var took, best time.Duration
	for _, r := range runs {
		took, best = took+r.Took, best+min(r.Took, r.Best)
	}
	return best.Seconds() / took.Seconds()
}

// SlowestOf returns how long the slowest run took that came after the second, and
// how much longer than the second that is. A run of less than a second counts as
// one there: it is a few answers, and how long they take is chance.
func SlowestOf(runs []Run) (took time.Duration, ratio float64) {
	for _, r := range runs[2:] {
		took = max(took, r.Took)
	}
	return took, max(time.Second, took).Seconds() / max(time.Second, runs[1].Took).Seconds()
}

// LongestRun ends a run that does not end by itself.
const LongestRun = 12 * time.Hour

// Repeat lets c do the job of p as s says. What the client wants to keep from
// one run to the next goes to state, and comes from there. A run that takes
// longer than it is to the next puts that off.
func Repeat(p *Provider, c Client, s Schedule, state *[]byte) []Run {
	runs := make([]Run, s.Runs)
	for i := range runs {
		begun := time.Now()
		from := time.Since(p.start)
		runs[i].Took = Job(p, c, s.Requests, LongestRun, state)
		runs[i].Best = p.soonest(s.Requests, from)
		runs[i].Requests, runs[i].Refusals = p.count(from)
		time.Sleep(time.Until(begun.Add(s.Every)))
	}
	return runs
}

// soonest returns how long n requests take from a moment on, at the pace that
// the best client has then.
func (p *Provider) soonest(n int, from time.Duration) time.Duration {
	pace := p.model.capacity(from.Seconds())
	for _, c := range p.owner.Ceilings {
		pace = min(pace, float64(c.Count)/c.Per.Seconds())
	}
	return seconds(float64(n)/pace + p.idle)
}

// count returns the requests since a moment, and how many were refused.
func (p *Provider) count(from time.Duration) (requests, refusals int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.log) - 1; i >= 0 && p.log[i].at >= from.Seconds(); i-- {
		requests++
		if p.log[i].refused {
			refusals++
		}
	}
	return requests, refusals
}
