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
// request. And a page is accepted whole or not at all. A page ends in a
// *[collection.Stop], and is owed, if it is not JSON, has no records where they
// should be, lacks the field by which the file goes on, or leads to a page that was
// there before.
package declarative

import (
	"errors"
	"reflect"
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/language"
	"collect/internal/yamlfile"
)

//go:generate sh -c "go run collect connectors schema >connector.schema.json"
//go:generate go test -run TestReferencePage . -update

// A Spec is a connector file that was found to be sound.
type Spec struct{ file *compile.File }

// What a file says of its user, and what collect.yaml may say of a provider's
// pace, too, and what that comes to.
type (
	Param    = compile.Param
	Secret   = compile.Secret
	Pace     = language.Pace
	PaceSpec = language.PaceSpec
)

// Parse reads a connector file. path is its name in errors.
//
// The error joins up to 10 *SpecError, in the order of the file.
func Parse(path string, src []byte) (*Spec, error) {
	f, _, faults := read(src)
	if len(faults) == 0 {
		return &Spec{f}, nil
	}
	var errs []error
	for _, e := range specErrors(path, src, faults[:min(len(faults), maxFaults)]) {
		errs = append(errs, e)
	}
	return nil, errors.Join(errs...)
}

// Check reads a connector file for the person who writes it: it returns all of its
// mistakes, each once, and what is probably not meant, such as a parameter that
// nothing uses. The Spec is nil if [Parse] would refuse the file, which it does for
// the same mistakes. Doubts are told of a file without mistakes only: a misspelt name
// leaves another one unused.
func Check(path string, src []byte) (spec *Spec, mistakes, doubts []*SpecError) {
	f, doc, faults := read(src)
	if len(faults) == 0 {
		more := slices.Concat(compile.Doubts(doc), compile.NoLists(doc, f), compile.FetchedOnce(doc, f))
		sortFaults(more)
		spec, doubts = &Spec{f}, specErrors(path, src, more)
	}
	return spec, specErrors(path, src, faults), doubts
}

// read compiles a connector file, and returns its mistakes in their order. Of what
// a block lacks nothing is said where a mistake stands in that block: it is most
// often the key that is misspelt.
func read(src []byte) (*compile.File, *language.Document, []yamlfile.Fault) {
	doc := &language.Document{}
	faults := yamlfile.Decode(src, doc)
	if reflect.ValueOf(*doc).IsZero() {
		if len(faults) == 0 {
			faults = []yamlfile.Fault{{At: yamlfile.Span{Line: 1, Column: 1, Length: 1}, Message: "the file is empty"}}
		}
		return nil, doc, faults // it is no YAML, or nothing of it could be read
	}
	f, more := compile.Document(doc)
	shape := faults
	for _, fault := range more {
		if !slices.ContainsFunc(shape, func(s yamlfile.Fault) bool { return s.At == fault.At || yamlfile.Within(src, fault.At, s.At) }) {
			faults = append(faults, fault)
		}
	}
	sortFaults(faults)
	return f, doc, faults
}

func sortFaults(faults []yamlfile.Fault) {
	slices.SortStableFunc(faults, func(a, b yamlfile.Fault) int { return a.At.Compare(b.At) })
}

func specErrors(path string, src []byte, faults []yamlfile.Fault) []*SpecError {
	errs := make([]*SpecError, len(faults))
	for i, f := range faults {
		errs[i] = &SpecError{
			Path: path, Line: f.At.Line, Column: f.At.Column,
			Message: f.Message, Note: f.Note, Source: f.Excerpt(src),
		}
	}
	return errs
}

// Name returns the name of the connector.
func (s *Spec) Name() string { return s.file.Name }

// Params returns the parameters, in the order of the file.
func (s *Spec) Params() []Param { return slices.Clone(s.file.Params) }

// Secrets returns the secrets, in the order of the file.
func (s *Spec) Secrets() []Secret { return slices.Clone(s.file.Secrets) }

// ProviderName returns the name of the provider.
func (s *Spec) ProviderName() string { return s.file.Provider.Name }

// StreamNames returns the names of the streams, parents before their children.
func (s *Spec) StreamNames() []string {
	names := make([]string, len(s.file.Streams))
	for i, st := range s.file.Streams {
		names[i] = st.Name
	}
	return names
}

// Streams returns the streams of these names, parents before their children; nil
// stands for all.
func (s *Spec) Streams(names []string) (streams []collection.Stream) {
	for _, st := range s.file.Streams {
		if names == nil || slices.Contains(names, st.Name) {
			streams = append(streams, st.Stream)
		}
	}
	return streams
}

// Schema returns the JSON Schema of the connector language, for editors and
// other programs that write connector files.
//
// It is made from the structs that the reader fills and from the tables that
// the checker looks into, so that neither can have a key or a value that the
// other lacks. It knows shape only: what one part of a file says of another,
// such as the name of a stream in `each`, is found by [Parse].
func Schema() []byte { return yamlfile.SchemaOf(reflect.TypeFor[language.Document]()) }
