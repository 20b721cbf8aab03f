// Package declarative reads connectors that are written in YAML.
//
// A connector file says what an API is: where its streams are, how they are
// cut into pages, what a record's key is, how to ask for changes only, and
// what its refusals mean. docs/connectors.md is the reference of the language.
//
// [Parse] checks a file and reports every mistake at its line and column. The
// [Spec] it returns names the parameters and secrets that are wanted; what
// they are is the caller's business, so that this package reads no
// environment and no other file. [Spec.Build] makes the connector.
//
// In a connector, three things are exact. Records are parts of the body as it
// came: they are never decoded and written again. Tokens of pages are what the
// provider sent, so that a walk goes on after any interruption with the same
// request. And a page is accepted whole or not at all: what is not JSON, has
// no records where they should be, lacks what the file says leads on, or leads
// to a page that was there before, ends in a *[collection.Stop] and is owed.
package declarative

import (
	"errors"
	"slices"

	"collect/collection"
)

// A Spec is a connector file that was found to be sound.
type Spec struct {
	name     string
	params   []Param
	secrets  []Secret
	streams  []*stream // parents first
	baseURL  template
	origins  []template
	auth     *authSpec // nil: none
	probe    *probe    // nil: none
	throttle []rule
	provider collection.Provider // what the file alone says of it
}

// A Param is a value that a user gives to a connector.
type Param struct {
	Name     string
	Type     string // string, int, number, bool or date
	Required bool
	Default  string // "" for none
	About    string
}

// A Secret is where a credential comes from: one of Env, File and Command is
// set. Who resolves it decides how.
type Secret struct {
	Name     string
	Env      string // the name of an environment variable
	File     string
	Command  string
	Rotate   bool // its provider replaces it, and the new one is kept in File
	Optional bool // without it, requests are sent without a credential
}

// From says where the secret comes from, for people: "env ACME_TOKEN".
func (s Secret) From() string {
	switch {
	case s.Env != "":
		return "env " + s.Env
	case s.File != "":
		return "file " + s.File
	}
	return "command" // its text may hold a secret of its own
}

// Parse reads a connector file. path is its name in errors.
//
// The error joins up to 10 *SpecError, in the order of the file.
func Parse(path string, src []byte) (*Spec, error) {
	var doc document
	faults := decode(src, &doc)
	spec := &Spec{}
	if len(faults) == 0 {
		c := &checker{doc: &doc, spec: spec}
		c.check()
		faults = c.faults
	}
	if len(faults) == 0 {
		return spec, nil
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return slices.Compare(a.at.order(), b.at.order()) })
	var errs []error
	for _, f := range faults[:min(len(faults), maxFaults)] {
		errs = append(errs, &SpecError{
			Path: path, Line: f.at.line, Column: f.at.column,
			Message: f.message, Note: f.note, Source: excerpt(src, f),
		})
	}
	return nil, errors.Join(errs...)
}

func (s span) order() []int { return []int{s.line, s.column} }

// Name returns the name of the connector.
func (s *Spec) Name() string { return s.name }

// Params returns the parameters, in the order of the file.
func (s *Spec) Params() []Param { return slices.Clone(s.params) }

// Secrets returns the secrets, in the order of the file.
func (s *Spec) Secrets() []Secret { return slices.Clone(s.secrets) }

// ProviderName returns the name of the provider.
func (s *Spec) ProviderName() string { return s.provider.Name }

// StreamNames returns the names of the streams, parents before their children.
func (s *Spec) StreamNames() []string {
	names := make([]string, len(s.streams))
	for i, st := range s.streams {
		names[i] = st.Name
	}
	return names
}

// A stream is a stream of the file, compiled.
type stream struct {
	collection.Stream
	get     template
	query   []templated
	headers []templated
	records path
	key     []keyPart
	page    paging
	total   path   // of how many records the list has
	since   *since // nil: everything, always
	each    []binding
	when    *predicate
	changed *binding
	on      []rule

	ignoreTotal bool // what the provider tells as a total counts something else
	means       meanings
}

// A templated is a parameter of a query, or a header.
type templated struct {
	name  string
	value template
}

func (s *Spec) stream(name string) *stream {
	for _, st := range s.streams {
		if st.Name == name {
			return st
		}
	}
	return nil
}
