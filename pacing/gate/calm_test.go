package gate_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// TestCalmChangesNothing plays histories, most of which are calm, at a gate and
// at another that asks everybody each time.
func TestCalmChangesNothing(t *testing.T) {
	reached := map[string]int{}
	rare := func() string { // a branch that was not reached often enough
		for _, branch := range []string{"left in the calm", "settled in the calm", "the calm ended",
			"slot awaited in the calm", "window awaited in the calm", "clamped in the calm"} {
			if reached[branch] < 5 {
				return branch
			}
		}
		return ""
	}
	for round := 0; round < 1 || round < 20 && rare() != ""; round++ {
		rapid.Check(t, func(t *rapid.T) { beginCalm(t, reached).play() })
	}
	t.Log(reached)
	if branch := rare(); branch != "" && !testing.Short() {
		t.Errorf("%q happened %d times: the histories do not reach what they are to test", branch, reached[branch])
	}
}

// A calmHistory is one history of two gates, the second of which is never calm.
type calmHistory struct {
	*rapid.T
	reached map[string]int
	gates   [2]*gate.Gate
	passes  [2][]gate.Pass
	now     time.Time
}

func beginCalm(t *rapid.T, reached map[string]int) *calmHistory {
	h := &calmHistory{T: t, reached: reached, now: t0}
	provider := collection.Provider{StartPerSecond: 5, Clamp: collection.Clamp{Cooldown: 2 * time.Second, Burn: 0.02}}
	provider.Unpaced = rapid.Bool().Draw(t, "unpaced")
	for _, per := range rapid.SliceOfNDistinct(rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Minute}), 0, 2, rapid.ID).Draw(t, "windows") {
		provider.Ceilings = append(provider.Ceilings, collection.Ceiling{Count: rapid.IntRange(2, 40).Draw(t, "ceiling"), Per: per})
	}
	if rapid.IntRange(0, 4).Draw(t, "reserve") == 0 {
		provider.Reserve = 0.2
	}
	for i := range h.gates {
		g, err := gate.New(provider, "", time.Hour, 3)
		if err != nil {
			t.Fatal(err)
		}
		g.Draw(rand.New(rand.NewPCG(1, 2)).Float64)
		h.gates[i] = g
	}
	return h
}

func (h *calmHistory) play() {
	for range rapid.IntRange(50, 400).Draw(h.T, "steps") {
		h.step()
	}
}

func (h *calmHistory) step() {
	was := h.gates[0].Calm()
	switch what := rapid.IntRange(0, 99).Draw(h.T, "step"); {
	case what < 45:
		h.leave()
	case what < 95:
		h.settle()
	case what < 98:
		h.now = h.now.Add(time.Duration(rapid.SampledFrom([]int{1, 20, 1000}).Draw(h.T, "seconds")) * time.Second)
	default:
		h.order()
	}
	if was && !h.gates[0].Calm() {
		h.reached["the calm ended"]++
	}
	if a, b := h.gates[0].Snapshot(h.now), h.gates[1].Snapshot(h.now); !bytes.Equal(a, b) {
		h.Fatalf("the state is %s, without calm %s", a, b)
	}
}

// both asks the two gates, and fails if they do not say the same.
func (h *calmHistory) both(ask func(i int, g *gate.Gate) any) any {
	h.gates[1].Alarm()
	a, b := ask(0, h.gates[0]), ask(1, h.gates[1])
	if !reflect.DeepEqual(a, b) {
		h.Fatalf("the gate says %+v, without calm %+v", a, b)
	}
	return a
}

func (h *calmHistory) leave() {
	request := &gate.Request{Retry: rapid.IntRange(0, 9).Draw(h.T, "retry") == 0}
	for range 20 {
		calm := h.gates[0].Calm()
		p := h.both(func(_ int, g *gate.Gate) any { return g.Plan(request, h.now) }).(gate.Plan)
		switch {
		case p.Ready:
			h.both(func(i int, g *gate.Gate) any {
				pass := g.Leave(request, h.now)
				h.passes[i] = append(h.passes[i], pass)
				return []any{pass.ID, pass.Save, pass.Change}
			})
			if calm {
				h.reached["left in the calm"]++
			}
			return
		case p.Stop != nil:
			return
		case p.Until.IsZero():
			if calm {
				h.reached["slot awaited in the calm"]++
			}
			return
		case calm && p.Cause == collection.WaitWindow:
			h.reached["window awaited in the calm"]++
		}
		if rapid.IntRange(0, 3).Draw(h.T, "withdraws") == 0 {
			return
		}
		h.now = p.Until
	}
}

func (h *calmHistory) settle() {
	if len(h.passes[0]) == 0 {
		return
	}
	which := rapid.IntRange(0, len(h.passes[0])-1).Draw(h.T, "which")
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 500).Draw(h.T, "took")) * time.Millisecond)
	o := gate.Outcome{Signal: law.Succeeded, Hold: -1}
	switch what := rapid.IntRange(0, 79).Draw(h.T, "outcome"); what {
	case 0, 1:
		o.Signal = law.Throttled
	case 2:
		o.Signal, o.Hold = law.Throttled, time.Duration(rapid.IntRange(0, 20).Draw(h.T, "hold"))*time.Second
	case 3:
		o.Signal = law.Failed
	case 4:
		o.Signal = law.Answered
	case 5:
		o.MaxRate = 3
	case 6:
		o.Hold, o.QuotaUsed, o.Signal = 5*time.Second, true, law.Silent
	case 7:
		o.Hold = time.Duration(rapid.IntRange(0, 20).Draw(h.T, "rest")) * time.Second
	case 8:
		o.QuotaUsed = true
	case 9:
		if rapid.IntRange(0, 9).Draw(h.T, "key") == 0 {
			o.Key = "search"
		}
	case 10, 11, 12:
		o.Windows = []response.Quota{{Name: "hour", Limit: 100, Remaining: 15, Reset: 5 * time.Second, Window: time.Hour}}
	case 13:
		if rapid.IntRange(0, 9).Draw(h.T, "refused") == 0 {
			o.Refused = "forbidden"
		}
	}
	calm := h.gates[0].Calm() && o.Signal == law.Succeeded && o.Hold < 0 && o.MaxRate == 0 && o.Refused == "" && o.Key == "" && !o.QuotaUsed
	changes := h.both(func(i int, g *gate.Gate) any {
		changes, save := g.Settle(h.now, h.passes[i][which], &o)
		return []any{changes, save}
	}).([]any)[0].([]collection.Event)
	for i := range h.passes {
		h.passes[i] = slices.Delete(h.passes[i], which, which+1)
	}
	if calm {
		h.reached["settled in the calm"]++
		if len(changes) > 0 {
			h.reached["clamped in the calm"]++
		}
	}
}

// order gives both the order of an operator.
func (h *calmHistory) order() {
	state := h.gates[0].Snapshot(h.now)
	var order []byte
	var err error
	switch rapid.IntRange(0, 9).Draw(h.T, "order") {
	case 0:
		order, _, err = gate.ForceOpen(state, h.now, "test")
	case 1:
		order, _, err = gate.ForceClosed(state, h.now, "test")
	case 2:
		order, _, err = gate.Release(state, h.now)
	default:
		order, _, err = gate.ReleaseBreaker(state, h.now)
	}
	if err != nil {
		h.Fatal(err)
	}
	h.both(func(_ int, g *gate.Gate) any { return g.Obey(order, h.now) })
}
