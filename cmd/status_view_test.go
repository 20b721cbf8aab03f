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

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fiveConnectors is one connector in each state.
func fiveConnectors() []report.Status {
	run := func(outcome collection.Outcome, beat time.Duration) []collection.Run {
		r := collection.Run{ID: "01JD8Z", Outcome: outcome, StartedAt: noon.Add(-18 * time.Minute), BeatAt: noon.Add(-beat), Holder: collection.Holder{Host: "nas", PID: 48121}}
		if outcome != collection.Running {
			r.EndedAt = noon.Add(-beat)
		}
		return []collection.Run{r}
	}
	streams := func(complete bool) []store.StreamState {
		return []store.StreamState{
			{
				Stream: collection.Stream{Name: "issues"}, Records: 812, View: "x_issues",
				Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: true, SavedAt: noon.Add(-time.Hour), Digest: "7c1e"}},
			},
			{
				Stream: collection.Stream{Name: "comments", Parent: "issues"}, Records: 1_175_691, Quarantined: 3,
				Lanes: []store.LaneState{
					{Lane: collection.Incremental, Partitions: 410, Done: 404, Complete: complete, SavedAt: noon.Add(-4 * time.Second)},
					{Lane: collection.Backfill},
				},
			},
		}
	}
	later := gaps(collection.RateLimited)
	later[0].NotBefore = noon.Add(9 * time.Minute)
	all := []report.Status{
		{Name: "prices", Streams: streams(true), Runs: run(collection.NothingNew, 5*time.Minute), Count: 9},
		{Name: "tickets", Streams: streams(false), Runs: run(collection.Running, 3*time.Second), Count: 4,
			Account: &report.Account{Provider: "acme", Learned: 3.5, Ceiling: 4}, All: collection.Tally{Requests: 43_790, Records: 1_719_914, Changed: 1_719_000, Throttled: 22}},
		{Name: "orders", Streams: streams(true), Runs: run(collection.Blocked, time.Minute), Owed: gaps(collection.SchemaDrift, collection.RequestCap, collection.Gone)},
		{Name: "chain", Streams: streams(true), Runs: run(collection.Waiting, time.Minute), Owed: later},
		{Name: "mailbox", Streams: streams(true), Runs: run(collection.Blocked, 2*time.Hour), Owed: gaps(collection.Frozen),
			Account: &report.Account{Provider: "mailco", Frozen: true, Until: noon.Add(15 * time.Minute)}},
		{Name: "events", Streams: streams(false), Runs: run(collection.Deferred, time.Hour), Owed: gaps(collection.RequestCap)},
		{Name: "killed", Streams: streams(false), Runs: run(collection.Running, 6*time.Minute)},
		{Name: "people", Streams: streams(true), Runs: run(collection.Blocked, time.Minute), Owed: gaps(collection.Auth)},
		{Name: "fresh"},
	}
	for _, s := range all {
		for i := range s.Owed {
			s.Owed[i].Stream = "comments"
		}
	}
	return all
}

