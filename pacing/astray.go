package pacing

import (
	"mime"
	"net/http"

	"collect/collection"
)

// aWebPage is what is said of an answer that is astray.
const aWebPage = "a web page, where this stream had other answers before"

// astray reports whether the answer to req is a web page, and the stream had other answers before in this run, but no web
// page. Such a page is from whoever stands before the provider, as while that is maintained. What was asked for may come
// again at any time, so that the page is a failure of the provider like a 502.
func (g *Governor) astray(req *http.Request, h http.Header) bool {
	if !isWebPage(h) {
		return false
	}
	stream := collection.StreamOf(req.Context())
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered[stream] > 0 && !g.webPages[stream]
}

// isWebPage reports whether a response says that it is one.
func isWebPage(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/html"
}
