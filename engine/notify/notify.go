// Package notify tells people and services how the runs of a command ended, where
// collect.yaml says so: healthchecks by pings, and people by a command, a webhook or
// mail.
//
// A ping is sent at the beginning and at the end of every command that collects. A
// message is sent when something breaks, once a day while it is broken, and once when
// it is over; never for a planned pause. What was told is remembered once it was
// delivered, so that a message that was lost, or whose process was killed, is sent
// after the next run: at least once, and perhaps twice.
//
// All of it takes at most [Patience] at each end of a command, and never changes its
// exit code. Nothing of it holds a secret: messages are made of problems and of names.
package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"collect/engine"
	"collect/internal/process"
	"collect/report"
)

// Patience is how long a ping or a message may take.
const Patience = 10 * time.Second

// A Config says who is told. Zero fields say nobody.
type Config struct {
	PingURLFile string // the file that holds the address to ping
	Command     string // a line for the shell
	Webhook     Webhook
	Mail        Mail
}

// A Webhook is an address that messages are posted to.
type Webhook struct {
	URLFile    string // the file that holds it
	SecretFile string // the file that holds what messages are signed with; "": they are not
}

// Mail says to whom messages are mailed, by the mail system of this machine.
type Mail struct {
	To       []string
	From     string // "": as the mail system has it
	Sendmail string // "": the usual program
}

// A Notifier tells of one command that collects, with one connector or several.
type Notifier struct {
	Config Config
	Memory *Memory
	Place  string // the store of the runs: what is told of one is not told of another
	Stderr io.Writer

	began sync.Once
	start chan error // of the ping at the beginning; nil: none was sent
	ping  pinger
}

// Began tells that a run has begun. It does not wait, and may be called again.
func (n *Notifier) Began(ctx context.Context) {
	if n.Config.PingURLFile == "" {
		return
	}
	n.began.Do(func() {
		n.start = make(chan error, 1)
		n.ping = newPinger(n.Config.PingURLFile)
		go func() { n.start <- n.ping.send(ctx, "start", "") }()
	})
}

// Over tells that the command ends with an exit code, and what there is to hear of
// each connector. Of what could not be told it returns an error: pings apart, since
// the service misses them itself.
func (n *Notifier) Over(ctx context.Context, code int, heard []engine.Hearing) (ping, messages error) {
	var all sync.WaitGroup
	if n.Config.PingURLFile != "" {
		all.Go(func() { ping = n.end(ctx, code) })
	}
	channels := n.channels()
	failed := make([]error, len(channels))
	now, id := time.Now(), uuid() // the same JSON for all
	for i, c := range channels {
		all.Go(func() { failed[i] = n.tell(ctx, c, heard, now, id) })
	}
	all.Wait()
	return ping, errors.Join(failed...)
}

// end sends the ping of the end, after that of the beginning.
func (n *Notifier) end(ctx context.Context, code int) error {
	var began error
	if n.start == nil {
		n.ping = newPinger(n.Config.PingURLFile)
	} else {
		began = <-n.start
	}
	if err := n.ping.end(ctx, code); err != nil {
		return fmt.Errorf("healthchecks: %w", err)
	}
	if began != nil {
		return fmt.Errorf("healthchecks, at the start: %w", began)
	}
	return nil
}

// A channel is one way by which messages reach somebody.
type channel struct {
	name string
	send func(ctx context.Context, m Message) error
}

func (n *Notifier) channels() (all []channel) {
	c := n.Config
	if c.Command != "" {
		all = append(all, channel{"command", func(ctx context.Context, m Message) error { return runCommand(ctx, c.Command, m, n.Stderr) }})
	}
	if c.Webhook.URLFile != "" {
		all = append(all, channel{"webhook", c.Webhook.post})
	}
	if len(c.Mail.To) > 0 {
		all = append(all, channel{"mail", func(ctx context.Context, m Message) error { return c.Mail.send(ctx, m, n.Stderr) }})
	}
	return all
}

// tell sends by one channel what is due there, and remembers it once it was sent.
func (n *Notifier) tell(ctx context.Context, c channel, heard []engine.Hearing, now time.Time, id string) error {
	due, err := n.Memory.Due(c.name, n.Place, heard, now)
	if err != nil || len(due) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := c.send(ctx, newMessage(due, now, id, process.This().Host)); err != nil {
		return fmt.Errorf("notify by %s: %w", c.name, late(ctx, err))
	}
	return n.Memory.Told(c.name, n.Place, due)
}

// Test sends a message that says that it is a test, by every channel there is, and a
// ping that changes nothing ("log"). It remembers nothing.
func (n *Notifier) Test(ctx context.Context, told func(channel string, err error)) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if n.Config.PingURLFile != "" {
		told("healthchecks", newPinger(n.Config.PingURLFile).send(ctx, "log", "a test of collect"))
	}
	m := newMessage([]Due{{Turn: Test}}, time.Now(), uuid(), process.This().Host)
	for _, c := range n.channels() {
		told(c.name, late(ctx, c.send(ctx, m)))
	}
}

// late returns err, or that the time was up.
func late(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %v", Patience)
	}
	return err
}

// Test is the turn of a message that was asked for to see that it arrives.
const Test report.Turn = "test"
