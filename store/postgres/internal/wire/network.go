package wire

import (
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// A machine that is gone, or a network that lets nothing through, says nothing: what is
// sent there would be sent again for a quarter of an hour, and an answer awaited for
// longer. Both ends take the other for gone earlier, and before a lease ends.
const goneAfter = 20 * time.Second

// Where an address names several servers, one that is gone must not keep a beat, which may take 5 s,
// from the next.
const nextAfter = 2 * time.Second

// listen lets a connection notice that the server is gone.
func listen(c *pgx.ConnConfig) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: goneAfter / 4, Interval: goneAfter / 4, Count: 3},
		Control:         unacknowledged,
	}
	c.DialFunc = d.DialContext
	for name, value := range map[string]string{
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "20s",
	} {
		if _, said := c.RuntimeParams[name]; !said {
			c.RuntimeParams[name] = value
		}
	}
}

// several reports whether an address names more than one server.
func several(c *pgx.ConnConfig) bool {
	for _, next := range c.Fallbacks {
		if next.Host != c.Host || next.Port != c.Port {
			return true
		}
	}
	return false
}
