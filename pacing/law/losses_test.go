package law_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"collect/pacing/law"
)

// lost is the outcome of a request that is given up after thirty seconds.
var lost = law.Outcome{Signal: law.Failed, Hold: -1}

const givenUp = 30 * s

// TestDroppedIsRefused: a firewall drops what is above a limit. Most of what it
// lets through is asked for, and little is lost once that is known.
func TestDroppedIsRefused(t *testing.T) {
	var sent, dropped int // after ten minutes
	for _, rate := range []float64{0.3, 1, 2, 4, 8, 12} {
		for _, burst := range []float64{1, 5, 20} {
			answered := 0
			w := world{start: 1, ceiling: 20, workers: 32, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
				o, took := granted(true), 100*ms
				if !p.bucket(rate, burst) {
					o, took = lost, givenUp
				}
				switch {
				case p.now < 70*time.Minute:
					return o, took
				case o.Signal == law.Failed:
					dropped++
				default:
					answered++
				}
				sent++
				return o, took
			}}
			w.play(t, law.Plateau)
			if share := float64(answered) / (rate * 3000); share < 0.65 {
				t.Errorf("of %v/s, %v at once, %.0f %% is answered, want 65 %%", rate, burst, 100*share)
			}
		}
	}
	if of := 1000 * float64(dropped) / float64(sent); of > 22 {
		t.Errorf("%.1f of 1000 requests are lost, want 22", of)
	}
}

// A watched is a Learner, and what time it is.
type watched struct {
	law.Learner
	now time.Time
}

// watch returns one whose plateau is the ceiling.
func watch() *watched {
	w := &watched{law.NewLearner(1, 4), t0}
	w.answers(200, 100*ms)
	return w
}

func (w *watched) send() law.Sent {
	at, _ := w.Next(w.now)
	w.now = later(w.now, at)
	return w.Send(w.now)
}

func (w *watched) answers(n int, took time.Duration) {
	for range n {
		sent := w.send()
		w.now = w.now.Add(took)
		w.Result(sent, law.Result{Signal: law.Succeeded}, w.now)
	}
}

func (w *watched) lose(s law.Sent) {
	w.Result(s, law.Result{Signal: law.Failed}, w.now)
}

// TestLoneLossIsChance: of one lost request in a hundred the pace takes no
// notice, nor of many that fail at once.
func TestLoneLossIsChance(t *testing.T) {
	w := watch()
	before := w.Rate()
	for i := range 5 {
		sent := w.send()
		w.answers(100, 100*ms)
		w.now = later(w.now, w.now.Add(givenUp))
		if w.lose(sent); w.Rate() < before {
			t.Fatalf("loss %d makes %v/s of %v/s", i+1, w.Rate(), before)
		}
	}
	for i := range 10 {
		sent := w.send()
		w.now = w.now.Add(100 * ms)
		if w.lose(sent); w.Rate() < before {
			t.Fatalf("quick failure %d makes %v/s of %v/s", i+1, w.Rate(), before)
		}
	}
}

// overdue is the outcome of a request that a gateway gave up.
var overdue = law.Result{Signal: law.Failed, Overdue: true}

// TestOverdueTogether: of one request in forty that a gateway gives up the pace
// takes no notice, and of several at once it does.
func TestOverdueTogether(t *testing.T) {
	w := watch()
	before := w.Rate()
	for i := range 20 {
		w.Result(w.send(), overdue, w.now)
		if w.answers(40, 100*ms); w.Rate() < before {
			t.Fatalf("fault %d makes %v/s of %v/s", i+1, w.Rate(), before)
		}
	}
	for i := range 5 {
		w.Result(w.send(), overdue, w.now)
		if i < 2 && w.Rate() < before {
			t.Errorf("%d faults at once make %v/s of %v/s", i+1, w.Rate(), before)
		}
	}
	if w.Rate() != before/2 {
		t.Errorf("5 faults at once make %v/s of %v/s, want half of it", w.Rate(), before)
	}
}

// TestLossesAreOneEpisode: several losses halve the pace once, however many
// there are of what left before. Then one probe at a time leaves, ever later,
// and if that was an outage the pace comes back.
func TestLossesAreOneEpisode(t *testing.T) {
	w := watch()
	before := w.Rate()
	var flying []law.Sent
	for range 20 {
		flying = append(flying, w.send())
	}
	w.now = w.now.Add(givenUp)
	for i, sent := range flying {
		known := w.Known(sent, lost)
		w.lose(sent)
		switch {
		case i < 2 && (w.Rate() < before || known):
			t.Errorf("loss %d: known: %t, and the pace goes from %v to %v", i+1, known, before, w.Rate())
		case i == 2 && known, i > 2 && !known:
			t.Errorf("loss %d is known: %t", i+1, known)
		case i >= 2 && w.Rate() != before/2:
			t.Errorf("loss %d makes %v/s of %v/s, want half of it", i+1, w.Rate(), before)
		}
	}
	last, gaps := w.now, []time.Duration(nil)
	for range 6 {
		sent := w.send()
		gaps = append(gaps, w.now.Sub(last))
		last = w.now.Add(givenUp)
		w.now = last
		if w.Known(sent, lost) {
			t.Error("a probe that is lost is known")
		}
		w.lose(sent)
	}
	if gaps[5] < 8*gaps[1] {
		t.Errorf("the pauses before the probes are %v", gaps)
	}
	if w.Rate() != before/2 {
		t.Errorf("lost probes make %v/s of %v/s", w.Rate(), before/2)
	}
	if w.answers(30, 100*ms); w.Rate() < 0.95*before {
		t.Errorf("after an outage the pace is %v/s, and was %v/s", w.Rate(), before)
	}
}

