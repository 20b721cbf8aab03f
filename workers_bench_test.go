package main_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkIdleWorkers: eight workers that have nothing to do, for a minute. It tells how many
// statements they send and what they and the server take of a core, and logs which
// statements those are:
//
//	go test . -run xxx -bench IdleWorkers -benchtime 1x -v
func BenchmarkIdleWorkers(b *testing.B) {
	const workers, settle, span = 8, 10 * time.Second, time.Minute
	logs, err := os.MkdirTemp("", "statements")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(logs)
	if err := os.Chmod(logs, 0o777); err != nil { // #nosec G302 -- the server is another user
		b.Fatal(err)
	}
	s := newSiteWith(b, []string{"logging_collector=on", "log_directory=" + logs, "log_filename=all", "log_rotation_size=0",
		"log_statement=all", "log_line_prefix=@%p "}, 1, "ants")
	for range b.N {
		var all []*workerProcess
		for range workers {
			all = append(all, s.worker("30s"))
		}
		s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == workers })
		_ = s.db.Close() // it asks for nothing while they are counted
		time.Sleep(settle)
		log, own, servers := statements(b, logs), time.Duration(0), postgresCPU(b, s.server.PID())
		for _, w := range all {
			own -= cpu(b, w.Process.Pid)
		}
		time.Sleep(span)
		for _, w := range all {
			own += cpu(b, w.Process.Pid)
		}
		servers = postgresCPU(b, s.server.PID()) - servers
		n := 0
		counts := map[string]int{}
		for _, text := range statements(b, logs)[len(log):] {
			n++
			counts[text]++
		}
		b.ReportMetric(float64(n)/span.Seconds(), "statements/s")
		b.ReportMetric(100*own.Seconds()/span.Seconds(), "%core/workers")
		b.ReportMetric(100*servers.Seconds()/span.Seconds(), "%core/server")
		for _, text := range slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return counts[y] - counts[x] }) {
			b.Logf("%5d %s", counts[text], text)
		}
		for _, w := range all {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}
}

var statement = regexp.MustCompile(`^@\d+ LOG:  (?:statement|execute [^:]*): (.*)`)

// statements returns what the server was asked, in the order of its log: the first line of each, with
// the one behind it where that says nothing.
func statements(b *testing.B, logs string) (all []string) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(logs, "all")) // #nosec G304 -- a file of the test
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		found := statement.FindSubmatch(line)
		if found == nil {
			continue
		}
		said := strings.TrimSpace(string(found[1]))
		for j := i + 1; len(said) < 40 && j < len(lines) && !bytes.HasPrefix(lines[j], []byte("@")); j++ {
			said += " " + strings.TrimSpace(string(lines[j]))
		}
		all = append(all, said[:min(len(said), 90)])
	}
	return all
}

// cpu returns what a process took so far.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it ended
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))
	var ticks int64
	for _, field := range fields[12:14] { // utime and stime: proc(5)
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// postgresCPU returns what a server and its sessions took so far.
func postgresCPU(b *testing.B, server int) (all time.Duration) {
	b.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", server))
	if err != nil {
		b.Fatal(err)
	}
	all = cpu(b, server)
	for _, child := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(child)
		all += cpu(b, pid)
	}
	return all
}
