package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collect/internal/provider"
)

// root is the folder of the repository; scripts run elsewhere.
var root string

func TestMain(m *testing.M) {
	root, _ = os.Getwd()
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil { // scripts wait more than they work
		panic(err)
	}
	testscript.Main(m, map[string]func(){"collect": collect})
}

// busy are the scripts in which a process does several things at once: signals
// and orders reach it while requests are in flight. A short test plays these
// only, such as that with the race detector, which sees no more in the others.
var busy = []string{
	"an_operator_stops_a_provider", "an_order_reaches_a_run_under_way", "circuit_changes_are_observable",
	"concurrent_pages_commit_in_order", "second_sigint_stops_at_once", "several_are_stopped", "sigint_saves_the_page_in_flight",
	"sigterm_saves_and_says_143", "two_runs_at_once",
}

// hangUps lets the processes of a test be hung up, although the test itself may
// run under nohup: a signal that is ignored stays so in them, one that is taken
// does not.
func hangUps(t *testing.T) {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(taken) })
}

// TestScripts runs the promises to the user, one file each, against the real
// command line in processes of its own and a provider on a real socket.
func TestScripts(t *testing.T) {
	hangUps(t)
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		for _, name := range busy {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	printed := t.TempDir()
	t.Cleanup(func() { heldAgainstSchemas(t, printed) }) // when the last script has ended
	testscript.Run(t, testscript.Params{
		Dir:   dir,
		Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("NO_PROXY", "127.0.0.1")
			env.Setenv("COLLECT_TEST_PRINTED", printed)
			env.Values["providers"] = &providers{byName: map[string]*provider.Server{}, marks: map[string]int{}}
			env.Defer(env.Values["providers"].(*providers).close)
			env.Values["database"] = &database{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"provider":   startProvider,
			"control":    control,
			"same":       same,
			"requests":   requests,
			"mark":       mark,
			"since-mark": requestsSinceMark,
			"hash":       hash,
			"unchanged":  unchanged,
			"replace":    replace,
			"exits":      exits,
			"flip":       flip,
			"export":     exportAll,
			"lines":      lines,
			"stored":     stored,
			"ratchet":    ratchet,
			"settle":     settle,
			"smalldisk":  smallDisk,
			"serve":      serveFiles,
			"browse":     browse,
			"postgres":   postgres,
		},
	})
}

// providers are those that one script started, by name.
type providers struct {
	byName map[string]*provider.Server
	hashes map[string]string
	marks  map[string]int // requests seen at the mark, by provider
}

func (p *providers) close() {
	for _, s := range p.byName {
		s.Close()
	}
}

func of(ts *testscript.TestScript) *providers { return ts.Value("providers").(*providers) }

func (p *providers) server(ts *testscript.TestScript, name string) *provider.Server {
	s := p.byName[name]
	if s == nil {
		ts.Fatalf("no provider named %s", name)
	}
	return s
}

// startProvider starts a provider, puts its URL into $NAME, and, if it is the
// first, writes the connectors of testdata/connectors for it:
//
//	provider NAME [tickets=n] [parents=n] [flat=n] [token=s] [issuer=settings] [mode…]
func startProvider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: provider NAME [tickets=n] [parents=n] [flat=n] [token=s] [mode…]")
	}
	script := provider.Script{Seed: 1, Tickets: 250, Parents: 5, Flat: 500}
	counts := map[string]*int{"tickets": &script.Tickets, "parents": &script.Parents, "flat": &script.Flat}
	for _, arg := range args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		if field := counts[name]; ok && field != nil {
			n, err := strconv.Atoi(value)
			ts.Check(err)
			*field = n
			continue
		}
		if name == "token" {
			script.Token = value
			continue
		}
		if name == "issuer" {
			issuer, err := provider.ParseIssuer(value)
			ts.Check(err)
			script.Issuer = issuer
			continue
		}
		mode, err := provider.ParseMode(arg)
		ts.Check(err)
		script.Modes = append(script.Modes, mode)
	}
	s := provider.New(script)
	url, err := s.Start()
	ts.Check(err)
	ts.Setenv(args[0], url)
	if of(ts).byName[args[0]] = s; len(of(ts).byName) > 1 {
		return
	}
	templates, err := filepath.Glob(filepath.Join(root, "testdata", "connectors", "*.yaml"))
	ts.Check(err)
	for _, path := range templates {
		data, err := os.ReadFile(path)
		ts.Check(err)
		data = bytes.ReplaceAll(data, []byte("$URL"), []byte(url))
		ts.Check(os.WriteFile(ts.MkAbs(filepath.Base(path)), data, 0o600))
	}
}

