//go:build linux

package chaos_test

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	sharers = 8 // workers, and connectors of one account
	ceiling = 4 // requests a second that the account may send
)

// The limit is that of the ceiling, with room for one burst of what arrives late on a busy machine.
const nginxText = `daemon off;
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
	log_format times '$msec $request_time $status $uri';
	access_log {dir}/access.log times;
	limit_req_zone $server_port zone=account:1m rate={rate}r/s;
	limit_req_status 429;
	server {
		listen 127.0.0.1:{port};
		location / {
			limit_req zone=account burst={burst} nodelay;
			proxy_pass {upstream};
		}
	}
}
`

const sharedText = `connector: %s
secrets: {token: {env: TOKEN}}
provider:
  name: zoo
  base_url: %q
  auth: {bearer: "${secrets.token}"}
  ceiling: {per_second: %d}
streams:
  things:
    get: /%[1]s
    records: items
    key: id
    page: {cursor: {from: next, param: page}}
`

// TestOneAccount: eight workers collect eight connectors of one account through nginx, which limits
// it. By nginx's log hardly anything is refused, and no more arrives than what may leave; and, when
// it is played by hand, they have equal shares.
func TestOneAccount(t *testing.T) {
	f := newPlace(t)
	url := f.nginx(f.upstream())
	var names []string
	for i := range sharers {
		names = append(names, fmt.Sprint("c", i))
	}
	f.connect(names, func(name string) string { return fmt.Sprintf(sharedText, name, url, ceiling) })
	t.Setenv("TOKEN", "a token")
	f.join(sharers)
	f.collect("enqueue", "--all", "--reason", "a test")
	seconds := 15
	if *times > 0 {
		seconds = max(60, *times)
		time.Sleep(20 * time.Second) // the pace begins low
	}
	from := time.Now()
	time.Sleep(time.Duration(seconds) * time.Second)
	to := time.Now()
	f.leave()
	f.shares(from, to)
}

// nginx starts nginx before an upstream, and returns its URL.
func (f *fleet) nginx(upstream string) string {
	f.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil { // nginx takes it
		f.Fatal(err)
	}
	f.write("nginx.conf", strings.NewReplacer("{dir}", f.dir, "{port}", port, "{upstream}", upstream,
		"{rate}", fmt.Sprint(ceiling), "{burst}", fmt.Sprint(ceiling)).Replace(nginxText))
	c := exec.Command("/usr/sbin/nginx", "-c", filepath.Join(f.dir, "nginx.conf"), "-e", filepath.Join(f.dir, "error.log"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	f.await("nginx", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// shares judges nginx's log.
func (f *fleet) shares(from, to time.Time) {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "access.log"))
	if err != nil {
		f.Fatal(err)
	}
	var arrived []float64
	refused, of := 0, map[string]float64{}
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) != 4 {
			continue
		}
		at, _ := strconv.ParseFloat(words[0], 64)
		took, _ := strconv.ParseFloat(words[1], 64)
		arrived = append(arrived, at-took)
		if words[2] != "200" {
			refused++
		}
		if at > float64(from.UnixMilli())/1000 && at < float64(to.UnixMilli())/1000 {
			of[words[3]]++
		}
	}
	slices.Sort(arrived)
	most, half := within(arrived, 1), within(arrived, 0.5)
	sum, squares := 0.0, 0.0
	for _, n := range of {
		sum += n
		squares += n * n
	}
	jain := sum * sum / (sharers * squares)
	rate := sum / to.Sub(from).Seconds()
	f.Logf("%d requests, %d refused, at most %d within a second of %d, and %d within half of one; then %.1f a second, Jain's index %.4f", len(arrived), refused, most, ceiling, half, rate, jain)
	if *times > 0 && jain < 0.98 { // by hand: what it takes is a machine on which the ceiling is the limit
		f.Errorf("Jain's index %.4f, want 0.98: %v", jain, of)
	}
	if half > ceiling { // a request leaves up to half a second after its turn: docs/decisions/0047
		f.Errorf("%d requests arrived within half a second, of %d", half, ceiling)
	}
	if float64(refused) > math.Max(1, 1.5*float64(len(arrived))/1000) {
		f.Errorf("%d of %d requests were refused", refused, len(arrived))
	}
}

// within returns the most that arrived within so many seconds.
func within(arrived []float64, seconds float64) (most int) {
	for i, first := range arrived {
		n := i
		for n < len(arrived) && arrived[n] < first+seconds {
			n++
		}
		most = max(most, n-i)
	}
	return most
}
