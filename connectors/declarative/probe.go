package declarative

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"collect/collection"
	"collect/connectors"
)

// A probe is a page that only the right account may see. An API that answers
// everyone, and the account with more, says nothing of a key that it does not
// know: what strangers may see would pass for everything.
type probe struct {
	get     template
	headers []templated
	when    *predicate // nil: any page will do
}

var _ connectors.Prober = (*connector)(nil)

func (c *checker) checkProbe(spec *probeSpec) {
	if spec == nil {
		return
	}
	c.template(spec.Get, c.params)
	switch {
	case spec.Get.text == "":
		c.fail(spec.At, "a probe needs a `get`: a path that only the right account may ask for", "")
	case isAbsolute(spec.Get.text):
		c.fail(spec.Get.at, "a probe is a path below `base_url`", "")
	}
	c.spec.probe = &probe{get: spec.Get, headers: c.headers(c.params, c.doc.Provider.Headers)}
	if spec.When.set {
		c.spec.probe.when = c.predicate(spec.When, bodyNames)
	}
}

// Probe asks for the probe of the file; see [connectors.Prober]. Without a
// credential, which may be optional, there is no account to ask for.
func (c *connector) Probe(ctx context.Context, client *http.Client) error {
	p := c.spec.probe
	if p == nil || c.provider.Authorize == nil && c.provider.Renewal == nil {
		return nil
	}
	w := &walk{c: c, st: &stream{get: p.get, page: onePage{detail: true}}, client: client, scope: scope{params: c.params}}
	target, err := w.target("")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return badPage("the request of the probe cannot be written") // the cause would show the URL
	}
	for _, h := range p.headers {
		req.Header.Set(h.name, h.value.expand(w.scope))
	}
	resp, err := client.Do(req)
	if err != nil {
		return notTheAccount(withoutURL(err))
	}
	defer resp.Body.Close()
	body, err := readBody(resp, c.limits.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refusedProbe(resp.StatusCode, fmt.Sprintf("the probe was answered %d", resp.StatusCode))
	}
	if p.when == nil {
		return nil
	}
	view := view{resp: collection.Response{Status: resp.StatusCode, Header: resp.Header, Body: body}}
	if yes, err := p.when.holds(view.names(p.when.uses)); err != nil || !yes {
		return refusedProbe(resp.StatusCode, "the probe was answered, and its `when` does not hold")
	}
	return nil
}

// notTheAccount returns what an error of the client says about the account: that
// a page is not there, or not for us, means that it is not the right one.
func notTheAccount(err error) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok {
		return err
	}
	switch stop.Reason {
	case collection.NotFound, collection.Gone, collection.Forbidden, collection.BadPage:
		return refusedProbe(stop.Status, fmt.Sprintf("the probe was answered %d", stop.Status))
	}
	return err
}

func refusedProbe(status int, detail string) error {
	return &collection.Stop{Reason: collection.Auth, Status: status, Detail: detail, Err: connectors.ErrProbe}
}
