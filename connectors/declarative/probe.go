package declarative

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
)

var _ connectors.Prober = (*connector)(nil)

// Probe asks for the probe of the file; see [connectors.Prober]. Without a
// credential, which may be optional, there is no account to ask for.
func (c *connector) Probe(ctx context.Context, client *http.Client) error {
	p := c.spec.Probe
	if p == nil || c.provider.Anonymous() {
		return nil
	}
	scope := notation.Scope{Params: c.params}
	target, err := p.URL(c.baseURL, scope, nil)
	if err != nil {
		return err
	}
	req, err := p.New(ctx, target, scope)
	if err != nil {
		return err
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
	if p.When == nil {
		return nil
	}
	view := compile.View{Resp: collection.Response{Status: resp.StatusCode, Header: resp.Header, Body: body}}
	if yes, err := p.When.Holds(view.Names(p.When.Uses)); err != nil || !yes {
		return refusedProbe(resp.StatusCode, "the probe was answered, but its `when` is not true of the answer")
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
	if stop.Reason.Withheld() || stop.Reason == collection.BadPage {
		return refusedProbe(stop.Status, fmt.Sprintf("the probe was answered %d", stop.Status))
	}
	return err
}

func refusedProbe(status int, detail string) error {
	return &collection.Stop{Reason: collection.Auth, Status: status, Detail: detail, Err: connectors.ErrProbe}
}
