package main_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A largeBody serves one answer of many rows, which a test may change.
type largeBody struct {
	*httptest.Server
	mu       sync.Mutex
	body     []byte
	requests atomic.Int64
}

func serveLarge(t *testing.T, body []byte) *largeBody {
	t.Helper()
	l := &largeBody{body: body}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.requests.Add(1)
		l.mu.Lock()
		body := l.body
		l.mu.Unlock()
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *largeBody) become(body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.body = body
}

// largeRows returns n rows of CSV, with a quoted line break in some.
func largeRows(n int, note string) []byte {
	var b bytes.Buffer
	b.WriteString("id,name,note\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,\"name %d,\nof two lines\",%s\n", i, i, note)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, name string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	entry, err := w.Create(name)
	if err == nil {
		_, err = entry.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A bodyCollector collects one large answer with the real binary.
type bodyCollector struct {
	t            *testing.T
	binary, file string
	state        string
}

func collectsLarge(t *testing.T, binary string, l *largeBody, more string) bodyCollector {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "bulk.yaml")
	text := "connector: bulk\nprovider: {base_url: " + l.URL + ", pace: off, limits: {body: 2000MiB}}\nstreams:\n  rows: {get: /rows, key: id, page: {none: true}, " + more + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return bodyCollector{t, binary, file, filepath.Join(dir, "state.db")}
}

func (c bodyCollector) command(verb string, args ...string) *exec.Cmd {
	return exec.Command(c.binary, append([]string{verb, c.file, "--state", c.state}, args...)...)
}

func (c bodyCollector) run(want ...int) string {
	c.t.Helper()
	run := c.command("run", "--create")
	out, _ := run.CombinedOutput()
	if got := run.ProcessState.ExitCode(); !slices.Contains(want, got) {
		c.t.Fatalf("exit %d, want one of %d\n%s", got, want, out)
	}
	return string(out)
}

// stored returns the records of the stream, one on each line.
func (c bodyCollector) stored() int {
	c.t.Helper()
	out, err := c.command("export", "rows").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return bytes.Count(out, []byte("\n"))
}

func (c bodyCollector) emptySpool() {
	c.t.Helper()
	if _, err := os.Stat(c.state + "-spool"); !errors.Is(err, fs.ErrNotExist) {
		c.t.Errorf("the folder for answers was left beside the database: %v", err)
	}
}

// TestLargeBodiesAreStoredInParts: an answer that is larger than a slice is stored
// in several, whatever it is packed in, and nothing of it stays beside the database.
func TestLargeBodiesAreStoredInParts(t *testing.T) {
	const rows = 60_000
	binary := build(t)
	body := largeRows(rows, strings.Repeat("x", 60))
	var lines bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&lines, `{"id":%d,"amount":0.10,"big":9007199254740993}`+"\n", i)
	}
	for name, tc := range map[string]struct {
		body []byte
		more string
	}{
		"csv":        {body, "format: csv"},
		"csv, gzip":  {gzipped(t, body), "format: csv, archive: gzip"},
		"csv, zip":   {zipped(t, "../rows.csv", body), "format: csv, archive: zip"},
		"jsonl":      {lines.Bytes(), "format: jsonl"},
		"jsonl,gzip": {gzipped(t, lines.Bytes()), "format: jsonl, archive: gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			l := serveLarge(t, tc.body)
			c := collectsLarge(t, binary, l, tc.more)
			out := c.run(0)
			if got := c.stored(); got != rows {
				t.Errorf("%d records stored, want %d\n%s", got, rows, out)
			}
			if got := l.requests.Load(); got != 1 {
				t.Errorf("%d requests, want 1", got)
			}
			status, _ := c.command("status", "--json").Output()
			if !bytes.Contains(status, []byte(`"records": 60000`)) && !bytes.Contains(status, []byte(`"records":60000`)) {
				t.Errorf("the status has not all records:\n%s", status)
			}
			c.emptySpool()
		})
	}
}

