package declarative

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"collect/collection"
)

// Slices yields the pages of a place, as [connectors.Connector] says.
func (c *connector) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		w, err := c.walk(client, at)
		if err != nil {
			yield(collection.Slice{}, err)
			return
		}
		ctx, from := collection.WithStream(ctx, at.Stream), from // each range begins at from
		for {
			slice, err := w.slice(ctx, from)
			w.st.means.note(&slice)
			w.st.settle(&slice, w.began)
			if err != nil {
				yield(collection.Slice{}, err)
				return
			}
			if !yield(slice, nil) || slice.Next.Done {
				return
			}
			from = slice.Next
		}
	}
}

// Ahead returns cursors by number or offset. It returns none for a stream with
// a high-water mark, whose cursors depend on the records before them.
func (c *connector) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	pg := c.counted(at, from)
	if pg == nil {
		return nil
	}
	var cursors []collection.Cursor
	for range n {
		token, err := pg.ahead(from.Token)
		if err != nil {
			break
		}
		from.Token, from.Meaning = token, c.spec.stream(at.Stream).means.String()
		cursors = append(cursors, from)
	}
	return cursors
}

// Before returns the cursor a number or a page's offset less.
func (c *connector) Before(at collection.Place, from collection.Cursor) (before collection.Cursor, ok bool) {
	if pg := c.counted(at, from); pg != nil {
		before = from
		before.Token, ok = pg.before(from.Token)
	}
	return before, ok
}

// counted returns the paging whose tokens at from we count; nil if we do not.
func (c *connector) counted(at collection.Place, from collection.Cursor) counted {
	st := c.spec.stream(at.Stream)
	if st == nil || st.since != nil || from.Done {
		return nil
	}
	pg, _ := st.page.(counted)
	return pg
}

// A walk is one call of Slices.
type walk struct {
	c      *connector
	st     *stream
	client *http.Client
	at     collection.Place
	vars   map[string]json.RawMessage
	scope  scope
	guard  *guard
	warned bool      // that the mark is ignored
	began  time.Time // by the clock of the provider; zero: it did not say
}

func (c *connector) walk(client *http.Client, at collection.Place) (*walk, error) {
	st := c.spec.stream(at.Stream)
	if st == nil {
		return nil, errors.New("no such stream")
	}
	vars, err := at.Partition.Vars()
	if err != nil {
		return nil, err
	}
	w := &walk{c: c, st: st, client: client, at: at, vars: vars, scope: scope{params: c.params, vars: map[string]string{}}}
	for _, b := range st.each {
		text, ok := rawText(vars[b.name])
		if !ok {
			return nil, fmt.Errorf("the partition does not bind `%s`", b.name)
		}
		w.scope.vars[b.name] = text
	}
	return w, nil
}

// slice fetches the page at from and makes it a slice. A page is accepted
// whole, with the cursor that follows it, or not at all: then it is owed.
func (w *walk) slice(ctx context.Context, from collection.Cursor) (collection.Slice, error) {
	s := collection.Slice{Place: w.at, From: from}
	if w.guard == nil {
		w.guard = newGuard(w.c.limits)
		w.guard.reset(from.Token)
	}
	var win window
	if w.st.since != nil {
		var err error
		if win, err = w.st.since.open(from, w.st.since.start.expand(w.scope)); err != nil {
			return s, err
		}
	}
	w.scope.since = win.asked
	p, err := w.fetch(ctx, from.Token)
	if err != nil {
		return s, err
	}
	if w.began.IsZero() {
		w.began = p.clock
	}
	p.first = from.Token == "" && win.anchor == "" // an anchor is from a page before
	w.cutOverlap(p, from.Token)
	w.split(p, &s)
	if warning := w.maybeCut(p); warning != nil {
		p.warnings = append(p.warnings, *warning)
	}
	s.Warnings = p.warnings
	f, err := footingOf(from.High)
	if err != nil {
		return s, err
	}
	known := w.shortsAt(f)
	token, err := w.next(p, from, known)
	if err != nil {
		return s, err
	}
	s.Told = w.told(p, win.asked, from.Token, token)
	if w.st.Role == collection.List && (token == "" || w.st.since != nil) {
		s.Else = w.restart(win, f, from, token == "")
	}
	known = w.noteShort(p, token, known)
	if w.st.since == nil {
		f.shorts = known
		s.Next = collection.Cursor{Token: token, Since: from.Since, High: f.text(), Version: from.Version, Done: token == ""}
		return s, nil
	}
	marks := w.st.since.marksOf(s.Records)
	if warning := w.ignored(win, marks, from.Token); warning != nil {
		s.Warnings = append(s.Warnings, *warning)
	}
	win.shorts = known
	if warning := w.unanswered(win, p, token); warning != nil {
		s.Warnings = append(s.Warnings, *warning)
	}
	s.Next, err = w.st.since.advance(&win, from, marks, token, p.clock)
	if s.Told.Tie = win.left != ""; !s.Told.Tie && !s.Next.Done {
		s.Else = nil
	}
	if s.Next.Token == "" {
		w.guard.reset("")
	}
	return s, err
}

