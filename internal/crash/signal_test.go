package crash_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

// TestSignals sends each scenario, at random moments, what people and
// schedulers send. One signal loses nothing at all; the second ends at once.
func TestSignals(t *testing.T) {
	type sent struct {
		scenario
		seed    uint64
		signals []syscall.Signal
	}
	kinds := [][]syscall.Signal{{syscall.SIGTERM}, {syscall.SIGINT}, {syscall.SIGINT, syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGTERM}}
	rounds := 1
	if *every > 0 {
		rounds = max(1, 60 / *every)
	}
	var all []sent
	for range rounds {
		for _, sc := range chosen() {
			for _, signals := range kinds {
				all = append(all, sent{sc, rand.Uint64(), signals})
			}
		}
	}
	n := newTally()
	each(t, all, func(b *bench, s sent) {
		rnd := rand.New(rand.NewPCG(s.seed, 0))
		c := b.try(s.scenario, "", "%v at a random moment, seed %d", s.signals, s.seed)
		b.provider.SetModes(b.authorize, provider.Latency(3*time.Millisecond))
		defer b.provider.SetModes(b.authorize)
		p := c.collecting()
		if err := p.start(); err != nil {
			c.fail("%v", err)
			return
		}
		// A process that has not begun yet dies of a signal, as any does.
		time.Sleep(time.Duration(rnd.Int64N(int64(150 * time.Millisecond))))
		for _, signal := range s.signals {
			_ = p.Process.Signal(signal) // it may have ended
		}
		e, ok := c.ended(p)
		if !ok {
			return
		}
		n.add("processes", 1)
		faults := len(s.signals) - 1 // the first lets it save what is in flight
		switch {
		case e.code == 143 && s.signals[0] == syscall.SIGTERM, e.code == 130 && s.signals[0] == syscall.SIGINT:
			n.add("ended by "+s.signals[len(s.signals)-1].String(), 1)
		case e.signal == s.signals[0]:
			n.add("ended before it began", 1)
		case e.code == 0:
			n.add("ended by itself", 1)
		default:
			c.fail("%v", e)
		}
		c.judge(e, faults)
	})
	t.Logf("%d processes had signals: %v", n.count("processes"), n.n)
	if n.count("ended by terminated") == 0 || n.count("ended by interrupt") == 0 {
		t.Error("a signal never ended a run")
	}
}

// TestStopped stops a run as a debugger or a shell does, for longer than any
// beat of it. Another run of the connector yields all the while; and when the
// first one is let go, it ends as if nothing had been.
func TestStopped(t *testing.T) {
	each(t, chosen(), func(b *bench, sc scenario) {
		c := b.try(sc, "", "stopped while another tries")
		b.provider.SetModes(b.authorize, provider.During(provider.When{From: 2, To: 2}, provider.Latency(500*time.Millisecond)))
		first := c.collecting()
		if err := first.start(); err != nil {
			c.fail("%v", err)
			return
		}
		if !c.asks(2) { // the second is on its way when it is stopped
			return
		}
		if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
			c.fail("%v", err)
		}
		if !c.stands(first) {
			return
		}
		before := len(b.provider.Log())
		for range 2 {
			if e, ok := c.run(c.collecting()); !ok || e.code != 75 {
				c.fail("the other run: %v, want exit code 75", e)
			}
		}
		asked := len(b.provider.Log()) - before
		if err := first.Process.Signal(syscall.SIGCONT); err != nil {
			c.fail("%v", err)
		}
		e, ok := c.ended(first)
		if !ok {
			return
		}
		if e.code != 0 {
			c.fail("it does not go on: %v", e)
		}
		if asked > sc.workers { // what was on its way
			c.fail("%d requests while it was stopped", asked)
		}
		b.provider.SetModes(b.authorize)
		c.judge(e, 0)
	})
}

// stands waits until each thread of a process that was told to stop has: some
// run on for a moment.
func (c *trial) stands(p *process) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Process.Pid))
		if err != nil {
			c.fail("%v", err)
			return false
		}
		if len(threads) > 0 && !slices.ContainsFunc(threads, runs) {
			return true
		}
		if time.Now().After(deadline) {
			c.fail("it does not stop")
			return false
		}
	}
}

// runs tells from /proc/PID/task/TID/stat whether a thread is not stopped; the
// state comes after the command in parentheses.
func runs(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, _ := bytes.Cut(text, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

// asks waits until the provider has seen n requests.
func (c *trial) asks(n int) bool {
	for deadline := time.Now().Add(patience); len(c.provider.Log()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.fail("it makes no request")
			return false
		}
	}
	return true
}