// TestKilledInALargeBody kills runs in the middle of one answer: what was stored
// stays, and each record is there once in the end.
func TestKilledInALargeBody(t *testing.T) {
	const rows = 120_000
	l := serveLarge(t, gzipped(t, largeRows(rows, strings.Repeat("x", 60))))
	c := collectsLarge(t, build(t), l, "format: csv, archive: gzip")
	parts, before := map[int]bool{}, 0
	for after := 200 * time.Millisecond; len(parts) < 3 && after < 10*time.Second; after += 100 * time.Millisecond {
		run := c.command("run", "--create", "-q")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, func() { _ = run.Process.Kill() })
		err := run.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if out, err := c.command("runs").Output(); err != nil || !bytes.Contains(out, []byte("bulk")) {
			continue // killed before there was a run
		}
		had := before
		if before = c.stored(); before < had {
			t.Fatalf("%d records stored after a kill, had %d", before, had)
		} else if before > had && before < rows {
			parts[before] = true
		}
	}
	if len(parts) == 0 {
		t.Fatal("no run was killed within the answer")
	}
	out := c.run(0)
	if got := c.stored(); got != rows {
		t.Errorf("%d records stored, want %d, after kills at %v\n%s", got, rows, parts, out)
	}
	c.emptySpool()
}

// TestALargeBodyThatChanged: where the rows that are stored are others now, the
// answer is read from its start, and the run says so.
func TestALargeBodyThatChanged(t *testing.T) {
	const rows = 60_000
	body := largeRows(rows, strings.Repeat("x", 60))
	cut := bytes.LastIndexByte(body[:len(body)-50], '"') // within the last rows, so that it is found late
	l := serveLarge(t, body)
	c := collectsLarge(t, build(t), l, "format: csv")
	run := c.command("run", "--create", "-q")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5000 { // until a part is stored
		if info, err := os.Stat(c.state + "-wal"); err == nil && info.Size() > 3<<20 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = run.Process.Kill()
	_ = run.Wait()
	had := c.stored()
	if had == 0 || had == rows {
		t.Skipf("killed with %d records stored", had)
	}
	// First an answer that is cut off: it is a bad page, and nothing of it is stored.
	l.become(body[:cut])
	if out := c.run(65, 76); !strings.Contains(out, "not valid CSV") && !strings.Contains(out, "does not end") {
		t.Errorf("the cut is not told of:\n%s", out)
	}
	if got := c.stored(); got != had {
		t.Errorf("%d records stored of an answer that is cut off, had %d", got, had)
	}
	l.become(largeRows(rows, strings.Repeat("y", 60)))
	if out := c.run(0); !strings.Contains(out, "are not what they were") {
		t.Errorf("the change is not told of:\n%s", out)
	}
	out, err := c.command("export", "rows").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(out, []byte(strings.Repeat("y", 60))); got != rows {
		t.Errorf("%d records of the new answer, want %d", got, rows)
	}
}

// TestHostileLargeBodies: what no memory holds ends as a gap with a reason, in
// little memory.
func TestHostileLargeBodies(t *testing.T) {
	binary := build(t)
	bomb := gzipped(t, bytes.Repeat([]byte("1,a\n"), 8<<20))
	for name, tc := range map[string]struct {
		body       []byte
		more, says string
	}{
		"a bomb":                      {bomb, "format: csv, archive: gzip, records: {columns: [id, name]}", "larger than `body`"},
		"a million columns":           {[]byte(strings.Repeat("a,", 1<<20) + "b\n"), "format: csv", "columns"},
		"one line, of 40 MB":          {bytes.Repeat([]byte("x"), 40<<20), "format: jsonl", "twice as long"},
		"one quoted value, of 40 MB":  {append([]byte("id,a\n1,\""), bytes.Repeat([]byte("x\n"), 20<<20)...), "format: csv", "twice as long"},
		"a zip file that is cut off":  {zipped(t, "a.csv", largeRows(50_000, "x"))[:60_000], "format: csv, archive: zip", "cut off"},
		"a gzip file that is damaged": {damaged(gzipped(t, largeRows(90_000, "x"))), "format: csv, archive: gzip", "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			l := serveLarge(t, tc.body)
			c := collectsLarge(t, binary, l, tc.more)
			if name == "a bomb" {
				text, err := os.ReadFile(c.file)
				if err == nil {
					err = os.WriteFile(c.file, bytes.Replace(text, []byte("2000MiB"), []byte("16MiB"), 1), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			out := c.run(65, 76)
			if !strings.Contains(out, tc.says) {
				t.Errorf("not told of %q:\n%s", tc.says, out)
			}
			if got := c.stored(); got != 0 {
				t.Errorf("%d records stored of a page that is refused", got)
			}
			c.emptySpool()
		})
	}
}

// damaged returns a gzip file with another checksum.
func damaged(body []byte) []byte {
	body[len(body)-6] ^= 1
	return body
}