// next returns the token of the page after p, which is at from.
func (w *walk) next(p *page, from collection.Cursor, known shorts) (token string, err error) {
	if _, headers := w.st.page.(bare); (headers || p.body != nil) && !p.single {
		p.shortIsLast, p.reached = known.believed(), w.reached(p, from.Token)
		if token, err = w.st.page.next(p, from.Token); err != nil {
			return "", w.discreet(err)
		}
		if err := w.end(p, token); err != nil {
			return "", err
		}
		if _, ok := w.st.page.(linked); ok && token != "" {
			if token, err = w.link(token, from.Token); err != nil {
				return "", err
			}
		}
	}
	if w.c.secrets.in(token) {
		return "", badPage("the cursor of the next page holds the credential")
	}
	return w.guard.check(p, w.st.page, from.Token, token)
}

// unanswered warns of a walk that asked from before the newest record and was not
// even given that one.
func (w *walk) unanswered(win window, p *page, next string) *collection.Warning {
	s := w.st.since
	if !p.first || next != "" || len(p.elements) > 0 || win.since == "" || s.lookback <= 0 {
		return nil
	}
	return &collection.Warning{Code: collection.MarkIgnored, Text: fmt.Sprintf("`%s` asked from %s before the newest record, and nothing came, not even that record: the provider may read the mark in another time zone", cmp.Or(s.param, "${since}"), s.lookback)}
}

// end refuses a page that is the last one, by what the file says, and shows that
// it is not: by its Link to the next one, or by as many records as the query asks
// for.
func (w *walk) end(p *page, next string) error {
	_, byHeader := w.st.page.(byHeader)
	_, one := w.st.page.(onePage)
	if next != "" || byHeader || p.reached || w.st.Role == collection.Detail || len(p.elements) == 0 && !one {
		return nil
	}
	if one && !w.tellsTotal(p) {
		if name := w.asksFor(p.had()); name != "" {
			return badPage("%d records came, as many as `%s` asks for, and `page` says that there is one page: say how the list is cut", p.had(), name)
		}
	}
	if name := saysMore(p.body, w.st.records); name != "" {
		return badPage("`%s` is true, and by what `page` says this page is the last one", name)
	}
	if link, _ := linkTarget(p.header.Values("Link"), "next"); link != "" {
		return badPage("the Link header has rel next, and by what `page` says this page is the last one")
	}
	return nil
}

// cutOverlap takes what the page at token repeats of the page before out of its
// elements.
func (w *walk) cutOverlap(p *page, token string) {
	o, ok := w.st.page.(overlapping)
	if !ok {
		return
	}
	if n := len(p.elements); n > 0 {
		p.lastName = w.nameOf(p.elements[n-1])
		p.seam = w.nameOf(p.elements[0])
		over := min(n, o.overlap(token))
		p.overlapped, p.elements = p.elements[:over], p.elements[over:]
	}
}

// nameOf names an element for comparison: by its key, or itself.
func (w *walk) nameOf(element []byte) string {
	if element[0] == '{' {
		if key, reject := w.st.keyOf(element, w.vars); reject == "" {
			return key
		}
	}
	return string(element)
}

// split sorts the elements of p into records and what cannot be one.
//
// Where two on one page have the same key and other bytes, the one with the
// later mark is the record, or else the last one. The other may be an older version of it; but if the key is not unique
// to a record, it is another record, and must not be gone.
func (w *walk) split(p *page, s *collection.Slice) {
	s.Records = make([]collection.Record, 0, len(p.elements))
	had := make(map[string]int, len(p.elements))
	again := false
	for _, data := range p.elements {
		reject := ""
		key := ""
		switch {
		case data[0] != '{':
			reject = notAnObject
		case int64(len(data)) > w.c.limits.Record:
			reject = tooLarge
		case nestsDeeper(data, deepest):
			reject = tooDeep
		default:
			key, reject = w.st.keyOf(data, w.vars)
		}
		if data[0] == '{' {
			p.last = data
		}
		if reject != "" {
			if reject == tooLarge || reject == notAnObject {
				data = collection.Shortened(data)
			}
			s.Rejected = append(s.Rejected, collection.Rejected{Data: data, Reason: reject})
			continue
		}
		r := collection.Record{Key: key, Data: data}
		if w.st.since != nil {
			r.Mark = w.st.since.markOf(data)
		}
		if at, ok := had[key]; ok {
			same := bytes.Equal(s.Records[at].Data, data)
			if !same && s.Records[at].Mark.After(r.Mark) {
				s.Rejected = append(s.Rejected, collection.Rejected{Data: data, Reason: collection.KeyCollision})
				continue
			}
			if !same {
				s.Rejected = append(s.Rejected, collection.Rejected{Data: s.Records[at].Data, Reason: collection.KeyCollision})
			}
			s.Records[at].Data, again = nil, true
		}
		had[key] = len(s.Records)
		s.Records = append(s.Records, r)
	}
	if again {
		s.Records = slices.DeleteFunc(s.Records, func(r collection.Record) bool { return r.Data == nil })
	}
}

