package pacing

import (
	"mime"
	"net/http"
)

// aWebPage is what is said of an answer that is astray.
const aWebPage = "a web page, where this stream had other answers before"

// astray reports whether a web page in answer to a stream is a failure of the provider, like a 502: the stream had other
// answers before in this run, and no web page. Gateways send such pages while the provider is maintained.
func (g *Governor) astray(stream string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered[stream] > 0 && !g.webPages[stream]
}

// isWebPage reports whether a response says that it is one.
func isWebPage(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/html"
}
