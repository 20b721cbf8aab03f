// Package pgtest starts a PostgreSQL server of Debian for the tests of a package: on a
// socket in a folder of its own, with its own data, and as a user without rights where
// the tests are root, as PostgreSQL demands.
package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// bin has the programs of PostgreSQL 15, which scripts/services installs.
const bin = "/usr/lib/postgresql/15/bin"

// A Server is a running server.
type Server struct {
	dir     string
	as      *syscall.Credential // nil: who runs the tests
	process *exec.Cmd
	log     *bytes.Buffer
}

// Start makes a server and starts it. Its user is collect, without a password. Settings are
// such as "fsync=off".
func Start(settings ...string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	init := s.command("initdb", "-D", s.data(), "-U", "collect", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := s.Begin(settings...); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// newServer makes the folder of a server.
func newServer() (*Server, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if os.Getuid() == 0 {
		s.as, err = unprivileged(dir)
	}
	return s, err
}

// Run runs the tests of a package with a server of theirs, which into then points to, and
// returns the exit code. What is committed there is not flushed.
func Run(m interface{ Run() int }, into **Server) int {
	server, err := Start("fsync=off")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Remove()
	*into = server
	return m.Run()
}

// unprivileged gives a folder to the user that Debian has for the server.
func unprivileged(dir string) (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32) // on Unix they are numbers
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, program), args...) // #nosec G204 -- the programs of the tests
	c.Dir = s.dir
	c.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGQUIT}
	return c
}

// Standby makes a server that follows another: it has what that one committed, a moment
// later.
func Standby(of *Server, settings ...string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	return s, s.Follow(of, settings...)
}

// Follow makes an ended server the standby of another, which has nothing of its own any more.
func (s *Server) Follow(of *Server, settings ...string) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	copied := s.command("pg_basebackup", "-h", of.dir, "-U", "collect", "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := copied.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return s.Begin(settings...)
}

// Unplug keeps a standby from hearing of further commits, once it returns.
func (s *Server) Unplug() error {
	const gone = "DO $$BEGIN WHILE EXISTS (SELECT FROM pg_stat_wal_receiver) LOOP PERFORM pg_sleep(0.01); END LOOP; END$$"
	for _, order := range []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()", gone} {
		if out, err := s.command("psql", "-X", "-q", "-h", s.dir, "-U", "collect", "-d", "postgres", "-c", order).CombinedOutput(); err != nil {
			return fmt.Errorf("psql: %w: %s", err, out)
		}
	}
	return nil
}

// Promote makes a standby the server that is written to.
func (s *Server) Promote() error {
	if out, err := s.command("pg_ctl", "-D", s.data(), "-w", "promote").CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w: %s", err, out)
	}
	return nil
}

// Admit lets users of a network in, without a password, once the server starts again.
func (s *Server) Admit(network string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "host all all %s trust\n", network)
	return errors.Join(err, f.Close())
}

// Folder returns the folder of the server, which has its socket.
func (s *Server) Folder() string { return s.dir }

// Begin starts the server again after it ended.
func (s *Server) Begin(settings ...string) error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=200"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.log = &bytes.Buffer{}
	s.process = s.command("postgres", args...)
	s.process.Stderr = s.log
	if err := s.process.Start(); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if s.command("pg_isready", "-q", "-h", s.dir).Run() == nil {
			return nil
		}
	}
	return fmt.Errorf("the server does not start: %s", s.log)
}

// End ends the server with a signal: SIGQUIT as at once and without a word to the
// disk, SIGINT in order, SIGKILL as a machine does that fails. What a killed one leaves
// running ends by itself.
func (s *Server) End(how syscall.Signal) {
	_ = s.process.Process.Signal(how)
	_ = s.process.Wait() // it was told to end
}

// PID returns the number of the server's process.
func (s *Server) PID() int { return s.process.Process.Pid }

// Signal sends the server a signal.
func (s *Server) Signal(sig syscall.Signal) error { return s.process.Process.Signal(sig) }

// Remove ends the server and removes its data.
func (s *Server) Remove() {
	if s.process != nil {
		s.End(syscall.SIGQUIT)
	}
	_ = os.RemoveAll(s.dir) // a temporary folder
}

var fresh atomic.Int64

// Fresh returns the address of a store that is not there yet.
func (s *Server) Fresh() string { return s.Address(fmt.Sprintf("fresh_%d", fresh.Add(1))) }

// Address returns the address of a store in a schema of its own.
func (s *Server) Address(schema string) string {
	q := url.Values{"host": {s.dir}, "user": {"collect"}, "dbname": {"postgres"}, "search_path": {schema}}
	return "postgres:///?" + q.Encode()
}
