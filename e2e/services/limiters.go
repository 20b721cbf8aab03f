package services

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Door is a front door to the upstream that lets only so much through.
type Door struct {
	Name       string
	URL        string
	PerSecond  float64       // what it lets through in the long run
	RetryAfter time.Duration // that it sends with a refusal; 0: none
	Refuses    bool          // it can refuse, and does not only slow down
	port       int
}

// An Answer is a line of a door's access log.
type Answer struct {
	From, To time.Time // from the first byte of the request to the end of the answer
	Status   int
}

// Limiters are an nginx and an HAProxy with several doors each.
type Limiters struct {
	Doors []Door

	logs     []string
	children []*child
}

// ConnectionLatency is how long the upstream must take for the doors that count
// connections to let ConnectionsAtOnce/ConnectionLatency a second through.
const (
	ConnectionsAtOnce = 3
	ConnectionLatency = 200 * time.Millisecond
)

// The doors of nginx. limit_req is a leaky bucket with a burst; with nodelay
// the requests of the burst go through at once, and without it they wait.
const nginxDoors = `daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/nginx-error.log warn;
events {}
http {
	client_body_temp_path {dir}/body;
	proxy_temp_path {dir}/proxy;
	fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi;
	scgi_temp_path {dir}/scgi;
	log_format doors '$server_port $msec $request_time $status';
	access_log {dir}/nginx.log doors;
	limit_req_zone $server_port zone=doors:1m rate=10r/s;
	limit_conn_zone $server_port zone=conns:1m;
	server {
		listen 127.0.0.1:{nginx-429};
		limit_req_status 429;
		location / { limit_req zone=doors burst=5 nodelay; proxy_pass {upstream}; }
	}
	server {
		listen 127.0.0.1:{nginx-503};
		location / { limit_req zone=doors burst=5 nodelay; proxy_pass {upstream}; }
	}
	server {
		listen 127.0.0.1:{nginx-after};
		limit_req_status 429;
		error_page 429 @later;
		location / { limit_req zone=doors burst=5 nodelay; proxy_pass {upstream}; }
		location @later { add_header Retry-After 2 always; return 429 "slow down"; }
	}
	server {
		listen 127.0.0.1:{nginx-fields};
		limit_req_status 429;
		error_page 429 @told;
		add_header RateLimit-Limit 10;
		add_header RateLimit-Remaining 9;
		add_header RateLimit-Reset 2;
		location / { limit_req zone=doors burst=5 nodelay; proxy_pass {upstream}; }
		location @told {
			add_header RateLimit-Limit 10 always;
			add_header RateLimit-Remaining 0 always;
			add_header RateLimit-Reset 2 always;
			return 429 "slow down";
		}
	}
	server {
		listen 127.0.0.1:{nginx-delay};
		limit_req_status 429;
		location / { limit_req zone=doors burst=40; proxy_pass {upstream}; }
	}
	server {
		listen 127.0.0.1:{nginx-connections};
		limit_conn_status 429;
		location / { limit_conn conns {connections}; proxy_pass {upstream}; }
	}
}
`

// The doors of HAProxy: http_req_rate is a sliding window, kept as two fixed
// ones; the older is weighted.
const haproxyDoors = `global
	log stdout format raw local0 info
defaults
	mode http
	log global
	log-format "%fp %tr %Ta %ST"
	timeout connect 5s
	timeout client 60s
	timeout server 60s
	timeout http-keep-alive 10s
frontend second
	bind 127.0.0.1:{haproxy-second}
	stick-table type integer size 16 expire 1m store http_req_rate(1s)
	http-request track-sc0 int(1)
	http-request return status 429 content-type text/plain string "slow down" hdr Retry-After 2 if { sc_http_req_rate(0) gt 10 }
	default_backend upstream
frontend window
	bind 127.0.0.1:{haproxy-window}
	stick-table type integer size 16 expire 1m store http_req_rate(10s)
	http-request track-sc0 int(1)
	http-request return status 429 content-type text/plain string "slow down" if { sc_http_req_rate(0) gt 100 }
	default_backend upstream
frontend second_fields
	bind 127.0.0.1:{haproxy-second-fields}
	stick-table type integer size 16 expire 1m store http_req_rate(1s)
	http-request track-sc0 int(1)
	http-request set-var(txn.rate) sc_http_req_rate(0)
	http-after-response set-header RateLimit-Limit 10
	http-after-response set-header RateLimit-Remaining %[int(10),sub(txn.rate)]
	http-after-response set-header RateLimit-Reset 2
	http-request return status 429 content-type text/plain string "slow down" hdr Retry-After 2 if { sc_http_req_rate(0) gt 10 }
	default_backend upstream
frontend window_fields
	bind 127.0.0.1:{haproxy-window-fields}
	stick-table type integer size 16 expire 1m store http_req_rate(10s)
	http-request track-sc0 int(1)
	http-request set-var(txn.rate) sc_http_req_rate(0)
	http-after-response set-header RateLimit-Limit 100
	http-after-response set-header RateLimit-Remaining %[int(100),sub(txn.rate)]
	http-after-response set-header RateLimit-Reset 10
	http-request return status 429 content-type text/plain string "slow down" if { sc_http_req_rate(0) gt 100 }
	default_backend upstream
frontend connections
	bind 127.0.0.1:{haproxy-connections}
	http-request return status 503 content-type text/plain string "busy" if { srv_conn(crowded/one) ge {connections} }
	default_backend crowded
backend upstream
	server one {address}
backend crowded
	server one {address}
`

