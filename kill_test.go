package main_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

// kills is how many processes TestKilledAtRandomMoments ends with SIGKILL.
const kills = 50

// TestKilledAtRandomMoments kills runs with details at random moments, and
// resumes until the work is done. Then the export equals the provider's
// records, each once; nobody had to free a lock; and no kill cost more than
// what was in flight or being stored.
func TestKilledAtRandomMoments(t *testing.T) {
	binary := build(t)
	for _, concurrency := range []int{1, 4} {
		t.Run("concurrency="+strconv.Itoa(concurrency), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(concurrency)))
			killed := 0
			for round := 0; killed < kills/2; round++ {
				killed += killAndResume(t, binary, concurrency, rnd)
				if round > kills {
					t.Fatalf("%d rounds killed only %d runs", round, killed)
				}
			}
		})
	}
}

// killAndResume collects once from nothing, killing the run again and again,
// and returns how often it did.
func killAndResume(t *testing.T, binary string, concurrency int, rnd *rand.Rand) (killed int) {
	t.Helper()
	p := provider.New(provider.Script{Seed: rnd.Uint64(), Tickets: 150, Modes: []provider.Mode{provider.Latency(3 * time.Millisecond)}})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	file := connectorFile(t, dir, url)
	collect := func(args ...string) *exec.Cmd {
		args = append(args, "--state", filepath.Join(dir, "state.db"))
		return exec.Command(binary, args...)
	}

	mode := "run"
	for {
		run := collect(mode, file, "--create", "-q", "--concurrency", strconv.Itoa(concurrency))
		var stderr bytes.Buffer
		run.Stderr = &stderr
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		// A run takes about a second; some are killed before their first slice.
		after := time.Duration(rnd.Int64N(int64(200 * time.Millisecond)))
		timer := time.AfterFunc(after, func() { _ = run.Process.Kill() })
		err := run.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if !wasKilled(err) {
			t.Fatalf("%s after %d kills: %v\n%s", mode, killed, err, stderr.Bytes())
		}
		killed++
		mode = []string{"run", "resume"}[killed%2]
	}

	for _, stream := range []string{"tickets", "details"} {
		out, err := collect("export", file, stream).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(strings.Lines(string(out)))
		var want []string
		for _, record := range p.Records(stream) {
			want = append(want, string(record)+"\n")
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s after %d kills: exported %d records, served %d, or they differ", stream, killed, len(got), len(want))
		}
	}
	// 2 pages and 150 details, and what each kill cost: of details at most twice
	// those in flight, and a page (docs/decisions/0033). A kill may also fall between the end of the work and the end of the process: the
	// next run then looks for what is new, which is 2 pages.
	if got, most := len(p.Log()), 152+killed*(2*concurrency+1)+2*afterTheEnd(p); got > most {
		t.Errorf("%d requests after %d kills with %d workers, want at most %d", got, killed, concurrency, most)
	}
	return killed
}

// afterTheEnd returns how many runs began when everything was collected: the
// last detail had been served before they asked for the first page.
func afterTheEnd(p *provider.Server) (runs int) {
	served := map[string]bool{}
	for _, e := range p.Log() {
		if strings.HasPrefix(e.Path, "/tickets/") && e.Status == http.StatusOK {
			served[e.Path] = true
		}
		if len(served) == 150 && e.Path == "/cursor/tickets" && e.Query == "" {
			runs++
		}
	}
	return runs
}

func wasKilled(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// build builds the command as it is shipped. What the test runs with it shares
// its pace with nobody. A short test runs nothing with it.
func build(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	binary := filepath.Join(t.TempDir(), "collect")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// connectorFile writes the connector of the scripts for a provider at url.
func connectorFile(t *testing.T, dir, url string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/connectors/tickets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tickets.yaml")
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("$URL"), []byte(url)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
