package declarative

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// fetch requests the page at token and reads it. One that is large may be open
// then; see [walk.openRows].
func (w *walk) fetch(ctx context.Context, token string) (*paging.Page, error) {
	if w.inRows() {
		ctx = collection.WithSpill(ctx)
	}
	target, err := w.target(token)
	if err != nil {
		return nil, err
	}
	req, err := w.requestAt(token).New(ctx, target, w.scope)
	if err != nil {
		return nil, err
	}
	if w.st.Scroll != nil && token != "" {
		req.Header.Del("Idempotency-Key") // see scrolled
	}
	sent := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.missing(withoutURL(err), token)
	}
	defer func() {
		if w.open == nil {
			_ = resp.Body.Close()
		}
	}()
	clock := since.ClockOf(resp.Header, time.Since(sent))
	body, err := readBody(resp, w.c.limits.Body)
	if err != nil {
		return nil, err
	}
	p := &paging.Page{Header: resp.Header, Clock: clock, List: w.st.Records.Path, Open: w.st.Format.IsRows() && w.st.Format.Archive == "" && openEnd(resp)}
	switch stop := w.lacking(resp, token); {
	case stop != nil && token != "" && w.c.behindLast(collection.Response{Stream: w.at.Stream, Status: resp.StatusCode, Body: body}):
		p.NotThere = true
		return p, nil
	case stop != nil && compile.Judge(w.st.On, collection.Response{Stream: w.at.Stream, Status: resp.StatusCode, Header: resp.Header, Body: body}) != collection.Accept:
		return nil, stop
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode < 200, resp.StatusCode > 299:
		return p, nil // there is nothing, or a rule says that the status means so
	}
	if w.inRows() && (body == nil || len(body) > partSize || w.st.Format.Archive != "" || w.behind.rows > 0) {
		err = w.openRows(resp, bodyOf(resp, body), p)
		if err != nil || w.open != nil {
			return p, err
		}
	} else if p.Body, err = w.st.Format.Document(body, openEnd(resp), w.c.limits.Body, w.c.limits.Record); err != nil {
		return nil, err
	}
	if p.Body == nil {
		return nil, paging.BadPage("the answer has no body")
	}
	if pg, ok := w.st.Page.(paging.ByContinue); ok && pg.Nothing(p.Body, w.st.Records.Path) {
		return p, nil
	}
	p.Elements, p.Single, err = w.st.Records.Elements(p.Body, w.st.Role == collection.Detail, w.c.limits.Body)
	w.noteDeleted(p)
	p.Elements = w.st.Filter.Apply(p.Elements) // nothing of the rest is seen from here on
	warning, refused := w.refusal(resp, p)
	if refused != nil {
		return nil, refused // it says more than that the records are missing
	}
	if warning != nil {
		p.Warnings = append(p.Warnings, *warning)
	}
	return p, w.discreet(w.withWords(w.firstLine(err, p), p))
}

// noteDeleted notes which elements of p say that a record was deleted, which what
// is stored of them need not show.
func (w *walk) noteDeleted(p *paging.Page) {
	if w.st.Deleted == nil {
		return
	}
	p.Deleted = make([]bool, len(p.Elements))
	for i, e := range p.Elements {
		p.Deleted[i] = w.st.IsDeleted(e)
	}
}

// missing returns err, the refusal of the page at token. A piece may be missing
// or gone for good, but no page that the provider itself led to: then it forgot
// its cursor. Nor is a whole list, whatever a rule for its details says.
func (w *walk) missing(err error, token string) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if ok && w.st.Windows != nil && token == "" && (stop.Status == http.StatusBadRequest || stop.Status == http.StatusUnprocessableEntity) {
		stop.Err = errors.Join(stop.Err, collection.ErrWindow)
		return err
	}
	_, counts := w.st.Page.(paging.Counted)
	if ok && !counts && token != "" && (stop.Status == http.StatusBadRequest || stop.Status == http.StatusUnprocessableEntity) {
		stop.Err = errors.Join(stop.Err, collection.ErrCursorRefused)
	}
	if !ok || w.st.Role == collection.Detail || stop.Reason != collection.NotFound && stop.Reason != collection.Gone {
		return err
	}
	if errors.Is(stop, collection.ErrGapDeclared) {
		return err // it is about this page, and not about a cursor
	}
	declared := w.at.Partition != "" && token == "" && errors.Is(stop, collection.ErrDeclared)
	switch {
	case !counts && (token != "" || w.scope.Resume != ""):
		stop.Reason = collection.CursorExpired
		if _, ok := w.st.Page.(paging.Resuming); ok {
			stop.Err = errors.Join(stop.Err, collection.ErrMarkExpired)
		}
	case stop.Reason == collection.Gone && !declared:
		stop.Reason = collection.NotFound
	}
	if counts && token != "" && stop.Status == http.StatusNotFound && !errors.Is(stop, collection.ErrDeclared) {
		stop.Detail = strings.TrimPrefix(stop.Detail+"; the pages before it came: if this API ends its lists like this, with its own words: on: [{status: [404], body: 'body.message == \"no such page\"', verdict: ok}]", "; ")
	}
	return err
}

// lacking returns why a response with its status is not the whole page at
// token; nil if it may be.
func (w *walk) lacking(resp *http.Response, token string) *collection.Stop {
	stop := &collection.Stop{Reason: collection.BadPage, Status: resp.StatusCode}
	_, counts := w.st.Page.(paging.Counted)
	_, one := w.st.Page.(paging.OnePage)
	switch status := resp.StatusCode; {
	case status == http.StatusAccepted:
		stop.Reason, stop.Detail = collection.UpstreamPressure, "the answer is not ready yet"
	case status == http.StatusNoContent && token != "" && !counts:
		// A page before this one said that there is more.
		stop.Detail = "the answer is empty (204), and the page before it led here; if this API ends its lists like this: on: [{status: [204], verdict: ok}]"
	case status == http.StatusPartialContent && one:
		stop.Detail = "the answer is a part of the list (206), but `page` says that the list is one page; if it is the whole list: on: [{status: [206], verdict: ok}]"
	case status == http.StatusNotFound: // accepted as the page behind the last one; but this is the first
		stop.Reason, stop.Detail = collection.NotFound, "it says that there is no such page, and it is the first"
	case status < 200 || status > 299:
		stop.Detail = "an answer with this status is not a page"
	default:
		return nil
	}
	return stop
}

// openEnd reports whether nothing but the end of the connection told where the
// body of resp ends.
func openEnd(resp *http.Response) bool {
	return resp.Close && resp.Header.Get("Content-Length") == "" && len(resp.TransferEncoding) == 0 && !resp.Uncompressed
}

// withoutURL takes the URL, which may hold a cursor or a key, out of an error
// of a client.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func readBody(resp *http.Response, limit int64) ([]byte, error) {
	tooLarge := &collection.Stop{Reason: collection.TooLarge, Detail: "the page is larger than `body` under `limits` allows"}
	if resp.ContentLength > limit {
		return nil, tooLarge
	}
	if whole, ok := resp.Body.(interface{ Bytes() []byte }); ok { // of the governed client
		if body := whole.Bytes(); int64(len(body)) <= limit {
			return body, nil
		}
		return nil, tooLarge
	}
	if _, file := resp.Body.(answer.Body); file {
		return nil, nil // of the governed client, which knows the limit
	}
	if n := resp.ContentLength; n > 0 && n <= 1<<20 {
		body := make([]byte, n) // the usual page in one piece
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(body)) > limit {
		return nil, tooLarge
	}
	return body, err
}
