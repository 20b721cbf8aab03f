package report

import (
	"testing"
	"time"

	"collect/collection"
	"collect/report/problem"
)

// The same problem speaks once, then once a day; a run that was asked to wait,
// or died, neither ends it nor begins it anew.
func TestSayAgain(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var before []collection.Run // newest first
	spoke := map[int]bool{}
	for i := range 3 * 24 * 4 { // every 15 minutes of three days; run 192 is asked to wait
		run := collection.Run{ExitCode: problem.ExitRefused, Reason: collection.Auth, EndedAt: noon.Add(time.Duration(i) * 15 * time.Minute)}
		if i%7 == 3 {
			run.ExitCode, run.Reason = problem.ExitLater, collection.RetryAfter
		} else {
			own, _ := trouble(run)
			same, _ := sameTrouble(own, before)
			spoke[i] = SayAgain(run, same)
		}
		before = append([]collection.Run{run}, before...)
	}
	for i, said := range spoke {
		if want := i == 0 || i == 96 || i == 193; said != want {
			t.Errorf("run %d, after %v: spoke %t, want %t", i, time.Duration(i)*15*time.Minute, said, want)
		}
	}
	if spoke[0] != true || len(before) != 288 {
		t.Fatalf("%d runs", len(before))
	}

	// Another problem speaks at once, and so does the same one after it was over.
	other := collection.Run{ExitCode: problem.ExitOwed, EndedAt: noon.Add(73 * time.Hour)}
	own, _ := trouble(other)
	if same, whole := sameTrouble(own, before); !SayAgain(other, same) || !whole {
		t.Errorf("another problem is not told: %d runs had it, %t", len(same), whole)
	}
	well := collection.Run{ExitCode: problem.ExitOK, Tally: collection.Tally{Slices: 1}}
	own, _ = trouble(before[0])
	if same, _ := sameTrouble(own, append([]collection.Run{well}, before...)); len(same) != 0 || !SayAgain(before[0], same) {
		t.Errorf("a problem that came back is not told: %d runs had it", len(same))
	}
	// What is over is told to have been.
	if same, _ := sameTrouble("", before); len(same) == 0 || troubleWords(same[0]) != "credential was rejected" {
		t.Errorf("what is over is not told: %+v", same)
	}
}
