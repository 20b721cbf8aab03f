package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"collect/collection"
	"collect/store/postgres"
)

// fill lets the server say that its disk is full to each write of some kind, such as "INSERT ON events".
func fill(t *testing.T, s *postgres.Store, write string) {
	t.Helper()
	exec(t, s, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END$$;
		CREATE TRIGGER full_disk BEFORE `+write+` FOR EACH ROW EXECUTE FUNCTION full_disk()`)
}

func exec(t *testing.T, s *postgres.Store, query string) {
	t.Helper()
	if err := postgres.Exec(s, query); err != nil {
		t.Fatal(err)
	}
}

// failed is run-1, which a full disk ended.
func failed() collection.Run {
	run := newRun("run-1")
	run.Outcome, run.ExitCode = collection.Failed, 74
	run.Metrics = collection.Metrics{Broke: "E0702", BrokeBy: "no space left", Traffic: &collection.Traffic{}}
	return run
}

// told returns how the run stands in the store, and what its end is told to be.
func told(t *testing.T, s *postgres.Store) (run collection.Run, message string) {
	t.Helper()
	known, there, err := s.Run(t.Context(), "run-1")
	if err != nil || !there {
		t.Fatalf("Run: %t, %v", there, err)
	}
	for _, e := range known.Events {
		if e.Kind == collection.RunFinished {
			message = e.Message
		}
	}
	return known.Run, message
}

// TestVerdictOnFullDisk: a verdict that does not fit on the server's disk leaves out what can be missed: first what
// was asked for since the last beat, then which error it was.
func TestVerdictOnFullDisk(t *testing.T) {
	for _, test := range []struct{ full, broke string }{
		{"INSERT OR UPDATE ON traffic", "E0702"},
		{"INSERT ON events", ""},
	} {
		s := open(t, address(), postgres.Options{Create: true})
		l, err := s.Begin(t.Context(), newRun("run-1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, test.full)
		if err := l.Finish(t.Context(), failed()); err != nil {
			t.Errorf("%s: Finish: %v", test.full, err)
		}
		if run, _ := told(t, s); run.Outcome != collection.Failed || run.ExitCode != 74 || run.Metrics.Broke != test.broke {
			t.Errorf("%s: the run is %s, %d, %q; want failed, 74, %q", test.full, run.Outcome, run.ExitCode, run.Metrics.Broke, test.broke)
		}
		if _, err := s.Begin(t.Context(), newRun("run-2"), nil); err != nil && !errors.Is(err, collection.ErrFull) {
			t.Errorf("%s: the lease was not given back: %v", test.full, err)
		}
		_ = s.Close()
	}
}

// TestVerdictIsSaidLater: a run of which not a word can be written has died of nothing. The next run of its process
// writes how it ended; one of another process finds a run without an end.
func TestVerdictIsSaidLater(t *testing.T) {
	for _, another := range []bool{false, true} {
		at := address()
		s := open(t, at, postgres.Options{Create: true})
		l, err := s.Begin(t.Context(), newRun("run-1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, "UPDATE ON runs")
		if err := l.Finish(t.Context(), failed()); !errors.Is(err, collection.ErrFull) {
			t.Fatalf("Finish = %v, want a full disk", err)
		}
		if err := l.(interface{ Abandon() error }).Abandon(); err != nil {
			t.Fatal(err)
		}
		exec(t, s, "DROP TRIGGER full_disk ON runs")
		next := s
		if another {
			next = open(t, at, postgres.Options{})
		}
		if _, err := next.Begin(t.Context(), newRun("run-2"), nil); err != nil {
			t.Fatal(err)
		}
		run, message := told(t, s)
		if died := strings.Contains(message, "died"); died != another {
			t.Errorf("of a run of %s, its end is told as %q", map[bool]string{false: "this process", true: "another process"}[another], message)
		}
		if !another && (run.Outcome != collection.Failed || run.ExitCode != 74 || run.Metrics.Broke != "E0702") {
			t.Errorf("the run is %s, %d, %q; want failed, 74, E0702", run.Outcome, run.ExitCode, run.Metrics.Broke)
		}
		if another && run.Outcome != collection.Abandoned {
			t.Errorf("the run is %s, want abandoned", run.Outcome)
		}
		_ = errors.Join(next.Close(), s.Close())
	}
}