// serveFiles answers each request with a file of a folder, as it is then, whatever
// its query asks for: /things with DIR/things.json. It puts its URL into $NAME, and
// into the connector files named:
//
//	serve NAME DIR [FILE…]
func serveFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serve NAME DIR [FILE…]")
	}
	dir := ts.MkAbs(args[1])
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := os.ReadFile(filepath.Join(dir, filepath.Base(r.URL.Path)+".json"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
	if len(args) > 2 {
		replace(ts, false, append([]string{args[0]}, args[2:]...))
	}
}

// control asks a provider to do something and prints what it says:
//
//	control NAME PATH
func control(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: control NAME PATH")
	}
	resp, err := http.Get(of(ts).server(ts, args[0]).URL() + "/_provider/" + args[1])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if failed := resp.StatusCode != http.StatusOK; failed != neg {
		ts.Fatalf("%s: status %d: %s", args[1], resp.StatusCode, body)
	}
	fmt.Fprint(ts.Stdout(), string(body))
}

// same checks that an export holds exactly what the provider serves of a
// stream, byte for byte, each record once:
//
//	same NAME STREAM FILE
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: same NAME STREAM FILE")
	}
	want := of(ts).server(ts, args[0]).Records(args[1])
	got := bytes.Split(bytes.TrimSuffix([]byte(ts.ReadFile(args[2])), []byte("\n")), []byte("\n"))
	slices.SortFunc(want, bytes.Compare)
	slices.SortFunc(got, bytes.Compare)
	equal := slices.EqualFunc(got, want, bytes.Equal)
	if equal == neg {
		ts.Fatalf("%s: %d records exported, %d served; equal: %t", args[2], len(got), len(want), equal)
	}
}

// requests checks how many requests a provider saw since it was started:
//
//	requests NAME n | requests NAME min max
func requests(ts *testscript.TestScript, neg bool, args []string) { requestsFrom(ts, 0, args) }

// mark remembers how many requests a provider saw; since-mark checks how many
// came after it:
//
//	mark NAME
//	since-mark NAME n | since-mark NAME min max
func mark(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mark NAME")
	}
	of(ts).marks[args[0]] = len(of(ts).server(ts, args[0]).Log())
}

func requestsSinceMark(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: since-mark NAME n | since-mark NAME min max")
	}
	requestsFrom(ts, of(ts).marks[args[0]], args)
}

func requestsFrom(ts *testscript.TestScript, before int, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: NAME n | NAME min max")
	}
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	most := least
	if len(args) == 3 {
		most, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	if got := len(of(ts).server(ts, args[0]).Log()) - before; got < least || got > most {
		ts.Fatalf("%s saw %d requests, want %s", args[0], got, strings.Join(args[1:], " to "))
	}
}

// hash remembers the contents of files; unchanged checks that they are the
// same now, and that no file came or went beside them.
func hash(ts *testscript.TestScript, neg bool, args []string) {
	p := of(ts)
	p.hashes = hashes(ts, args)
	if neg || len(p.hashes) == 0 {
		ts.Fatalf("hash: nothing to hash in %v", args)
	}
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	before, now := of(ts).hashes, hashes(ts, args)
	if same := fmt.Sprint(before) == fmt.Sprint(now); same == neg {
		ts.Fatalf("before: %v\nnow:    %v", before, now)
	}
}

// hashes returns the hash of each file below the folders named, but for SQLite's
// shared memory: an index of the log, made anew by whoever opens it, in which
// readers leave their marks.
func hashes(ts *testscript.TestScript, folders []string) map[string]string {
	sums := map[string]string{}
	for _, folder := range folders {
		ts.Check(filepath.WalkDir(ts.MkAbs(folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(file, "-shm") {
				return err
			}
			data, err := os.ReadFile(file)
			sum := sha256.Sum256(data)
			sums[file] = hex.EncodeToString(sum[:])
			return err
		}))
	}
	return sums
}

// replace replaces $NAME in files by the value of a variable, since a file of
// a script is written before a provider has a URL:
//
//	replace NAME FILE…
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: replace NAME FILE…")
	}
	for _, name := range args[1:] {
		path := ts.MkAbs(name)
		data, err := os.ReadFile(path)
		ts.Check(err)
		data = bytes.ReplaceAll(data, []byte("$"+args[0]), []byte(ts.Getenv(args[0])))
		ts.Check(os.WriteFile(path, data, 0o600))
	}
}

