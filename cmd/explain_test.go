package cmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// paced is a connector whose pace was learned under two ceilings.
func paced() report.Explanation {
	four := 4.0
	return report.Explanation{
		Status: report.Status{Name: "tickets", Runs: []collection.Run{{ID: "01JD8Z", Tally: collection.Tally{Throttled: 3}}},
			Owed: gaps(collection.RequestCap), Account: &report.Account{Provider: "acme"}},
		Now: noon, Known: true,
		Pace: gate.Status{PerSecond: 3.4, Learned: 3.4, Ceiling: &four, HeardAt: noon.Add(-2 * time.Minute), Breaker: gate.Closed, Constraints: []gate.Constraint{
			{Name: gate.CeilingOf, Window: time.Second, Count: 4, Used: 1, PerSecond: 4},
			{Name: gate.CeilingOf, Window: 24 * time.Hour, Count: 20000, Used: 5860},
			{Name: gate.Learned, PerSecond: 3.4, Since: noon.Add(-2 * time.Minute), Binds: true},
		}},
		Allowed: []report.Allowance{
			{Ceiling: collection.Ceiling{Count: 4, Per: time.Second}, Origin: "~/collect.yaml:12"},
			{Ceiling: collection.Ceiling{Count: 20000, Per: 24 * time.Hour}, Origin: "acme.yaml"},
		},
		Caps: []report.Allowance{{What: "20,000 requests a run", Origin: "~/collect.yaml:4"}},
		History: []collection.Event{
			{Time: noon.Add(-40 * time.Minute), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 4, Learned: 2, Reason: "throttled"}},
			{Time: noon.Add(-20 * time.Minute), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 6, Learned: 2, Reason: string(gate.Announced)}},
			{Time: noon.Add(-5 * time.Minute), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 2, Learned: 3.4, Reason: "answered without complaint"}},
		},
	}
}

func TestExplain(t *testing.T) {
	texttest.Same(t, "80 columns", renderExplanation(paced(), 80, term.Caps{UTF8: true}), `tickets: what limits the pace (learned 3.4/s)?
  4.0/s      your ceiling: 4 a second, set in ~/collect.yaml:12
  ceiling    your ceiling: 20,000 a day, set in acme.yaml; 5,860 used
  3.4/s      refusals: the provider refused, or gave no usable answer, when it
             was asked faster; last answer 2 min ago; last lowered at 11:20 UTC
             after a refusal <- this one

What changed it?
  11:55 UTC  2.0/s -> 3.4/s: answered without complaint
  11:40 UTC  6.0/s -> 2.0/s: an announced limit
  11:20 UTC  4.0/s -> 2.0/s: throttled

What stops a run first?
  1.         20,000 requests a run, set in ~/collect.yaml:4
  2.         the end of the work, with 1 gap owed: collect gaps tickets

What would make it faster?
  Time: a little more is tried from time to time. A ceiling at the provider's
  limit, if you know it and have not declared it, spares a run the search and
  its refusals, and makes nothing faster once the limit is found. In the
  connector file, by the window that the provider counts in: `+"`ceiling:\n  {per_second: N}`, `per_minute` or `per_hour`"+`. In the last run it refused 3
  times.
`)
	texttest.Same(t, "50 columns", renderExplanation(paced(), 50, term.Caps{}), `tickets: what limits the pace (learned 3.4/s)?
  4.0/s      your ceiling: 4 a second, set in
             ~/collect.yaml:12
  ceiling    your ceiling: 20,000 a day, set in
             acme.yaml; 5,860 used
  3.4/s      refusals: the provider refused, or
             gave no usable answer, when it was
             asked faster; last answer 2 min ago;
             last lowered at 11:20 UTC after a
             refusal <- this one

What changed it?
  11:55 UTC  2.0/s -> 3.4/s: answered without
             complaint
  11:40 UTC  6.0/s -> 2.0/s: an announced limit
  11:20 UTC  4.0/s -> 2.0/s: throttled

What stops a run first?
  1.         20,000 requests a run, set in
             ~/collect.yaml:4
  2.         the end of the work, with 1 gap owed:
             collect gaps tickets

What would make it faster?
  Time: a little more is tried from time to time.
  A ceiling at the provider's limit, if you know
  it and have not declared it, spares a run the
  search and its refusals, and makes nothing
  faster once the limit is found. In the connector
  file, by the window that the provider counts in:
  `+"`ceiling: {per_second: N}`, `per_minute` or\n  `per_hour`"+`. In the last run it refused 3 times.
`)
}