// StartLimiters starts nginx and HAProxy in front of upstream, an http URL.
// They write into dir.
func StartLimiters(dir, upstream string) (*Limiters, error) {
	l := &Limiters{Doors: []Door{
		{Name: "nginx-429", PerSecond: 10, Refuses: true},
		{Name: "nginx-503", PerSecond: 10, Refuses: true},
		{Name: "nginx-after", PerSecond: 10, RetryAfter: 2 * time.Second, Refuses: true},
		{Name: "nginx-fields", PerSecond: 10, RetryAfter: 2 * time.Second, Refuses: true},
		{Name: "nginx-delay", PerSecond: 10},
		{Name: "nginx-connections", PerSecond: ConnectionsAtOnce / ConnectionLatency.Seconds(), Refuses: true},
		{Name: "haproxy-second", PerSecond: 10, RetryAfter: 2 * time.Second, Refuses: true},
		{Name: "haproxy-window", PerSecond: 10, Refuses: true},
		{Name: "haproxy-second-fields", PerSecond: 10, RetryAfter: 2 * time.Second, Refuses: true},
		{Name: "haproxy-window-fields", PerSecond: 10, Refuses: true},
		{Name: "haproxy-connections", PerSecond: ConnectionsAtOnce / ConnectionLatency.Seconds(), Refuses: true},
	}}
	words := []string{"{dir}", dir, "{upstream}", upstream, "{address}", strings.TrimPrefix(upstream, "http://"),
		"{connections}", strconv.Itoa(ConnectionsAtOnce)}
	for i := range l.Doors {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		l.Doors[i].port = port
		l.Doors[i].URL = fmt.Sprintf("http://127.0.0.1:%d", port)
		words = append(words, "{"+l.Doors[i].Name+"}", strconv.Itoa(port))
	}
	fill := strings.NewReplacer(words...)
	if err := l.start(dir, "nginx", fill.Replace(nginxDoors), "-e", filepath.Join(dir, "nginx-error.log"), "-c"); err != nil {
		return nil, err
	}
	if err := l.start(dir, "haproxy", fill.Replace(haproxyDoors), "-db", "-f"); err != nil {
		l.Close()
		return nil, err
	}
	for _, d := range l.Doors {
		if err := awaitPort(d.port, nil); err != nil {
			l.Close()
			return nil, fmt.Errorf("%s: %w: %s%s", d.Name, err, l.children[0].stderr, l.children[1].stderr)
		}
	}
	return l, nil
}

// start starts a program with a configuration, whose file comes after args.
func (l *Limiters) start(dir, name, config string, args ...string) error {
	program, err := find(name)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+".conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return err
	}
	log := filepath.Join(dir, name+".log")
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close() // the child has its own
	c, err := spawn(out, program, append(args, path)...)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.children, l.logs = append(l.children, c), append(l.logs, log)
	return nil
}

// Answers returns what a door answered so far, in the order of its log.
func (l *Limiters) Answers(d Door) ([]Answer, error) {
	var all []Answer
	for _, name := range l.logs {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			fields := strings.Fields(s.Text())
			if len(fields) != 4 || fields[0] != strconv.Itoa(d.port) {
				continue
			}
			a, err := parseAnswer(fields[1:])
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", d.Name, s.Text(), err)
			}
			all = append(all, a)
		}
	}
	return all, nil
}

// parseAnswer reads a line: nginx has the end of the answer and seconds,
// HAProxy the first byte of the request and milliseconds.
func parseAnswer(fields []string) (a Answer, err error) {
	if a.Status, err = strconv.Atoi(fields[2]); err != nil {
		return a, err
	}
	took, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return a, err
	}
	if end, err := strconv.ParseFloat(fields[0], 64); err == nil {
		a.To = time.UnixMilli(int64(end * 1000))
		a.From = a.To.Add(-time.Duration(took * float64(time.Second)))
		return a, nil
	}
	a.From, err = time.ParseInLocation("02/Jan/2006:15:04:05.000", fields[0], time.Local)
	a.To = a.From.Add(time.Duration(took) * time.Millisecond)
	return a, err
}

// Close ends both.
func (l *Limiters) Close() error {
	for _, c := range l.children {
		c.Close()
	}
	return nil
}