// fetch requests the page at token and reads it.
func (w *walk) fetch(ctx context.Context, token string) (*page, error) {
	target, err := w.target(token)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, badPage("the request cannot be written") // the cause would show the URL
	}
	for _, h := range w.st.headers {
		req.Header.Set(h.name, h.value.expand(w.scope))
	}
	sent := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.missing(withoutURL(err), token)
	}
	defer resp.Body.Close()
	clock := clockOf(resp.Header, time.Since(sent))
	body, err := readBody(resp, w.c.limits.Body)
	if err != nil {
		return nil, err
	}
	p := &page{header: resp.Header, clock: clock}
	switch stop := w.lacking(resp, token); {
	case stop != nil && judge(w.st.on, collection.Response{Stream: w.at.Stream, Status: resp.StatusCode, Header: resp.Header, Body: body}) != collection.Accept:
		return nil, stop
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode < 200, resp.StatusCode > 299:
		return p, nil // there is nothing, or a rule says that the status means so
	}
	if p.body, err = checkJSON(body); err != nil {
		return nil, err
	}
	if p.body == nil {
		return nil, badPage("the page is empty")
	}
	p.elements, err = elements(p.body, w.st.records, w.st.Role == collection.Detail, max(fewElements, int(w.c.limits.Body/elementCost)))
	warning, refused := w.refusal(resp, p)
	if refused != nil {
		return nil, refused // it says more than that the records are missing
	}
	if err == nil {
		p.single = w.st.Role == collection.Detail && isObject(p.body, w.st.records)
		err = scalarsOnly(p.elements, w.st.records)
	}
	if warning != nil {
		p.warnings = append(p.warnings, *warning)
	}
	return p, err
}

// missing returns err, the refusal of the page at token. A piece may be missing
// or gone for good, but no page that the provider itself led to: then it forgot
// its cursor. Nor is a whole list, whatever a rule for its details says.
func (w *walk) missing(err error, token string) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok || w.st.Role == collection.Detail || stop.Reason != collection.NotFound && stop.Reason != collection.Gone {
		return err
	}
	_, counts := w.st.page.(counted)
	declared := w.at.Partition != "" && token == "" && errors.Is(stop, collection.ErrDeclared)
	switch {
	case token != "" && !counts:
		stop.Reason = collection.CursorExpired
	case stop.Reason == collection.Gone && !declared:
		stop.Reason = collection.NotFound
	}
	return err
}

// lacking returns why a response with its status is not the whole page at
// token; nil if it may be.
func (w *walk) lacking(resp *http.Response, token string) *collection.Stop {
	stop := &collection.Stop{Reason: collection.BadPage, Status: resp.StatusCode}
	_, counts := w.st.page.(counted)
	_, one := w.st.page.(onePage)
	switch status := resp.StatusCode; {
	case status == http.StatusAccepted:
		stop.Reason, stop.Detail = collection.UpstreamPressure, "the answer is not ready yet"
	case status == http.StatusNoContent && token != "" && !counts:
		// A page before this one said that there is more.
		stop.Detail = "no content where there should be a page; if this API ends so: on: [{status: [204], verdict: ok}]"
	case status == http.StatusPartialContent && one:
		stop.Detail = "a part of the list; if this API means the whole: on: [{status: [206], verdict: ok}]"
	case status < 200 || status > 299:
		stop.Detail = "not a page"
	default:
		return nil
	}
	return stop
}

// discreet returns err, without the names of members of a page if a provider has
// put the credential into one.
func (w *walk) discreet(err error) error {
	if stop, ok := errors.AsType[*collection.Stop](err); ok && w.c.secrets.in(stop.Detail) {
		return badPage("the path of the next page seems to be wrong; what stands beside it holds the credential")
	}
	return err
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
	tooLarge := &collection.Stop{Reason: collection.TooLarge, Detail: "the page is larger than the limit"}
	if resp.ContentLength > limit {
		return nil, tooLarge
	}
	if whole, ok := resp.Body.(interface{ Bytes() []byte }); ok { // of the governed client
		if body := whole.Bytes(); int64(len(body)) <= limit {
			return body, nil
		}
		return nil, tooLarge
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