// Between runs it is said what the next one begins with, and at work what is in force.
func TestExplainThePaceOfNow(t *testing.T) {
	e := paced()
	e.Pace.Begins, e.Pace.PerSecond = 1.7, 2.6
	const found = "3.4/s was found. The next run begins below it"
	if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "what limits the pace (the next run begins at 1.7/s)?") || !strings.Contains(got, found) {
		t.Errorf("between runs:\n%s", got)
	}
	e.Runs[0].Outcome, e.Runs[0].StartedAt = collection.Running, noon
	if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "what limits the pace (2.6/s now)?") || strings.Contains(got, found) {
		t.Errorf("at work:\n%s", got)
	}
}

// What binds is no less than what is sent: where more than was found is tried, both numbers are that of now.
func TestExplainWhatIsTried(t *testing.T) {
	e := paced()
	e.Pace.PerSecond, e.Pace.Constraints[2].InForce = 3.9, 3.9
	const now, tried = "3.9/s      refusals: ", "; last answer 2 min ago; last lowered at 11:20 UTC after a refusal; 3.4/s was found, and more is tried <- this one"
	if got := renderExplanation(e, 250, term.Caps{}); strings.Contains(got, now) || strings.Contains(got, "tried <-") {
		t.Errorf("between runs:\n%s", got)
	}
	e.Runs[0].Outcome, e.Runs[0].StartedAt = collection.Running, noon
	if got := renderExplanation(e, 250, term.Caps{}); !strings.Contains(got, "what limits the pace (3.9/s now)?") || !strings.Contains(got, now) || !strings.Contains(got, tried) {
		t.Errorf("at work:\n%s", got)
	}
	e.Pace.PerSecond, e.Pace.Constraints[2].InForce = 2.9, 2.9
	if got := renderExplanation(e, 250, term.Caps{}); !strings.Contains(got, "2.9/s      refusals: ") || !strings.Contains(got, "; 3.4/s was found <- this one") {
		t.Errorf("at work, below what was found:\n%s", got)
	}
	status := report.Status{Name: "acme", Account: &report.Account{Provider: "acme", Pace: e.Pace}}
	if got, want := statusDetail(status, noon, 200, term.Caps{}), "limited by  refusals: 2.9/s (3.4/s was found)"; !strings.Contains(got, want) {
		t.Errorf("status, want %q:\n%s", want, got)
	}
}

// A run that hangs has saved nothing since: what is said is as of then.
func TestExplainIsAsOf(t *testing.T) {
	e := paced()
	e.Runs[0].Outcome, e.Runs[0].StartedAt = collection.Running, noon
	for ago, want := range map[time.Duration]bool{5 * time.Second: false, 30 * time.Second: true} {
		e.Pace.SavedAt = noon.Add(-ago)
		got := renderExplanation(e, 200, term.Caps{})
		if strings.Contains(got, "This is how it stood 30 s ago: no answer has been saved since.") != want {
			t.Errorf("saved %v ago:\n%s", ago, got)
		}
	}
}