func TestStatusTable(t *testing.T) {
	texttest.Same(t, "status", "\n"+statusTable(fiveConnectors(), noon, 80, term.Caps{UTF8: true}), `
CONNECTOR  STATE           NEXT                          COMPLETE  OWED    SAVED
mailbox    × frozen        you: release it, or wait fo…    1 of 2     1  4 s ago
people     × blocked       you: credential was rejected    1 of 2     1  4 s ago
orders     × stuck         you: records do not match       1 of 2     2  4 s ago
chain      ‖ waiting       until 12:09 UTC: provider w…    1 of 2     1  4 s ago
events     … behind        the next run continues          1 of 2     1  4 s ago
killed     … behind        the next run continues          1 of 2     0  4 s ago
tickets    ▸ collecting    alive 3 s ago                   1 of 2     0  4 s ago
fresh      ? not measured  never collected                 0 of 0     0    never
prices     ✓ up to date    nothing                         2 of 2     0  4 s ago

3 of 9 need you. See why: collect gaps mailbox
`)
	texttest.Same(t, "status, wide", "\n"+statusWide(fiveConnectors()[:5], noon, 200, term.Caps{UTF8: true}), `
CONNECTOR  STATE         NEXT                                                         COMPLETE  OWED    SAVED  PACE                    BREAKER          COLLECTED BY      LIMITED BY
mailbox    × frozen      you: release it, or wait for a test request after 12:15 UTC    1 of 2     1  4 s ago  -                       closed · frozen  -                 -
orders     × stuck       you: records do not match                                      1 of 2     2  4 s ago  -                       -                -                 -
chain      ‖ waiting     until 12:09 UTC: provider was throttling                       1 of 2     1  4 s ago  -                       -                -                 -
tickets    ▸ collecting  alive 3 s ago                                                  1 of 2     0  4 s ago  3.5/s of 4.0/s learned  closed           pid 48121 on nas  -
prices     ✓ up to date  nothing                                                        2 of 2     0  4 s ago  -                       -                -                 -

2 of 5 need you. See why: collect gaps mailbox
`)
	texttest.Same(t, "status in 50 columns", "\n"+statusTable(fiveConnectors()[:3], noon, 50, term.Caps{}), `
CONNECTOR  STATE         NEXT                 OWED
orders     x stuck       you: records do no~     2
tickets    > collecting  alive 3 s ago           0
prices     v up to date  nothing                 0

1 of 3 needs you. See why: collect gaps orders
`)
	well := fiveConnectors()[:2]
	if got := statusTable(well, noon, 80, term.Caps{}); strings.Contains(got, "need") || !strings.Contains(got, "v up to date") {
		t.Errorf("status without problems in ASCII =\n%s", got)
	}
	if got, want := statusTable(nil, noon, 80, term.Caps{}), "nothing was collected yet. To begin: collect run <name | file.yaml>\n"; got != want {
		t.Errorf("status of nothing = %q, want %q", got, want)
	}
	if got := statusTable(fiveConnectors(), noon, 80, term.Caps{UTF8: true, Color: true}); !strings.Contains(got, "\x1b[31m× frozen\x1b[0m") {
		t.Errorf("the state is not colored in\n%s", got)
	}
}

func TestStatusDetail(t *testing.T) {
	s := fiveConnectors()[1]
	texttest.Same(t, "tickets", "\n"+statusDetail(s, noon, 80, term.Caps{UTF8: true}), `
tickets · ▸ collecting (run 01JD8Z since 11:42 UTC, pid 48121 on nas, alive 3 s
ago)

  STREAM    LANE           RECORDS    PARTITIONS DONE  STATE           SAVED
  issues    incremental        812                     complete   60 min ago
  comments  incremental  1,175,691  404 of 410 so far  under way     4 s ago
            backfill                                   not begun       never

  provider    acme · learned 3.5/s · ceiling 4.0/s · breaker closed
  covered     comments: 404 of at most 812 partitions committed, 408 ahead
  owed        nothing
  quarantine  3 records, none dropped
  all runs    4 runs: 43,790 requests, 1,719,914 records received, 1,719,000 new
              or changed; throttled 22 times, as of 3 s ago
  next        the run goes on; it was alive 3 s ago
`)
	s = fiveConnectors()[6]
	if got, want := statusDetail(s, noon, 80, term.Caps{}), "pid 48121 on nas, no sign of life\nfor 6 min)"; !strings.Contains(got, want) {
		t.Errorf("a run whose process died: %q is not in\n%s", want, got)
	}
	s = fiveConnectors()[4]
	if got, want := statusDetail(s, noon, 80, term.Caps{}), "frozen - no request before 12:15 UTC"; !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
		t.Errorf("a frozen account: %q is not in\n%s", want, got)
	}
}

// TestARouteThatWaits: a connector that waits at one of its routes goes on by the others, and status says until when that one waits.
func TestARouteThatWaits(t *testing.T) {
	s := report.Status{Name: "tickets", Runs: []collection.Run{{ID: "01JD8Z", Outcome: collection.Deferred}}, Owed: []store.OwnedGap{owedGap(collection.WallClock).OwnedGap}}
	s.Account = &report.Account{Provider: "acme"}
	s.Account.Pace.Constraints = []gate.Constraint{
		{Name: gate.HoldOf, Route: "search", Until: noon.Add(3 * time.Minute), Blocks: true}, {Name: gate.Learned, Route: "core", PerSecond: 2},
	}
	if got, want := s.Stands(noon).Next, "the next run continues; the route search waits until 12:03 UTC"; got != want {
		t.Errorf("next: %q, want %q", got, want)
	}
	if got, want := s.Stands(noon.Add(time.Hour)).Next, "the next run continues"; got != want {
		t.Errorf("an hour later: %q, want %q", got, want)
	}
}

