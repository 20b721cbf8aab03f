package declarative

import (
	"context"
	"errors"
	"net/http"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
)

// requestAt returns the request that asks for the page at token.
func (w *walk) requestAt(token string) request.Request {
	if w.st.Scroll != nil && token != "" {
		return *w.st.Scroll
	}
	return w.st.Request
}

// scrolled fetches the page at token of a scroll. The request for a page moves the
// scroll, also when its answer is lost, so that it is sent again only where it was
// refused (429). For the same reason no other walk goes on with a scroll: whether
// the page at a stored cursor was asked for cannot be known.
func (w *walk) scrolled(ctx context.Context, token string) (*paging.Page, error) {
	if token != "" && !w.scrolling {
		return nil, &collection.Stop{Reason: collection.CursorExpired, Detail: "a scroll that was interrupted cannot be gone on with"}
	}
	w.scrolling = true
	for n := 1; ; n++ {
		p, err := w.fetch(ctx, token)
		stop, ok := errors.AsType[*collection.Stop](err)
		if ok && token != "" && stop.Status == 0 && stop.Reason == collection.UpstreamPressure {
			return nil, &collection.Stop{Reason: collection.CursorExpired, Detail: "an answer was lost, and with it a page of the scroll", Err: err}
		}
		if token == "" || !ok || stop.Status != http.StatusTooManyRequests || stop.Reason != collection.RateLimited || n >= w.c.limits.Attempts {
			return p, err
		}
	}
}
