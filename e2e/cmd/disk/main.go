// Command disk mounts a disk whose power can be cut; see package disk.
//
//	disk DIR
//
// It reads commands from its standard input, one a line, and answers each with
// a line, "ok" and what there is to say. When the power is cut, it says "off"
// and at which step. It ends, and the disk with it, when its input does.
//
//	arm N           cut the power instead of the N-th step from now on
//	fail N ERRNO    let that step fail; N+: and all that follow
//	steps           how many steps there were since, and how many failed
//	settle          let everything that is there survive
//	cut             cut the power
//	restore MODE S  turn it on again; S is the seed of what survives
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"collect/e2e/disk"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: disk DIR")
		os.Exit(2)
	}
	// An interrupt is meant for the tests; their end is the end of our input.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "disk:", err)
		os.Exit(1)
	}
}

// A server is a disk at a directory, steered by commands.
type server struct {
	disk    *disk.Disk
	dir     string
	unmount func() error

	mu  sync.Mutex
	out io.Writer
}

func serve(dir string, in io.Reader, out io.Writer) (err error) {
	s := &server{disk: disk.New(), dir: dir, out: out}
	if s.unmount, err = s.disk.Mount(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.unmount()) }()
	go s.watch()
	s.say("ok mounted")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := s.do(strings.Fields(lines.Text()))
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		s.say("ok" + answer)
	}
	return lines.Err()
}

// watch says when the power is cut.
func (s *server) watch() {
	<-s.disk.Off()
	s.say("off " + s.disk.Last())
}

func (s *server) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, line) // a reader that has gone ends this process soon
}

func (s *server) do(command []string) (answer string, err error) {
	switch {
	case len(command) == 2 && command[0] == "arm":
		n, err := strconv.Atoi(command[1])
		s.disk.Arm(n)
		return "", err
	case len(command) == 3 && command[0] == "fail":
		n, err := strconv.Atoi(strings.TrimSuffix(command[1], "+"))
		errno, known := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC}[command[2]]
		if err != nil || !known {
			return "", errors.Join(err, errors.New("usage: fail N EIO | ENOSPC"))
		}
		s.disk.Fail(n, strings.HasSuffix(command[1], "+"), errno)
		return "", nil
	case len(command) == 1 && command[0] == "steps":
		all, failed := s.disk.Steps()
		return fmt.Sprintf(" %d %d", all, failed), nil
	case len(command) == 1 && command[0] == "settle":
		s.disk.Settle()
		return "", nil
	case len(command) == 1 && command[0] == "cut":
		s.disk.Cut()
		return "", nil
	case len(command) == 3 && command[0] == "restore":
		return s.restore(disk.Mode(command[1]), command[2])
	}
	return "", errors.New("not a command")
}

// restore takes the disk away and shows it again, so that the kernel forgets
// what it knew.
func (s *server) restore(mode disk.Mode, text string) (answer string, err error) {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return "", err
	}
	if err := s.unmount(); err != nil {
		return "", err
	}
	lost := s.disk.Restore(mode, seed)
	if s.unmount, err = s.disk.Mount(s.dir); err != nil {
		return "", err
	}
	go s.watch()
	return fmt.Sprintf(" %d %d %d", lost.Names, lost.Pages, lost.Torn), nil
}