// A released freeze is over, even before a run has filled its gap.
func TestReleasedIsNotFrozen(t *testing.T) {
	s := fiveConnectors()[4]
	s.Account.Frozen = false
	s.Account.Until = time.Time{}
	if got := s.Stands(noon).State; got != report.Behind {
		t.Errorf("health after the release = %q, want %q", got, report.Behind)
	}
}

func TestCheckCode(t *testing.T) {
	want := map[string]int{"prices": 0, "tickets": 0, "orders": 76, "chain": 75, "mailbox": 77, "events": 0, "killed": 0, "people": 77, "fresh": 0}
	for _, s := range fiveConnectors() {
		if got := report.CheckCode([]report.Status{s}, noon); got != want[s.Name] {
			t.Errorf("check of %s = %d, want %d", s.Name, got, want[s.Name])
		}
	}
	if got := report.CheckCode(fiveConnectors(), noon); got != problem.ExitRefused {
		t.Errorf("check of all = %d, want 77", got)
	}
	failed := report.Status{Runs: []collection.Run{{Outcome: collection.Failed, ExitCode: problem.ExitStorage}}}
	if got := report.CheckCode([]report.Status{failed}, noon); got != problem.ExitStorage {
		t.Errorf("check after a failed run = %d, want 74", got)
	}
	open := report.Status{Runs: []collection.Run{{Outcome: collection.Waiting}}, Account: &report.Account{Breaker: "open"}}
	if got := report.CheckCode([]report.Status{open}, noon); got != problem.ExitLater {
		t.Errorf("check with an open breaker = %d, want 75", got)
	}
}

// TestTheServerWasAway: a run that only an outage of the database server ended needs nobody, and its
// connector says who goes on, and when.
func TestTheServerWasAway(t *testing.T) {
	for _, test := range []struct {
		broke string
		turn  time.Time
		next  string
		code  int
	}{
		{"E0719", noon.Add(time.Hour), "the database server was away; the fleet goes on with it 13:00 UTC", problem.ExitOK},
		{"E0719", noon.Add(-time.Second), "the database server was away; the fleet goes on with it now", problem.ExitOK},
		{"E0707", time.Time{}, "the database server was away; the next run continues", problem.ExitOK},
		{"E0704", noon.Add(-time.Second), "you: E0704, disk full, database damaged or missing, output not writable; a worker tries again now", problem.ExitStorage},
		{"", time.Time{}, "you: the last run failed: disk full, database damaged or missing, output not writable (exit code 74)", problem.ExitStorage},
	} {
		run := collection.Run{Outcome: collection.Failed, ExitCode: problem.ExitStorage, Metrics: collection.Metrics{Broke: test.broke}}
		s := report.Status{Runs: []collection.Run{run}, Turn: test.turn}
		if st := s.Stands(noon); st.Next != test.next || st.Code != test.code {
			t.Errorf("%q: exit %d, %s; want %d, %s", test.broke, st.Code, st.Next, test.code, test.next)
		}
		sum := report.SummaryOf(run, nil, 1, collection.Tally{})
		if why := strings.Contains(sum.Verdict(), "the database server was away"); why != (test.code == problem.ExitOK) {
			t.Errorf("%q: %s", test.broke, sum.Verdict())
		}
	}
}