// A run that beats, has requests on their way and is told to wait by nobody waits for their answers.
func TestExplainAnswersThatDoNotCome(t *testing.T) {
	hangs := func() report.Explanation {
		e := paced()
		e.Pace.SavedAt, e.Pace.Learned = noon.Add(-31*time.Second), 10.2
		e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-time.Minute), noon.Add(-4*time.Second)
		e.Runs[0].Metrics.ActiveRequests = 8
		e.Account.Pace = e.Pace
		return e
	}
	const none = "none has been saved for 31 s"
	got := renderExplanation(hangs(), 200, term.Caps{})
	for _, want := range []string{
		"tickets: why does no answer come?\n  The run waits for the answers to 8 requests on their way: " + none + ". This is how it stood then.",
		"What would make it faster?\n  The answers: " + none + ". Nobody acts at first; if it lasts, check the network and the provider.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "<- this one") {
		t.Errorf("a pace limits a run that waits for answers:\n%s", got)
	}
	if got, want := statusDetail(hangs().Status, noon, 200, term.Caps{}), "limited by  answers that do not come: "+none+", 8 requests on their way"; !strings.Contains(got, want) {
		t.Errorf("status, want %q:\n%s", want, got)
	}
	for name, known := range map[string]func(e *report.Explanation){
		"it is told to wait": func(e *report.Explanation) {
			e.Runs[0].Metrics.Wait = &collection.WaitInfo{Cause: collection.WaitPacing, Until: noon.Add(time.Minute)}
		},
		"the provider asked for silence": func(e *report.Explanation) {
			e.Pace.Constraints = []gate.Constraint{{Name: gate.HoldOf, Until: noon.Add(time.Minute), Blocks: true, Binds: true}}
		},
		"a slice was saved just now": func(e *report.Explanation) {
			e.Streams = []store.StreamState{{Lanes: []store.LaneState{{SavedAt: noon.Add(-5 * time.Second)}}}}
		},
		"nothing is on its way":        func(e *report.Explanation) { e.Runs[0].Metrics.ActiveRequests = 0 },
		"it has not beaten since":      func(e *report.Explanation) { e.Runs[0].BeatAt = noon.Add(-30 * time.Second) },
		"an answer was saved just now": func(e *report.Explanation) { e.Pace.SavedAt = noon.Add(-5 * time.Second) },
		"the run has come to its end":  func(e *report.Explanation) { e.Runs[0].Outcome, e.Runs[0].EndedAt = collection.Deferred, noon },
	} {
		e := hangs()
		known(&e)
		if got := renderExplanation(e, 200, term.Caps{}); strings.Contains(got, "why does no answer come?") || strings.Contains(got, none) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// The wait that a run at work is in is what limits it, whatever binds in the pace that was saved before it began: explain
// and status say so, until when, and nothing of a ceiling.
func TestAWaitUnderWayIsSaid(t *testing.T) {
	until := noon.Add(11 * time.Second)
	work := func(wait collection.WaitInfo) report.Explanation {
		e := paced()
		e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-time.Minute), noon
		e.Pace.Constraints = []gate.Constraint{{Name: gate.Undeclared, PerSecond: 4, Binds: true}}
		wait.Until, wait.Seconds = until, 20
		e.Runs[0].Metrics.Wait = &wait
		e.Account.Pace = e.Pace
		return e
	}
	for cause, why := range map[collection.WaitCause]string{
		collection.WaitBackoff:    "until 12:00:11 UTC: acme failed, and is asked again",
		collection.WaitRetryAfter: "until 12:00:11 UTC: acme asked to wait",
		collection.WaitPacing:     "until 12:00:11 UTC: pacing",
	} {
		e := work(collection.WaitInfo{Cause: cause})
		got := renderExplanation(e, 200, term.Caps{})
		for _, want := range []string{
			"tickets: why does no request leave now (" + why + ")?\n", "1.         it waits: no request leaves now\n", "Time: the run goes on by itself then.",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", cause, want, got)
			}
		}
		if strings.Contains(got, "<- this one") || strings.Contains(e.Faster(), "ceiling") {
			t.Errorf("%s: a pace limits a run that waits:\n%s", cause, got)
		}
		if line := e.Line(); line.Binds != nil || !line.Blocked || line.Constraints[0].Binds {
			t.Errorf("%s: in JSON %v binds, blocked %t", cause, line.Binds, line.Blocked)
		}
		if line := report.StatusLines([]report.Status{e.Status}, noon)[0]; line.Provider.Limit != nil {
			t.Errorf("%s: status in JSON is limited by %+v", cause, line.Provider.Limit)
		}
		status := statusDetail(e.Status, noon, 200, term.Caps{})
		for _, want := range []string{"limited by  a wait " + why, "next        " + why} {
			if !strings.Contains(status, want) {
				t.Errorf("%s: %q is not in\n%s", cause, want, status)
			}
		}
	}
	for name, change := range map[string]func(e *report.Explanation){
		"it is over soon": func(e *report.Explanation) {
			e.Runs[0].Metrics.Wait = &collection.WaitInfo{Cause: collection.WaitPacing, Until: noon.Add(4 * time.Second), Seconds: 20}
		},
		"it is over":        func(e *report.Explanation) { e.Runs[0].Metrics.Wait.Until = noon },
		"the run has ended": func(e *report.Explanation) { e.Runs[0].Outcome, e.Runs[0].EndedAt = collection.Deferred, noon },
		"others go on": func(e *report.Explanation) {
			e.Streams = []store.StreamState{{Lanes: []store.LaneState{{SavedAt: noon}}}}
		},
		"the pace is slower": func(e *report.Explanation) {
			e.Runs[0].Metrics.Wait.Cause, e.Pace.Constraints[0].PerSecond = collection.WaitPacing, 0.05
		},
	} {
		e := work(collection.WaitInfo{Cause: collection.WaitBackoff})
		change(&e)
		if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "what limits the pace") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	// One failure after the other is told also between short waits.
	fails := work(collection.WaitInfo{Cause: collection.WaitBackoff})
	fails.Runs[0].Metrics.Wait.Until, fails.Runs[0].Metrics.Wait.Seconds = noon.Add(time.Second), 4
	fails.Streams = []store.StreamState{{Lanes: []store.LaneState{{SavedAt: noon.Add(-11 * time.Second)}}}}
	if got, want := fails.Question(), "tickets: why does no request leave now (until 12:00:01 UTC: acme failed, and is asked again)?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	refused := work(collection.WaitInfo{Cause: collection.WaitPacing})
	refused.Pace.Constraints = []gate.Constraint{{Name: gate.Undeclared, PerSecond: 4}, {Name: gate.Learned, Route: "search", Until: until, Since: noon, Blocks: true, Binds: true}}
	refused.Account.Pace = refused.Pace
	got := renderExplanation(refused, 200, term.Caps{}) + statusDetail(refused.Status, noon, 200, term.Caps{})
	for _, want := range []string{
		"tickets: why does no request leave now (until 12:00:11 UTC: refusals)?", "one request asks again then; since 12:00 UTC (route search) <- this one",
		"Time: one request asks then whether that is over.", "limited by  refusals (route search): until 12:00:11 UTC, since 12:00 UTC", "next        until 12:00:11 UTC: refusals",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// Where most of the latest requests brought nothing, more of them at once is no advice.
func TestExplainNoMoreOfWhatFails(t *testing.T) {
	for failed, want := range map[int]string{
		29: "Answers: 29 of the latest 32 requests failed or got no answer, and each of them takes its time. More requests in flight would not bring them.",
		16: "More requests in flight, if the provider does not mind: --concurrency N",
	} {
		e := paced()
		e.Pace.Ended, e.Pace.Failed = 32, failed
		e.Pace.Constraints = []gate.Constraint{{Name: gate.InFlightMax, Count: 8, Latency: 10 * time.Second, PerSecond: 0.755, Binds: true}}
		if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "\n  "+want) {
			t.Errorf("%d of 32 failed, want %q:\n%s", failed, want, got)
		}
	}
	e := paced()
	e.Pace.Ended, e.Pace.Failed, e.Pace.Constraints = 3, 3, []gate.Constraint{{Name: gate.Rising, PerSecond: 1, Binds: true}}
	if got, want := e.Faster(), "Answers: 3 of the latest 3 requests failed or got no answer. A faster pace would not bring them."; got != want {
		t.Errorf("while the pace rises: %q, want %q", got, want)
	}
}

