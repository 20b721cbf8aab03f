package services

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The rate that nginx lets through to its upstream, and what it takes at once.
const (
	NginxPerSecond = 20
	NginxBurst     = 5
)

// An Nginx limits the rate of two front doors to one upstream.
type Nginx struct {
	URL503 string // refuses with 503, an HTML body and no Retry-After: what nginx does unless told otherwise
	URL429 string // refuses with 429, an HTML body and no Retry-After

	dir   string
	child *child
}

// The whole configuration: one process, everything it writes inside dir.
const nginxConfig = `daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {}
http {
	client_body_temp_path {dir}/body;
	proxy_temp_path {dir}/proxy;
	fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi;
	scgi_temp_path {dir}/scgi;
	log_format statuses '$server_port $status';
	access_log {dir}/access.log statuses;
	limit_req_zone $server_port zone=doors:1m rate={rate}r/s;
	server {
		listen 127.0.0.1:{port503};
		location / {
			limit_req zone=doors burst={burst} nodelay;
			proxy_pass {upstream};
		}
	}
	server {
		listen 127.0.0.1:{port429};
		limit_req_status 429;
		location / {
			limit_req zone=doors burst={burst} nodelay;
			proxy_pass {upstream};
		}
	}
}
`

// StartNginx starts nginx in front of upstream, a URL. It writes into dir.
func StartNginx(dir, upstream string) (*Nginx, error) {
	program, err := find("nginx")
	if err != nil {
		return nil, err
	}
	var ports [2]int
	for i := range ports {
		if ports[i], err = FreePort(); err != nil {
			return nil, fmt.Errorf("nginx: %w", err)
		}
	}
	config := strings.NewReplacer(
		"{dir}", dir, "{upstream}", upstream,
		"{rate}", strconv.Itoa(NginxPerSecond), "{burst}", strconv.Itoa(NginxBurst),
		"{port503}", strconv.Itoa(ports[0]), "{port429}", strconv.Itoa(ports[1]),
	).Replace(nginxConfig)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	// -e: before it has read its configuration nginx would log elsewhere.
	c, err := spawn(io.Discard, program, "-c", path, "-e", filepath.Join(dir, "error.log"))
	if err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	for _, port := range ports {
		if err := awaitPort(port, c.exited); err != nil {
			c.Close()
			complaint, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			return nil, fmt.Errorf("nginx: %w: %s%s", err, c.stderr, complaint)
		}
	}
	return &Nginx{
		URL503: fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		URL429: fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
		dir:    dir, child: c,
	}, nil
}

// Statuses counts the answers of a front door, URL503 or URL429, by status.
func (n *Nginx) Statuses(door string) (map[int]int, error) {
	log, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(door, "http://"), ":")
	counts := map[int]int{}
	for line := range bytes.Lines(log) {
		at, status, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if code, err := strconv.Atoi(status); err == nil && at == port {
			counts[code]++
		}
	}
	return counts, nil
}

// Close ends nginx.
func (n *Nginx) Close() error { return n.child.Close() }
