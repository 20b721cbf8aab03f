//go:build linux

package chaos_test

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A machine is a network namespace: it ends with the thread that holds it, and with the
// processes that were started from there.
type machine struct {
	testing.TB
	at     string // its address
	thread int
	do     chan func()
}

func newMachine(t testing.TB, at string) *machine {
	t.Helper()
	m := &machine{TB: t, at: at, do: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := syscall.Unshare(syscall.CLONE_NEWNET)
		m.thread = syscall.Gettid()
		ready <- err
		for f := range m.do {
			f()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatalf("a network namespace: %v", err)
	}
	t.Cleanup(func() { close(m.do) })
	m.ip("link set lo up")
	m.ip("addr add %s/32 dev lo", at)
	return m
}

// on runs f on the machine: what it listens to and what it starts is there.
func (m *machine) on(f func()) {
	done := make(chan struct{})
	m.do <- func() { defer close(done); f() }
	<-done
}

func (m *machine) ip(format string, args ...any) {
	m.Helper()
	line := fmt.Sprintf(format, args...)
	var out []byte
	var err error
	m.on(func() { out, err = exec.Command("ip", strings.Fields(line)...).CombinedOutput() })
	if err != nil {
		m.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

// listen listens on the loopback device of the machine.
func (m *machine) listen(port int) (l net.Listener) {
	m.Helper()
	var err error
	m.on(func() { l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) })
	if err != nil {
		m.Fatal(err)
	}
	return l
}

// A cable is the network between two machines.
type cable struct {
	a, b *machine
	name string // of its device at both ends
}

func connect(a, b *machine, name string) *cable {
	a.ip("link add %s type veth peer name %s netns %d", name, name, b.thread)
	for _, end := range [][2]*machine{{a, b}, {b, a}} {
		end[0].ip("link set %s up", name)
		end[0].ip("route add %s dev %s src %s", end[1].at, name, end[0].at)
	}
	return &cable{a, b, name}
}

// nowhere is the address of no device.
const nowhere = "02:00:00:00:00:01"

// cut drops what goes from a to b, from b to a, or both, without a word: it goes to a
// device that is not there.
func (c *cable) cut(there, back bool) {
	if there {
		c.a.ip("neigh replace %s lladdr %s dev %s nud permanent", c.b.at, nowhere, c.name)
	}
	if back {
		c.b.ip("neigh replace %s lladdr %s dev %s nud permanent", c.a.at, nowhere, c.name)
	}
}

// mend lets everything pass again.
func (c *cable) mend() {
	for _, end := range [][2]*machine{{c.a, c.b}, {c.b, c.a}} {
		end[0].ip("neigh replace %s lladdr %s dev %s nud permanent", end[1].at, end[1].hardware(c.name), c.name)
	}
}

// hardware returns the address of a device of the machine.
func (m *machine) hardware(device string) (address string) {
	m.Helper()
	m.on(func() {
		d, err := net.InterfaceByName(device)
		if err == nil {
			address = d.HardwareAddr.String()
		}
	})
	if address == "" {
		m.Fatalf("there is no device %s", device)
	}
	return address
}
