package limit

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"collect/pacing/gate"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bound returns a status that k limits.
func bound(k gate.Constraint) gate.Status {
	k.Binds = true
	return gate.Status{Breaker: gate.Closed, Constraints: []gate.Constraint{{Name: gate.InFlightMax, Count: 8}, k}}
}

// TestEveryBoundHasWords: what it is called, what it is, what its figure means,
// who can change it and how.
func TestEveryBoundHasWords(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range gate.Bounds() {
		k := gate.Constraint{Name: name}
		for _, held := range []bool{false, true} {
			w := For(&k, held)
			if w.Is == "" || w.Name == "" || w.Figure == "" || w.Who == "" || w.Do == "" {
				t.Errorf("%s, held %t: there are no words for it: %+v", name, held, w)
			}
			seen[fmt.Sprint(name, w.Held)] = true
		}
	}
	for _, row := range table {
		if !seen[fmt.Sprint(row.Bound, row.Held)] {
			t.Errorf("the words for %s are of no bound, or double", row.Bound)
		}
	}
}

// TestLimitText says each bound with its figure.
func TestLimitText(t *testing.T) {
	later, earlier := noon.Add(9*time.Minute), noon.Add(-2*time.Minute)
	for _, tc := range []struct {
		k    gate.Constraint
		want string
	}{
		{gate.Constraint{Name: gate.FreezeOf, Blocks: true, Until: later, Since: earlier}, "the freeze: until 12:09 UTC, since 11:58 UTC"},
		{gate.Constraint{Name: gate.FreezeOf, Blocks: true}, "the freeze: until you release it"},
		{gate.Constraint{Name: gate.BreakerOf, Blocks: true, Until: later}, "the open breaker: until 12:09 UTC"},
		{gate.Constraint{Name: gate.BreakerOf, Until: earlier}, "the open breaker: a probe is next"},
		{gate.Constraint{Name: gate.HoldOf, Blocks: true, Until: later}, "a requested pause: until 12:09 UTC"},
		{gate.Constraint{Name: gate.HoldOf, Blocks: true, Until: later, Basis: gate.Basis{By: "used_up", Quota: "daily"}}, "a used up quota: until 12:09 UTC"},
		{gate.Constraint{Name: gate.HoldOf, Blocks: true, Until: later, Basis: gate.Basis{By: "documented"}}, "a pause after a refusal: until 12:09 UTC"},
		{gate.Constraint{Name: gate.ReserveOf, Blocks: true, Until: later}, "a used up quota: until 12:09 UTC"},
		{gate.Constraint{Name: gate.CeilingOf, Window: time.Second, Count: 4, PerSecond: 4}, "your ceiling: 4 a second"},
		{gate.Constraint{Name: gate.CeilingOf, Window: 24 * time.Hour, Count: 1000, Used: 1000, Blocks: true, Until: later}, "your ceiling: until 12:09 UTC, 1,000 used"},
		{gate.Constraint{Name: gate.ClampOf, PerSecond: 2, Since: earlier}, "a lowered ceiling: 2.0/s, since 11:58 UTC"},
		{gate.Constraint{Name: gate.Undeclared, PerSecond: 8}, "a missing ceiling: 8.0/s, earned so far"},
		{gate.Constraint{Name: gate.Forbidden, PerSecond: 0.5, Since: noon.Add(-50 * time.Hour), Again: noon.Add(22 * time.Hour)},
			"an unexplained 403: 30/min, since 2026-11-19 10:00 UTC, a quarter more is tried in 22 h"},
		{gate.Constraint{Name: gate.Announced, PerSecond: 1.4, Since: earlier}, "an announced limit: 1.4/s, heard 2 min ago"},
		{gate.Constraint{Name: gate.Learned, PerSecond: 3.5, Since: earlier}, "refusals: 3.5/s, last answer 2 min ago"},
		{gate.Constraint{Name: gate.Learned, Route: "search", PerSecond: 3.5, Since: earlier}, "refusals (route search): 3.5/s, last answer 2 min ago"},
		{gate.Constraint{Name: gate.Learned, PerSecond: 3.5, Blocks: true, Until: later, Since: earlier, Probes: 2}, "refusals: until 12:09 UTC, no request succeeded since 11:58 UTC, and one at a time asks again"},
		{gate.Constraint{Name: gate.Learned, PerSecond: 3.5, Blocks: true, Until: noon, Since: earlier, Probes: 2}, "refusals: a probe is next, no request succeeded since 11:58 UTC, and one at a time asks again"},
		{gate.Constraint{Name: gate.Slow, PerSecond: 3.5, Since: earlier}, "late answers: 3.5/s, last answer 2 min ago"},
		{gate.Constraint{Name: gate.Rising, PerSecond: 2}, "the rising start: 2.0/s"},
		{gate.Constraint{Name: gate.Places, Count: 3, Since: earlier}, "refusals in flight: 3 at once, last answer 2 min ago"},
		{gate.Constraint{Name: gate.InFlightMax, Count: 8, Latency: 400 * time.Millisecond, PerSecond: 20, Blocks: true}, "requests in flight: 8 at once, 400 ms a request, so 20.0/s"},
		{gate.Constraint{Name: gate.InFlightMax, Count: 8}, "requests in flight: 8 at once"},
		{gate.Constraint{Name: gate.Unused, PerSecond: 1.2}, "the run itself: 1.2/s"},
		{gate.Constraint{Name: gate.Unused, PerSecond: 0.35, Latency: 2900 * time.Millisecond}, "the run itself: 21/min, 2.9 s a request"},
	} {
		s := bound(tc.k)
		if got := Text(&s, noon); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.k.Name, got, tc.want)
		}
	}
	none := gate.Status{}
	if got := Text(&none, noon) + Name(&none); got != "" {
		t.Errorf("nothing limits: %q", got)
	}
}

