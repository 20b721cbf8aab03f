// Command race runs collect and other tools side by side, in turn, against one
// provider on loopback, and prints what they took and what they lost as Markdown:
//
//	go run ./race -collect ../collect -provider ../provider -peers ../.cache/race
//
// Nothing here passes or fails. Each tool is set up by the file that the page
// shows, in a folder beside this one.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "race:", err)
		os.Exit(1)
	}
}

func run() error {
	r := &race{}
	flag.StringVar(&r.collect, "collect", "", "the `binary` of collect")
	flag.StringVar(&r.provider, "provider", "", "the `binary` of the provider")
	flag.StringVar(&r.peers, "peers", "", "the `folder` that the other tools are installed in")
	flag.IntVar(&r.runs, "n", 5, "runs of each tool and row")
	only := flag.String("only", "", "these `rows`, separated by commas (flat, tree, pages, limited, minute, kill, traps); all of them if it is empty")
	flag.Parse()
	var err error
	if r.dir, err = os.MkdirTemp("", "race-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	for _, w := range works() {
		if *only == "" || slices.Contains(strings.Split(*only, ","), w.name) {
			if err := r.row(w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	if *only == "" || strings.Contains(*only, "traps") {
		return r.traps()
	}
	return nil
}

// A race has the tools and what they leave.
type race struct {
	collect, provider, peers string
	runs                     int
	dir                      string
	outs                     int
}

// A work is one row of the race.
type work struct {
	name, title string
	modes       []string // of the provider
	flat        int
	tickets     int
	env         []string
	file        string // of collect
	args        []string
	warm        bool // collect once more, with what it has learned
	kill        int  // after so many requests; 0: it is not killed
	stream      string
	want        int
}

func works() []work {
	tree := []string{"RACE_TREE=1", "RACE_PAGES=20"}
	return []work{
		{name: "flat", title: "20,000 flat records in 200 pages, one request at a time", flat: 20_000,
			env: []string{"RACE_PAGES=200"}, file: "flat.yaml", stream: "flat", want: 20_000},
		{name: "tree", title: "2,020 requests, 20 pages of parents and a detail of each, 8 in flight", tickets: 2000,
			env: tree, file: "tree.yaml", args: []string{"--concurrency", "8"}, stream: "details", want: 2000},
		{name: "pages", title: "200 pages by number, each after 50 ms, 8 in flight", flat: 20_000, modes: []string{"latency by=50ms"},
			env: []string{"RACE_PAGES=200", "RACE_THREADS=8"}, file: "flat.yaml", args: []string{"--concurrency", "8"}, stream: "flat", want: 20_000},
		{name: "limited", title: "the parents and details where 50 a second are allowed; collect is told that 200 are", tickets: 2000,
			modes: []string{"429 rate=50 burst=50"}, env: append([]string{"RACE_RATE=45", "RACE_DELAY=0.0222", "RACE_AUTO=1"}, tree...),
			file: "limited.yaml", warm: true, stream: "details", want: 2000},
		{name: "minute", title: "300 requests where 100 a minute are allowed, with a bare 429", tickets: 297,
			modes: []string{"429 rate=1.6667 burst=100"}, env: []string{"RACE_TREE=1", "RACE_PAGES=3", "RACE_RATE=100", "RACE_INTERVAL=1m", "RACE_AUTO=1"},
			file: "limited.yaml", stream: "details", want: 297},
		{name: "kill", title: "the parents and details, killed with `kill -9` after 1,000 requests, and run again", tickets: 2000,
			modes: []string{"latency by=2ms"}, env: tree, file: "tree.yaml", args: []string{"--concurrency", "8"}, kill: 1000, stream: "details", want: 2000},
	}
}

// A tool runs a work in a folder.
type tool struct {
	name    string
	command func(r *race, w work, url, out string) *exec.Cmd
}

func tools() []tool {
	return []tool{
		{"collect", func(r *race, w work, url, out string) *exec.Cmd {
			args := append([]string{"run", "race/collect/" + w.file, "--param", "url=" + url, "--create", "--state", out + "/s.db"}, w.args...)
			return exec.Command(r.collect, args...)
		}},
		{"benthos", func(r *race, w work, _, _ string) *exec.Cmd {
			file := "flat.yaml"
			if w.stream == "details" {
				file = "tree.yaml"
			}
			return exec.Command(r.peers+"/benthos", "run", "race/benthos/"+file)
		}},
		{"Singer SDK", func(r *race, _ work, _, out string) *exec.Cmd {
			return exec.Command("sh", "-c", r.peers+"/singer/bin/python race/singer/tap.py --config=ENV >>"+out+"/out.jsonl")
		}},
		{"dlt", func(r *race, _ work, _, _ string) *exec.Cmd {
			return exec.Command(r.peers+"/dlt/bin/python", "race/dlt/pipeline.py")
		}},
		{"Scrapy", func(r *race, _ work, _, out string) *exec.Cmd {
			return exec.Command(r.peers+"/scrapy/bin/scrapy", "runspider", "race/scrapy/spider.py", "-o", out+"/out.jsonl")
		}},
	}
}

// A result is what one run of a tool took.
type result struct {
	wall, cpu          time.Duration
	rss                int64
	exit               int
	said               string
	requests, refusals int
	missing, wasted    int
}

// row runs all tools in turn, several times, and prints the medians.
func (r *race) row(w work) error {
	all := map[string][]result{}
	names := []string{}
	for range r.runs {
		for _, t := range tools() {
			results, err := r.measure(t, w)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			for i, got := range results {
				name := t.name + []string{"", ", warm"}[i]
				if all[name] == nil {
					names = append(names, name)
				}
				all[name] = append(all[name], got)
			}
		}
	}
	fmt.Printf("\n## %s\n\n", strings.ToUpper(w.title[:1])+w.title[1:])
	fmt.Print("| tool | wall | CPU | memory | requests | refusals | wasted | rows lost | exit |\n|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, name := range names {
		got := all[name]
		last := got[len(got)-1]
		fmt.Printf("| %s | %.2f s | %.2f s | %.0f MB | %d | %d | %d | %d | %s |\n", name,
			median(got, func(g result) float64 { return g.wall.Seconds() }), median(got, func(g result) float64 { return g.cpu.Seconds() }),
			median(got, func(g result) float64 { return float64(g.rss) / 1e6 }), int(median(got, func(g result) float64 { return float64(g.requests) })),
			int(median(got, func(g result) float64 { return float64(g.refusals) })), int(median(got, func(g result) float64 { return float64(g.wasted) })),
			int(median(got, func(g result) float64 { return float64(g.missing) })), exit(last))
	}
	return nil
}

// exit returns how a run ended, as the table says it.
func exit(r result) string {
	if r.exit == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", r.exit, strings.ReplaceAll(r.said, "|", "/"))
}

func median(got []result, of func(result) float64) float64 {
	var all []float64
	for _, g := range got {
		all = append(all, of(g))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// measure runs one tool once, or twice where it is measured warm, too.
func (r *race) measure(t tool, w work) ([]result, error) {
	url, stop, err := r.serve(w)
	if err != nil {
		return nil, err
	}
	defer stop()
	r.outs++
	out := filepath.Join(r.dir, fmt.Sprint(r.outs))
	defer os.RemoveAll(out)
	times := 1
	if w.warm && t.name == "collect" {
		times = 2
	}
	var results []result
	for range times {
		if err := os.MkdirAll(out, 0o700); err != nil {
			return nil, err
		}
		before, err := statsOf(url)
		if err != nil {
			return nil, err
		}
		if w.kill > 0 {
			r.once(t, w, url, out, w.kill) // what it took does not count
		}
		got := r.once(t, w, url, out, 0)
		after, err := statsOf(url)
		if err != nil {
			return nil, err
		}
		got.requests, got.refusals = after.Requests-before.Requests, after.ByStatus["429"]-before.ByStatus["429"]
		have, err := r.rows(t, w, out)
		if err != nil {
			return nil, err
		}
		got.missing = w.want - len(have)
		got.wasted = max(0, got.requests-got.refusals-w.least())
		results = append(results, got)
		if err := os.Remove(out + "/s.db"); err != nil && t.name == "collect" && times > 1 {
			return nil, err
		}
	}
	return results, nil
}

// least is how many requests a work needs.
func (w work) least() int {
	if w.tickets > 0 {
		return w.tickets + (w.tickets+99)/100
	}
	return w.flat / 100
}

// longest is how long a run may take.
const longest = 5 * time.Minute

// once runs a tool, and kills it after so many requests.
func (r *race) once(t tool, w work, url, out string, kill int) result {
	c := t.command(r, w, url, out)
	c.Env = append(os.Environ(), append([]string{
		"RACE_URL=" + url, "RACE_OUT=" + out, "RACE_TOKEN=race-secret", "XDG_STATE_HOME=" + r.dir, "HOME=" + r.dir,
		"RUNTIME__DLTHUB_TELEMETRY=false", "DATA_WRITER__DISABLE_COMPRESSION=true", "EXTRACT__WORKERS=8", "PYTHONDONTWRITEBYTECODE=1",
	}, w.env...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var text strings.Builder
	c.Stderr = &text
	if t.name != "Singer SDK" {
		c.Stdout = &text
	}
	start := time.Now()
	if err := c.Start(); err != nil {
		return result{exit: -1, said: err.Error()}
	}
	if kill > 0 {
		go func() {
			for {
				if s, err := statsOf(url); err != nil || s.Requests >= kill {
					_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it and what it started
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		}()
	}
	late := time.AfterFunc(longest, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	_ = c.Wait() // the state tells
	late.Stop()
	got := result{wall: time.Since(start), exit: c.ProcessState.ExitCode()}
	got.said = words(text.String(), got.exit)
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		got.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		got.rss = usage.Maxrss * 1024
	}
	return got
}

// words returns the line in which a tool says what is wrong: the first that begins with
// the word, or the last one of a tool that failed.
func words(text string, exit int) string {
	said := ""
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(line, "error") || strings.HasPrefix(line, "warning") {
			said = line
			break
		}
		if exit != 0 && line != "" && !strings.Contains(line, "INFO") && !strings.Contains(line, "DEBUG") {
			said = line
		}
	}
	return said[:min(len(said), 120)]
}

// serve starts the provider.
func (r *race) serve(w work) (url string, stop func(), err error) {
	args := []string{"-flat", fmt.Sprint(cmp.Or(w.flat, 1)), "-tickets", fmt.Sprint(cmp.Or(w.tickets, 1))}
	for _, mode := range w.modes {
		args = append(args, "-mode", mode)
	}
	c := exec.Command(r.provider, args...)
	pipe, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	_, err = fmt.Fscanln(pipe, &url)
	return url, func() { _ = c.Process.Kill(); _ = c.Wait() }, err
}

// stats is what the provider counted.
type stats struct {
	Requests int            `json:"requests"`
	ByStatus map[string]int `json:"by_status"`
}

func statsOf(url string) (s stats, err error) {
	resp, err := http.Get(url + "/_provider/stats")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}
