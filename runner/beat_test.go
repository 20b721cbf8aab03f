package runner_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// heard is a ledger that remembers each sign of life.
type heard struct {
	*memory
	beats []*collection.WaitInfo
}

func (h *heard) Beat(_ context.Context, _ time.Time, _ collection.Tally, m collection.Metrics) error {
	h.beats = append(h.beats, m.Wait)
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

// TestBeatSaysWhatIsWaitedFor: who looks at a run from outside learns why it
// does nothing, and until when; and no longer than it waits.
func TestBeatSaysWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, until := &heard{memory: newMemory()}, time.Now().Add(22*time.Second)
		slow := &asksToWait{provider: provider{n: 3, before: func(int) { time.Sleep(3 * time.Second) }}}
		_, err := do(t, ledger.memory, slow, func(c *runner.Config) { c.Ledger = ledger })
		if err != nil {
			t.Fatal(err)
		}
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
