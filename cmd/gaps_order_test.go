package cmd

import (
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// leftOver returns a gap that no run tries by itself any more, as it comes to
// be: after eight tries, or at once.
func leftOver(id int64, reason collection.Reason) store.OwnedGap {
	gap := owedGap(reason).OwnedGap
	gap.ID, gap.State, gap.Attempts, gap.TriedAt = id, collection.GapDead, collection.MaxGapAttempts, noon.Add(-time.Hour)
	if reason.Permanent() {
		gap.Attempts = 1
	}
	if reason.Kind() == collection.Pressure {
		gap.NotBefore = noon.Add(4 * time.Minute) // it cooled down for nothing
	}
	return gap
}

// revivedGap returns one that a person had tried again.
func revivedGap(id int64, reason collection.Reason) store.OwnedGap {
	gap := leftOver(id, reason)
	gap.State, gap.Attempts, gap.NotBefore = collection.GapOpen, 0, time.Time{}
	return gap
}

func TestRetrySaysWhatItDoes(t *testing.T) {
	forward, back := revivedGap(31, collection.Forbidden), revivedGap(32, collection.BadPage)
	back.Lane = collection.Backfill
	for _, test := range []struct {
		revived []store.OwnedGap
		want    string
	}{
		{[]store.OwnedGap{forward}, "revived: g_31 of tickets. The next run tries it again; to begin it now: collect resume tickets --state s"},
		{[]store.OwnedGap{back}, "revived: g_32 of tickets. The next run tries it again; to begin it now: collect resume tickets --state s --lane backfill"},
		{[]store.OwnedGap{back, forward}, "revived: 2 gaps of tickets. The next run tries them again; to begin it now: " +
			"collect resume tickets --state s; and: collect resume tickets --state s --lane backfill"},
	} {
		if got := (engine.GapOrder{Connector: "tickets", Flags: " --state s"}).Done(test.revived); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	got := (engine.GapOrder{Connector: "tickets"}).Means([]store.OwnedGap{leftOver(1, collection.Forbidden), leftOver(2, collection.BadPage), leftOver(3, collection.Forbidden)})
	if want := "This lets the next run of tickets ask again for 3 gaps: provider refuses it (2), page cannot be read (1)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Wherever a gap is reported that no run tries by itself, the order is named as
// it must be typed; and where there is none, it is not.
func TestTheOrderIsNamed(t *testing.T) {
	const order = "collect gaps retry tickets --state s --reason WHY\n"
	for _, reason := range []collection.Reason{collection.Forbidden, collection.UpstreamPressure, collection.BadPage, collection.Gone} {
		for _, gap := range []store.OwnedGap{leftOver(31, reason), revivedGap(31, reason), owedGap(reason).OwnedGap} {
			want := gap.State == collection.GapDead && reason != collection.Gone
			run := collection.Run{Connector: "tickets", Outcome: collection.OutcomeOf(collection.Run{}, []collection.Gap{gap.Gap}), EndedAt: noon}
			status := report.Status{Name: "tickets", Flags: " --state s", Owed: []store.OwnedGap{gap}, Runs: []collection.Run{run}}
			sum := report.SummaryOf(run, status.Owed, 1, collection.Tally{})
			sum.Flags = " --state s"
			for where, text := range map[string]string{
				"gaps":    gapsTable(looked{name: "tickets", now: noon, flags: " --state s"}, status.Owed, 0, 80, term.Caps{}),
				"status":  statusTable([]report.Status{status}, noon, 80, term.Caps{}),
				"detail":  statusDetail(status, noon, 80, term.Caps{}),
				"a run":   renderSummary(sum, 80, term.Caps{}),
				"one gap": strings.ReplaceAll(renderGap(report.GapExplanation{OwnedGap: gap, Now: noon, Flags: " --state s"}, 80, term.Caps{}), "tickets g_31 --state", "tickets --state"),
			} {
				switch named := strings.Contains(text, order); {
				case where == "one gap" && reason == collection.Gone:
				case named != want:
					t.Errorf("%s, a %s gap for %s: the order is named: %t, want %t:\n%s", where, gap.State, reason, named, want, text)
				}
			}
		}
	}
}

// A run goes on from a gap that ended a run before. Others are recovered behind the new records, which may take all
// of its time; a resume does them first.
func TestWhatComesBeforeAGap(t *testing.T) {
	for _, test := range []struct {
		reason     collection.Reason
		partition  collection.Partition
		next, says string
	}{
		{collection.UpstreamPressure, "", "next run", "the next run goes on there; to begin it now:"},
		{collection.WallClock, `{"id":7}`, "next run", "the next run goes on there; to begin it now:"},
		{collection.RetryBudget, `{"id":7}`, "after the new records", "a run tries it again after the new records; to try it first:"},
		{collection.UpstreamPressure, `{"id":7}`, "after the new records", "a run tries it again after the new records; to try it first:"},
	} {
		e := owedGap(test.reason)
		e.Partition, e.Attempts, e.NotBefore = test.partition, 1, noon.Add(-time.Minute)
		if got := report.NextTry(e.OwnedGap, noon); got != test.next {
			t.Errorf("%s: tried next %q, want %q", test.reason, got, test.next)
		}
		if got, commands := e.Next(); got != test.says || len(commands) != 1 || commands[0] != "collect resume tickets" {
			t.Errorf("%s: %q %q, want %q", test.reason, got, commands, test.says)
		}
	}
}

// What no run tries is a person's, whatever its reason: time does not help. What
// a person had tried again waits for the next run alone.
func TestWhoActsOnADeadGap(t *testing.T) {
	for _, reason := range []collection.Reason{collection.UpstreamPressure, collection.RateLimited, collection.BadPage, collection.Forbidden} {
		dead, revived := leftOver(31, reason), revivedGap(31, reason)
		for _, test := range []struct {
			gap     store.OwnedGap
			health  report.Health
			next    string
			nextTry string
			needs   string
		}{
			{dead, report.Stuck, "you: " + problem.Brief(reason), "you", problem.NeedsOperator},
			{revived, report.Behind, "the next run continues", "next run", problem.NeedsNothing},
		} {
			s := report.Status{Name: "tickets", Owed: []store.OwnedGap{test.gap}, Runs: []collection.Run{{Outcome: collection.Blocked, EndedAt: noon}}}
			if st := s.Stands(noon); st.State != test.health || st.Next != test.next || st.Needs != test.needs {
				t.Errorf("%s, %s: %+v, want %s, %q", test.gap.State, reason, st, test.health, test.next)
			}
			if got := report.NextTry(test.gap, noon); got != test.nextTry {
				t.Errorf("%s, %s: tried next by %q, want %q", test.gap.State, reason, got, test.nextTry)
			}
			if got := report.GapLines(s.Owed)[0].Needs; got != test.needs {
				t.Errorf("%s, %s: needs %q, want %q", test.gap.State, reason, got, test.needs)
			}
		}
	}
}

// A list below a parent that is gone is asked for again by a later pass, unless a person gave it up; a detail is not.
func TestWhatTriesAGoneListAgain(t *testing.T) {
	for _, test := range []struct {
		shape  collection.Shape
		waived time.Time
		want   string
	}{
		{collection.SliceGap, time.Time{}, "a later pass"},
		{collection.DetailGap, time.Time{}, "nothing"},
		{collection.SliceGap, noon, "nothing"},
	} {
		gap := leftOver(31, collection.Gone)
		gap.Partition, gap.Shape, gap.Waiver.At = `{"id":7}`, test.shape, test.waived
		if got := report.NextTry(gap, noon); got != test.want {
			t.Errorf("a %s, given up: %t, is tried next by %q, want %q", test.shape, gap.Waived(), got, test.want)
		}
	}
}