// Of several routes, the pace is that of the one by which requests leave, or of all together.
func TestExplainOneOfSeveralRoutes(t *testing.T) {
	fall := collection.Event{Time: noon, Kind: collection.RateChanged, Rate: &collection.RateInfo{Route: "two", Previous: 2, Learned: 1.1, Reason: "throttled"}}
	several := func(binds int) report.Explanation {
		e := paced()
		e.Pace.Routes, e.Pace.PerSecond, e.Pace.Learned, e.Pace.Ceiling, e.Account.Learned = 3, 8, 8, nil, 8
		e.Pace.Constraints = []gate.Constraint{
			{Name: gate.Undeclared, PerSecond: 8},
			{Name: gate.Rising, PerSecond: 1.3},
			{Name: gate.Learned, Route: "two", PerSecond: 1.1, InForce: 2.2, Since: noon},
		}
		e.Pace.Constraints[binds].Binds = true
		e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-time.Minute), noon
		e.History = append(e.History, fall)
		e.Account.Pace = e.Pace
		return e
	}
	rested := func(binds int) report.Explanation {
		e := several(binds)
		e.Runs[0].Outcome, e.Pace.Begins = collection.Deferred, 8
		return e
	}
	for want, e := range map[string]report.Explanation{
		"what limits the pace (2.2/s now by route two)?":                            several(2),
		"what limits the pace (8.0/s now, all routes together)?":                    several(0),
		"what limits the pace (the next run begins at 8.0/s, all routes together)?": rested(2),
		"route two: 2.0/s -> 1.1/s: throttled":                                      several(1),
		"1.3/s      the rising start: no limit is known yet":                        several(1),
	} {
		if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for want, e := range map[string]report.Explanation{
		"now 2.2/s by route two ":         several(2),
		"now 8.0/s, all routes together ": several(0),
		"learned 1.1/s by route two ":     rested(2),
	} {
		if got := statusDetail(e.Status, noon, 200, term.Caps{}); !strings.Contains(got, want) {
			t.Errorf("status: %q is not in\n%s", want, got)
		}
	}
}

