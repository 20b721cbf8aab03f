package cmd

import (
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/live"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/limit"
)

// limits returns the words for each bound, and those for one that an operator
// holds.
func limits() (all []limit.Words) {
	for _, name := range gate.Bounds() {
		k := gate.Constraint{Name: name}
		all = append(all, limit.For(&k, false))
		if held := limit.For(&k, true); held.Held {
			all = append(all, held)
		}
	}
	return all
}

// TestTheLimitIsSaidTheSameEverywhere: explain, status, the summary and the block
// call it by one name, with one figure.
func TestTheLimitIsSaidTheSameEverywhere(t *testing.T) {
	for _, row := range limits() {
		k := gate.Constraint{Name: row.Bound, Binds: true, PerSecond: 1.4, Count: 3, Window: time.Second, Since: noon.Add(-2 * time.Minute)}
		if row.Held && row.Bound == gate.CeilingOf {
			k.Lowered = &gate.Lowered{Count: 3, Per: time.Second, At: noon}
		}
		s := gate.Status{Breaker: gate.Closed, Constraints: []gate.Constraint{{Name: gate.InFlightMax, Count: 8}, k}}
		if s.Learned = 1.4; row.Held {
			s.Forced, s.FreezeReason = row.Bound == gate.BreakerOf, gate.ByOperator
		}
		e := report.Explanation{Status: report.Status{Name: "acme"}, Now: noon, Known: true, Pace: s}
		m := live.Frame{Now: noon, Connector: "acme", RateNow: 1.4, Learned: 1.4, Limit: s}
		text := limit.Text(&s, noon)
		for where, got := range map[string]string{
			"explain": renderExplanation(e, 200, term.Caps{}),
			"status":  statusDetail(report.Status{Name: "acme", Account: &report.Account{Provider: "acme", Pace: s}}, noon, 200, term.Caps{}),
			"summary": renderSummary(report.Summary{Connector: "acme", Now: noon, Limit: s, This: collection.Tally{Requests: 1}}, 80, term.Caps{}),
			"block":   strings.Join(m.Block(100, 24, term.Caps{}), "\n"),
			"line":    m.Line(live.Stamped),
		} {
			want := []string{row.Name}
			switch where {
			case "status":
				want = []string{"limited by  " + text}
			case "summary":
				want = []string{"limited by  " + text[:len(row.Name)]}
			case "explain":
				want = append(want, row.Is, "<- this one", strings.NewReplacer("NAME", "acme", "WINDOW", "s").Replace(row.Do))
				if !row.Held && row.Bound == gate.BreakerOf || row.Bound == gate.FreezeOf || row.Bound == gate.CeilingOf {
					want = append(want[:1], want[2:]...) // its own story stands there
				}
			case "line":
				want = []string{"limited_by=" + string(row.Bound)}
			}
			for _, w := range want {
				if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(w), " ")) {
					t.Errorf("%s of %s: %q is not in\n%s", where, row.Bound, w, got)
				}
			}
		}
	}
}
