// Soak runs collect for an hour against four providers that are asked at 80 % of what
// they allow and that have troubles all the time, kills it now and then, and says what
// came of it:
//
//	soak -collect ./collect -minutes 60
//
// It exits with 1 if something is lost, a breaker was open for more than 5 minutes in
// the mean, less than 99.5 % of what was asked for was answered, or a request came
// before the end of a Retry-After.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"collect/internal/soak"
)

func main() {
	collect := flag.String("collect", "collect", "the program to soak")
	minutes := flag.Int("minutes", 60, "how long the troubles last")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, *collect, time.Duration(*minutes)*time.Minute)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// A bath is one soak.
type bath struct {
	collect string
	dir     string
	every   time.Duration // from the start of a run to that of the next
	servers []*soak.Server
	kills   int
	runs    int
	opened  map[string]time.Time // of the breakers that are open
	repairs []time.Duration
}

func run(ctx context.Context, collect string, length time.Duration) (ok bool, err error) {
	b := &bath{collect: collect, every: min(5*time.Minute, max(length/8, 20*time.Second)), opened: map[string]time.Time{}}
	if b.dir, err = os.MkdirTemp("", "collect-soak-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	cycle := min(soak.Cycle, max(length, 20*time.Minute)) // each trouble once in a short soak
	for place, spec := range soak.Specs() {
		s := soak.NewServer(spec, place, cycle)
		if err := b.serve(ctx, s); err != nil {
			return false, err
		}
		b.servers = append(b.servers, s)
	}
	begun := time.Now()
	for n := 1; time.Since(begun) < length && ctx.Err() == nil; n++ {
		next := time.Now().Add(b.every)
		if err := b.once(ctx, n%3 == 0); err != nil {
			return false, err
		}
		b.release(ctx)
		sleep(ctx, time.Until(next))
	}
	for _, s := range b.servers {
		s.Calm()
	}
	troubled := time.Since(begun)
	calm := time.Now()
	for ctx.Err() == nil && !b.allCame(ctx) && time.Since(calm) < max(length, time.Hour) {
		next := time.Now().Add(30 * time.Second)
		if err := b.once(ctx, false); err != nil {
			return false, err
		}
		sleep(ctx, time.Until(next))
	}
	return b.report(ctx, troubled, time.Since(calm))
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// serve starts a provider on loopback, and writes the connector file for it.
func (b *bath) serve(ctx context.Context, s *soak.Server) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	names := map[time.Duration]string{time.Second: "per_second", time.Minute: "per_minute", 24 * time.Hour: "per_day"}
	var ceilings []string
	for _, w := range s.Ceilings {
		ceilings = append(ceilings, fmt.Sprintf("%s: %d", names[w.Per], w.Count))
	}
	text := fmt.Sprintf(`connector: %s
provider: {base_url: "http://%s", ceiling: {%s}}
streams:
  list: {get: /list, records: results, key: id, page: {delta: {param: since, resume: last_seq}}}
  items: {each: {id: list.id}, get: "/items/${id}", key: id, role: detail}
`, s.Name, listener.Addr(), strings.Join(ceilings, ", "))
	return os.WriteFile(b.file(s), []byte(text), 0o600)
}

func (b *bath) file(s *soak.Server) string { return filepath.Join(b.dir, s.Name+".yaml") }

// command returns a command of collect with a store of its own.
func (b *bath) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, b.collect, args...)
	c.Dir, c.Env = b.dir, append(os.Environ(), "HOME="+b.dir, "XDG_STATE_HOME="+b.dir, "XDG_CONFIG_HOME="+b.dir, "NO_PROXY=127.0.0.1")
	return c
}

// once collects with all connectors, for a little less than the time to the next run.
// One that is to be killed is so in the middle of it.
func (b *bath) once(ctx context.Context, kill bool) error {
	b.runs++
	limit := b.every * 29 / 30
	args := []string{"run", "--json", "--max-time", fmt.Sprintf("%ds", int(limit.Seconds())), "--metrics-file", "soak.prom"}
	for _, s := range b.servers {
		args = append(args, b.file(s))
	}
	if kill {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, limit/2)
		defer end()
	}
	c := b.command(ctx, args...)
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		b.hear(lines.Bytes())
	}
	err = c.Wait() // the exit code is that of the worst connector, and some have troubles
	if kill && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		b.kills++
		return nil
	}
	if ended, is := errors.AsType[*exec.ExitError](err); is && ended.ExitCode() != 70 {
		return nil
	}
	return err
}

