package declarative

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
	"collect/internal/similar"
)

// Options are what a user adds to a connector file.
type Options struct {
	Params   map[string]string
	Secrets  map[string]SecretValue
	More     []map[string]SecretValue // the secrets of further accounts, which take turns with the first
	Provider Overrides
}

// A SecretValue is a secret with where it was found, for people.
type SecretValue struct {
	Value string
	From  string // "env ACME_TOKEN"

	// Replace keeps another value in place of this one, if the provider gives
	// one: see [oauth2.Config]. nil: the value stays.
	Replace func(ctx context.Context, spend func(value string) (next string, err error)) error
}

// Overrides are what a user says of the provider. A zero field leaves what the
// file says. Ceilings are added to those of the file: all hold at once, so
// that the strictest does.
type Overrides struct {
	BaseURL        string
	StartPerSecond float64
	Ceilings       []collection.Ceiling
	On403          collection.ForbiddenPolicy
	Unpaced        bool
	Pace           Pace
}

// A MissingParamError says that a required parameter has no value.
type MissingParamError struct{ Name string }

func (e *MissingParamError) Error() string {
	return fmt.Sprintf("no value for the parameter `%s`", e.Name)
}

// A BadParamError says that a parameter has a value it cannot have, or that
// there is no such parameter.
type BadParamError struct {
	Name    string
	Problem string // "is not a whole number"
}

func (e *BadParamError) Error() string {
	return fmt.Sprintf("the parameter `%s` %s", e.Name, e.Problem)
}

// A MissingSecretError says that a secret was not found, and where it was
// looked for.
type MissingSecretError struct {
	Name   string
	Looked []string
	SignIn string // the name to sign in by, which gets it; "": that cannot be
}

func (e *MissingSecretError) Error() string {
	return fmt.Sprintf("no value for the secret `%s` (looked in: %s)", e.Name, strings.Join(e.Looked, ", "))
}

// A BadSecretError says that a secret cannot be sent. It does not show it.
type BadSecretError struct {
	Name    string
	Problem string
}

func (e *BadSecretError) Error() string { return fmt.Sprintf("the secret `%s` %s", e.Name, e.Problem) }

// A connector is a Spec with the values of one user. It does not change, and
// is safe for concurrent use.
type connector struct {
	spec        *compile.File
	params      map[string]string
	baseURL     string
	provider    collection.Provider
	limits      collection.Limits
	keysInQuery []string // the parameters that carry a credential
	secrets     credentials

	ofPartitions paging.OfPartitions
}

// The connector can name cursors before their pages are fetched.
var (
	_ connectors.Aheader = (*connector)(nil)
	_ connectors.Cutter  = (*connector)(nil)
)

// It knows the cursors that an edit of its file made meaningless.
var _ connectors.Restarter = (*connector)(nil)

// Build makes the connector for one user.
//
// Errors: [*MissingParamError], [*BadParamError], [*MissingSecretError] and
// [*BadSecretError], the first one in the order of the file.
func (s *Spec) Build(o Options) (connectors.Connector, error) {
	c := &connector{spec: s.file, provider: s.Provider(o.Provider)}
	var err error
	if c.params, err = c.resolveParams(o.Params); err != nil {
		return nil, err
	}
	if err := c.address(o.Provider.BaseURL); err != nil {
		return nil, err
	}
	if err := c.authorize(o.Secrets); err != nil {
		return nil, err
	}
	if err := c.takeTurns(o.More); err != nil {
		return nil, err
	}
	if err := c.secure(o.Secrets); err != nil {
		return nil, err
	}
	p := &c.provider
	p.Others = c.named()
	c.limits = p.Limits.WithDefaults()
	if c.judges() {
		p.Judge = c.judge
	}
	return c, nil
}

// Recipients returns the origins that are sent a secret, what is got for it, or what it
// signs, under these parameters: those of the API, then that of the token endpoint or of the login. It
// fails where Build does because of an address.
func (s *Spec) Recipients(secret string, params map[string]string) ([]string, error) {
	if !(s.file.Auth != nil && s.file.Auth.Uses(secret)) && !(s.file.TLS != nil && s.file.TLS.Uses(secret)) {
		return nil, nil
	}
	c := &connector{spec: s.file, params: map[string]string{}}
	for _, p := range s.file.Params {
		c.params[p.Name] = cmp.Or(params[p.Name], p.Default)
	}
	if err := c.address(""); err != nil {
		return nil, err
	}
	return c.trusted()
}

// Signs reports whether a secret is a key to sign with, which itself is not sent.
func (s *Spec) Signs(secret string) bool {
	return s.file.Auth != nil && s.file.Auth.Signs(secret) || s.file.TLS != nil && s.file.TLS.Key.Refers("secrets."+secret)
}