// Of a run at work, explain and both forms of status say the pace at which requests leave, and of one that has ended
// which pace was learned.
func TestExplainAndStatusSayOnePace(t *testing.T) {
	e := paced()
	e.Pace.PerSecond, e.Pace.Learned, e.Pace.Begins, e.Account.Learned, e.Account.Ceiling = 10.9, 8.2, 4.1, 8.2, 20
	e.Account.Pace = e.Pace
	for outcome, want := range map[collection.Outcome][3]string{
		collection.Running:  {"(10.9/s now)", "acme - now 10.9/s - ceiling 20.0/s", "10.9/s of 20.0/s now"},
		collection.Deferred: {"(the next run begins at 4.1/s)", "acme - learned 8.2/s - ceiling 20.0/s", "8.2/s of 20.0/s learned"},
	} {
		e.Runs[0].Outcome, e.Runs[0].BeatAt = outcome, noon
		for i, got := range []string{e.Question(), statusDetail(e.Status, noon, 200, term.Caps{}), statusWide([]report.Status{e.Status}, noon, 300, term.Caps{})} {
			if !strings.Contains(got, want[i]) {
				t.Errorf("%s: %q is not in\n%s", outcome, want[i], got)
			}
		}
	}
}

// What a run left that got no answer is waited for, whatever the pace.
func TestExplainWhatIsOwedWaits(t *testing.T) {
	e := paced()
	e.Known = true
	e.Owed[0].Reason, e.Owed[0].NotBefore, e.Owed[0].Detail = collection.UpstreamPressure, noon.Add(90*time.Second), "no connection: connection refused"
	for sent, metrics := range map[int64]collection.Metrics{5: {FailedRequests: 1}, 0: {}} {
		e.Runs[0].Outcome, e.Runs[0].Tally, e.Runs[0].Metrics = collection.Waiting, collection.Tally{Requests: sent}, metrics
		got := renderExplanation(e, 200, term.Caps{})
		for _, want := range []string{
			"tickets: why does no request leave now (until 12:01:30 UTC: provider kept failing)?\n", "Time, or an answer: see above.",
			"1.         what is owed is not asked for: until 12:01:30 UTC: provider kept failing: no connection: connection refused",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%d sent: %q is not in\n%s", sent, want, got)
			}
		}
		if strings.Contains(got, "<- this one") {
			t.Errorf("%d sent: a pace limits what does not leave:\n%s", sent, got)
		}
		if got, want := e.LimitWords(noon), "a wait until 12:01:30 UTC: provider kept failing"; got != want {
			t.Errorf("%d sent: status is limited by %q, want %q", sent, got, want)
		}
	}
}

// An episode of refusals ends with what was learned from it, which lowers the pace, too.
func TestExplainWhenThePaceWasLastLowered(t *testing.T) {
	e := paced()
	for i, reason := range []string{"throttled", string(gate.Learned)} {
		at := noon.Add(time.Duration(i-2) * time.Minute)
		e.History = append(e.History, collection.Event{Time: at, Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 12, Learned: 6.4, Reason: reason}})
	}
	if got, want := renderExplanation(e, 200, term.Caps{}), "; last lowered at 11:59 UTC after refusals <- this one"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// A change of the pace that cannot be seen in its figures pushes out none that can.
func TestExplainLeavesOutWhatDidNotChange(t *testing.T) {
	e := paced()
	for range 9 {
		e.History = append(e.History, collection.Event{Time: noon, Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 9.91, Learned: 9.93, Reason: "an announced limit"}})
	}
	if got, want := e.Changes(), paced().Changes(); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A limit of one stream holds back the others, unless the file says that it is its own.
