package console

import (
	"net/http"
	"time"
)

// idleAfter is how long nobody asks for anything until the console is idle. A page that
// only follows the store asks for nothing until that changes.
const idleAfter = time.Minute

// idling calls idle each time that nobody has asked inner for anything for idleAfter.
func idling(inner http.Handler, idle func()) http.Handler {
	timer := time.AfterFunc(idleAfter, idle)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer.Reset(idleAfter)
		defer timer.Reset(idleAfter)
		inner.ServeHTTP(w, r)
	})
}
