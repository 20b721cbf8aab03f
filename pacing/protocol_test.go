package pacing_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"collect/collection"
	"collect/pacing"
)

// TestFaultsOfTheProtocol: what another attempt would meet again is asked once,
// and has a name. Each is sent on a real connection, as the words of net/http
// are all that there is to know some of them by.
func TestFaultsOfTheProtocol(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	whole := string(gzipped(`{"id":1}`))
	zipped := func(body string) string { return head + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + body }
	for _, tc := range []struct {
		name, sends string
		reason      collection.Reason
		detail      string
	}{
		{"a header that is much too large", head + strings.Repeat("X-Padding: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n", collection.TooLarge, "the header is larger than 8192 bytes"},
		{"a line without an end", head + "X-Padding: " + strings.Repeat("x", 100_000), collection.TooLarge, "the header is larger than 8192 bytes"},
		{"a wrong sum", zipped(whole[:len(whole)-8] + "01234567"), collection.BadPage, "the body is damaged: it is not valid gzip, or its checksum is wrong"},
		{"a damaged body", zipped(whole[:10] + "\xff\xff\xff\xff\xff\xff\xff\xff"), collection.BadPage, "the body is damaged: it is not valid gzip, or its checksum is wrong"},
		{"no gzip", zipped(`{"id":1} and more than a header of gzip`), collection.BadPage, "the body is not gzip, as its header says"},
		{"another protocol", "SSH-2.0-OpenSSH_9.9\r\n", collection.BadPage, "the answer is not HTTP that can be read: its first line is malformed"},
		{"a status that is a word", "HTTP/1.1 OK 200\r\n\r\n", collection.BadPage, "the answer is not HTTP that can be read: its first line is malformed"},
		{"another version", "HTTP/x 200 OK\r\n\r\n", collection.BadPage, "the answer is not HTTP that can be read: its first line is malformed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var asked atomic.Int64
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					asked.Add(1)
					conn.Read(make([]byte, 4096))
					io.WriteString(conn, tc.sends)
					conn.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			}()
			judged(t, "http://"+l.Addr().String(), tc.reason, tc.detail)
			if got := asked.Load(); got != 1 {
				t.Errorf("it was asked %d times, want once", got)
			}
		})
	}
	t.Run("a header of ours", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		defer srv.Close()
		g := govern(t, pacing.Config{Provider: collection.Provider{Unpaced: true, Origins: []string{srv.URL}}})
		req, err := http.NewRequest(http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Org", "acme\r\nX-Other: 1")
		_, err = g.Client().Do(req)
		if stop := asStop(err); stop == nil || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, "cannot be sent") {
			t.Errorf("%v, want bad_page: it cannot be sent", err)
		}
	})
	t.Run("a certificate of nobody's", func(t *testing.T) {
		var asked atomic.Int64
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				asked.Add(1)
			}
		}
		srv.StartTLS()
		defer srv.Close()
		judged(t, srv.URL, collection.UpstreamPressure, "no connection: the TLS certificate is signed by an authority that is not trusted here")
		if got := asked.Load(); got != 1 {
			t.Errorf("it was asked %d times, want once", got)
		}
	})
	t.Run("TLS that is too old", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}
		srv.StartTLS()
		defer srv.Close()
		judged(t, srv.URL, collection.UpstreamPressure, "no connection: it speaks no TLS newer than 1.1, which is not safe")
	})
}

// judged asks a provider once, and checks the stop that comes of it.
func judged(t *testing.T, url string, reason collection.Reason, detail string) {
	t.Helper()
	b := pacing.NewBudget(pacing.BudgetLimits{})
	g := govern(t, pacing.Config{Budget: b, Provider: collection.Provider{
		Unpaced: true, Origins: []string{url}, Limits: collection.Limits{Attempts: 2, Headers: 8192}}})
	_, err := g.Client().Get(url)
	if stop := asStop(err); stop == nil || stop.Reason != reason || stop.Detail != detail {
		t.Errorf("%v, want %s: %s", err, reason, detail)
	}
	if got := b.Tally().Requests; got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}
