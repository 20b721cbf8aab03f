package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// heard is a ledger that remembers each sign of life.
type heard struct {
	*memory
	beats  []*collection.WaitInfo
	waited []float64                  // seconds for a silence that was asked for, as each beat says
	beat   func(*collection.WaitInfo) // called with each of them; nil: nothing is
}

func (h *heard) Beat(_ context.Context, _ time.Time, _ collection.Tally, m collection.Metrics) error {
	h.beats = append(h.beats, m.Wait)
	if m.Traffic != nil {
		h.waited = append(h.waited, m.Traffic.Waited[collection.WaitRetryAfter])
	}
	if h.beat != nil {
		h.beat(m.Wait)
	}
	return nil
}

// asksToWait answers its first request with a 429 that asks for silence.
type asksToWait struct {
	provider
	asked bool
}

func (p *asksToWait) RoundTrip(req *http.Request) (*http.Response, error) {
	if !p.asked {
		p.asked = true
		return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"22"}}, Body: http.NoBody, Request: req}, nil
	}
	return p.provider.RoundTrip(req)
}

// waiting plays a run that is asked to wait for 22 s, and returns what its beats said.
func waiting(t *testing.T) (*heard, collection.Run) {
	t.Helper()
	ledger := &heard{memory: newMemory()}
	slow := &asksToWait{provider: provider{n: 3, before: func(int) { time.Sleep(3 * time.Second) }}}
	run, err := do(t, ledger.memory, slow, func(c *runner.Config) { c.Ledger = ledger })
	if err != nil {
		t.Fatal(err)
	}
	return ledger, run
}

// TestBeatSaysWhatIsWaitedFor: who looks at a run from outside learns why it
// does nothing, and until when; and no longer than it waits.
func TestBeatSaysWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(22 * time.Second)
		ledger, _ := waiting(t)
		if len(ledger.beats) < 6 {
			t.Fatalf("the run said %d times that it is alive, want one time in 5 s", len(ledger.beats))
		}
		for i, wait := range ledger.beats[:4] { // after 5, 10, 15 and 20 s
			if wait == nil || wait.Cause != collection.WaitRetryAfter || wait.Until.Sub(until).Abs() > time.Second {
				t.Errorf("beat %d says it waits for %+v, want retry_after until %v", i, wait, until)
			}
		}
		for i, wait := range ledger.beats[4:] {
			if wait != nil && !wait.Until.After(until.Add(time.Second)) {
				t.Errorf("beat %d says it waits for %+v, which was over", i+4, wait)
			}
		}
	})
}

// TestBeatCountsAWaitThatIsOn: a wait is what the time of a run goes to while it lasts, and not only
// after it. In all it counts once.
func TestBeatCountsAWaitThatIsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, run := waiting(t)
		if len(ledger.waited) < 6 {
			t.Fatalf("%d beats, want 6", len(ledger.waited))
		}
		for i, seconds := range ledger.waited {
			if want := min(22.0, float64(5*(i+1))); math.Abs(seconds-want) > 1 {
				t.Errorf("beat %d says that it waited %.1f s, want %.0f s", i, seconds, want)
			}
		}
		if in := run.Waited[collection.WaitRetryAfter].Seconds(); math.Abs(in-22) > 1 {
			t.Errorf("the run waited %.1f s, want 22 s", in)
		}
	})
}

// refusesForLong answers with a 429 that says no more, from its 10th request on.
type refusesForLong struct {
	provider
	n atomic.Int32
}

func (p *refusesForLong) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.n.Add(1) >= 10 {
		return &http.Response{StatusCode: 429, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return p.provider.RoundTrip(req)
}

// TestBeatSaysThatAWaitGrew: what was to be a wait of a second is told anew when
// the next refusal makes it one of minutes.
func TestBeatSaysThatAWaitGrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &heard{memory: newMemory()}
		slow := &refusesForLong{provider: provider{n: 40}}
		asked, silent, said := 0, 0, 0
		slow.before = func(int) { time.Sleep(20 * time.Millisecond) }
		ledger.beat = func(wait *collection.WaitInfo) {
			if quiet := int(slow.n.Load()) == asked; quiet {
				silent++
				if wait != nil && wait.Until.After(time.Now().Add(-time.Second)) {
					said++
				}
			}
			asked = int(slow.n.Load())
		}
		_, err := do(t, ledger.memory, slow, func(c *runner.Config) {
			c.Ledger, c.Concurrency = ledger, 4
			c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxTime: 4 * time.Minute})
		})
		if err != nil {
			t.Fatal(err)
		}
		if silent < 10 || said < silent-2 {
			t.Errorf("of %d beats in a silence, %d say what is waited for, want 10 or more, and all but 2", silent, said)
		}
	})
}

// TestBeatSaysWhatEndsTheRun: only the run knows the limits that it was started with, so its beats say them.
func TestBeatSaysWhatEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ledger := &limited{memory: m}
		began := time.Now()
		if _, err := do(t, m, &provider{n: 7, before: func(int) { time.Sleep(3 * time.Second) }}, func(c *runner.Config) {
			c.Ledger = ledger
			c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxTime: 4 * time.Minute, MaxRequests: 70})
		}); err != nil {
			t.Fatal(err)
		}
		want := collection.RunLimits{MaxRequests: 70, Until: began.Add(4 * time.Minute)}
		if ledger.limits == nil || *ledger.limits != want {
			t.Errorf("beats say %+v, want %+v", ledger.limits, want)
		}
	})
}

// limited keeps what the newest beat says of the limits of the run.
type limited struct {
	*memory
	limits *collection.RunLimits
}

func (l *limited) Beat(_ context.Context, _ time.Time, _ collection.Tally, metrics collection.Metrics) error {
	l.limits = metrics.Limits
	return nil
}

// mute is a ledger whose beats fail.
type mute struct {
	*memory
	err error
}

func (l *mute) Beat(context.Context, time.Time, collection.Tally, collection.Metrics) error {
	return l.err
}

// TestLostLeaseEndsTheRun: a beat that says that the lease is lost, or ends before
// it could be renewed, ends the run: the request that is in flight is given up, and
// no other leaves. A beat that fails for another reason costs nothing.
func TestLostLeaseEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() *provider { return &provider{n: 7, before: func(int) { time.Sleep(3 * time.Second) }} }
		for _, failure := range []error{nil, errors.New("the disk does not answer")} {
			m := newMemory()
			run, err := do(t, m, slow(), func(c *runner.Config) { c.Ledger = &mute{m, failure} })
			if err != nil || run.Tally.Records != 35 {
				t.Errorf("with beats that answer %v: %d records, %v", failure, run.Tally.Records, err)
			}
		}
		m, started := newMemory(), time.Now()
		lost := fmt.Errorf("not renewed in time: %w", collection.ErrFenced)
		run, err := do(t, m, slow(), func(c *runner.Config) { c.Ledger = &mute{m, lost} })
		if !errors.Is(err, collection.ErrFenced) || run.Reason != "" {
			t.Errorf("Do = stopped for %q, %v, want %v", run.Reason, err, collection.ErrFenced)
		}
		if took := time.Since(started); took > 9*time.Second || run.Tally.Requests > 2 {
			t.Errorf("the run went on for %v, with %d requests, after its lease was lost at 5 s", took, run.Tally.Requests)
		}
		if len(m.gaps) > 0 {
			t.Errorf("gaps %+v were left without a lease", m.gaps)
		}
	})
}
