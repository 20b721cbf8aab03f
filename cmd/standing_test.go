package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// smallFacts calls each with every small state of a connector: all outcomes of
// its newest run, with every gap, or two of a few, under every account.
func smallFacts(each func(report.Status)) {
	outcomes := []collection.Outcome{collection.Running, collection.Complete, collection.NothingNew, collection.Deferred, collection.Waiting,
		collection.Blocked, collection.RunInterrupted, collection.Failed, collection.Abandoned}
	reasons := []collection.Reason{"", collection.RequestCap, collection.CircuitOpen, collection.RateLimited, collection.Auth, collection.Frozen,
		collection.Suspended, collection.Forbidden, collection.BadPage, collection.NotFound, collection.Gone}
	states := []collection.GapState{collection.GapOpen, collection.GapLeased, collection.GapDead}
	accounts := []*report.Account{
		nil,
		{Provider: "acme"},
		{Provider: "acme", Frozen: true},
		{Provider: "acme", Frozen: true, Until: noon.Add(time.Hour)},
		{Provider: "acme", Breaker: gate.Open, Forced: true},
		{Provider: "acme", Breaker: gate.Open},
		{Provider: "acme", Breaker: gate.Open, Until: noon.Add(time.Hour), Cause: collection.WaitBreaker},
		{Provider: "acme", Until: noon.Add(time.Hour), Cause: collection.WaitRetryAfter},
	}
	var owed [][]store.OwnedGap
	for _, reason := range collection.Reasons() {
		for _, state := range states {
			for _, revived := range []bool{false, true} {
				gap := store.OwnedGap{Gap: collection.Gap{ID: 1, Place: collection.Place{Stream: "issues"}, Reason: reason, State: state}}
				if revived {
					gap.TriedAt = noon.Add(-time.Hour)
				}
				if reason == "" {
					owed = append(owed, nil)
					continue
				}
				other := gap
				other.Reason = collection.RequestCap
				owed = append(owed, []store.OwnedGap{gap}, []store.OwnedGap{other, gap})
			}
		}
	}
	for _, outcome := range outcomes {
		for _, silent := range []time.Duration{3 * time.Second, time.Hour} {
			for _, rejected := range []int64{0, 3} {
				for _, exit := range []int{-1, 0, 69, 74} {
					for _, wait := range []*collection.WaitInfo{nil, {Cause: collection.WaitWindow, Until: noon.Add(time.Hour)}} {
						for i, gaps := range owed {
							run := collection.Run{ID: "01JD8Z", Outcome: outcome, ExitCode: exit, StartedAt: noon.Add(-2 * time.Hour), BeatAt: noon.Add(-silent),
								Reason: reasons[i%len(reasons)], Tally: collection.Tally{Rejected: rejected}, Metrics: collection.Metrics{Wait: wait}}
							for _, account := range accounts {
								each(report.Status{Name: "tickets", Runs: []collection.Run{run}, Owed: gaps, Account: account,
									Streams: []store.StreamState{{Stream: collection.Stream{Name: "issues"},
										Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: i%2 == 0, SavedAt: noon,
											Began: noon.Add(-3 * time.Hour), BeganEpoch: 4, Epoch: 4 + int64(i%3)}}}}})
							}
						}
					}
				}
			}
		}
	}
	each(report.Status{Name: "tickets"})
}

// What a person reads, what JSON says and what --check exits with agree in each
// of many small states; and every state, and every one who acts, is among them.
func TestStatusAgreesWithItself(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and a minute under the race detector")
	}
	seen := map[string]int{}
	smallFacts(func(s report.Status) {
		st := s.Stands(noon)
		seen[string(st.State)]++
		seen[st.Needs]++
		wrong := func(what string) {
			if seen["wrong"]++; seen["wrong"] <= 5 {
				t.Errorf("%s: %+v of %+v, %+v, %+v", what, st, s.Runs, s.Owed, s.Account)
			}
		}
		who := ""
		if i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == st.Code }); i >= 0 {
			who = problem.ExitCodes[i].Who
		}
		switch st.Needs {
		case problem.NeedsOperator:
			if who != "you" || !strings.HasPrefix(st.Next, "you") {
				wrong("it needs a person, and the exit code or the words do not say so")
			}
		case problem.NeedsTime:
			if st.State != report.Waiting || st.Code != problem.ExitLater && (st.Code != problem.ExitOK || st.Until.IsZero()) {
				wrong("it needs time, and the exit code or the state does not say so")
			}
		case problem.NeedsNothing:
			if st.Code != problem.ExitOK || strings.HasPrefix(st.Next, "you") {
				wrong("it needs nothing, and the exit code or the words do not say so")
			}
		}
		if acts := st.State == report.Frozen || st.State == report.Blocked || st.State == report.Stuck; acts && st.Needs != problem.NeedsOperator {
			wrong("a state that needs a person")
		}
		if st.State == report.UpToDate && (report.OwedCount(s.Owed) > 0 || s.Complete() < len(s.Collected())) {
			wrong("up to date, with something missing")
		}
		if st.State == report.UpToDate && len(s.Runs) > 0 && s.Streams[0].Lanes[0].Epoch > s.Streams[0].Lanes[0].BeganEpoch {
			wrong("up to date, and what is new since its walk began was not asked for")
		}
		if running := len(s.Runs) > 0 && s.Running(noon); running && (st.State == report.Stuck || st.State == report.Behind || st.State == report.UpToDate) {
			wrong("it collects, and is called something else")
		}
		if st.State == report.Waiting && s.Runs[0].Metrics.Wait != nil && s.Running(noon) && !strings.Contains(st.Next, "until 13:00 UTC: ") {
			wrong("it waits, and does not say why and until when")
		}
		line := report.StatusLines([]report.Status{s}, noon)[0]
		if line.State != st.State || line.Needs != st.Needs || line.ExitCode != report.CheckCode([]report.Status{s}, noon) || line.Next != st.Next {
			wrong("JSON says something else")
		}
	})
	// The texts are made of the same; a few are enough.
	for _, s := range fiveConnectors() {
		st := s.Stands(noon)
		for what, text := range map[string]string{"table": statusTable([]report.Status{s}, noon, 200, term.Caps{UTF8: true}), "detail": statusDetail(s, noon, 200, term.Caps{UTF8: true})} {
			if !strings.Contains(text, healthWords(st.State)) || what == "table" && !strings.Contains(text, st.Next) {
				t.Errorf("%s of %s is not %+v:\n%s", what, s.Name, st, text)
			}
		}
	}
	for _, h := range report.Healths {
		if seen[string(h)] == 0 {
			t.Errorf("no small state is %s", h)
		}
	}
	if fmt.Sprint(seen[problem.NeedsOperator] > 0, seen[problem.NeedsTime] > 0, seen[problem.NeedsNothing] > 0) != "true true true" {
		t.Errorf("not everyone acts in some state: %v", seen)
	}
}
