package moving_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// collectBinary builds the command as it is shipped.
var collectBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "collect-moving-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "collect")
	if out, err := exec.Command("go", "build", "-o", binary, "../..").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

// TestMain removes the binary.
func TestMain(m *testing.M) {
	code := m.Run()
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "collect-moving-*")); len(dirs) > 0 {
		if binary, err := collectBinary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(binary))
		}
	}
	os.Exit(code)
}

// A victim is a connector file and its provider, whose runs are killed.
type victim struct {
	file  string // with %s for the address of the provider
	serve http.HandlerFunc
	kills int

	mu      sync.Mutex
	process *os.Process
	left    int           // requests until the process is killed
	dying   chan struct{} // closed when it is killed; nil: nothing is about to kill it
	killed  int
	dir     string
	web     *httptest.Server
}

// start begins to serve. A process is killed at a request that random chooses: before
// it is answered, or shortly after.
func (v *victim) start(t *testing.T, random *rand.Rand) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	v.dir = t.TempDir()
	v.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.left--
		kill := v.left == 0
		before := kill && random.IntN(2) == 0
		after := time.Duration(random.IntN(8)) * time.Millisecond
		process, dying := v.process, v.dying
		killed := make(chan struct{})
		if kill {
			v.dying = killed
		}
		v.mu.Unlock()
		if dying != nil {
			<-dying // a run that is faster than its kill waits for it
			return
		}
		if before {
			_ = process.Kill()
			close(killed)
		}
		v.serve(w, r)
		if kill && !before {
			time.AfterFunc(after, func() { // while the answer is read, or stored
				_ = process.Kill()
				close(killed)
			})
		}
	}))
	t.Cleanup(v.web.Close)
	file := fmt.Sprintf(v.file, v.web.URL)
	if err := os.WriteFile(filepath.Join(v.dir, "c.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs collect, to be killed at the request left if that is not 0, and returns
// its exit code; -1 if it was killed.
func (v *victim) run(t *testing.T, left int, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	binary, err := collectBinary()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary, append(args, "--state", filepath.Join(v.dir, "state.db"))...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+v.dir, "HOME="+v.dir, "NO_PROXY=127.0.0.1")
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	v.mu.Lock()
	err = command.Start()
	v.process, v.left, v.dying = command.Process, left, nil
	v.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code == -1 {
		v.killed++
	}
	return code, out.String(), errs.String()
}

// runKilled kills one run after the other, and lets one come to its end with success.
func (v *victim) runKilled(t *testing.T, random *rand.Rand) {
	t.Helper()
	v.start(t, random)
	for n := 0; ; n++ {
		left := 0
		if v.killed < v.kills {
			left = 1 + random.IntN(5) // each of the lists takes six requests or more
		}
		code, _, stderr := v.run(t, left, "run", filepath.Join(v.dir, "c.yaml"), "--create", "-q")
		switch {
		case code == -1 && n < 10*v.kills:
		case code != 0 || v.killed == 0:
			t.Fatalf("after %d kills the run ends with %d: %s", v.killed, code, stderr)
		default:
			return
		}
	}
}

// exported returns the records of a stream, sorted.
func (v *victim) exported(t *testing.T, stream string) []string {
	t.Helper()
	code, out, stderr := v.run(t, 0, "export", filepath.Join(v.dir, "c.yaml"), stream)
	if code != 0 {
		t.Fatal(stderr)
	}
	return slices.Sorted(strings.Lines(strings.TrimSpace(out) + "\n"))
}
