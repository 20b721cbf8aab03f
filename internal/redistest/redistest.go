//go:build unix

// Package redistest starts Debian's Redis for tests: in a folder of its own, on a
// Unix socket in it, until the test ends. scripts/services install brings it.
package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A Server is a Redis that a test may kill, halt and start again.
type Server struct {
	t      testing.TB
	socket string
	cmd    *exec.Cmd
	log    *bytes.Buffer
}

// Start starts a server without persistence and returns it and the path of its
// socket.
func Start(t testing.TB) (*Server, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &Server{t: t, socket: filepath.Join(dir, "redis.sock")}
	s.Start()
	t.Cleanup(s.Kill)
	return s, s.socket
}

// Start starts the server on the same socket as before, with no memory, and
// waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", s.socket, // #nosec G204 -- the program of the tests
		"--save", "", "--appendonly", "no", "--dir", filepath.Dir(s.socket))
	s.cmd.Stdout = s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := s.ping()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.Kill()
			s.t.Fatalf("redis does not answer: %v\n%s", err, s.log)
		}
	}
}

func (s *Server) ping() error {
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != "+PONG\r\n" {
		err = fmt.Errorf("redis answers %q", line)
	}
	return err
}

// Kill kills the server and waits until it is gone.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait() // it was killed
}

// Halt stops the server without ending it: it hangs. Continue ends that.
func (s *Server) Halt()     { s.signal(syscall.SIGSTOP) }
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}
