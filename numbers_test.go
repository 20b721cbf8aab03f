package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"collect/internal/provider"
)

// A limit is what limits the pace, as JSON says it.
type limit struct {
	Name      string   `json:"name"`
	PerSecond *float64 `json:"per_second"`
	Count     *int     `json:"count"`
	NextAt    *string  `json:"next_at"`
	Since     *string  `json:"since"`
	Binds     bool     `json:"binds"`
}

func (l *limit) String() string {
	text, _ := json.Marshal(l) // of a struct of plain values
	return string(text)
}

// TestNumbersOfOneMomentAgree: explain, status and the view of the database say of
// one moment the same pace, and name the same limit with the same figures: while a
// run goes on, and after it.
func TestNumbersOfOneMomentAgree(t *testing.T) {
	binary := build(t)
	p := provider.New(provider.Script{Seed: 7, Tickets: 300})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	env := append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "NO_PROXY=127.0.0.1")
	state := filepath.Join(dir, "state.db")
	file := filepath.Join(dir, "shop.yaml")
	text := fmt.Sprintf(`connector: shop
provider: {base_url: %s, ceiling: {per_second: 12}}
streams:
  tickets: {get: /cursor/tickets, records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}
  details: {each: {id: tickets.id}, get: "/tickets/${id}", key: id, role: detail}
`, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(binary, "run", file, "--create", "--json", "--state", state, "--max-time", "20s")
	run.Env = env
	var events bytes.Buffer
	run.Stdout = &events
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- run.Wait() }()
	defer func() { _ = run.Process.Kill() }() // it is over already, unless the test failed
	for deadline := time.Now().Add(time.Minute); len(p.Log()) < 12; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the run sends nothing")
		}
	}
	db, err := sql.Open("sqlite", "file:"+state+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := map[string]int{}
	var last *limit
	compare := func() {
		t.Helper()
		last = agree(t, binary, env, state, db)
		if last != nil {
			seen[last.Name]++
		}
	}
	for running := true; running; {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case <-time.After(200 * time.Millisecond):
			compare()
		}
	}
	if len(seen) == 0 {
		t.Error("no moment of the run was looked at")
	}
	compare()
	var finished struct {
		Summary struct {
			Learned float64 `json:"learned_per_second"`
			Limit   *limit  `json:"limit"`
		} `json:"summary"`
	}
	lines := bytes.Split(bytes.TrimSpace(events.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &finished); err != nil {
		t.Fatal(err)
	}
	if got := finished.Summary.Limit; got == nil || last == nil || got.Name != last.Name || !near(got.PerSecond, last.PerSecond) {
		t.Errorf("the summary says %v, explain %v", got, last)
	}
	t.Logf("limits that were seen: %v", seen)
}

// agree looks at one moment, which is one in which nothing is saved, and compares
// what is said of it. It returns what limits the pace; nil if there was no such
// moment.
func agree(t *testing.T, binary string, env []string, state string, db *sql.DB) *limit {
	t.Helper()
	read := func(into any, args ...string) {
		t.Helper()
		c := exec.Command(binary, append(args, "--json", "--state", state)...)
		c.Env = env
		out, err := c.Output()
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	type row struct {
		learned, ceiling float64
		breaker, saved   string
	}
	view := func() (r row) {
		t.Helper()
		if err := db.QueryRow(`select coalesce(learned_per_second, 0), ceiling_per_second, breaker, saved_at from pace`).Scan(&r.learned, &r.ceiling, &r.breaker, &r.saved); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range 20 {
		var explained struct {
			Learned     *float64 `json:"learned_per_second"`
			Ceiling     *float64 `json:"ceiling_per_second"`
			Shared      bool     `json:"from_shared_pace"`
			Binds       string   `json:"binds"`
			Constraints []limit  `json:"constraints"`
		}
		var all []struct {
			Provider struct {
				Learned *float64 `json:"learned_per_second"`
				Ceiling *float64 `json:"ceiling_per_second"`
				Shared  bool     `json:"from_shared_pace"`
				Limit   *limit   `json:"limit"`
			} `json:"provider"`
		}
		before := view()
		read(&explained, "explain", "shop")
		read(&all, "status", "shop")
		if after := view(); after != before || explained.Shared || all[0].Provider.Shared {
			continue
		}
		status := all[0].Provider
		var binds *limit
		for i := range explained.Constraints {
			if explained.Constraints[i].Binds {
				binds = &explained.Constraints[i]
			}
		}
		if binds == nil || status.Limit == nil || binds.Name != explained.Binds || binds.String() != status.Limit.String() {
			t.Errorf("limited by: explain %v (%s), status %v", binds, explained.Binds, status.Limit)
		}
		if !near(explained.Learned, &before.learned) || !near(status.Learned, &before.learned) ||
			!near(explained.Ceiling, &before.ceiling) || !near(status.Ceiling, &before.ceiling) {
			t.Errorf("explain %v under %v, status %v under %v, the view %+v", explained.Learned, explained.Ceiling, status.Learned, status.Ceiling, before)
		}
		return binds
	}
	return nil
}

// near reports whether a and b are one number.
func near(a, b *float64) bool {
	if a == nil || b == nil || *a == 0 || *b == 0 {
		return (a == nil || *a == 0) == (b == nil || *b == 0)
	}
	return math.Abs(*a / *b - 1) < 1e-6
}
