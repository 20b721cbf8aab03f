package e2e_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"collect/e2e/services"
)

// tickets is how many tickets there are: 25 pages.
const tickets = 5000

func startPocketBase(t *testing.T, limited bool) *services.PocketBase {
	t.Helper()
	pb, err := services.StartPocketBase(t.TempDir(), tickets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pb.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, errors.Join(pb.Age(), pb.Limit(limited)))
	return pb
}

func pocketUser(t *testing.T, pb *services.PocketBase) user {
	t.Helper()
	return catalogUser(t, "pocketbase", "POCKETBASE_TOKEN="+pb.Token)
}

// pocketArgs are the parameters of a run, and what it is told beside them.
func pocketArgs(url string, more ...string) []string {
	return append([]string{"--param", "url=" + url, "--param", "collection=tickets"}, more...)
}

func records(t *testing.T, pb *services.PocketBase) []json.RawMessage {
	t.Helper()
	all, err := pb.Records()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// count returns how many of the requests got status.
func count(seen []services.Request, status int) (n int) {
	for _, r := range seen {
		if r.Status == status {
			n++
		}
	}
	return n
}

// A first run collects everything in spite of real refusals, a second one asks
// for one page, and a third brings exactly what changed between them.
func TestPocketBase(t *testing.T) {
	pb := startPocketBase(t, true)
	u := pocketUser(t, pb)
	args := pocketArgs(pb.URL)

	first := u.collect(t, "run", args...)
	first.wantCode(t, 0)
	seen := pb.Seen()
	t.Logf("first run: %v, %d requests, %d refused", first.took, len(seen), count(seen, 429))
	if count(seen, 429) == 0 {
		t.Error("PocketBase refused nothing: this run proves nothing about 429")
	}
	if got := first.events(t); got["throttled"] == 0 || got["run.finished"] != 1 {
		t.Errorf("events = %v, want some throttled and one run.finished", got)
	}
	u.wantRecords(t, "records", records(t, pb))

	pb.Seen()
	u.collect(t, "run", args...).wantCode(t, 0)
	if seen := pb.Seen(); count(seen, 200) != 1 {
		t.Errorf("with nothing new: %d pages, want 1; requests: %v", count(seen, 200), seen)
	}

	var touched []string
	for _, r := range records(t, pb)[100:350] {
		touched = append(touched, id(t, r))
	}
	if err := pb.Touch(touched...); err != nil {
		t.Fatal(err)
	}
	if err := pb.Add(30); err != nil {
		t.Fatal(err)
	}
	pb.Seen()
	u.collect(t, "run", args...).wantCode(t, 0)
	if seen := pb.Seen(); count(seen, 200) > 6 {
		t.Errorf("280 tickets changed: %d pages, want 2 or a few more", count(seen, 200))
	}
	u.wantRecords(t, "records", records(t, pb))
}

// More tickets share one time of update than fit on a page, as after a bulk
// change by SQL. None is lost, and the run ends.
func TestPocketBaseTies(t *testing.T) {
	pb := startPocketBase(t, false)
	if err := pb.Tie(1000, 350); err != nil {
		t.Fatal(err)
	}
	u := pocketUser(t, pb)
	u.collect(t, "run", pocketArgs(pb.URL)...).wantCode(t, 0)
	u.wantRecords(t, "records", records(t, pb))
}

// Tickets that change while a run walks past them are not lost: the run, and
// the one after it, end with what PocketBase holds.
func TestPocketBaseChangesUnderTheWalk(t *testing.T) {
	pb := startPocketBase(t, true)
	u := pocketUser(t, pb)
	all := records(t, pb)
	run := u.command("run", pocketArgs(pb.URL, "--create", "-q")...)
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for changes := 0; ; changes++ {
		select {
		case err := <-ended:
			if err != nil || changes < 3 {
				t.Fatalf("the run ended with %v after %d changes, want none after 3 or more", err, changes)
			}
			u.collect(t, "run", pocketArgs(pb.URL)...).wantCode(t, 0)
			u.wantRecords(t, "records", records(t, pb))
			return
		case <-time.After(600 * time.Millisecond):
			if err := pb.Touch(id(t, all[changes*97%len(all)])); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func id(t *testing.T, record json.RawMessage) string {
	t.Helper()
	var ticket struct{ ID string }
	if err := json.Unmarshal(record, &ticket); err != nil {
		t.Fatal(err)
	}
	return ticket.ID
}

// A run that was killed without warning is continued where it was: what it
// had saved is not asked for again, and nothing is missing.
func TestPocketBaseKilled(t *testing.T) {
	pb := startPocketBase(t, true)
	u := pocketUser(t, pb)
	run := u.command("run", pocketArgs(pb.URL, "--create")...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	before := awaitPages(t, pb, run, 12)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	run.Wait() // killed, as it should be
	before = append(before, pb.Seen()...)

	u.collect(t, "resume", pocketArgs(pb.URL)...).wantCode(t, 0)
	after := pb.Seen()
	t.Logf("%d pages before the kill, %d after", count(before, 200), count(after, 200))
	// How many pages there are depends on how many tickets share a millisecond.
	// But no page is served twice, except the one that was in flight.
	served := make(map[string]bool)
	for _, r := range before {
		served[r.Query] = served[r.Query] || r.Status == 200
	}
	var again []string
	for _, r := range after {
		if r.Status == 200 && served[r.Query] {
			again = append(again, r.Query)
		}
	}
	if len(again) > 1 {
		t.Errorf("%d pages were served again after the kill, want at most the one in flight: %q", len(again), again)
	}
	u.wantRecords(t, "records", records(t, pb))
}

// awaitPages returns when PocketBase has served n pages, with what it was asked.
func awaitPages(t *testing.T, pb *services.PocketBase, run *exec.Cmd, n int) (seen []services.Request) {
	t.Helper()
	for range 3000 { // 30 s
		seen = append(seen, pb.Seen()...)
		if count(seen, 200) >= n {
			return seen
		}
		time.Sleep(10 * time.Millisecond)
	}
	run.Process.Kill()
	t.Fatalf("%d pages in 30 s, want %d", count(seen, 200), n)
	return nil
}

// A cap on requests ends a run as planned, and resume brings the rest.
func TestPocketBaseInParts(t *testing.T) {
	pb := startPocketBase(t, false)
	u := pocketUser(t, pb)
	u.collect(t, "run", pocketArgs(pb.URL, "--max-requests", "10")...).wantCode(t, 0)
	if seen := pb.Seen(); len(seen) != 10 {
		t.Errorf("a run with a cap of 10 sent %d requests", len(seen))
	}
	u.collect(t, "resume", pocketArgs(pb.URL)...).wantCode(t, 0)
	u.wantRecords(t, "records", records(t, pb))
}
