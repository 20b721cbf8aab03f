// Command bench measures whole runs of the real binary against a provider on
// loopback, and prints the figures as a Markdown table:
//
//	go run ./internal/bench -collect ./collect
//
// With -store it measures what looking at a large store takes: commands, pages of the
// console and its memory, and a run that 50 tabs follow.
//
// Each figure is the median of several runs, of wall time and of the largest
// resident set as the operating system accounts it. Nothing here passes or
// fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"collect/internal/provider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("collect", "", "the `binary` to measure")
	runs := flag.Int("n", 5, "runs of each measurement")
	large := flag.Int("large", 1_000_000, "records of the large collection")
	many := flag.Int("partitions", 100_000, "partitions of the large pass")
	pass := flag.Int("pass", 0, "partitions of a pass that is measured in ten parts, and nothing else")
	looked := flag.String("store", "", "a `file` with a store of about 1 GB, made if it is not there: only what looking at it takes is measured")
	tabs := flag.Bool("tabs", false, "only what a run takes while tabs follow it is measured")
	flag.Parse()
	if *binary == "" {
		return fmt.Errorf("-collect is missing")
	}
	dir, err := os.MkdirTemp("", "collect-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{binary: *binary, dir: dir, runs: *runs}
	if *tabs {
		return b.tabs(context.Background())
	}
	if *looked != "" {
		return b.looks(context.Background(), *looked)
	}
	if *pass > 0 {
		return b.pass(*pass)
	}
	fmt.Print("| what | median | of all | peak memory |\n|---|---:|---|---:|\n")
	for _, measure := range []func() error{b.flat, b.parents, b.again, func() error { return b.memory(*large) }, func() error { return b.goOn(*many) }} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// A bench runs the binary with databases in a directory of its own.
type bench struct {
	binary, dir string
	runs        int
	states      int
}

// A cost is what one process took.
type cost struct {
	wall time.Duration
	cpu  time.Duration
	rss  int64 // bytes
}

// collect runs the binary on a connector file.
func (b *bench) collect(state, file string, args ...string) (cost, error) {
	return b.process(append([]string{"run", file, "-q", "--create", "--state", state}, args...)...)
}

// process runs the binary.
func (b *bench) process(args ...string) (cost, error) {
	c := exec.Command(b.binary, args...)
	c.Env = append(c.Environ(), "XDG_STATE_HOME="+b.dir) // shares its pace with no other process
	var stderr strings.Builder
	c.Stderr = &stderr
	start := time.Now()
	err := c.Run()
	wall := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, fmt.Errorf("no resource usage on this system")
	}
	return cost{wall, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), usage.Maxrss * 1024}, nil // kilobytes on Linux, getrusage(2): this process's own at the least
}

// state returns the path of a database that does not exist yet.
func (b *bench) state() string {
	b.states++
	return filepath.Join(b.dir, fmt.Sprintf("%d.db", b.states))
}

// serve starts a provider and writes a connector file for it.
func (b *bench) serve(script provider.Script, name, streams string) (p *provider.Server, file string, err error) {
	p = provider.New(script)
	url, err := p.Start()
	if err != nil {
		return nil, "", err
	}
	file = filepath.Join(b.dir, name+".yaml")
	text := fmt.Sprintf("connector: %s\nprovider: {base_url: %q, pace: off}\nstreams:\n%s", name, url, streams)
	return p, file, os.WriteFile(file, []byte(text), 0o600)
}

const (
	flatStream = "  flat: {get: /flat, records: items, key: id, page: {number: {param: page, size_param: per_page, size: 100}}}\n"
	treeStream = "  tickets: {get: /tickets, records: items, key: id, page: {number: {param: page, size_param: per_page, size: 100}}}\n" +
		"  details: {each: {id: tickets.id}, get: \"/tickets/${id}\", key: id, role: detail}\n"
	sinceStream = "  tickets:\n    get: /cursor/tickets\n    records: items\n    key: id\n    page: {cursor: {from: next_cursor, param: cursor}}\n" +
		"    since: {field: updated_at, param: updated_since, order: asc, start: \"2000-01-01T00:00:00Z\"}\n" +
		"  details: {each: {id: tickets.id, changed: tickets.updated_at}, get: \"/tickets/${id}\", key: id, role: detail}\n"
)

// pass collects a detail of each of n parents in ten runs, and prints what each tenth
// took: how many partitions there are already should make no difference.
func (b *bench) pass(n int) error {
	p, file, err := b.serve(provider.Script{Seed: 1, Tickets: n}, "tree", treeStream)
	if err != nil {
		return err
	}
	defer p.Close()
	state := b.state()
	if _, err := b.collect(state, file, "--stream", "tickets"); err != nil {
		return err
	}
	fmt.Print("| partitions before | partitions per CPU second | wall time |\n|---:|---:|---:|\n")
	for tenth := range 10 {
		c, err := b.collect(state, file, "--stream", "details", "--concurrency", "8", "--max-requests", fmt.Sprint(n/10))
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %.0f | %.1f s |\n", tenth*n/10, float64(n/10)/c.cpu.Seconds(), c.wall.Seconds())
	}
	return nil
}