// TestWhatEndedTheLastRun: each view of a connector says which error ended its newest run and who acts:
// a person, or nobody where a worker tries again by itself.
func TestWhatEndedTheLastRun(t *testing.T) {
	run := collection.Run{
		ID: "01JD8Z", Connector: "tickets", Outcome: collection.Failed, ExitCode: problem.ExitStorage, StartedAt: noon.Add(-time.Hour), EndedAt: noon,
		Metrics: collection.Metrics{Broke: "E0702", BrokeBy: "no space left for the database while saving a slice"},
	}
	why := "E0702, no space left for the database while saving a slice"
	for _, test := range []struct {
		turn              time.Time
		state             report.Health
		needs, next, stop string
		see               bool
	}{
		{time.Time{}, report.Stuck, problem.NeedsOperator, "you: " + why, why + ". You act; then: collect resume tickets", true},
		{noon.Add(time.Minute), report.Waiting, problem.NeedsTime, why + "; a worker tries again 12:01:00 UTC", why + "; a worker tries again 12:01:00 UTC", false},
	} {
		s := report.Status{Name: "tickets", Runs: []collection.Run{run}, Turn: test.turn}
		if st := s.Stands(noon); st.State != test.state || st.Needs != test.needs || st.Next != test.next || !st.Until.Equal(test.turn) {
			t.Errorf("stands %+v, want %s, %s, %q", st, test.state, test.needs, test.next)
		}
		if table := statusTable([]report.Status{s}, noon, 0, term.Caps{}); strings.Contains(table, "See why: collect run-view tickets\n") != test.see {
			t.Errorf("turn %v: %s", test.turn, table)
		}
		if detail := statusDetail(s, noon, 200, term.Caps{}); !strings.Contains(detail, "failed 0 s ago: E0702)") || !strings.Contains(detail, test.next) {
			t.Errorf("turn %v: %s", test.turn, detail)
		}
		if stops := (report.Explanation{Status: s, Now: noon}).Stops(); stops[0] != "what ended the last run: "+test.stop {
			t.Errorf("explain: %q, want %q", stops[0], test.stop)
		}
		view := report.RunView{Run: run, Now: noon, Status: s}
		if text := runViewText(view, 200, term.Caps{}); !strings.Contains(text, "did not come to its end: "+why+". What was saved is safe.") || !strings.Contains(text, test.next) {
			t.Errorf("run-view: %s", text)
		}
	}
	table := runsTable("", []collection.Run{run}, noon, 80, term.Caps{}) + brokeLines([]collection.Run{run, run}, " --state x.db", 80)
	if !strings.Contains(table, " failed E0702 ") || strings.Count(table, why+"; see:") != 1 {
		t.Errorf("runs: %s", table)
	}
	line, err := json.Marshal(report.RunLines([]collection.Run{run, {}}))
	if err != nil || strings.Count(string(line), `"error":{"code":"E0702","message":"no space left for the database while saving a slice"}`) != 1 || strings.Count(string(line), `"error":null`) != 1 {
		t.Errorf("runs in JSON: %s, %v", line, err)
	}
}

// A pause until a known time, of a run that goes on by itself or that ended as
// planned, is no failure; it says until when. An open breaker is one.
func TestAPlannedPauseIsNoFailure(t *testing.T) {
	until := noon.Add(time.Hour)
	for _, test := range []struct {
		name  string
		last  collection.Outcome
		held  bool
		cause collection.WaitCause
		want  int
	}{
		{"a run that waits for its ceiling", collection.Running, false, collection.WaitWindow, problem.ExitOK},
		{"a run that was asked to wait", collection.Running, false, collection.WaitRetryAfter, problem.ExitOK},
		{"a run that waits as another one was asked to", collection.Running, true, collection.WaitRetryAfter, problem.ExitOK},
		{"a run whose breaker is open", collection.Running, false, collection.WaitBreaker, problem.ExitLater},
		{"a used up ceiling", collection.Deferred, true, collection.WaitWindow, problem.ExitOK},
		{"a quota that is used up", collection.Deferred, true, collection.WaitReserve, problem.ExitOK},
		{"a time limit before the end of a requested pause", collection.Deferred, true, collection.WaitRetryAfter, problem.ExitOK},
		{"a pause that was too long for the run", collection.Waiting, true, collection.WaitRetryAfter, problem.ExitLater},
		{"an open breaker", collection.Deferred, true, collection.WaitBreaker, problem.ExitLater},
	} {
		run := collection.Run{ID: "01JD8Z", Outcome: test.last, StartedAt: noon.Add(-time.Minute), BeatAt: noon}
		s := report.Status{Name: "tickets", Runs: []collection.Run{run}}
		if test.held {
			s.Account = &report.Account{Provider: "acme", Until: until, Cause: test.cause}
		} else {
			s.Runs[0].Metrics.Wait = &collection.WaitInfo{Cause: test.cause, Until: until}
		}
		st := s.Stands(noon)
		if got := report.CheckCode([]report.Status{s}, noon); got != test.want || st.State != report.Waiting || !strings.HasPrefix(st.Next, "until 13:00 UTC") {
			t.Errorf("%s: check = %d, %s, %q; want %d, waiting until 13:00 UTC", test.name, got, st.State, st.Next, test.want)
		}
	}
}

