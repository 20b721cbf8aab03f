package console_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/console"
)

// An address that listens nowhere.
type nowhere struct{}

func (nowhere) Network() string { return "tcp" }
func (nowhere) String() string  { return "127.0.0.1:8765" }

// A console is idle once, a minute after somebody asked for something.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle atomic.Int64
		s, err := console.New(console.Config{Library: console.NewLibrary("none.db"), Idle: func() { idle.Add(1) }}, nowhere{})
		if err != nil {
			t.Fatal(err)
		}
		for i, after := range []struct {
			wait time.Duration
			ask  bool
			want int
		}{
			{59 * time.Second, true, 0},
			{59 * time.Second, false, 0},
			{time.Second, false, 1},
			{time.Hour, true, 1},
			{time.Minute, false, 2},
		} {
			time.Sleep(after.wait)
			synctest.Wait()
			if n := int(idle.Load()); n != after.want {
				t.Errorf("step %d: idle %d times, want %d", i, n, after.want)
			}
			if after.ask {
				s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://127.0.0.1/healthz", nil))
			}
		}
	})
}
