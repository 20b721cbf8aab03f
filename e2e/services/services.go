// Package services runs servers that others wrote, on
// loopback, to collect from: PocketBase in the process itself; nginx, a server
// of recorded GitHub answers, WordPress, MediaWiki, Gitea, Datasette, json-server, a container registry
// and PouchDB Server as children.
//
// The programs it starts are brought by scripts/services install. Where one
// is missing, the error says so.
package services

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// errMissing is what to do about a program that is not there.
var errMissing = errors.New("is not installed; run scripts/services install")

// find returns the path of a program. Debian keeps servers in /usr/sbin, which
// the PATH of most users leaves out.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path := filepath.Join("/usr/sbin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s %w", name, errMissing)
	}
	return path, nil
}

// FreePort returns a port of 127.0.0.1 that nothing listens on. It is below those that
// Linux gives to connections (net.ipv4.ip_local_port_range, from 32768 on): one of those
// is soon another's on a busy machine, before its user listens on it.
func FreePort() (int, error) {
	for range 100 {
		port := 20000 + rand.N(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("none of 100 ports is free")
}

// awaitPort returns when something listens on port, or exited is closed.
func awaitPort(port int, exited <-chan struct{}) error {
	for range 500 { // 10 s: a start on a busy machine
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-exited:
			return errors.New("ended before it listened")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("does not listen after 10 s")
}

// printedURL is what Datasette and PHP say of the port that they chose.
var printedURL = regexp.MustCompile(`http://127\.0\.0\.1:[1-9][0-9]*`)

// awaitURL returns the URL that c says on stderr it listens on.
func awaitURL(c *child) (string, error) {
	for range 1500 { // 30 s: Python on a busy machine
		if url := printedURL.FindString(c.stderr.String()); url != "" {
			return url, nil
		}
		select {
		case <-c.exited:
			return "", fmt.Errorf("ended before it listened: %s", c.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("does not listen after 30 s: %s", c.stderr)
}

// A child is a process that this one started and will stop.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
	stderr *tail
}

// spawn starts a program. The kernel (Linux; the servers are Debian's) ends it
// when this process dies, however that happens.
func spawn(stdout io.Writer, name string, args ...string) (*child, error) {
	return spawnEnv(nil, stdout, name, args...)
}

// spawnEnv starts a program with more in its environment than this process has.
func spawnEnv(env []string, stdout io.Writer, name string, args ...string) (*child, error) {
	c := &child{cmd: exec.Command(name, args...), exited: make(chan struct{}), stderr: new(tail)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stdout, c.cmd.Stderr = stdout, c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.cmd.Wait() // how it ended is told by what it no longer does
		close(c.exited)
	}()
	return c, nil
}

// Close ends the process and returns when it is gone.
func (c *child) Close() error {
	c.once.Do(func() { c.cmd.Process.Kill() })
	<-c.exited
	return nil
}

// A tail keeps the first few lines that a program complains with.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) < 4096 {
		t.text = append(t.text, p...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// firstLine returns the first line that comes through r.
func firstLine(r io.Reader) (string, error) {
	s := bufio.NewScanner(r)
	if !s.Scan() {
		return "", errors.Join(s.Err(), io.ErrUnexpectedEOF)
	}
	return s.Text(), nil
}
