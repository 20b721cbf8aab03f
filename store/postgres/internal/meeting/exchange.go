package meeting

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"collect/store/postgres/internal/server"
)

// An exchange carries connections between processes as notifications of the server
// (NOTIFY): whoever reaches the store reaches everybody, and no port is open. Nothing of
// a message is written to a table or waits for the disk.
//
// Each process listens on a channel of its own, whose name only readers of the table
// paces learn. A notification is
//
//	ENDPOINT FROM NUMBER DATA
//
// ENDPOINT is the one of the receiver, FROM is CHANNEL/ENDPOINT of the sender, and DATA is UTF-8.
// A connection begins with number 0 both ways, and goes on with 1, 2, 3; after a number that is
// missing it ends. END in its place ends it as well, and is the answer to a 0 for which nobody
// listens any more: who dials does not wait for one that closed. The server delivers notifications of
// one sender in the order of their commits.
type exchange struct {
	pool    *server.Pool
	channel string
	cancel  context.CancelFunc

	mu        sync.Mutex
	serial    int
	conns     map[string]*conn // nil: the exchange has ended
	listeners map[string]*listener
}

const (
	last = "END"

	// longest is the longest part of a message, in bytes: a notification has less than
	// 8,000 (manual of PostgreSQL 15, NOTIFY), with about 150 for addresses.
	longest = 7000
)

var errEnded = fmt.Errorf("the connection to the server that listens was lost: %w", net.ErrClosed)

// join begins an exchange with a connection of its own.
func join(ctx context.Context, pool *server.Pool) (*exchange, error) {
	var name [16]byte
	rand.Read(name[:])
	x := &exchange{pool: pool, channel: "collect_" + hex.EncodeToString(name[:]), conns: map[string]*conn{}, listeners: map[string]*listener{}}
	line, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := line.Exec(ctx, "LISTEN "+x.channel); err != nil {
		line.Release()
		return nil, err
	}
	listening, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	go func() {
		defer line.Release() // the pool drops it: a wait that was canceled ends a connection
		defer x.end()
		for {
			n, err := line.Conn().WaitForNotification(listening)
			if err != nil {
				return
			}
			x.hear(n.Payload)
		}
	}()
	return x, nil
}

func (x *exchange) ended() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.conns == nil
}

// end ends all connections and listeners.
func (x *exchange) end() {
	x.cancel()
	x.mu.Lock()
	conns, listeners := x.conns, x.listeners
	x.conns, x.listeners = nil, nil
	x.mu.Unlock()
	for _, c := range conns {
		c.lost()
	}
	for _, l := range listeners {
		l.lost()
	}
}

// send sends a notification. What it tells is of use at once or not at all, so its
// commit does not wait for the disk.
func (x *exchange) send(ctx context.Context, to address, from, number, data string) error {
	const notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`
	_, err := x.pool.Exec(ctx, notify, to.channel, to.endpoint+" "+from+" "+number+" "+data)
	return err
}

// hear takes a notification in. One that cannot be read, or is for nobody, says nothing.
func (x *exchange) hear(text string) {
	part := strings.SplitN(text, " ", 4)
	if len(part) != 4 {
		return
	}
	endpoint, number, data := part[0], part[2], part[3]
	from, err := parse(part[1])
	if err != nil {
		return
	}
	x.mu.Lock()
	c, l := x.conns[endpoint], x.listeners[endpoint]
	if l != nil && number == "0" {
		c = x.connect(from)
		c.seen = 1
		if !l.offer(c) {
			delete(x.conns, c.endpoint)
		}
	}
	x.mu.Unlock()
	switch {
	case l != nil:
	case c == nil && number == "0":
		go x.refuse(from)
	case c == nil || number == last:
		if c != nil {
			c.lost()
		}
	default:
		n, err := strconv.Atoi(number)
		c.take(from, n, data, err)
	}
}

// refuse tells one that dialed that nobody listens.
func (x *exchange) refuse(from address) {
	ctx, cancel := context.WithTimeout(context.Background(), writeIn)
	defer cancel()
	_ = x.send(ctx, from, address{x.channel, "0"}.String(), last, "") // without it the other end gives up
}

// connect returns a new connection to an address. x.mu is held.
func (x *exchange) connect(to address) *conn {
	c := &conn{x: x, endpoint: x.next(), to: to, ready: make(chan struct{}, 1)}
	x.conns[c.endpoint] = c
	return c
}

// next returns the name of a new endpoint. x.mu is held.
func (x *exchange) next() string {
	x.serial++
	return strconv.Itoa(x.serial)
}

// drop forgets an endpoint.
func (x *exchange) drop(endpoint string) {
	x.mu.Lock()
	delete(x.conns, endpoint)
	delete(x.listeners, endpoint)
	x.mu.Unlock()
}

func (x *exchange) listen() (net.Listener, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.conns == nil {
		return nil, errEnded
	}
	l := &listener{x: x, endpoint: x.next(), offered: make(chan *conn, 64), done: make(chan struct{})}
	x.listeners[l.endpoint] = l
	return l, nil
}

// dial connects to the listener at an address, once it answered.
func (x *exchange) dial(ctx context.Context, id string) (net.Conn, error) {
	to, err := parse(id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if x.conns == nil {
		x.mu.Unlock()
		return nil, errEnded
	}
	c := x.connect(address{})
	x.mu.Unlock()
	if err = x.send(ctx, to, c.name(), "0", ""); err == nil {
		err = c.answered(ctx)
	}
	if err != nil {
		x.drop(c.endpoint)
		return nil, err
	}
	return c, nil
}

// A listener gets the connections that others begin.
type listener struct {
	x        *exchange
	endpoint string
	offered  chan *conn
	once     sync.Once
	done     chan struct{}
}

// offer offers a connection, and reports false if too many wait.
func (l *listener) offer(c *conn) bool {
	select {
	case l.offered <- c:
		return true
	default:
		return false
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.offered:
		ctx, cancel := c.writing()
		defer cancel()
		_ = l.x.send(ctx, c.to, c.name(), "0", "") // without it the other end gives up
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) lost() { l.once.Do(func() { close(l.done) }) }

func (l *listener) Close() error {
	l.x.drop(l.endpoint)
	l.lost()
	return nil
}

func (l *listener) Addr() net.Addr { return address{l.x.channel, l.endpoint} }

// An address is CHANNEL/ENDPOINT.
type address struct{ channel, endpoint string }

func (address) Network() string  { return "notify" }
func (a address) String() string { return a.channel + "/" + a.endpoint }

func parse(text string) (a address, err error) {
	var ok bool
	if a.channel, a.endpoint, ok = strings.Cut(text, "/"); !ok {
		err = errors.New("no address of a process")
	}
	return a, err
}