func TestExplainALimitOfOneStream(t *testing.T) {
	e := paced()
	e.Known, e.Owed = true, nil
	e.Pace.Constraints = []gate.Constraint{{Name: gate.Learned, PerSecond: 0.5, Binds: true}}
	const says = "give that stream a `route` in the connector file"
	for _, n := range []int{1, 2} {
		e.Streams = make([]store.StreamState, n)
		for _, e.Pace.Constraints[0].Route = range []string{"", "two"} {
			if got := e.Faster(); strings.Contains(got, says) != (n == 2 && e.Pace.Constraints[0].Route == "") {
				t.Errorf("%d streams, by route %q: %s", n, e.Pace.Constraints[0].Route, got)
			}
		}
	}
}

// Where the credential is rejected, no ceiling limits anything, until a run asks with another one.
func TestExplainARejectedCredential(t *testing.T) {
	e := paced()
	e.Known = true
	e.Owed[0].Reason = collection.Auth
	e.Runs[0].Outcome = collection.Blocked
	got := renderExplanation(e, 200, term.Caps{})
	if !strings.HasPrefix(got, "tickets: why is nothing collected?\n  you: credential was rejected\n") || strings.Contains(got, "<- this one") {
		t.Errorf("rejected:\n%s", got)
	}
	e.Runs[0].Outcome, e.Runs[0].StartedAt = collection.Running, noon
	if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "what limits the pace") {
		t.Errorf("asked for again:\n%s", got)
	}
}

// Whatever binds, the question, the mark and the way out are about it.
func TestExplainWhatBinds(t *testing.T) {
	later := noon.Add(9 * time.Minute)
	for _, test := range []struct {
		bind                    gate.Constraint
		forced                  bool
		question, faster, stops string
	}{
		{gate.Constraint{Name: gate.HoldOf, Until: later, Blocks: true}, false, "why does no request leave now (until 12:09 UTC: a requested pause)?", "Time. Asking earlier", "it does not begin"},
		{gate.Constraint{Name: gate.ReserveOf, Until: later, Blocks: true}, false, "why does no request leave now (until 12:09 UTC: a used up quota)?", "a smaller reserve", "it does not begin"},
		{gate.Constraint{Name: gate.BreakerOf, Until: later, Blocks: true}, false, "why does no request leave now (until 12:09 UTC: the open breaker)?", "Time: the provider fails", "it does not begin"},
		{gate.Constraint{Name: gate.BreakerOf, Blocks: true, Since: noon}, true, "why does no request leave now (until you release it: the open breaker)?", `collect breaker release tickets --reason WHY`, "it does not begin"},
		{gate.Constraint{Name: gate.FreezeOf, Blocks: true}, false, "why does no request leave now (until you release it: the freeze)?", `collect freeze release tickets --reason WHY`, "it does not begin"},
		{gate.Constraint{Name: gate.CeilingOf, Window: time.Second, Count: 2, PerSecond: 2}, false, "what limits the pace (learned 3.4/s)?", "only you can raise it", "20,000"},
		{gate.Constraint{Name: gate.ClampOf, PerSecond: 2}, false, "what limits the pace (learned 3.4/s)?", "given back", "20,000"},
		{gate.Constraint{Name: gate.Announced, PerSecond: 2, Since: noon}, false, "what limits the pace (learned 3.4/s)?", "the provider names", "20,000"},
		{gate.Constraint{Name: gate.Undeclared, PerSecond: 4}, false, "what limits the pace (learned 3.4/s)?", "`ceiling: {per_second: N}`", "20,000"},
		{gate.Constraint{Name: gate.InFlightMax, Count: 1, Used: 1, Blocks: true}, false, "what limits the pace (learned 3.4/s)?", "--concurrency", "20,000"},
	} {
		e := paced()
		test.bind.Binds = true
		e.Pace.Constraints[2].Binds = false
		e.Pace.Constraints = append(e.Pace.Constraints, test.bind)
		e.Pace.Forced = test.forced
		got := renderExplanation(e, 200, term.Caps{})
		for _, want := range []string{"tickets: " + test.question, test.faster, "1.         " + test.stops} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", test.bind.Name, want, got)
			}
		}
		if n := strings.Count(got, "<- this one"); n != 1 {
			t.Errorf("%s: %d marks, want one, in\n%s", test.bind.Name, n, got)
		}
	}
}