// flat collects 20,000 records in 200 pages.
func (b *bench) flat() error {
	const records = 20_000
	p, file, err := b.serve(provider.Script{Seed: 1, Flat: records}, "flat", flatStream)
	if err != nil {
		return err
	}
	defer p.Close()
	costs, err := b.repeat(func() (cost, error) { return b.collect(b.state(), file) })
	if err != nil {
		return err
	}
	row("20,000 flat records in 200 pages, one request at a time", costs,
		fmt.Sprintf(" (%.0f records/s, start-up included)", records/median(costs).wall.Seconds()))
	return nil
}

// parents collects 20 pages of 100 parents and a detail of each.
func (b *bench) parents() error {
	p, file, err := b.serve(provider.Script{Seed: 1, Tickets: 2000}, "tree", treeStream)
	if err != nil {
		return err
	}
	defer p.Close()
	costs, err := b.repeat(func() (cost, error) { return b.collect(b.state(), file, "--concurrency", "8") })
	if err != nil {
		return err
	}
	row("2,020 requests (20 pages of 100 parents, a child page of each), `--concurrency 8`", costs, "")
	return nil
}

// again runs a connector that is up to date.
func (b *bench) again() error {
	p, file, err := b.serve(provider.Script{Seed: 1, Tickets: 2000}, "again", sinceStream)
	if err != nil {
		return err
	}
	defer p.Close()
	state := b.state()
	if _, err := b.collect(state, file, "--concurrency", "8"); err != nil {
		return err
	}
	before := len(p.Log())
	costs, err := b.repeat(func() (cost, error) { return b.collect(state, file) })
	if err != nil {
		return err
	}
	each := float64(len(p.Log())-before) / float64(len(costs))
	row("the same when it is up to date (2,000 tickets, 2,000 details)", costs, fmt.Sprintf(" (%.0f requests)", each))
	return nil
}

// memory collects a tenth of many records, and then many.
func (b *bench) memory(many int) error {
	for _, records := range []int{many / 10, many} {
		p, file, err := b.serve(provider.Script{Seed: 1, Flat: records}, "memory", flatStream)
		if err != nil {
			return err
		}
		c, err := b.collect(b.state(), file)
		p.Close()
		if err != nil {
			return err
		}
		row(fmt.Sprintf("%d flat records, one run", records), []cost{c},
			fmt.Sprintf(" (%.0f records/s)", float64(records)/c.wall.Seconds()))
	}
	return nil
}

// goOn goes on with a pass that has only its last partitions left: once among a tenth
// of many partitions, and once among many. It measures a run of one request, and
// status. Their memory is less than that of this process, which holds all that it
// serves.
func (b *bench) goOn(many int) error {
	for _, n := range []int{many / 10, many} {
		p, file, err := b.serve(provider.Script{Seed: 1, Tickets: n}, "behind", treeStream)
		if err != nil {
			return err
		}
		state, left := b.state(), 2*(b.runs+1)
		if _, err := b.collect(state, file, "--concurrency", "8", "--max-requests", fmt.Sprint(n/100+n-left)); err != nil {
			return err
		}
		costs, err := b.repeat(func() (cost, error) { return timed(b.collect(state, file, "--max-requests", "1")) })
		p.Close()
		if err != nil {
			return err
		}
		row(fmt.Sprintf("one request of a pass with %d partitions, the last ones of which are left", n), costs, "")
		if costs, err = b.repeat(func() (cost, error) { return timed(b.process("status", "--state", state)) }); err != nil {
			return err
		}
		row(fmt.Sprintf("`status` of %d partitions", n), costs, "")
	}
	return nil
}

// timed returns the time of c alone.
func timed(c cost, err error) (cost, error) { return cost{wall: c.wall}, err }

// repeat measures several times, after one run that does not count.
func (b *bench) repeat(measure func() (cost, error)) ([]cost, error) {
	if _, err := measure(); err != nil {
		return nil, err
	}
	var costs []cost
	for range b.runs {
		c, err := measure()
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	slices.SortFunc(costs, func(x, y cost) int { return int(x.wall - y.wall) })
	return costs, nil
}

// median returns the median of costs that are sorted by time, with the largest
// memory of all.
func median(costs []cost) cost {
	m := costs[len(costs)/2]
	for _, c := range costs {
		m.rss = max(m.rss, c.rss)
	}
	return m
}

func row(what string, costs []cost, note string) {
	m := median(costs)
	all := fmt.Sprintf("%.3f to %.3f s", costs[0].wall.Seconds(), costs[len(costs)-1].wall.Seconds())
	memory := fmt.Sprintf("%.0f MB", float64(m.rss)/1e6)
	if m.rss == 0 {
		memory = "–"
	}
	fmt.Printf("| %s | %.3f s%s | %s | %s |\n", what, m.wall.Seconds(), note, all, memory)
}
