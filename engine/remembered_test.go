package engine

import (
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/report/problem"
	"collect/store/sqlite"
)

// TestRemembered: the file of a connector is that of the newest run that worked. One that
// was refused collected nothing, but is all there is until then.
func TestRemembered(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, step := range []struct {
		source string
		code   int
		want   string
	}{
		{"/refused.yaml", problem.ExitConfig, "/refused.yaml"},
		{"/a.yaml", problem.ExitOK, "/a.yaml"},
		{"/other.yaml", problem.ExitConfig, "/a.yaml"},
		{"/b.yaml", problem.ExitOwed, "/b.yaml"},
		{"", problem.ExitConfig, "/b.yaml"},
		{"", problem.ExitOK, ""},
	} {
		run := collection.Run{ID: string(rune('a' + i)), Connector: "stripe", Source: step.source, StartedAt: time.Now()}
		l, err := db.Begin(t.Context(), run, nil)
		if err == nil {
			run.Outcome, run.ExitCode = collection.Complete, step.code
			err = l.Finish(t.Context(), run)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := Remembered(db)(t.Context(), "stripe"); err != nil || got != step.want {
			t.Errorf("after step %d: %q, %v, want %q", i, got, err, step.want)
		}
	}
	if path, known, err := Remembered(db)(t.Context(), "github"); path != "" || len(known) != 1 || err != nil {
		t.Errorf("github: %q, %q, %v", path, known, err)
	}
}
