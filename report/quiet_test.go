package report_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/report"
	"collect/report/problem"
)

// The same trouble is told once, then once a day, and that it is over; a run that was
// asked to wait, or died, neither ends it nor begins it anew.
func TestHear(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	auth := report.Trouble{Name: "77 auth", Words: "credential was rejected"}
	var told report.Told
	for i := range 3 * 24 * 4 { // every 15 minutes of three days; run 192 is asked to wait
		now, of := noon.Add(time.Duration(i)*15*time.Minute), auth
		if i%7 == 3 {
			of = report.Trouble{Passing: true}
		}
		got, after := told.Hear(of, now)
		want := report.Turn("")
		switch i {
		case 0:
			want = report.Broke
		case 96, 193:
			want = report.Still
		}
		if got != want {
			t.Errorf("run %d, after %v: %q, want %q", i, now.Sub(noon), got, want)
		}
		told = after
	}

	now := noon.Add(73 * time.Hour)
	if got, after := told.Hear(report.Trouble{Name: "65 forbidden", Words: "refused"}, now); got != report.Broke || after.Since != now {
		t.Errorf("another trouble: %q since %v", got, after.Since)
	}
	got, after := told.Hear(report.Trouble{}, now)
	if got != report.Recovered || after.Trouble != "" || after.Others != nil {
		t.Errorf("what is over: %q, then %+v", got, after)
	}
	if got, want := told.Over("tickets", now), "recovered: tickets; since 2026-11-21 12:00 UTC: credential was rejected"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, _ := after.Hear(report.Trouble{}, now); got != "" {
		t.Errorf("well, and told nothing: %q", got)
	}
	if got, _ := after.Hear(auth, now); got != report.Broke {
		t.Errorf("the same that came back: %q", got)
	}
}

// Troubles that take turns are each told once a day, and all that were told are named
// when all is well.
func TestHearTroublesInTurn(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	forms := report.Trouble{Name: "65", Words: "records are in quarantine"}
	auth := report.Trouble{Name: "77", Words: "credential was rejected"}
	var told report.Told
	for i, step := range []struct {
		after time.Duration
		of    report.Trouble
		want  report.Turn
	}{
		{0, forms, report.Broke}, {time.Hour, auth, report.Broke}, {2 * time.Hour, forms, ""}, {3 * time.Hour, auth, ""},
		{24*time.Hour + time.Minute, forms, report.Still}, {24*time.Hour + 2*time.Minute, auth, ""}, {25 * time.Hour, auth, report.Still},
		{25 * time.Hour, report.Trouble{}, report.Recovered}, {26 * time.Hour, forms, report.Broke},
	} {
		now := noon.Add(step.after)
		got, after := told.Hear(step.of, now)
		if got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if got == report.Recovered {
			const want = "recovered: desk; since 2026-11-21 13:00 UTC: credential was rejected; since 2026-11-21 12:00 UTC: records are in quarantine"
			if over := told.Over("desk", now); over != want {
				t.Errorf("got %q, want %q", over, want)
			}
		}
		if got != "" { // what is told is remembered, as the memory of a notifier does
			told = after
		}
	}
}

// A clock that ran ahead for a while does not make trouble silent until it is there
// again.
func TestHearWithAClockThatWasSetBack(t *testing.T) {
	ahead := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	trouble := report.Trouble{Name: "77 auth"}
	_, told := report.Told{}.Hear(trouble, ahead)
	now := ahead.AddDate(-3, 0, 0)
	got, told := told.Hear(trouble, now)
	if got != report.Still {
		t.Errorf("after the clock was set back: %q", got)
	}
	if got, _ := told.Hear(trouble, now.Add(23*time.Hour)); got != "" {
		t.Errorf("an hour before a day: %q", got)
	}
	if got, _ := told.Hear(trouble, now.Add(24*time.Hour)); got != report.Still {
		t.Errorf("after a day: %q", got)
	}
}

func TestTroubleWords(t *testing.T) {
	for _, tc := range []struct {
		run  collection.Run
		want string
	}{
		{collection.Run{ExitCode: problem.ExitRefused, Reason: collection.Auth}, "credential was rejected"},
		{collection.Run{ExitCode: problem.ExitLater}, "pieces are owed that the provider could not give"},
		{collection.Run{ExitCode: problem.ExitBug}, "a bug in collect"},
		{collection.Run{ExitCode: 99}, "exit code 99"},
	} {
		if got := report.TroubleWords(tc.run); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.run, got, tc.want)
		}
	}
}