// A pause says what it is for, and no other cause.
func TestExplainWhatAPauseIsFor(t *testing.T) {
	for by, want := range map[string]string{
		"asked":      "a requested pause: it said when it may be asked again <- this one",
		"used_up":    "a used up quota: it says that the quota daily is used up, and not when there is more: one request asks then <- this one",
		"documented": "a pause after a refusal: it refused for a while and did not say for how long; its documentation does <- this one",
	} {
		e := paced()
		e.Pace.Constraints = []gate.Constraint{{Name: gate.HoldOf, Until: noon.Add(time.Hour), Basis: gate.Basis{By: by, Quota: "daily"}, Blocks: true, Binds: true}}
		if got := renderExplanation(e, 300, term.Caps{}); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in\n%s", by, want, got)
		}
	}
}

// The start rises again after a refusal, which then is not denied.
func TestExplainARisingStartThatWasRefused(t *testing.T) {
	const nothing = "no limit is known yet"
	e := paced()
	e.Pace.Constraints = []gate.Constraint{{Name: gate.Rising, PerSecond: 7.9, Binds: true}}
	e.Runs[0].StartedAt = noon.Add(-30 * time.Second)
	if got := renderExplanation(e, 200, term.Caps{}); !strings.Contains(got, "the rising start: "+nothing) {
		t.Errorf("refused in a run before:\n%s", got)
	}
	for reason, why := range map[string]string{"throttled": "a refusal", "no usable answer": "a request without a usable answer", string(gate.Slow): "late answers"} {
		e.History = append(paced().History,
			collection.Event{Time: noon.Add(-3 * time.Second), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 15.3, Learned: 7.9, Reason: reason}},
			collection.Event{Time: noon.Add(-time.Second), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 7.9, Learned: 9.8, Reason: "answered without complaint"}})
		want := "the rising start: the pace was lowered at 11:59 UTC after " + why + ", and rises again: no limit is known from that yet <- this one"
		if got := renderExplanation(e, 200, term.Caps{}); strings.Contains(got, nothing) || !strings.Contains(got, want) {
			t.Errorf("%s, want %q:\n%s", reason, want, got)
		}
	}
}

// A run that waits for the answers of requests that hang reads no list page after page.
func TestExplainARunThatWaitsForAnswers(t *testing.T) {
	for active, want := range map[int][2]string{
		0: {"the run itself: requests leave as soon as the run asks for them: a list is read page after page; 11 s a request <- this one", "Larger pages"},
		1: {"the run itself: requests leave as soon as the run asks for them: a list is read page after page; 11 s a request <- this one", "Larger pages"},
		8: {"the run itself: it waits for the answers to 8 requests that are on their way; 11 s a request <- this one", "Answers that come sooner: no pace brings them. 6 of the latest 32 requests failed or got no answer, and each of them takes its time."},
	} {
		e := paced()
		e.Pace.Ended, e.Pace.Failed = 32, 6
		e.Pace.Constraints = []gate.Constraint{{Name: gate.Unused, PerSecond: 0.3, Latency: 11 * time.Second, Binds: true}}
		e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-time.Minute), noon
		e.Runs[0].Metrics.ActiveRequests = active
		got := renderExplanation(e, 300, term.Caps{})
		for _, want := range want {
			if !strings.Contains(got, want) {
				t.Errorf("%d on their way: %q is not in\n%s", active, want, got)
			}
		}
	}
}

// A ceiling that is used up is no way out while the provider's own quota is.
func TestExplainACeilingBesideAQuota(t *testing.T) {
	e := paced()
	e.Pace.Constraints = []gate.Constraint{
		{Name: gate.CeilingOf, Window: time.Hour, Count: 5000, Used: 5000, Until: noon.Add(53 * time.Minute), Blocks: true, Binds: true},
		{Name: gate.ReserveOf, Route: "core", Until: noon.Add(51 * time.Minute), Blocks: true},
	}
	const higher, time = "A higher ceiling, if the provider allows more", "Time. A higher ceiling would let nothing out before 12:51 UTC: a used up quota."
	if got := e.Faster(); !strings.Contains(got, time) {
		t.Errorf("with a quota that is used up: %q, want %q", got, time)
	}
	e.Pace.Constraints = e.Pace.Constraints[:1]
	if got := e.Faster(); !strings.Contains(got, higher) {
		t.Errorf("without: %q, want %q", got, higher)
	}
}

