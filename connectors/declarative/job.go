package declarative

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
	"collect/connectors/declarative/internal/since"
)

// jobPage fetches the page at token of the result of a job. The first page of a walk
// creates the job and has no records: its cursor is stored before the job is asked for,
// so that a process that is killed does not create a second one.
func (w *walk) jobPage(ctx context.Context, token string) (*paging.Page, error) {
	id, _ := paging.JobOf(token)
	w.scope.Vars["job"] = id
	if id == "" {
		p, err := w.askJob(ctx, w.st.Job.Create, true)
		w.created = err == nil
		return p, err
	}
	if w.ready != id {
		if err := w.await(ctx); err != nil {
			return nil, w.missing(err, token)
		}
		w.ready = id
	}
	return w.fetch(ctx, token)
}

// await asks for the job until it is done. The wait between two polls is one at the
// gate: the end of the run ends it, as a planned pause.
func (w *walk) await(ctx context.Context) error {
	j := w.st.Job
	wait := time.Duration(0)
	if w.created {
		wait = j.Every
	}
	for {
		p, err := w.askJob(collection.WithNotBefore(ctx, time.Now().Add(wait)), j.Poll, false)
		if err != nil {
			return err
		}
		view := compile.View{Resp: collection.Response{Stream: w.at.Stream, Status: http.StatusOK, Header: p.Header, Body: p.Body}}
		if j.Failed != nil {
			if failed, err := j.Failed.Holds(view.Names(j.Failed.Uses)); err == nil && failed {
				return w.failed(p)
			}
		}
		if done, err := j.Done.Holds(view.Names(j.Done.Uses)); err == nil && done {
			return w.found(p)
		}
		wait = max(j.Every, retryAfter(p.Header))
	}
}

// retryAfter returns how long an answer asks to wait before the next poll.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 && seconds < 1<<30 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}

// failed is the error for a job that failed. One that an earlier run created is given
// up for a new one, once in a run.
func (w *walk) failed(p *paging.Page) error {
	if !w.created {
		return &collection.Stop{Reason: collection.CursorExpired, Detail: "the job that an earlier run created has failed"}
	}
	said := ""
	if text := paging.Words(p.Body); text != "" && !w.c.secrets.partly(text) {
		said = ": " + text
	}
	return paging.BadPage("the provider says that its job failed%s", said)
}

// found keeps the address of the result, which is stored nowhere: it may hold a
// signature.
func (w *walk) found(p *paging.Page) error {
	if !w.st.Job.Result.Set {
		return nil
	}
	link, ok := notation.TextOf(w.st.Job.Result.In(p.Body))
	if !ok || link == "" {
		return paging.BadPage("the job is done, and there is no address at `%s`", w.st.Job.Result.Text)
	}
	base, err := url.Parse(w.c.baseURL)
	if err != nil {
		return paging.BadPage("`base_url` is no address")
	}
	if w.result, err = request.Resolve(base, link); err != nil {
		return err
	}
	if at := collection.Origin(w.result); !slices.Contains(w.c.provider.Origins, at) && !slices.Contains(w.c.provider.Others, at) {
		return collection.Unlisted(w.result, w.c.secrets.in)
	}
	return nil
}

// askJob sends a request about a job, whose answer is a document. One that creates a
// job is sent again only where it was refused (429): it may have created one.
func (w *walk) askJob(ctx context.Context, r request.Request, creates bool) (*paging.Page, error) {
	for n := 1; ; n++ {
		p, err := w.sendJob(ctx, r, creates)
		stop, ok := errors.AsType[*collection.Stop](err)
		if !creates || !ok || stop.Status != http.StatusTooManyRequests || stop.Reason != collection.RateLimited || n >= w.c.limits.Attempts {
			return p, err
		}
	}
}

func (w *walk) sendJob(ctx context.Context, r request.Request, creates bool) (*paging.Page, error) {
	target, err := r.URL(w.c.baseURL, w.scope, nil)
	if err != nil {
		return nil, err
	}
	req, err := r.New(ctx, target, w.scope)
	if err != nil {
		return nil, err
	}
	if creates {
		req.Header.Del("Idempotency-Key")
	}
	sent := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	p := &paging.Page{Header: resp.Header, Clock: since.ClockOf(resp.Header, time.Since(sent))}
	if p.Body, err = readBody(resp, w.c.limits.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &collection.Stop{Reason: collection.BadPage, Status: resp.StatusCode, Detail: "an answer with this status says nothing of a job"}
	}
	if p.Body, err = (answer.Format{}).Document(p.Body, openEnd(resp), w.c.limits.Body, w.c.limits.Record); err != nil {
		return nil, err
	}
	if p.Body == nil {
		return nil, paging.BadPage("the answer about a job has no body")
	}
	return p, nil
}

// creates reports whether the page at token is the one that creates the job.
func (w *walk) creates(token string) bool { return w.st.Job != nil && token == "" }

// first reports whether the page at token is the first one with records.
func (w *walk) first(token string) bool {
	if w.st.Job == nil {
		return token == ""
	}
	id, page := paging.JobOf(token)
	return id != "" && page == ""
}