func TestStatusJSON(t *testing.T) {
	got, err := json.Marshal(report.StatusLines(fiveConnectors()[1:2], noon))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"connector":"tickets","state":"collecting","needs":"nothing","exit_code":0,"next":"alive 3 s ago","wait_cause":null,"next_at":null,"run_id":"01JD8Z","last_outcome":"running","error":null,` +
		`"saved_at":"2026-11-21T11:59:56.000Z","streams_complete":1,"gaps_owed":0,"gone":0,"waived":0,"records_quarantined":3,"paused_at":null,"paused_by":null,"paused_reason":null,` +
		`"overall":{"runs":4,"slices":0,"records":1719914,"records_changed":1719000,"records_quarantined":3,"records_older":0,"records_deleted":0,"requests":43790,"retries":0,"throttled":22,"gaps_opened":0,"gaps_filled":0},` +
		`"streams":[{"stream":"issues","selected":true,"parent":null,"records":812,"records_deleted":0,"records_quarantined":0,"view":"x_issues",` +
		`"lanes":[{"lane":"incremental","complete":true,"partitions":0,"partitions_done":0,"complete_as_of":null,"unseen":false,"saved_at":"2026-11-21T11:00:00.000Z","gaps_owed":0,"checkpoint_digest":"7c1e","coverage":null,"evidence":null}]},` +
		`{"stream":"comments","selected":true,"parent":"issues","records":1175691,"records_deleted":0,"records_quarantined":3,"view":null,` +
		`"lanes":[{"lane":"incremental","complete":false,"partitions":410,"partitions_done":404,"complete_as_of":null,"unseen":false,"saved_at":"2026-11-21T11:59:56.000Z","gaps_owed":0,"checkpoint_digest":null,"coverage":{"unit":"partitions","planned":812,"at_most":true,"committed":404,"quarantined":0,"owed":0,"waived":0,"gone":0,"ahead":408},"evidence":null},` +
		`{"lane":"backfill","complete":false,"partitions":0,"partitions_done":0,"complete_as_of":null,"unseen":false,"saved_at":null,"gaps_owed":0,"checkpoint_digest":null,"coverage":null,"evidence":null}]}],` +
		`"provider":{"provider":"acme","learned_per_second":3.5,"ceiling_per_second":4,"breaker":null,"breaker_forced":false,"breaker_opened_by":null,"frozen":false,"held_until":null,"limit":null,"from_shared_pace":false},"metrics":null,"fleet":null}]`
	texttest.Same(t, "json", string(got), want)
	if got, _ := json.Marshal(report.StatusLines(nil, noon)); string(got) != "[]" {
		t.Errorf("no connectors in JSON = %s, want []", got)
	}
}

// owedToday is one gap of every kind, with values that must not be shown.
func owedToday() []store.OwnedGap {
	owed := gaps(collection.RequestCap, collection.RateLimited, collection.BadPage, collection.Gone, collection.Interrupted, collection.NotFound)
	for i := range owed {
		owed[i].Stream, owed[i].Lane, owed[i].Shape, owed[i].Run = "comments", collection.Incremental, collection.SliceGap, "01JD8Z"
		owed[i].Cursor = collection.Cursor{Token: "canary-token", Since: "canary-since", High: "canary-high"}
		owed[i].OpenedAt = noon.Add(-time.Hour)
	}
	owed[0].Lane = collection.Backfill
	owed[1].NotBefore, owed[1].Attempts = noon.Add(30*time.Minute), 1
	owed[2].Partition, owed[2].Attempts, owed[2].Detail = `{"n":12,"repo":"acme/\u001b[2Japi"}`, 8, "the page is HTML, not JSON"
	owed[2].State = collection.GapDead
	owed[4].State = collection.GapLeased
	return owed
}

func TestGapsTable(t *testing.T) {
	texttest.Same(t, "gaps", "\n"+gapsTable(looked{name: "tickets", now: noon}, owedToday(), 0, 80, term.Caps{UTF8: true}), `
