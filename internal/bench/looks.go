package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"collect/internal/provider"
)

// looks measures what looking takes: commands and pages of a store, the memory of the
// console, and a run while tabs follow it.
func (b *bench) looks(ctx context.Context, file string) error {
	if err := makeLarge(ctx, file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Printf("The store has %.2f GB.\n\n| what | wall | of all | processor |\n|---|---:|---|---:|\n", float64(info.Size())/1e9)
	for _, step := range []func(context.Context, string) error{b.commands, b.pages} {
		if err := step(ctx, file); err != nil {
			return err
		}
	}
	return errors.Join(b.tabs(ctx), b.idle(ctx, file))
}

// commands measures commands that look, as whole processes.
func (b *bench) commands(_ context.Context, file string) error {
	p, shop, err := b.serve(provider.Script{Seed: 1, Flat: 100}, "small", flatStream)
	if err != nil {
		return err
	}
	defer p.Close()
	small := b.state()
	if _, err := b.collect(small, shop); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"`collect version`", []string{"version"}},
		{"`collect status` of a small store", []string{"status", "--state", small}},
		{"`collect status`", []string{"status", "--state", file}},
		{"`collect status shop`", []string{"status", "shop", "--state", file}},
		{"`collect gaps shop`", []string{"gaps", "shop", "--state", file}},
	} {
		costs, err := b.repeat(func() (cost, error) { return b.process(c.args...) })
		if err != nil {
			return err
		}
		lookRow(c.name, costs)
	}
	return nil
}

// lookRow prints the medians of wall and processor time.
func lookRow(what string, costs []cost) {
	slices.SortFunc(costs, func(x, y cost) int { return int(x.wall - y.wall) })
	wall, least, most := costs[len(costs)/2].wall, costs[0].wall, costs[len(costs)-1].wall
	slices.SortFunc(costs, func(x, y cost) int { return int(x.cpu - y.cpu) })
	fmt.Printf("| %s | %.0f ms | %.0f to %.0f ms | %.0f ms |\n", what, 1e3*wall.Seconds(), 1e3*least.Seconds(), 1e3*most.Seconds(), 1e3*costs[len(costs)/2].cpu.Seconds())
}

// A site is a console that was started, and a browser that is signed in.
type site struct {
	*http.Client
	url     string
	process *exec.Cmd
}

// console starts the console of a store.
func (b *bench) console(ctx context.Context, file string) (*site, error) {
	c := exec.CommandContext(ctx, b.binary, "serve", "--listen", "127.0.0.1:0", "--state", file)
	c.Env = append(c.Environ(), "XDG_STATE_HOME="+b.dir)
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s := &site{Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, process: c}
	s.Jar, _ = cookiejar.New(nil) // it returns no error
	for lines := bufio.NewScanner(out); lines.Scan(); {
		who, link, _ := strings.Cut(lines.Text(), " ")
		if who != "viewer" {
			continue
		}
		link = strings.TrimSpace(link)
		s.url = link[:strings.Index(link, "/login")]
		answer, err := s.PostForm(link, nil)
		if err != nil {
			return nil, errors.Join(err, s.end())
		}
		return s, answer.Body.Close()
	}
	return nil, errors.Join(errors.New("the console told no link"), s.end())
}

func (s *site) end() error {
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // killed
	return nil
}

// page asks for a page, and returns how long it took.
func (s *site) page(ctx context.Context, path string) (cost, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return cost{}, err
	}
	cpu, err := s.cpu()
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	answer, err := s.Do(r)
	if err != nil {
		return cost{}, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return cost{}, err
	}
	c := cost{wall: time.Since(start)}
	if answer.StatusCode != http.StatusOK {
		return c, fmt.Errorf("%s: %s", path, answer.Status)
	}
	after, err := s.cpu()
	c.cpu = after - cpu
	return c, err
}

// cpu returns the processor time of the console: the first number of schedstat, in
// nanoseconds, of each of its threads.
func (s *site) cpu() (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.process.Process.Pid))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, err
}

// rss returns the resident memory of the console, in bytes.
func (s *site) rss() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(text, []byte("VmRSS:"))
	n, err := strconv.ParseInt(string(bytes.Fields(after)[0]), 10, 64)
	return n * 1024, err
}

// shownPages are the pages of the console.
var shownPages = []string{"/", "/connectors", "/connectors/shop", "/connectors/other-07", "/providers", "/providers/shop%2F0123456789ab", "/runs", "/runs?from=1000", "/runs/01JD7X0000000001",
	"/runs/01JD7X0000002000", "/gaps", "/gaps?q=other-07", "/gaps/1", "/audit", "/settings", "/settings?days=7", "/metrics"}

