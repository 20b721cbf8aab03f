package console

import (
	"net/http"
	"time"
)

// idleAfter is how long a console has no request until it is idle. A page that only follows the
// store sends none until the store changes.
const idleAfter = time.Minute

// idling calls idle when inner has had no request for idleAfter.
func idling(inner http.Handler, idle func()) http.Handler {
	timer := time.AfterFunc(idleAfter, idle)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer.Reset(idleAfter)
		defer timer.Reset(idleAfter)
		inner.ServeHTTP(w, r)
	})
}
