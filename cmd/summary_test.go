package cmd

import (
	"encoding/json"
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

// paused is the summary of a run that reached its request cap.
func paused() report.Summary {
	return report.Summary{
		Connector: "tickets", Provider: "acme", Run: "01JD8Z", Mode: collection.Forward,
		Outcome: collection.Deferred, Reason: collection.RequestCap, RequestCap: 20_000,
		Started: noon, Ended: noon.Add(83 * time.Minute),
		This: collection.Tally{Slices: 193, Records: 559_702, Changed: 559_000, Requests: 14_269, Throttled: 9},
		All:  collection.Tally{Slices: 591, Records: 1_719_914, Changed: 1_719_000, Requests: 43_790, Throttled: 22},
		Runs: 4,
		Waited: map[collection.WaitCause]time.Duration{
			collection.WaitPacing: 24 * time.Minute, collection.WaitRetryAfter: 9 * time.Minute, collection.WaitBreaker: 9 * time.Minute,
		},
		Owed:      gaps(collection.RequestCap),
		RateStart: 3.2, RateEnd: 1.8, Ceiling: 4, Learned: 3.6,
		State: "~/.local/state/collect/state.db", Views: []string{"tickets_issues"},
	}
}

func TestSummary(t *testing.T) {
	texttest.Same(t, "paused", "\n"+renderSummary(paused(), 80, term.Caps{UTF8: true}), `
paused: tickets reached its request cap (20,000). What was saved is safe.

              this run          all 4 runs
  slices      193               591
  received    559,702           1,719,914
  changed     559,000           1,719,000
  requests    14,269            43,790
  throttled   9 times           22 times

  time        83 min: waiting for answers and saving 41 min, pacing 24 min, acme
              asked us to wait 9 min, breaker open 9 min
  rate        2.9/s sent on average; allowed 3.2/s before the first answer,
              1.8/s at the end; 3.6/s was found, from which the next run goes
              on; ceiling 4.0/s
  gaps        1 owed: 1 planned
  saved to    ~/.local/state/collect/state.db (view tickets_issues)

  next        the next run continues by itself; now: collect resume tickets
`)
	texttest.Same(t, "first and empty", "\n"+renderSummary(report.Summary{
		Connector: "tickets", Outcome: collection.NothingNew, Started: noon, Ended: noon.Add(2100 * time.Millisecond), Runs: 1,
	}, 80, term.Caps{}), `
nothing came: the provider returned no record. If it has some, look at `+"`get`,\n`records` and `query`"+` in the connector file: an API may answer a parameter that
it does not know with an empty list.

              this run          all runs (1)
  slices      0                 0
  received    0                 0
  changed     0                 0
  requests    0                 0
  throttled   0 times           0 times

  time        2.1 s: waiting for answers and saving 2.1 s
  gaps        none
`)
	s := paused()
	s.Outcome, s.Reason, s.Ended = collection.Blocked, "", noon.Add(time.Minute)
	s.Owed = gaps(collection.Forbidden, collection.BadPage, collection.RateLimited, collection.RequestCap, collection.Gone)
	s.This.Rejected, s.All.Rejected = 2, 5
	s.State, s.RateEnd = "", 0
	texttest.Same(t, "blocked, side by side, 50 columns", "\n"+renderSummary(s, 50, term.Caps{}), `
blocked: tickets needs you: 2 gaps are stuck, and
2 records are in quarantine.

              this run          all 4 runs
  slices      193               591
  received    559,702           1,719,914
  changed     559,000           1,719,000
  quarantine  2                 5
  requests    14,269            43,790
  throttled   9 times           22 times

  time        60 s, side by side: pacing 24 min,
              acme asked us to wait 9 min, breaker
              open 9 min
  gaps        4 owed: 2 stuck, 1 provider, 1
              planned; 1 gone for good

  next        see what and why:
              collect gaps tickets
`)
}

// The first sentence says what the run came to, and what to do stands last.
func TestVerdictSentences(t *testing.T) {
	late := store.OwnedGap{Gap: collection.Gap{Reason: collection.RetryAfter, NotBefore: noon.Add(2 * time.Hour)}}
	used := late
	used.Detail = "it says that the quota daily is used up"
	told := paused()
	told.Outcome, told.Reason, told.Owed, told.Now = collection.Waiting, collection.RetryAfter, []store.OwnedGap{used}, noon
	if got, want := told.Verdict(), "waiting: tickets goes on later: it says that the quota daily is used up. What was saved is safe."; got != want {
		t.Errorf("with a quota that is used up: %q, want %q", got, want)
	}
	long := paused()
	long.Outcome, long.Ended, long.AsOf = collection.Complete, noon, noon.Add(-8*time.Minute)
	if got, want := long.Verdict(), "complete: tickets is up to date as of 11:52 UTC, 559,000 records new or changed."; got != want {
		t.Errorf("of a list that was read long before the end: %q, want %q", got, want)
	}
	if long.AsOf = noon.Add(-time.Minute); strings.Contains(long.Verdict(), "as of") {
		t.Errorf("of a list that was read a minute before the end: %q", long.Verdict())
	}
	tests := []struct {
		outcome     collection.Outcome
		reason      collection.Reason
		want, after string
	}{
		{collection.Complete, "", "complete: tickets is up to date, 559,000 records new or changed.", ""},
		{collection.NothingNew, "", "nothing new: no records changed since the last run.", ""},
		{collection.Deferred, collection.WallClock, "paused: tickets reached its time limit. What was saved is safe.", "the next run continues by itself; now: collect resume tickets"},
		{collection.Waiting, collection.RetryBudget, "waiting: tickets goes on later: run had no retries left. What was saved is safe.", "a run after 14:00 UTC continues by itself"},
		{collection.Deferred, "", "paused: tickets has planned work left. What was saved is safe.", "the next run continues by itself; now: collect resume tickets"},
		{collection.Waiting, collection.RetryAfter, "waiting: tickets goes on later: provider wanted a pause. What was saved is safe.", "a run after 14:00 UTC continues by itself"},
		{collection.Waiting, "", "waiting: tickets goes on later: pieces are owed that acme could not give now. What was saved is safe.", "a run after 14:00 UTC continues by itself"},
		{collection.Blocked, collection.Auth, "blocked: tickets needs you: credential was rejected.", "see what and why: collect gaps tickets"},
		{collection.RunInterrupted, collection.Interrupted, "interrupted: tickets was asked to stop. What was saved is safe.", "collect resume tickets"},
		{collection.Failed, "", "failed: tickets did not come to its end. What was saved is safe.", "collect resume tickets"},
	}
	for _, test := range tests {
		s := paused()
		s.Outcome, s.Reason, s.Owed, s.Now = test.outcome, test.reason, []store.OwnedGap{late}, noon
		if got := s.Verdict(); got != test.want {
			t.Errorf("%s %s: verdict = %q, want %q", test.outcome, test.reason, got, test.want)
		}
		if got := s.Next(); got != test.after {
			t.Errorf("%s %s: next = %q, want %q", test.outcome, test.reason, got, test.after)
		}
	}
}

// A list that changed while it was read is no failure, and no end of the work.
func TestSummaryOfAListThatChanged(t *testing.T) {
	s := paused()
	s.Reason, s.Owed = "", []store.OwnedGap{{Gap: collection.Gap{Reason: collection.ListChanged, State: collection.GapOpen}}}
	want := "paused: tickets is not whole yet: a list changed while it was read, and the next run reads it again. What was saved is safe."
	if got := s.Verdict(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever a run found, it says what no walk could show of the list, also where an earlier run walked it.
func TestSummaryOfADoubt(t *testing.T) {
	s := paused()
	s.Reason, s.Owed, s.Doubts = "", nil, "issues has no total"
	for _, left := range []string{"", "changes in notes since 11:00 UTC are left to the next run"} {
		for _, s.Outcome = range []collection.Outcome{collection.Complete, collection.NothingNew} {
			if s.Left = left; !strings.Contains(s.Verdict(), "omplete as far as acme can tell: issues has no total.") {
				t.Errorf("%s, left %q: %q", s.Outcome, left, s.Verdict())
			}
		}
	}
}

// While more than was found is tried, what limits is told with the pace in force.
func TestSummaryOfWhatIsTried(t *testing.T) {
	s := paused()
	s.Limit.Constraints = []gate.Constraint{{Name: gate.Learned, PerSecond: 0.6, InForce: 1.1, Since: s.Ended, Binds: true}}
	if got, want := renderSummary(s, 120, term.Caps{}), "limited by  refusals: 1.1/s (36/min was found), last answer 0 s ago"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// The pace at the end and the one that is kept are said once if they are the same.
func TestRateOfTheEndIsKept(t *testing.T) {
	s := paused()
	s.Learned, s.Ceiling = 1.8, 0
	want := "2.9/s sent on average; allowed 3.2/s before the first answer, 1.8/s at the end (the next run goes on from that); no ceiling by the second or the minute declared"
	if got := s.RateWords(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	one := s
	one.This.Requests = 1 // has no average
	if got, want := one.RateWords(), strings.TrimPrefix(want, "2.9/s sent on average; "); got != want {
		t.Errorf("of one request: got %q, want %q", got, want)
	}
	s.Begins = 0.9
	if got, want := s.RateWords(), strings.Replace(want, "the next run goes on from that", "the next run begins at 54/min", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Begins, s.Limit.Trial = 1.8, 2.4
	if got, want := s.RateWords(), strings.Replace(want, "from that)", "from that), and soon tries 2.4/s again", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Limit.Trial = 0
	s.Limit.Constraints = []gate.Constraint{{Name: gate.Announced, PerSecond: 1.8}} // of the next run, its first answers say how fast it may be
	if got, want := s.RateWords(), strings.Replace(want, "from that)", "from that, until an answer says what is left)", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Limit.Constraints = nil
	// A slow start is told by the minute, and the end is not: "limited by" has it, too.
	s.RateStart = 0.8
	want = "2.9/s sent on average; allowed 48/min before the first answer, 1.8/s at the end (the next run goes on from that); no ceiling by the second or the minute declared"
	if got := s.RateWords(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run that sent nothing has no pace of its own to tell.
func TestNoPaceWithoutRequests(t *testing.T) {
	s := paused()
	s.This = collection.Tally{}
	s.Limit = gate.Status{Failed: 5, Ended: 5, Constraints: []gate.Constraint{{Name: gate.Rising, PerSecond: 1, Binds: true}}}
	if got := renderSummary(s, 80, term.Caps{}); strings.Contains(got, "  rate ") || strings.Contains(got, "limited by") || strings.Contains(got, "latest") {
		t.Errorf("a run without requests tells a rate:\n%s", got)
	}
}

// TestNobodyAnswered: a run that goes on later says so when it got nothing at
// all, because a provider that is gone looks like a pause.
func TestNobodyAnswered(t *testing.T) {
	s := paused()
	s.Outcome, s.Reason, s.This.Requests = collection.Deferred, collection.WallClock, 12
	for _, test := range []struct {
		metrics collection.Metrics
		want    string
	}{
		{collection.Metrics{FailedRequests: 3}, "paused: tickets reached its time limit. What was saved is safe. But none of 12 requests got a usable answer."},
		{collection.Metrics{FailedRequests: 3, CompletedRequests: 1}, "paused: tickets reached its time limit. What was saved is safe."},
		{collection.Metrics{}, "paused: tickets reached its time limit. What was saved is safe."}, // not known
	} {
		if s.Metrics = test.metrics; s.Verdict() != test.want {
			t.Errorf("%+v: %q, want %q", test.metrics, s.Verdict(), test.want)
		}
	}
}

func TestSummaryJSON(t *testing.T) {
	got, err := json.Marshal(paused().Line())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"outcome":"deferred","stop_reason":"request_cap","next_at":null,"exit_code":0,"mode":"run",` +
		`"started_at":"2026-11-21T12:00:00.000Z","ended_at":"2026-11-21T13:23:00.000Z","duration_seconds":4980,` +
		`"waited":{"backoff_seconds":0,"breaker_seconds":540,"ceiling_seconds":0,"pacing_seconds":1440,"reserve_seconds":0,"retry_after_seconds":540},` +
		`"this_run":{"slices":193,"records":559702,"records_changed":559000,"records_quarantined":0,"records_older":0,"records_deleted":0,"requests":14269,"retries":0,"throttled":9,"gaps_opened":0,"gaps_filled":0},` +
		`"overall":{"runs":4,"slices":591,"records":1719914,"records_changed":1719000,"records_quarantined":0,"records_older":0,"records_deleted":0,"requests":43790,"retries":0,"throttled":22,"gaps_opened":0,"gaps_filled":0},` +
		`"gaps_owed":{"planned":1,"provider":0,"stuck":0},"gone":0,"waived":0,` +
		`"rate_start_per_second":3.2,"rate_end_per_second":1.8,"ceiling_per_second":4,"learned_per_second":3.6,"begins_per_second":null,"limit":null,"metrics":null,` +
		`"resume_command":"collect resume tickets","checkpoint_moved":true,"left_for_next_run":null,"error":null}`
	texttest.Same(t, "json", string(got), want)

	unknown, err := json.Marshal(report.Summary{}.Line())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"stop_reason":null`, `"rate_end_per_second":null`, `"ceiling_per_second":null`, `"started_at":null`} {
		if !strings.Contains(string(unknown), field) {
			t.Errorf("a summary that knows nothing lacks %s: %s", field, unknown)
		}
	}
}

func TestSummaryFits(t *testing.T) {
	s := paused()
	s.Connector, s.Provider, s.State = "a-rather-long-name\x1b[2J", "another-rather-long-name", "~/.local/state/collect/state.db"
	for _, outcome := range []collection.Outcome{collection.Complete, collection.Deferred, collection.Blocked, collection.Waiting, collection.Failed} {
		s.Outcome = outcome
		for _, columns := range []int{50, 80, 100} {
			text := renderSummary(s, columns, term.Caps{})
			for line := range strings.Lines(text) {
				if got := term.Width(strings.TrimSuffix(line, "\n")); got > min(columns, 80) {
					t.Errorf("%s at %d columns: a line takes %d: %q", outcome, columns, got, line)
				}
			}
			if strings.Contains(text, "\x1b") {
				t.Errorf("%s: an escape is in %q", outcome, text)
			}
		}
	}
}

func TestGitHub(t *testing.T) {
	file := problem.Problem{Code: "E0203", Level: problem.LevelError, Headline: "unknown key `x`: 100%\nof it", At: "a,b/collect.yaml:12:5"}
	many := []problem.Problem{file, {Code: "E0401", Level: problem.LevelWaiting, Headline: "the breaker is open", At: "tickets/issues"}, {Code: "P0501", Level: problem.LevelPaused, Headline: "cap"}}
	got := githubAnnotations(many)
	want := "::error file=a%2Cb/collect.yaml,line=12,col=5,title=E0203::unknown key `x`: 100%25 of it\n" +
		"::warning title=E0401::the breaker is open\n" +
		"::notice title=P0501::cap\n"
	texttest.Same(t, "annotations", got, want)
	for range 20 {
		many = append(many, file)
	}
	if got := strings.Count(githubAnnotations(many), "\n"); got != githubErrorsShown {
		t.Errorf("%d annotations for %d problems, want %d", got, len(many), githubErrorsShown)
	}
	s := paused()
	s.Connector = "a|b<c>_d"
	if got, want := githubSummary(s), "**paused: a\\|b&lt;c>\\_d reached its request cap (20,000). What was saved is safe.**"; !strings.HasPrefix(got, want) {
		t.Errorf("markdown = %q, want %q...", got, want)
	}
	if got, want := githubGroup("tickets\n")+"lines\n"+githubGroupEnd, "::group::tickets\nlines\n::endgroup::\n"; got != want {
		t.Errorf("group = %q, want %q", got, want)
	}
	if !underGitHub(environ("GITHUB_ACTIONS=true")) || underGitHub(environ("")) {
		t.Error("GITHUB_ACTIONS is misread")
	}
}

// gaps returns open gaps of tickets, one for each reason.
func gaps(reasons ...collection.Reason) (owed []store.OwnedGap) {
	for i, reason := range reasons {
		owed = append(owed, store.OwnedGap{Connector: "tickets", Gap: collection.Gap{ID: int64(i + 1), Reason: reason, State: collection.GapOpen}})
	}
	return owed
}