// pages measures each page twice: after a change of the store, and again.
func (b *bench) pages(ctx context.Context, file string) error {
	s, err := b.console(ctx, file)
	if err != nil {
		return err
	}
	defer s.end()
	for _, path := range shownPages {
		var first, second []cost
		for range b.runs {
			changed := time.Now() // so that nothing is shown again without a look
			if err := os.Chtimes(file, changed, changed); err != nil {
				return err
			}
			for _, to := range []*[]cost{&first, &second} {
				c, err := s.page(ctx, path)
				if err != nil {
					return err
				}
				*to = append(*to, c)
			}
		}
		lookRow("`"+path+"`, first look", first)
		lookRow("again", second)
	}
	return nil
}

// tabs measures a run beside a console without a tab, with tabs that are told of changes,
// and with tabs that ask for their page after each, in turn.
func (b *bench) tabs(ctx context.Context) error {
	const records, tabs = 200_000, 50
	p, file, err := b.serve(provider.Script{Seed: 1, Flat: records}, "flat", flatStream)
	if err != nil {
		return err
	}
	defer p.Close()
	fmt.Printf("\nA run of %d records in %d pages beside a console: processor and wall time, and pages shown.\n\n"+
		"| run | no tab | %d tabs that are told | %[3]d tabs that ask for their page |\n|---:|---|---|---|\n", records, records/100, tabs)
	var cpu, wall [2][]float64
	for i := range b.runs {
		var took [3]cost
		var shown int64
		order := []int{0, 1, 2}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, kind := range order {
			c, pages, err := b.followed(ctx, file, min(kind, 1)*tabs, kind == 2)
			if err != nil {
				return err
			}
			took[kind], shown = c, max(shown, pages)
		}
		fmt.Printf("| %d | %s | %s | %s, %d pages |\n", i+1, took[0], took[1], took[2], shown)
		for k := range cpu {
			cpu[k] = append(cpu[k], took[k+1].cpu.Seconds()/took[0].cpu.Seconds())
			wall[k] = append(wall[k], took[k+1].wall.Seconds()/took[0].wall.Seconds())
		}
	}
	fmt.Printf("\nMedians of the ratios to no tab: told %.2f × processor and %.2f × wall; asking %.2f × and %.2f ×.\n",
		middle(cpu[0]), middle(wall[0]), middle(cpu[1]), middle(wall[1]))
	return nil
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %.1f s", c.cpu.Seconds(), c.wall.Seconds())
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// followed makes a run while tabs follow it, and counts the pages that they were shown.
func (b *bench) followed(ctx context.Context, file string, tabs int, asking bool) (c cost, shown int64, err error) {
	state := b.state()
	s, err := b.console(ctx, state)
	if err != nil {
		return c, 0, err
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	var pages atomic.Int64
	for range tabs {
		open.Go(func() { s.tab(ctx, asking, &pages) })
	}
	c, err = b.collect(state, file)
	return c, pages.Load(), err
}

// tab follows the store. If it is asking, it does so as the script of a page: it asks for
// its page after each event that tells of a change.
func (s *site) tab(ctx context.Context, asking bool, pages *atomic.Int64) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/live", nil)
	if err != nil {
		return
	}
	answer, err := s.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	seen := ""
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(data, " ")
		if asking && seen != "" && number != seen {
			if _, err := s.page(ctx, "/"); err != nil {
				return
			}
			pages.Add(1)
		}
		seen = number
	}
}

// idle measures the memory of the console: when it starts, after an hour's looks, each
// after a change of the store, and while nobody looks.
func (b *bench) idle(ctx context.Context, file string) error {
	s, err := b.console(ctx, file)
	if err != nil {
		return err
	}
	defer s.end()
	fmt.Print("\n| the console | resident memory |\n|---|---:|\n")
	tell := func(when string) error {
		n, err := s.rss()
		fmt.Printf("| %s | %.0f MB |\n", when, float64(n)/1e6)
		return err
	}
	if err := tell("before its first page"); err != nil {
		return err
	}
	const looks = 720 // one each 5 s
	for i := range looks {
		changed := time.Now()
		if err := os.Chtimes(file, changed, changed); err != nil {
			return err
		}
		if _, err := s.page(ctx, shownPages[i%len(shownPages)]); err != nil {
			return err
		}
	}
	if err := tell(fmt.Sprintf("after %d looks", looks)); err != nil {
		return err
	}
	for _, wait := range []time.Duration{30 * time.Second, 150 * time.Second, 180 * time.Second} {
		time.Sleep(wait)
		if err := tell("idle for " + wait.String() + " more"); err != nil {
			return err
		}
	}
	return nil
}
