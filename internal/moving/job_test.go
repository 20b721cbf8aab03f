package moving_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// An exporter is a provider that makes exports by jobs. Their result is on another host.
type exporter struct {
	records int
	polls   int // until a job is done
	result  string

	mu       sync.Mutex
	created  int
	asked    map[string]int
	times    []time.Time // of polls
	fails    int         // the jobs up to this one fail
	expired  int         // the results of jobs up to this one are gone
	keys     []string    // credentials that the host of the results was sent
	download int
}

func (s *exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.TrimPrefix(r.URL.Path, "/exports/")
	var n int
	switch {
	case r.Method == http.MethodPost:
		s.created++
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"id":"j%d","state":"queued"}`, s.created)
	case strings.HasPrefix(r.URL.Path, "/exports/"):
		_, _ = fmt.Sscanf(id, "j%d", &n)
		s.asked[id]++
		s.times = append(s.times, time.Now())
		switch {
		case n <= s.fails:
			fmt.Fprint(w, `{"job":{"state":"failed","error":{"message":"the table is locked"}}}`)
		case s.asked[id] < s.polls:
			fmt.Fprint(w, `{"state":"running"}`)
		default:
			fmt.Fprintf(w, `{"state":"done","url":"%s/file-%d.csv?sig=abc"}`, s.result, n)
		}
	default:
		_, _ = fmt.Sscanf(r.URL.Path, "/file-%d.csv", &n)
		s.keys = append(s.keys, r.Header.Get("Authorization"))
		if s.download++; n <= s.expired {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintln(w, "id,name")
		for i := range s.records {
			fmt.Fprintf(w, "%d,thing %d\n", i+1, i+1)
		}
	}
}

func (s *exporter) victim(t *testing.T) *victim {
	t.Helper()
	s.asked = map[string]int{}
	host := httptest.NewServer(s)
	t.Cleanup(host.Close)
	s.result = host.URL
	return &victim{serve: s.ServeHTTP, file: `
connector: exports
secrets: {token: {env: HOME}}
provider: {base_url: %q, pace: off, auth: {bearer: "${secrets.token}"}}
streams:
  things:
    job: {post: /exports, json: {of: things}, id: id, poll: "/exports/${job}", done: 'body.state == "done"', failed: 'body.job?.state == "failed"', every: 50ms, result: url, origins: ["` + host.URL + `"]}
    get: "${result}"
    format: csv
    key: id
    page: {none: true}
`}
}

// TestJobIsCreatedOnce: a run that is killed while it waits, or reads the result, goes on
// with the job that it created.
func TestJobIsCreatedOnce(t *testing.T) {
	s := &exporter{records: 40, polls: 12}
	v := s.victim(t)
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	connector := filepath.Join(v.dir, "c.yaml")
	for n := range 3 { // killed at the 2nd request of each run or later: the job is stored by then
		if code, _, stderr := v.run(t, 2+n%2, "run", connector, "--create"); code != -1 {
			t.Fatalf("the run ends with %d, want it killed:\n%s", code, stderr)
		}
	}
	code, _, stderr := v.run(t, 0, "run", connector)
	if got := len(v.exported(t, "things")); code != 0 || got != s.records || s.created != 1 {
		t.Errorf("the run ends with %d, %d records are stored and %d jobs created, want 0, %d and 1:\n%s", code, got, s.created, s.records, stderr)
	}
	for _, key := range s.keys {
		if key != "" {
			t.Errorf("the host of the result was sent the credential")
		}
	}
}

// TestJobThatTakesLong is a planned pause at the end of the run, and the next one goes on
// asking.
func TestJobThatTakesLong(t *testing.T) {
	s := &exporter{records: 4, polls: 12}
	v := s.victim(t)
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	connector := filepath.Join(v.dir, "c.yaml")
	if code, out, stderr := v.run(t, 0, "run", connector, "--create", "--max-requests", "5"); code != 0 || s.created != 1 || s.asked["j1"] != 4 {
		t.Errorf("the first run ends with %d after %d polls of %d jobs, want 0 after 4 of 1:\n%s%s", code, s.asked["j1"], s.created, out, stderr)
	}
	if code, _, stderr := v.run(t, 0, "run", connector); code != 0 || s.created != 1 || len(v.exported(t, "things")) != s.records {
		t.Errorf("the second run ends with %d after %d jobs:\n%s", code, s.created, stderr)
	}
	for i := 1; i < 4; i++ {
		if apart := s.times[i].Sub(s.times[i-1]); apart < 45*time.Millisecond {
			t.Errorf("two polls are %v apart, want 50ms", apart)
		}
	}
}

// TestJobThatFails: one that failed is a gap with the words of the provider, and the next
// run creates another. A result that is gone has another job created at once.
func TestJobThatFails(t *testing.T) {
	s := &exporter{records: 4, polls: 1, fails: 1}
	v := s.victim(t)
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	connector := filepath.Join(v.dir, "c.yaml")
	code, _, stderr := v.run(t, 0, "run", connector, "--create")
	if said := strings.Join(strings.Fields(stderr), " "); code != 76 || !strings.Contains(said, "the table is locked") {
		t.Errorf("the run whose job fails ends with %d, want 76 and the words of the provider:\n%s", code, stderr)
	}
	code, _, stderr = v.run(t, 0, "run", connector)
	if got := len(v.exported(t, "things")); code != 0 || got != s.records || s.created != 2 {
		t.Errorf("the next run ends with %d, %d records, %d jobs, want 0, %d, 2:\n%s", code, got, s.created, s.records, stderr)
	}
	s = &exporter{records: 4, polls: 1, expired: 1}
	v = s.victim(t)
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	code, _, stderr = v.run(t, 0, "run", filepath.Join(v.dir, "c.yaml"), "--create")
	if got := len(v.exported(t, "things")); code != 0 || got != s.records || s.created != 2 {
		t.Errorf("the run whose result is gone ends with %d, %d records, %d jobs, want 0, %d, 2:\n%s", code, got, s.created, s.records, stderr)
	}
}
