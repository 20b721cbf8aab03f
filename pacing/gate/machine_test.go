package gate_test

import (
	"fmt"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// FuzzGate plays arbitrary histories of requests and answers, with restarts
// and pauses, and checks what a provider relies on: no ceiling is exceeded, no
// silence is broken, an open breaker lets one probe out and a freeze one test,
// and after three refusals nothing leaves until an operator says so.
func FuzzGate(f *testing.F) {
	for _, history := range gateHistories {
		f.Add([]byte(history))
	}
	f.Fuzz(func(t *testing.T, history []byte) { play(t, history) })
}

// gateHistories are seeds: a letter is a step.
var gateHistories = [...]string{
	"sososososososososososososo",    // answers, up to the ceilings
	"sfsfsfsfsfsfsfWsfWsoso",        // failures, the breaker, a probe that fails and one that does not
	"shsWWsosr.sor",                 // a silence, kept over a restart
	"sxWWWWsxWWWWWWWWsxWWWWWWWWWWs", // refusals, until only an operator helps
	"ssssssssoooooooottttttttrWWWssoo",
	"sxrWWWWsor",
}

// TestGateHistoriesReachEverything: what FuzzGate checks does happen in its
// seeds.
func TestGateHistoriesReachEverything(t *testing.T) {
	reached := map[string]int{}
	for _, history := range gateHistories {
		for what, n := range play(t, []byte(history)) {
			reached[what] += n
		}
	}
	for _, what := range []string{"left", "at a ceiling", "silence", "probe", "frozen", "test", "operator", "restart"} {
		if reached[what] == 0 {
			t.Errorf("no history reaches: %s (%v)", what, reached)
		}
	}
}

// play plays a history and returns how often what matters happened.
func play(t *testing.T, history []byte) map[string]int {
	h := &gateHistory{T: t, now: t0, reached: map[string]int{}, provider: collection.Provider{
		Ceilings: []collection.Ceiling{{Count: 5, Per: 10 * time.Second}, {Count: 8, Per: 2 * time.Hour}},
	}}
	h.gate = h.open()
	for _, step := range history[:min(len(history), 200)] {
		h.step(step)
	}
	return h.reached
}

// A gateHistory is what was sent through a gate and answered, as the provider
// sees it.
type gateHistory struct {
	*testing.T
	gate     *gate.Gate
	provider collection.Provider
	now      time.Time
	flying   []gate.Pass
	left     []time.Time // when requests left
	silent   time.Time   // the latest end of a silence that was asked for
	refused  int         // tests refused in a row, the first refusal included
	frozen   time.Time   // the end of the freeze, as its event says
	operator bool
	reached  map[string]int
}

func (h *gateHistory) open() *gate.Gate {
	g, err := gate.New(h.provider, "", time.Hour, 8)
	if err != nil {
		h.Fatal(err)
	}
	return g
}

// step is one thing that happens.
func (h *gateHistory) step(what byte) {
	switch what {
	case 's':
		h.send()
	case 'o':
		h.answer(gate.Outcome{Signal: law.Succeeded, Hold: -1})
	case 't':
		h.answer(gate.Outcome{Signal: law.Throttled, Hold: -1})
	case 'f':
		h.answer(gate.Outcome{Signal: law.Failed, Hold: -1})
	case 'h':
		h.answer(gate.Outcome{Signal: law.Throttled, Hold: 3 * time.Minute})
	case 'x':
		h.answer(gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
	case '.':
		h.now = h.now.Add(500 * time.Millisecond)
	case 'W':
		h.now = h.now.Add(5 * time.Minute)
	case 'r':
		h.restart()
	}
}

// send waits for as long as the gate says and lets one request out, unless
// the gate refuses or waits for an answer.
func (h *gateHistory) send() {
	for range 100 {
		p := h.gate.Plan(&gate.Request{}, h.now)
		if p.Cause == collection.WaitWindow || p.Stop != nil && p.Stop.Reason == collection.RequestCap {
			h.reached["at a ceiling"]++
		}
		if p.Stop != nil && h.operator {
			h.reached["operator"]++
		}
		switch {
		case p.Ready:
			h.leave()
			return
		case p.Stop != nil || p.Until.IsZero():
			return
		case !p.Until.After(h.now):
			h.Fatalf("told at %v to wait until %v", h.now, p.Until)
		}
		h.now = p.Until
	}
	h.Fatal("told to wait 100 times in a row")
}

func (h *gateHistory) leave() {
	for _, c := range h.provider.Ceilings {
		if n := len(h.left); n >= c.Count && h.now.Sub(h.left[n-c.Count]) < c.Per {
			h.Errorf("request %d leaves %v after the one %d before it, want %v", n+1, h.now.Sub(h.left[n-c.Count]), c.Count, c.Per)
		}
	}
	if h.now.Before(h.silent) {
		h.Errorf("a request leaves %v before the end of a silence", h.silent.Sub(h.now))
	}
	if h.now.Before(h.frozen) || h.operator {
		h.Errorf("a request leaves at %v, frozen until %v, by an operator: %v", h.now, h.frozen, h.operator)
	}
	if !h.gate.Closed() {
		for _, p := range h.flying {
			if h.gate.Probe(p) {
				h.Error("a second probe leaves while the first is on its way")
			}
		}
	}
	if h.refused > 0 {
		h.reached["test"]++
	}
	p := h.gate.Leave(&gate.Request{}, h.now)
	if h.gate.Probe(p) {
		h.reached["probe"]++
	}
	h.reached["left"]++
	h.left = append(h.left, h.now)
	h.flying = append(h.flying, p)
}

// answer ends the oldest attempt.
func (h *gateHistory) answer(o gate.Outcome) {
	if len(h.flying) == 0 {
		return
	}
	p := h.flying[0]
	h.flying = h.flying[1:]
	h.now = h.now.Add(20 * time.Millisecond)
	was := h.gate.Rate()
	changes, _ := h.gate.Settle(h.now, p, &o)
	if rate := h.gate.Rate(); rate > was && (o.Signal == law.Throttled || o.Signal == law.Failed) {
		h.Errorf("an answer that is bad raised the pace from %v to %v", was, rate)
	}
	if o.Hold > 0 && h.now.Add(o.Hold).After(h.silent) {
		h.silent = h.now.Add(o.Hold)
		h.reached["silence"]++
	}
	for _, c := range changes {
		if c.Freeze == nil {
			continue
		}
		if !c.Freeze.Frozen {
			h.frozen, h.refused = time.Time{}, 0
			continue
		}
		h.refused++
		h.reached["frozen"]++
		h.frozen, h.operator = c.Freeze.Until, c.Freeze.Until.IsZero()
		if h.operator != (h.refused >= 3) {
			h.Errorf("after %d refusals an operator is needed: %v", h.refused, h.operator)
		}
	}
}

// restart goes on in another process; what was on its way is answered to
// nobody.
func (h *gateHistory) restart() {
	h.reached["restart"]++
	saved := h.gate.Snapshot(h.now)
	h.gate, h.flying = h.open(), nil
	if err := h.gate.Restore(saved, h.now); err != nil {
		h.Fatal(fmt.Errorf("what was saved cannot be read: %w", err))
	}
}
