package e2e_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/e2e/services"
)

var details = flag.Int("limiters.details", 150, "how many details a run gets through each door")

// onTheWay is how long after a refusal a request may still arrive that left
// before it was known, on a busy machine.
const onTheWay = 150 * time.Millisecond

// TestLimiters collects through limiters that nobody here wrote, of several
// kinds, and reads from their access logs how it went: everything is there,
// and nothing came while a door had asked to wait. How many were refused, and
// how long it took, is told and not judged.
func TestLimiters(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(serve))
	defer upstream.Close()
	doors, err := services.StartLimiters(t.TempDir(), upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer doors.Close()
	rows := make([]string, len(doors.Doors))
	var wg sync.WaitGroup // and no parallel tests: these wait, and take no processor
	for i, door := range doors.Doors {
		home := t.TempDir()
		wg.Go(func() {
			var err error
			if rows[i], err = through(home, doors, door); err != nil {
				t.Errorf("%s: %v", door.Name, err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d details through each door:\n\n| door | took | of the least | requests | refused of 1000 | in a Retry-After |\n|---|--:|--:|--:|--:|--:|\n%s",
		*details, strings.Join(rows, ""))
}

// through collects through a door, and returns its row.
func through(home string, doors *services.Limiters, door services.Door) (string, error) {
	file := filepath.Join(home, "doors.yaml")
	text := fmt.Sprintf(`connector: doors
provider: {base_url: %s, ceiling: {per_second: 50}}
streams:
  items: {get: /items, records: items, key: id, page: {none: true}}
  details: {each: {id: items.id}, get: "/items/${id}", key: id, role: detail}
`, door.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	u := user{file: file, state: filepath.Join(home, "state.db"), env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	began := time.Now()
	if out, err := u.command("run", "--concurrency", "4", "--create", "-q").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	took := time.Since(began)
	exported, err := u.command("export", "details").Output()
	if err != nil {
		return "", err
	}
	if got := bytes.Count(exported, []byte("\n")); got != *details {
		return "", fmt.Errorf("%d details were collected, want %d", got, *details)
	}
	answers, err := doors.Answers(door)
	if err != nil {
		return "", err
	}
	slices.SortFunc(answers, func(a, b services.Answer) int { return a.From.Compare(b.From) })
	refused, early := 0, 0
	var asked, until time.Time
	for _, a := range answers {
		if a.From.After(asked.Add(onTheWay)) && a.From.Before(until) {
			early++
		}
		if a.Status == 429 || a.Status == 503 {
			refused++
			if end := a.To.Add(door.RetryAfter); end.After(until) {
				asked, until = a.To, end
			}
		}
	}
	if early > 0 {
		return "", fmt.Errorf("%d requests came within a Retry-After", early)
	}
	if len(answers) < *details+1 {
		return "", fmt.Errorf("the log has %d requests, want at least %d", len(answers), *details+1)
	}
	least := time.Duration(float64(*details) / door.PerSecond * float64(time.Second))
	return fmt.Sprintf("| %s | %.0f s | ×%.2f | %d | %.1f | %d |\n", door.Name, took.Seconds(), took.Seconds()/least.Seconds(),
		len(answers), 1000*float64(refused)/float64(len(answers)), early), nil
}

// serve is the upstream: a list of ids, and a detail for each.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if id, ok := strings.CutPrefix(r.URL.Path, "/items/"); ok {
		time.Sleep(services.ConnectionLatency)
		fmt.Fprintf(w, `{"id":%s}`, id)
		return
	}
	var items []string
	for i := range *details {
		items = append(items, fmt.Sprintf(`{"id":%d}`, i+1))
	}
	fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
}