// TestLimitsAreDocumented: docs/events.md has the table, as it is here.
func TestLimitsAreDocumented(t *testing.T) {
	var want strings.Builder
	want.WriteString("| `binds` | limited by | what it is | figure | who can change it | by what |\n|---|---|---|---|---|---|\n")
	for _, row := range table {
		name := "`" + string(row.Bound) + "`"
		if row.Held {
			name += ", ordered"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s | %s | %s |\n", name, row.Name, row.Is, row.Figure, row.Who, row.Do)
	}
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- limits -->\n", "<!-- end -->"
	_, rest, _ := strings.Cut(string(text), begin)
	if got, _, ok := strings.Cut(rest, end); !ok || got != want.String() {
		t.Errorf("between %q and %q stands\n%s\nwant\n%s", begin, end, got, want.String())
	}
}

// TestSameOrders: what another order says is another thing, though its figures are as
// they were.
func TestSameOrders(t *testing.T) {
	lowered := func(at time.Time) *gate.Status {
		return &gate.Status{Constraints: []gate.Constraint{{Name: gate.CeilingOf, Count: 10, Window: 24 * time.Hour, Lowered: &gate.Lowered{Count: 10, At: at}}}}
	}
	if !Same(lowered(noon), lowered(noon), noon) || Same(lowered(noon), lowered(noon.Add(-time.Second)), noon) {
		t.Error("two orders that lower a budget are one order if they were given at one time")
	}
	twice := lowered(noon)
	twice.Constraints[0].Lowered.Note = "twice"
	if Same(lowered(noon), twice, noon) {
		t.Error("two orders that say other things are one order if they were given at one time")
	}
	if held := (gate.Status{ForcedSince: noon}); Same(&held, &gate.Status{ForcedSince: noon.Add(time.Second)}, noon) {
		t.Error("two orders that hold the breaker are the same")
	}
}

// TestRefusedAtAnyPace: where no request succeeds, however slowly they leave, speed is not
// said to be the cause. Before a request was refused after a pause, that is not known.
func TestRefusedAtAnyPace(t *testing.T) {
	later := noon.Add(9 * time.Minute)
	for _, test := range []struct {
		k          gate.Constraint
		is, detail string
	}{
		{gate.Constraint{}, "the provider refused, or gave no usable answer, when it was asked faster", "last answer 2 min ago"},
		{gate.Constraint{Blocks: true, Until: later}, "the provider refused, or gave no usable answer, and one request asks again then", "since 11:58 UTC"},
		{gate.Constraint{Blocks: true, Until: later, Probes: 1}, "the provider refuses, or gives no usable answer, at any pace", "no request succeeded since 11:58 UTC, and one at a time asks again"},
	} {
		test.k.Name, test.k.PerSecond, test.k.Since = gate.Learned, 1, noon.Add(-2*time.Minute)
		if got := For(&test.k, false).Is; got != test.is {
			t.Errorf("%+v: %q, want %q", test.k, got, test.is)
		}
		if got := Detail(&test.k, noon); got != test.detail {
			t.Errorf("%+v: %q, want %q", test.k, got, test.detail)
		}
	}
}