// TestSlowIsNotLost: who answers late is slow, and what it does not answer is no
// news of another kind.
func TestSlowIsNotLost(t *testing.T) {
	for _, slow := range []int{10, 13} { // the start goes on; it is drained
		w := &watched{law.NewLearner(1, 20), t0}
		w.answers(8, 100*ms)
		w.answers(slow, 6*s)
		sent := [3]law.Sent{w.send(), w.send(), w.send()}
		w.now = w.now.Add(givenUp)
		for _, s := range sent {
			w.lose(s)
		}
		if w.Known(sent[0], lost) {
			t.Errorf("after %d slow answers, three lost requests begin an episode", slow)
		}
	}
}

// TestLossesAreKnown: where requests were lost before, two with twenty answers
// between them are enough.
func TestLossesAreKnown(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := watch()
		if known {
			w.losesAbove(t, 3.8)
			w.answers(200, 100*ms)
		}
		before := w.Rate()
		sent := [2]law.Sent{w.send(), w.send()}
		w.now = w.now.Add(givenUp)
		w.lose(sent[0])
		w.answers(20, 100*ms)
		if w.lose(sent[1]); known != (w.Rate() < before) {
			t.Errorf("known before: %t; the pace goes from %v to %v", known, before, w.Rate())
		}
	}
}

// TestProbesWaitForLosses: a loss is noticed late, so a probe where requests are
// lost waits at each level for those of the level, is no bolder at the next,
// and what was held for less is not proven.
func TestProbesWaitForLosses(t *testing.T) {
	w := &watched{law.NewLearner(1, 20), t0}
	w.losesAbove(t, 8)
	type level struct {
		rate float64
		at   time.Time
	}
	var levels []level
	for len(levels) < 4 {
		w.answers(1, 100*ms)
		if rate := w.Rate(); rate > w.Plateau() && (len(levels) == 0 || rate != levels[len(levels)-1].rate) {
			levels = append(levels, level{rate, w.now})
		}
	}
	for i := range levels[1:] {
		l, next := levels[i], levels[i+1]
		if held := next.at.Sub(l.at); held < 60*s {
			t.Errorf("level %d is held for %v, want a minute", i, held)
		}
		if next.rate > 1.06*l.rate {
			t.Errorf("after the level %v/s comes %v/s", l.rate, next.rate)
		}
	}
	for w.now.Sub(levels[3].at) < 10*s {
		w.answers(1, 100*ms)
	}
	w.loseThree()
	w.answers(1, 100*ms)
	if got, most := w.Plateau(), levels[2].rate; got > most {
		t.Errorf("a level that was held for 10 s and 30 s in which its losses were not noticed makes a plateau of %v/s, want at most %v/s, which is the level before", got, most)
	}
}

// losesAbove lets w know, as from a run before, that requests are lost above a rate.
func (w *watched) losesAbove(t *testing.T, rate float64) {
	t.Helper()
	var m law.Memory
	kept := fmt.Appendf(nil, `{"interval_ns": %d, "plateau": {"target_per_second": %v, "limit_per_second": %v, "unseen_ns": %d}}`,
		int(1e9/rate), rate, rate/0.98, givenUp)
	if err := json.Unmarshal(kept, &m); err != nil {
		t.Fatal(err)
	}
	w.Restore(m, time.Minute)
}

// loseThree sends three requests that are lost.
func (w *watched) loseThree() {
	sent := [3]law.Sent{w.send(), w.send(), w.send()}
	for end := w.now.Add(givenUp); w.now.Before(end); {
		w.answers(1, 100*ms)
	}
	for _, s := range sent {
		w.lose(s)
	}
}

// TestHangIsNoLimit: a provider that answers nothing for a while is asked as fast as before afterwards: nothing that left
// meanwhile was answered, and who refuses a share of the requests answers the others.
func TestHangIsNoLimit(t *testing.T) {
	for _, hang := range []time.Duration{6 * s, 8 * s, 10 * s, 12 * s} {
		const begins = time.Hour + 20*s
		r := begin(t, &provider{}, law.Memory{}, time.Hour)
		r.workers, r.answer = 8, func(p *provider) (law.Outcome, time.Duration) {
			if p.now >= begins && p.now < begins+hang {
				return law.Outcome{Signal: law.Failed, Overdue: true, Hold: -1}, 5 * s
			}
			return granted(true), 30 * ms
		}
		r.until(begins + hang + 15*s)
		if answered := r.until(begins + hang + 45*s); answered < 110 {
			t.Errorf("after %v without an answer, %d were answered in half a minute at %.1f/s, want 110 or more", hang, answered, r.law.Rate())
		}
	}
}
