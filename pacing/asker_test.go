package pacing_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// TestAnAnswerIsNoWait starts with answers that take five seconds. Until the first ones come few requests
// may be on their way, and the others wait for an answer: no time is told until which nothing leaves.
func TestAnAnswerIsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := govern(t, pacing.Config{Concurrency: 8, Observe: j.observe, Base: serve(func(http.ResponseWriter, *http.Request) {
			time.Sleep(5 * time.Second)
		})})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 3 {
					mustFetch(t, g)
				}
			})
		}
		wg.Wait()
		told := j.of(collection.WaitStarted)
		for _, e := range told {
			if e.Wait.Seconds > 2 {
				t.Errorf("a wait of %.1f s for %s was told, while requests left every second", e.Wait.Seconds, e.Wait.Cause)
			}
		}
		if len(told) == 0 {
			t.Error("no wait for the pace was told")
		}
	})
}
