package declarative

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// A walk is one call of Slices.
type walk struct {
	c         *connector
	st        *compile.Stream // of this walk: its paging changes with the size of a page
	kind      paging.Kind     // the paging that the file names
	size      int             // of the page that is asked for, where it can change
	client    *http.Client
	at        collection.Place
	vars      map[string]json.RawMessage
	scope     notation.Scope
	guard     *guard
	created   bool        // the job of the walk was created by it
	ready     string      // the id of the job that is done
	result    *url.URL    // of it; nil: the stream has its address
	scrolling bool        // a scroll was begun by this walk
	warned    bool        // that the mark is ignored
	asked     time.Time   // when the last page was asked for, by our clock
	window    uint64      // the digest of the window before, if it was one page
	marks     since.Marks // of the parts of the open page that were read
	behind    part        // the place inside the page to begin at
	open      *openPage   // nil: none is read in parts
	began     time.Time   // by the clock of the provider; zero: it did not say
	begun     time.Time   // no earlier than that
}

func (c *connector) walk(client *http.Client, at collection.Place) (*walk, error) {
	st := c.spec.Stream(at.Stream)
	if st == nil {
		return nil, errors.New("no such stream")
	}
	vars, err := at.Partition.Vars()
	if err != nil {
		return nil, err
	}
	own := *st
	w := &walk{c: c, st: &own, kind: st.Page, client: client, at: at, vars: vars, scope: notation.Scope{Params: c.params, Vars: map[string]string{}, Raw: map[string]json.RawMessage{}}}
	for _, b := range st.Each {
		text, ok := compile.RawText(vars[b.Name])
		if !ok {
			return nil, fmt.Errorf("the partition does not bind `%s`", b.Name)
		}
		w.scope.Vars[b.Name], w.scope.Raw[b.Name] = text, vars[b.Name]
	}
	for _, p := range c.spec.Params {
		w.scope.Type("params."+p.Name, c.params[p.Name], p.Type == "int" || p.Type == "number" || p.Type == "bool")
	}
	return w, nil
}

// nameOf names an element for comparison: by its key, or itself.
func (w *walk) nameOf(element []byte) string {
	if element[0] == '{' {
		if key, reject := w.st.KeyOf(element, w.vars); reject == "" {
			return key
		}
	}
	return string(element)
}

// discreet returns err, without the names of members of a page if a provider has
// put the credential into one.
func (w *walk) discreet(err error) error {
	if stop, ok := errors.AsType[*collection.Stop](err); ok && w.c.secrets.in(stop.Detail) {
		return paging.BadPage("the path of the next page or of the records seems to be wrong; the names beside it are not shown, because one of them contains the credential")
	}
	return err
}