// flip changes one bit of a file, as a disk does: in a text wherever it stands,
// since SQLite leaves old copies behind; or, of the log of a database, in the last
// page of the newest commit that was acknowledged.
//
//	flip FILE TEXT | flip DATABASE-wal --acknowledged
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE TEXT | flip DATABASE-wal --acknowledged")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	flipped := slices.Clone(data)
	if args[1] == "--acknowledged" {
		flipped[acknowledged(ts, path, data)] ^= 1
	} else {
		changed := []byte(args[1])
		changed[0] ^= 1
		flipped = bytes.ReplaceAll(data, []byte(args[1]), changed)
	}
	if bytes.Equal(data, flipped) {
		ts.Fatalf("%s: %q is not in it", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, flipped, 0o600))
}

// acknowledged returns the offset in a log of the last byte of the newest commit
// that was acknowledged. The log may go on behind it: with the commit in which a
// process was killed, and with what is left of an older log. The shared memory
// knows where it ends: https://sqlite.org/walformat.html.
func acknowledged(ts *testscript.TestScript, path string, log []byte) int {
	index, err := os.ReadFile(strings.TrimSuffix(path, "-wal") + "-shm")
	ts.Check(err)
	if len(log) < 32 || len(index) < 40 || !bytes.Equal(log[16:24], index[32:40]) {
		ts.Fatalf("%s: the shared memory is not of this log", path)
	}
	pages := int(binary.NativeEndian.Uint32(index[16:]))
	end := 32 + pages*(24+int(binary.BigEndian.Uint32(log[8:])))
	if pages == 0 || end > len(log) {
		ts.Fatalf("%s: %d pages are committed, and it has %d bytes", path, pages, len(log))
	}
	return end - 1
}

// exits runs a command and checks its exit code, which is part of the
// contract:
//
//	exits CODE COMMAND [ARG…]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// exportAll exports streams to files of their names, STREAM.jsonl:
//
//	export CONNECTOR STREAM…
func exportAll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: export CONNECTOR STREAM…")
	}
	for _, stream := range args[1:] {
		ts.Check(ts.Exec("collect", "export", args[0], stream, "--output", ts.MkAbs(stream+".jsonl")))
	}
}

// lines checks how many lines a file has:
//
//	lines FILE n
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE n")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}

// stored waits until a stream has n records or more: when a page is asked for,
// the one before it may still be on its way to the disk.
//
//	stored CONNECTOR STREAM n
func stored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stored CONNECTOR STREAM n")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		exportAll(ts, false, args[:2])
		if got := strings.Count(ts.ReadFile(args[1]+".jsonl"), "\n"); got >= want {
			return
		} else if time.Now().After(deadline) {
			ts.Fatalf("%s has stored %d records, want %d", args[1], got, want)
		}
	}
}

// settle gives a signal the time to arrive: there is nothing to wait for, since
// what the signal must not do is the thing to see.
func settle(*testscript.TestScript, bool, []string) { time.Sleep(300 * time.Millisecond) }

// ratchet reads the events of a run and checks that the rate fell at least
// once, and that a throttle never raised it:
//
//	ratchet FILE
func ratchet(ts *testscript.TestScript, neg bool, args []string) {
	fell := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Event string
			Rate  *struct {
				Learned  float64 `json:"learned_per_second"`
				Previous float64 `json:"previous_per_second"`
				Reason   string
			}
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		if e.Rate == nil || e.Rate.Reason == "answered without complaint" || e.Rate.Reason == "announced" { // a limit
			continue
		}
		if e.Rate.Learned > e.Rate.Previous {
			ts.Fatalf("the rate rose on %s: %s", e.Rate.Reason, line)
		}
		fell++
	}
	if fell == 0 {
		ts.Fatalf("the rate never fell: this proves nothing")
	}
}

// smallDisk mounts a file system of a size in memory at a directory, or gives
// the one that is there another size. It takes root, or sudo without a
// password.
//
//	smalldisk DIR SIZE
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smalldisk DIR SIZE")
	}
	dir, options := ts.MkAbs(args[0]), fmt.Sprintf("size=%s,uid=%d,mode=0700", args[1], os.Getuid())
	run := func(command ...string) error {
		if os.Getuid() != 0 {
			command = append([]string{"sudo", "-n"}, command...)
		}
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w: %s", command, err, out)
		}
		return nil
	}
	if run("mountpoint", "-q", dir) == nil {
		ts.Check(run("mount", "-o", "remount,"+options, dir))
		return
	}
	ts.Check(run("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir))
	ts.Defer(func() { _ = run("umount", dir) })
}

// browse opens the first address that stands alone on a line of a file, as a person
// does who signs in. It waits for the file to have one.
func browse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: browse FILE")
	}
	for range 600 {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "http") || !strings.HasSuffix(line, "\n") {
				continue
			}
			resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(strings.TrimSpace(line))
			ts.Check(err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				ts.Fatalf("the browser was answered %s", resp.Status)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s has no address", args[0])
}