// What is not known is said to be not known.
func TestExplainUnknown(t *testing.T) {
	e := report.Explanation{Status: report.Status{Name: "fresh"}, Now: noon}
	texttest.Same(t, "fresh", renderExplanation(e, 80, term.Caps{}), `fresh: what limits the pace?
  ?          nothing is known of the pace yet: no run has ended

What stops a run first?
  1.         the end of the work (the files set no request cap and no time
             limit)

What would make it faster?
  A run: the pace is learned from what comes back.
`)
	raw, err := json.Marshal(e.Line())
	if err != nil {
		t.Fatal(err)
	}
	texttest.Same(t, "fresh", string(raw), `{"connector":"fresh","provider":null,"learned_per_second":null,"per_second":null,"begins_per_second":null,"latest_requests":0,"latest_failed":0,"ceiling_per_second":null,"confirmed_at":null,"from_shared_pace":false,`+
		`"binds":null,"blocked":false,"constraints":[],"announced":[],"changes":[],"stops_first":["the end of the work (the files set no request cap and no time limit)"],"requests_left":null,"seconds_left":null,`+
		`"faster":"A run: the pace is learned from what comes back.","error":null}`)
}

// What a provider or an operator wrote does nothing to the terminal.
func TestExplainIsClean(t *testing.T) {
	const hostile = "boo\x1b[2J\x07\u202e"
	e := paced()
	e.Pace.Constraints = []gate.Constraint{
		{Name: gate.Announced, Route: hostile, PerSecond: 1, Binds: true},
		{Name: gate.FreezeOf}, {Name: gate.BreakerOf, Blocks: true},
	}
	e.Pace.Forced, e.Pace.ForcedNote, e.Pace.FreezeReason, e.Pace.FreezeNote = true, hostile, gate.ByOperator, hostile
	e.History = []collection.Event{{Time: noon, Breaker: &collection.BreakerInfo{Reason: hostile}, Message: hostile}}
	raw, err := json.Marshal(e.Line())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{renderExplanation(e, 80, term.Caps{UTF8: true}), string(raw)} {
		if strings.ContainsAny(got, "\x1b\x07\u202e") || strings.Contains(got, `\u001b`) {
			t.Errorf("%q", got)
		}
	}
}

// Every reason and every exit code has its words.
func TestExplainWords(t *testing.T) {
	for _, reason := range collection.Reasons() {
		e, ok := problem.MeaningOf(string(reason))
		if !ok || e.Meaning == "" || e.Next == "" || e.Who == "" {
			t.Errorf("%s: %+v", reason, e)
		}
	}
	for _, c := range problem.ExitCodes {
		if e, ok := problem.MeaningOf(fmt.Sprint(c.Code)); !ok || e.Meaning != c.When {
			t.Errorf("%d: %+v", c.Code, e)
		}
	}
	for _, code := range []collection.WarningCode{collection.FarFewer, collection.MaybeOnePage, collection.Overwritten, collection.OrderChanges, collection.MarkIgnored, collection.RefusedBeside, collection.MeetsApart, collection.CertificateEnds} {
		if e, ok := problem.MeaningOf(string(code)); !ok || e.Meaning == "" || e.Next == "" {
			t.Errorf("%s: %+v", code, e)
		}
	}
	for word, want := range map[string]string{"retry_after": problem.NeedsTime, "request_cap": problem.NeedsNothing, "gone": problem.NeedsNothing, "auth": problem.NeedsOperator, "75": problem.NeedsTime, "0": problem.NeedsNothing, "77": problem.NeedsOperator, "E0301": problem.NeedsOperator, "W0604": problem.NeedsOperator} {
		if e, _ := problem.MeaningOf(word); e.Needs == nil || *e.Needs != want {
			t.Errorf("%s needs %v, want %s", word, e.Needs, want)
		}
	}
	if e, ok := problem.MeaningOf("5"); ok {
		t.Errorf("5 is no code of ours: %+v", e)
	}
	e, _ := problem.MeaningOf("retry_after")
	texttest.Same(t, "retry_after", renderMeaning(e, 80, term.Caps{}), `reason retry_after: the provider must be left alone for longer than the run may
wait: it asked for that, or a quota is used up.
  acts  a later run, by itself
  next  nothing to do: no request leaves before that time, in any run; if the
        provider has granted more since, collect freeze release lets one request
        ask
`)
}
