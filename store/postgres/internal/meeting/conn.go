package meeting

import (
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// A conn is one end of a connection. What is written must be UTF-8 without NUL, as
// JSON is. A deadline holds for the reads and writes that begin after it was set.
type conn struct {
	x        *exchange
	endpoint string

	mu      sync.Mutex
	to      address // zero: the other end has not answered yet
	seen    int     // how many numbers came
	unread  []byte
	over    bool // nothing comes any more
	readBy  time.Time
	writeBy time.Time
	ready   chan struct{} // has a value when one of these changed

	writes sync.Mutex
	sent   int // numbers, after 0
}

const (
	unreadMost = 1 << 20 // bytes, after which a reader is gone
	writeIn    = 3 * time.Second
)

func (c *conn) name() string { return address{c.x.channel, c.endpoint}.String() }

func (c *conn) tell() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// take takes a part of a message in.
func (c *conn) take(from address, number int, data string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return
	case err != nil || number != c.seen || len(c.unread) > unreadMost || c.seen > 0 && from != c.to:
		c.over = true // something was lost
	default:
		c.to = from
		c.seen++
		c.unread = append(c.unread, data...)
	}
	c.tell()
}

func (c *conn) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.tell()
}

// answered waits until the other end answers.
func (c *conn) answered(ctx context.Context) error {
	for {
		c.mu.Lock()
		seen, over := c.seen, c.over
		c.mu.Unlock()
		switch {
		case over:
			return errEnded
		case seen > 0:
			return nil
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		over, by := c.over, c.readBy
		c.mu.Unlock()
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if over {
			return 0, io.EOF
		}
		var late <-chan time.Time
		if !by.IsZero() {
			timer := time.NewTimer(time.Until(by))
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-c.ready:
		case <-late:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// writing bounds a write.
func (c *conn) writing() (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeBy.IsZero() {
		return context.WithTimeout(context.Background(), writeIn)
	}
	return context.WithDeadline(context.Background(), c.writeBy)
}

func (c *conn) Write(p []byte) (written int, err error) {
	c.writes.Lock()
	defer c.writes.Unlock()
	ctx, cancel := c.writing()
	defer cancel()
	c.mu.Lock()
	over, to := c.over, c.to
	c.mu.Unlock()
	if over {
		return 0, net.ErrClosed
	}
	for len(p) > 0 {
		n := cut(p)
		c.sent++
		if err := c.x.send(ctx, to, c.name(), strconv.Itoa(c.sent), string(p[:n])); err != nil {
			c.lost() // whether it came is not known
			return written, err
		}
		p, written = p[n:], written+n
	}
	return written, nil
}

// cut returns the length of the first part of p, which ends with a whole rune.
func cut(p []byte) int {
	if len(p) <= longest {
		return len(p)
	}
	n := longest
	for n > longest-utf8.UTFMax && !utf8.RuneStart(p[n]) {
		n--
	}
	return n
}

// Close ends the connection, and tells the other end unless it ended first.
func (c *conn) Close() error {
	c.mu.Lock()
	over, to := c.over, c.to
	c.over = true
	c.tell()
	c.mu.Unlock()
	c.x.drop(c.endpoint)
	if over || to == (address{}) {
		return nil
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), writeIn)
	defer cancel()
	return c.x.send(ctx, to, c.name(), last, "")
}

func (c *conn) LocalAddr() net.Addr { return address{c.x.channel, c.endpoint} }

func (c *conn) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to
}

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // neither fails
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBy = t
	return nil
}