// hear notes how long breakers are open.
func (b *bath) hear(line []byte) {
	var e struct {
		Time      time.Time `json:"ts"`
		Connector string
		Breaker   *struct{ State string }
	}
	if json.Unmarshal(line, &e) != nil || e.Breaker == nil {
		return
	}
	opened, open := b.opened[e.Connector]
	switch {
	case e.Breaker.State == "closed" && open:
		b.repairs = append(b.repairs, e.Time.Sub(opened))
		delete(b.opened, e.Connector)
	case e.Breaker.State != "closed" && !open:
		b.opened[e.Connector] = e.Time
	}
}

// release does what a person does about a ban that is over.
func (b *bath) release(ctx context.Context) {
	for _, s := range b.servers {
		out, _ := b.command(ctx, "status", s.Name, "--json").Output()
		if bytes.Contains(out, []byte(`"frozen":true`)) {
			_ = b.command(ctx, "freeze", "release", b.file(s), "--yes", "--reason", "soak: settled with the provider").Run()
		}
	}
}

// items returns the items of a provider that are stored, and what is wrong with them.
func (b *bath) items(ctx context.Context, s *soak.Server) (n int, wrong error) {
	out, err := b.command(ctx, "export", s.Name, "items").Output()
	if err != nil {
		return 0, fmt.Errorf("%s: export: %w", s.Name, err)
	}
	seen := map[int]bool{}
	for line := range bytes.Lines(out) {
		var item soak.Item
		if err := json.Unmarshal(line, &item); err != nil {
			return n, fmt.Errorf("%s: a record is no item: %w", s.Name, err)
		}
		if item != soak.ItemOf(item.ID) || seen[item.ID] {
			return n, fmt.Errorf("%s: item %+v is stored wrongly, or twice", s.Name, item)
		}
		seen[item.ID] = true
	}
	return len(seen), nil
}

func (b *bath) allCame(ctx context.Context) bool {
	for _, s := range b.servers {
		if n, err := b.items(ctx, s); err != nil || n < s.Items(time.Now()) {
			return false
		}
	}
	return true
}

// report says what came of it, as a table for docs/soak.md.
func (b *bath) report(ctx context.Context, troubled, after time.Duration) (ok bool, err error) {
	ok = true
	say := func(good bool, format string, args ...any) {
		mark := "ok"
		if !good {
			mark, ok = "NOT MET", false
		}
		fmt.Printf("%-8s"+format+"\n", append([]any{mark}, args...)...)
	}
	fmt.Printf("%v of troubles, %d runs, %d of them killed; all that was left came %v later\n", troubled.Round(time.Second), b.runs, b.kills, after.Round(time.Second))
	for _, s := range b.servers {
		statuses, early := s.Statuses()
		n, wrong := b.items(ctx, s)
		say(wrong == nil && n == s.Items(time.Now()), "%s: %d of %d items are stored, each as it was served", s.Name, n, s.Items(time.Now()))
		if wrong != nil {
			fmt.Println(wrong)
		}
		say(early == 0, "%s: %d requests came before the end of a Retry-After; answers by status: %v", s.Name, early, statuses)
	}
	answered, failed, err := b.calls()
	if err != nil {
		return false, err
	}
	success := answered / (answered + failed)
	say(success >= 0.995, "success: %.3f %% of %.0f calls were answered", 100*success, answered+failed)
	var repair time.Duration
	for _, r := range b.repairs {
		repair += r
	}
	repair /= time.Duration(max(1, len(b.repairs)))
	say(repair <= 5*time.Minute && len(b.opened) == 0, "breakers opened %d times and were closed again after %v in the mean; %d are open", len(b.repairs), repair.Round(time.Second), len(b.opened))
	return ok, nil
}

// calls reads from the metrics how many calls were answered, and how many failed.
func (b *bath) calls() (answered, failed float64, err error) {
	text, err := os.ReadFile(filepath.Join(b.dir, "soak.prom"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(name, "collect_calls_total{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case strings.Contains(name, `outcome="answered"`):
			answered += n
		case strings.Contains(name, `outcome="failed"`):
			failed += n
		}
	}
	if answered == 0 {
		return 0, 0, errors.New("the metrics have no calls")
	}
	return answered, failed, nil
}