GAP  WHERE                 KIND      WHY                      TRIES  NEXT
g_3  comments n=12 repo=…  × stuck   page cannot be read          8  you
g_6  comments              × stuck   not found                    0  you
g_2  comments              provider  provider was throttling      1  12:30 UTC
g_1  comments (backfill)   planned   requests were used up        0  next run
g_5  comments              planned   run was interrupted          0  being tried
g_4  comments              gone      gone for good                0  nothing

g_3: the page is HTML, not JSON
5 owed: 2 stuck, 1 provider, 2 planned; 1 gone for good (5 SLICE_GAP).
To try what is due now: collect resume tickets --lane backfill
Each run tries g_6 again, which helps once its cause is settled. What to do:
collect explain g_6
No run tries g_3 again. What to do: collect explain g_3
When that is done: collect gaps retry tickets --reason WHY
`)
	if got := gapsTable(looked{name: "", now: noon}, owedToday(), 2, 100, term.Caps{}); !strings.Contains(got, "\ng_3  tickets/comments n=12 repo=acme/api  x stuck  page cannot be read      8  you\n") ||
		!strings.Contains(got, "\nand 4 more; to see all: --all\n") {
		t.Errorf("two of all gaps =\n%s", got)
	}
	dead := owedToday()[2:4] // and gone
	if got, want := gapsTable(looked{name: "tickets", now: noon}, dead, 0, 80, term.Caps{}), "\nNo run tries g_3 again. What to do: collect explain g_3\nWhen that is done: collect gaps retry tickets --reason WHY\n"; !strings.HasSuffix(got, want) {
		t.Errorf("gaps that no run tries =\n%s\nwant %q at the end", got, want)
	}
	if got, want := gapsTable(looked{name: "tickets", now: noon}, nil, 0, 80, term.Caps{}), "nothing is owed for tickets\n"; got != want {
		t.Errorf("no gaps = %q, want %q", got, want)
	}
	if got := gapsTable(looked{name: "tickets", now: noon}, gaps(collection.Gone), 0, 80, term.Caps{}); strings.Contains(got, "resume") {
		t.Errorf("with nothing owed there is nothing to resume:\n%s", got)
	}
}

func TestGapsJSON(t *testing.T) {
	got, err := json.Marshal(report.GapLines(owedToday()[2:4]))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"g_3","connector":"tickets","stream":"comments","partition":"n=12 repo=acme/api","lane":"incremental","shape":"SLICE_GAP",` +
		`"state":"dead","reason":"bad_page","kind":"stuck","needs":"operator","detail":"the page is HTML, not JSON","attempts":8,` +
		`"next_at":null,"opened_at":"2026-11-21T11:00:00.000Z","tried_at":null,"run_id":"01JD8Z","waived_at":null,"waived_by":null,"waived_reason":null},` +
		`{"id":"g_4","connector":"tickets","stream":"comments","partition":null,"lane":"incremental","shape":"SLICE_GAP",` +
		`"state":"open","reason":"gone","kind":"stuck","needs":"nothing","detail":null,"attempts":0,` +
		`"next_at":null,"opened_at":"2026-11-21T11:00:00.000Z","tried_at":null,"run_id":"01JD8Z","waived_at":null,"waived_by":null,"waived_reason":null}]`
	texttest.Same(t, "json", string(got), want)
	if got, _ := json.Marshal(report.GapLines(nil)); string(got) != "[]" {
		t.Errorf("no gaps in JSON = %s, want []", got)
	}
}

