package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"collect/report/problem"

	"github.com/spf13/cobra"
)

// lastWords is how long a command that must end at once may still take: to undo
// what it had begun, and to say so. Then the process ends. Nothing is lost by
// that: whatever moment a process is killed at, the next one goes on.
const lastWords = 2 * time.Second

// taken returns the signals that end a command early, and those that ask a run how it
// stands. A hangup ends it, unless nohup, or the process that started this one, has it
// ignored.
func taken() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if len(questions) > 0 { // without one, Notify means all that there are
		signal.Notify(signals, questions...)
	}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// A signalError is why a context ended: a signal did it.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return e.signal.String() }
func (e *signalError) Unwrap() error { return context.Canceled }

// signalCode returns the exit code of a process that a signal ended: 128 and
// the number of the signal, as in a shell.
func signalCode(sig os.Signal) int {
	if number, ok := sig.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return problem.ExitInterrupt
}

// Interrupts say what the next signal does. The first one may ask a run to end
// gently; every other one ends the command at once.
type interrupts struct {
	mu     sync.Mutex
	first  os.Signal       // nil: none came
	at     time.Time       // when it came
	gently func(os.Signal) // nil: the next signal ends the command at once
	undo   func()          // before the process ends at once; nil: there is nothing
	stand  func()          // says how the run stands; nil: there is none
}

// standing says what a signal does that asks how the run stands.
func (i *interrupts) standing(stand func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stand = stand
}

// asked says how the run stands, if there is one.
func (i *interrupts) asked() {
	i.mu.Lock()
	stand := i.stand
	i.mu.Unlock()
	if stand != nil {
		go stand() // its output may not be read
	}
}

// gentle says what the next signal does instead of ending the command at once,
// and what is to be undone if one after it does.
func (i *interrupts) gentle(gently func(os.Signal), undo func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gently, i.undo = gently, undo
}

// come notes that sig came, and returns what it does. One that comes twice at once is
// one: timeout(1), and a shell, send it to the process and to its group.
func (i *interrupts) come(sig os.Signal) (gently func(os.Signal), undo func(), again bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first == nil {
		i.first, i.at = sig, time.Now()
	} else if sig == i.first && time.Since(i.at) < atOnce {
		return nil, nil, true
	}
	gently, i.gently = i.gently, nil
	return gently, i.undo, false
}

// atOnce is how soon the same signal is no second one: sooner than a person's second Ctrl-C.
const atOnce = 50 * time.Millisecond

// code returns the exit code of a command that was interrupted.
func (i *interrupts) code() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first == nil {
		return problem.ExitInterrupt
	}
	return signalCode(i.first)
}

// ownSignals marks a command that a signal does not end at once: a run saves the
// page in flight first, if there is one.
const ownSignals = "own signals"

// endBySignal ends the context of a command by a signal. If that is not enough,
// because the command waits for something that knows no context, a second
// signal ends the process.
func (a *app) endBySignal(c *cobra.Command, _ []string) {
	ctx, cancel := context.WithCancelCause(c.Context())
	c.SetContext(ctx)
	if _, own := c.Annotations[ownSignals]; !own {
		a.interrupts.gentle(func(sig os.Signal) { cancel(&signalError{sig}) }, nil)
	}
	go func() {
		for sig := range a.signals {
			if slices.Contains(questions, sig) {
				a.interrupts.asked()
				continue
			}
			gently, undo, again := a.interrupts.come(sig)
			if again {
				continue
			}
			if gently != nil {
				go gently(sig) // it may have to wait, and another signal must not
				continue
			}
			cancel(&signalError{sig})
			time.AfterFunc(lastWords, func() { a.abandon(undo) })
		}
	}()
}

// abandon ends the process, whatever it does.
func (a *app) abandon(undo func()) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		if undo != nil {
			undo()
		}
		if !a.flags.json {
			fmt.Fprintln(a.err, "collect: stopped at once; the next run goes on from what is saved")
		}
	}()
	select {
	case <-said:
	case <-time.After(lastWords / 4): // its output is not read
	}
	os.Exit(a.interrupts.code())
}
