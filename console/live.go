package console

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// tick is how often the store is looked after for those who follow it.
const tick = time.Second

// A hub looks after the store for all who follow it, and only while somebody does.
// Looking after it costs two calls of stat, however many follow.
type hub struct {
	changed func() string // another text after each change

	mu      sync.Mutex
	stamp   string
	number  int64 // of the changes so far
	readers map[chan int64]bool
	stop    chan struct{}
}

// join returns a channel with the number of changes so far, once a tick. A reader
// who is too slow misses some.
func (h *hub) join() chan int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan int64, 1)
	if h.readers == nil {
		h.readers = map[chan int64]bool{}
	}
	h.readers[c] = true
	if len(h.readers) == 1 {
		h.stamp, h.stop = h.changed(), make(chan struct{})
		go h.watch(h.stop)
	}
	c <- h.number
	return c
}

func (h *hub) leave(c chan int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, c)
	if len(h.readers) == 0 {
		close(h.stop)
	}
}

func (h *hub) watch(stop chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			h.look()
		}
	}
}

func (h *hub) look() {
	stamp := h.changed()
	h.mu.Lock()
	defer h.mu.Unlock()
	if stamp != h.stamp {
		h.stamp = stamp
		h.number++
	}
	for c := range h.readers {
		select {
		case c <- h.number:
		default:
		}
	}
}

// follow sends an event each tick, as Server-Sent Events: the time, and how many
// changes there were. The page asks for itself again when that number grew.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	f := s.frame(r, "")
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("X-Accel-Buffering", "no") // of nginx
	out := http.NewResponseController(w)
	ticks := s.live.join()
	defer s.live.leave(ticks)
	for {
		select {
		case <-r.Context().Done():
			return
		case number := <-ticks:
			_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			now := s.Now().In(f.Now.Location())
			if _, err := fmt.Fprintf(w, "event: tick\ndata: %d %s\n\n", number, now.Format("15:04:05 MST")); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
	}
}
