package main_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
		all := s.start(workers, "30s")
		_ = s.db.Close() // it asks for nothing while they are counted
		time.Sleep(settle)
		log, own, servers := statements(b, logs), total(b, all), postgresCPU(b, s.server.PID())
		time.Sleep(span)
		own, servers = total(b, all)-own, postgresCPU(b, s.server.PID())-servers
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
		kill(all)
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
	for child := range strings.FieldsSeq(string(children)) {
		pid, _ := strconv.Atoi(child)
		all += cpu(b, pid)
	}
	return all
}

// BenchmarkWorkers: workers side by side, each with turns of two connectors that have slices of 100
// records, for half a minute. The server flushes each commit. Processor time for a slice is
// told beside the rate, since that is what another load on the machine changes least; that of
// the provider, which is this process, apart:
//
//	go test . -run xxx -bench 'Workers/' -benchtime 1x
func BenchmarkWorkers(b *testing.B) {
	for _, workers := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			const span = 30 * time.Second
			var names []string
			for i := range 2 * workers {
				names = append(names, fmt.Sprintf("c%02d", i))
			}
			s := newSiteWith(b, []string{"shared_buffers=256MB"}, 1_000_000, names...)
			s.perPage, s.quick, s.more = 100, true, `,"subject":"some words of a ticket that is not long","state":"open"`
			for range b.N {
				all := s.start(workers, "30s")
				s.enqueue()
				s.until("commits", commits, func(n int64) bool { return n >= 50 })
				own, servers, provider, begun := total(b, all), postgresCPU(b, s.server.PID()), cpu(b, os.Getpid()), time.Now()
				before := s.one(commits)
				time.Sleep(span)
				n := float64(s.one(commits) - before)
				took := time.Since(begun).Seconds()
				own, servers, provider = total(b, all)-own, postgresCPU(b, s.server.PID())-servers, cpu(b, os.Getpid())-provider
				b.ReportMetric(n/took, "slices/s")
				b.ReportMetric(own.Seconds()*1000/n, "ms/slice/workers")
				b.ReportMetric(servers.Seconds()*1000/n, "ms/slice/server")
				b.ReportMetric(provider.Seconds()*1000/n, "ms/slice/provider")
				b.ReportMetric(float64(s.one(`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'collect'`)), "connections")
				kill(all)
			}
		})
	}
}

// BenchmarkTurn: turns of one page, one after the other, by one worker: of 100 records, and of none, which is what a
// turn costs that finds nothing. It tells the median time from when a turn is inserted until its run begins, and from
// then until that is over; what the worker and the server take of a
// core; and what the same takes as "collect run":
//
//	go test . -run xxx -bench Turn -benchtime 1x
func BenchmarkTurn(b *testing.B) {
	for name, records := range map[string]int{"100": 100, "empty": -1} {
		b.Run(name, func(b *testing.B) { benchmarkTurn(b, records) })
	}
}

func benchmarkTurn(b *testing.B, records int) {
	const turns = 100
	s := newSiteWith(b, nil, 1, "ants")
	s.perPage, s.quick = records, true
	all := s.start(1, "30s")
	defer kill(all)
	for range b.N {
		own, servers := total(b, all), postgresCPU(b, s.server.PID())
		for n := range turns {
			s.enqueue()
			s.until("turns", `SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND NOT EXISTS (SELECT FROM fleet_turns)`, func(done int64) bool { return done > int64(n) })
		}
		own, servers = total(b, all)-own, postgresCPU(b, s.server.PID())-servers
		b.ReportMetric(own.Seconds()*1000/turns, "ms/turn/worker")
		b.ReportMetric(servers.Seconds()*1000/turns, "ms/turn/server")
	}
	median := func(from, to string) float64 {
		var ms sql.NullFloat64
		if err := s.db.QueryRow(`SELECT 1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ` + to + `::timestamptz - ` + from + `::timestamptz))
			FROM (SELECT at, row_number() OVER (ORDER BY id) AS n FROM fleet_orders) AS orders
			JOIN (SELECT started_at, ended_at, row_number() OVER (ORDER BY number) AS n FROM runs) AS runs USING (n)`).Scan(&ms); err != nil {
			b.Fatal(err)
		}
		return ms.Float64
	}
	b.ReportMetric(median("at", "started_at"), "ms/begun")
	b.ReportMetric(median("started_at", "ended_at"), "ms/turn")
	var runs []time.Duration
	for range 20 {
		begun := time.Now()
		if out, err := s.collect("run", "ants", "-q").CombinedOutput(); err != nil {
			b.Fatalf("run: %v: %s", err, out)
		}
		runs = append(runs, time.Since(begun))
	}
	slices.Sort(runs)
	b.ReportMetric(runs[len(runs)/2].Seconds()*1000, "ms/run")
}

// BenchmarkStall: a worker at work is killed, or stopped, beside another one that has nothing to do; how long nothing
// is asked for:
//
//	go test . -run xxx -bench Stall -benchtime 1x
func BenchmarkStall(b *testing.B) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		b.Run(name, func(b *testing.B) {
			s := newSite(b, 1_000_000, "ants")
			for range b.N {
				one := s.start(1, "10m")
				s.enqueue()
				before := s.one(commits)
				s.until("commits", commits, func(n int64) bool { return n >= before+20 })
				two := s.start(1, "10m")
				s.mu.Lock()
				s.stall = 0
				s.mu.Unlock()
				_ = one[0].Process.Signal(signal)
				s.until("the turn of the other", `SELECT count(*) FROM fleet_turns WHERE worker = (SELECT id FROM fleet_workers ORDER BY started_at DESC LIMIT 1)`,
					func(n int64) bool { return n == 1 })
				before = s.one(commits)
				s.until("commits", commits, func(n int64) bool { return n > before })
				s.mu.Lock()
				b.ReportMetric(s.stall.Seconds(), "s")
				s.mu.Unlock()
				_ = one[0].Process.Kill()
				kill(two)
			}
		})
	}
}

// start starts workers and waits until all are there.
func (s *site) start(workers int, turn string) (all []*workerProcess) {
	s.Helper()
	before := s.one(`SELECT count(*) FROM fleet_workers`)
	for range workers {
		all = append(all, s.worker(turn))
	}
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == max(before, 0)+int64(workers) })
	return all
}

func kill(all []*workerProcess) {
	for _, w := range all {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
}

// total returns what workers took so far.
func total(b *testing.B, all []*workerProcess) (sum time.Duration) {
	b.Helper()
	for _, w := range all {
		sum += cpu(b, w.Process.Pid)
	}
	return sum
}