func TestRuns(t *testing.T) {
	runs := []collection.Run{
		{ID: "01JD8Z6QABCDEFGH", Connector: "tickets", Mode: collection.Forward, Lane: collection.Incremental, Outcome: collection.Running,
			StartedAt: noon.Add(-18 * time.Minute), BeatAt: noon, Tally: collection.Tally{Records: 559_702, Requests: 14_269}, Holder: collection.Holder{Host: "nas", PID: 7}},
		{ID: "01JD7X", Connector: "tickets", Outcome: collection.Deferred, Reason: collection.RequestCap, StartedAt: noon.Add(-26 * time.Hour), EndedAt: noon.Add(-25 * time.Hour)},
		{ID: "01JD6A", Connector: "tickets", Outcome: collection.Abandoned, StartedAt: noon.Add(-50 * time.Hour)},
		{ID: "01JD5B", Connector: "orders", Outcome: collection.Blocked, ExitCode: 77, StartedAt: noon.Add(-60 * time.Hour), EndedAt: noon.Add(-60 * time.Hour)},
	}
	texttest.Same(t, "runs", "\n"+runsTable("", runs, noon, 80, term.Caps{}), `
RUN               CONNECTOR  STARTED        TOOK  OUTCOME    RECEIVED  EXIT
01JD8Z6QABCDEFGH  tickets    11-21 11:42  18 min  running     559,702     -
01JD7X            tickets    11-20 10:00  60 min  paused            0     0
01JD6A            tickets    11-19 10:00       ?  abandoned         0     -
01JD5B            orders     11-19 00:00     0 s  blocked           0    77
`)
	// Too narrow for all columns, it leaves out what says the same in each line.
	for _, columns := range []int{0, 90} {
		if got := runsTable("", runs, noon, columns, term.Caps{}); !strings.Contains(got, "RECEIVED  REQUESTS  EXIT\n") || !strings.Contains(got, " 14,269 ") {
			t.Errorf("in %d columns the runs are\n%s\nwant their requests", columns, got)
		}
	}
	texttest.Same(t, "runs of one connector", "\n"+runsTable("tickets", runs[:2], noon, 80, term.Caps{}), `
RUN               STARTED        TOOK  OUTCOME  RECEIVED  REQUESTS  EXIT
01JD8Z6QABCDEFGH  11-21 11:42  18 min  running   559,702    14,269     -
01JD7X            11-20 10:00  60 min  paused          0         0     0
`)
	texttest.Same(t, "runs in a narrow window", "\n"+runsTable("", runs[:2], noon, 36, term.Caps{}), `
RUN               OUTCOME  EXIT
01JD8Z6QABCDEFGH  running     -
01JD7X            paused      0
`)
	if got, want := runsTable("prices", nil, noon, 80, term.Caps{}), "prices was never run\n"; got != want {
		t.Errorf("no runs = %q, want %q", got, want)
	}
	for line := range strings.Lines(runsTable("", runs, noon, 80, term.Caps{})) {
		if term.Width(line)-1 > 80 {
			t.Errorf("a line takes more than 80 columns: %q", line)
		}
	}
	got, err := json.Marshal(report.RunLines(runs[1:2]))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), `[{"run_id":"01JD7X","connector":"tickets","mode":"","lane":"","outcome":"deferred","stop_reason":"request_cap","exit_code":0,`) {
		t.Errorf("runs in JSON = %s", got)
	}
	running, _ := json.Marshal(report.RunLines(runs[:1]))
	if !strings.Contains(string(running), `"exit_code":null`) {
		t.Errorf("a run that goes on has no exit code yet: %s", running)
	}
	if got, _ := json.Marshal(report.RunLines(nil)); string(got) != "[]" {
		t.Errorf("no runs in JSON = %s, want []", got)
	}
}

// No view shows a cursor, moves the cursor of a terminal, or is wider than it
// may be.
func TestViewsAreCleanAndFit(t *testing.T) {
	all := fiveConnectors()
	all[0].Name = "ein-sehr-langer-name-der-nicht-passt\x1b[2J"
	owed := owedToday()
	owed[0].Connector = all[0].Name
	runs := []collection.Run{{ID: "01JD8Z6QABCDEFGH", Connector: all[0].Name, Outcome: collection.Complete, Tally: collection.Tally{Records: 1 << 26}}}
	for _, columns := range []int{50, 80, 100} {
		for _, c := range []term.Caps{{}, {UTF8: true}} {
			for name, text := range map[string]string{
				"status": statusTable(all, noon, columns, c),
				"detail": statusDetail(all[4], noon, columns, c),
				"gaps":   gapsTable(looked{name: "", now: noon}, owed, 0, columns, c),
				"runs":   runsTable("", runs, noon, columns, c),
			} {
				for line := range strings.Lines(text) {
					// A command stands whole on a line of its own, to be copied.
					if got := term.Width(strings.TrimSuffix(line, "\n")); got > columns && !strings.HasPrefix(line, "collect ") {
						t.Errorf("%s at %d columns: a line takes %d: %q", name, columns, got, line)
					}
				}
				for _, bad := range []string{"canary", "\x1b", "[2J"} {
					if strings.Contains(text, bad) {
						t.Errorf("%s: %q is in\n%s", name, bad, text)
					}
				}
			}
		}
	}
}