// Provider returns what the file and o say of the provider's limits, for a caller
// that only shows them: without its address, credential and rules.
func (s *Spec) Provider(o Overrides) collection.Provider {
	p := s.file.Provider
	p.Ceilings = append(slices.Clone(p.Ceilings), o.Ceilings...)
	if o.StartPerSecond > 0 {
		p.StartPerSecond = o.StartPerSecond
	}
	if o.On403 != "" {
		p.Forbidden = o.On403
	}
	p.Unpaced = p.Unpaced || o.Unpaced
	pace := Pace{Law: p.Law, Concurrency: p.Concurrency, Clamp: p.Clamp, Reserve: p.Reserve}.Under(o.Pace)
	p.Law, p.Concurrency, p.Clamp, p.Reserve = pace.Law, pace.Concurrency, pace.Clamp, pace.Reserve
	return p
}

// Provider describes the provider, as [connectors.Connector] says.
func (c *connector) Provider() collection.Provider { return c.provider }

// Streams lists the streams, parents first.
func (c *connector) Streams() []collection.Stream {
	streams := make([]collection.Stream, len(c.spec.Streams))
	for i, st := range c.spec.Streams {
		streams[i] = st.Stream
	}
	return streams
}

// judge applies the rules of the stream that asked, then the provider's.
func (c *connector) judge(resp collection.Response) collection.Verdict {
	if st := c.spec.Stream(resp.Stream); st != nil {
		if v := compile.Judge(st.On, resp); v != collection.NoVerdict {
			return v
		}
	}
	v := compile.Judge(c.spec.Throttle, resp)
	if v == collection.NoVerdict && c.behindLast(resp) {
		return collection.Accept
	}
	return v
}

func (c *connector) judges() bool {
	return len(c.spec.Throttle) > 0 || slices.ContainsFunc(c.spec.Streams, func(st *compile.Stream) bool { return len(st.On) > 0 || paging.Numbered(st.Page) })
}

// behindLast reports whether a response may be the page behind the last one; see
// [walk.lacking].
func (c *connector) behindLast(resp collection.Response) bool {
	st := c.spec.Stream(resp.Stream)
	return st != nil && resp.Status == http.StatusNotFound && st.Role == collection.List && paging.Numbered(st.Page) && paging.NoSuchPage(resp.Body)
}

func (c *connector) resolveParams(given map[string]string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range c.spec.Params {
		value := given[p.Name]
		if value == "" {
			value = p.Default
		}
		if value == "" && p.Required {
			return nil, &MissingParamError{Name: p.Name}
		}
		if problem := p.Problem(value); value != "" && problem != "" {
			return nil, &BadParamError{Name: p.Name, Problem: problem}
		}
		values[p.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := values[name]; !known {
			problem := "is not one of this connector"
			if near := similar.To(name, slices.Sorted(maps.Keys(values))); near != "" {
				problem += fmt.Sprintf("; a similar one is `%s`", near)
			}
			return nil, &BadParamError{Name: name, Problem: problem}
		}
	}
	return values, nil
}

// address fills in the base URL and the origins. Parameters stand in them as
// they are, because one may be the whole address of a user's own server; the
// result must be a plain address.
func (c *connector) address(override string) error {
	name, base := "base_url", override
	if base == "" {
		base = c.spec.BaseURL.Expand(notation.Scope{Params: c.params})
		for _, p := range c.spec.BaseURL.Parts {
			if param, ok := strings.CutPrefix(p.Name, "params."); ok {
				name = param
			}
		}
	}
	u, err := compile.BaseAddress(base)
	if err != nil {
		return &BadParamError{Name: name, Problem: err.Error()}
	}
	c.baseURL = base
	c.provider.Origins = []string{collection.Origin(u)}
	_, host, _ := strings.Cut(c.provider.Origins[0], "://")
	c.provider.Party = cmp.Or(c.provider.Party, host)
	for _, o := range c.spec.Origins {
		u, err := compile.BaseAddress(o.Expand(notation.Scope{Params: c.params}))
		if err != nil {
			return &BadParamError{Name: "origins", Problem: err.Error()}
		}
		if !slices.Contains(c.provider.Origins, collection.Origin(u)) {
			c.provider.Origins = append(c.provider.Origins, collection.Origin(u))
		}
	}
	return nil
}

// named returns the origins that the streams name themselves: those of a `get`
// that is a whole address. A host that a binding is part of comes out of a
// response, and is none of them.
func (c *connector) named() []string {
	var origins []string
	for _, st := range c.spec.Streams {
		if st.Job != nil {
			for _, o := range st.Job.Origins {
				if u, err := compile.BaseAddress(o.Expand(notation.Scope{Params: c.params})); err == nil {
					origins = append(origins, collection.Origin(u))
				}
			}
		}
		var known strings.Builder
		whole := true
		for _, p := range st.Path.Parts {
			param, isParam := strings.CutPrefix(p.Name, "params.")
			if whole = p.Name == "" || isParam; !whole {
				break
			}
			known.WriteString(p.Text + c.params[param])
		}
		if !request.IsAbsolute(known.String()) {
			continue
		}
		scheme, address, _ := strings.Cut(known.String(), "://")
		if end := strings.IndexAny(address, "/?#"); end >= 0 {
			address = address[:end]
		} else if !whole {
			continue
		}
		if u, err := compile.BaseAddress(strings.ToLower(scheme) + "://" + address); err == nil {
			origins = append(origins, collection.Origin(u))
		}
	}
	return origins
}
