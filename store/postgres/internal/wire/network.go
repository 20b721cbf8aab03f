package wire

import (
	"net"
	"strconv"
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

// probes are how often a silent machine is asked whether it is there, goneAfter in all with the silence before.
const probes = 3

// listen lets a connection notice that the server is gone.
func listen(c *pgx.ConnConfig) {
	const every = goneAfter / (probes + 1)
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: every, Interval: every, Count: probes},
		Control:         unacknowledged,
	}
	c.DialFunc = d.DialContext
	for name, value := range map[string]int64{ // in seconds; the last in milliseconds
		"tcp_keepalives_idle": int64(every.Seconds()), "tcp_keepalives_interval": int64(every.Seconds()),
		"tcp_keepalives_count": probes, "tcp_user_timeout": goneAfter.Milliseconds(),
	} {
		if _, said := c.RuntimeParams[name]; !said {
			c.RuntimeParams[name] = strconv.FormatInt(value, 10)
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
