package compile

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
	"collect/connectors/declarative/internal/since"
	"collect/connectors/declarative/internal/windows"
	"collect/internal/jq"
)

// A File is a connector file that was found to be sound.
type File struct {
	Name     string
	Params   []Param
	Secrets  []Secret
	Streams  []*Stream // parents first
	BaseURL  notation.Template
	Origins  []notation.Template
	Auth     *language.AuthSpec // nil: none
	TLS      *language.TLSSpec  // nil: as this machine connects
	Login    request.Request    // of a session
	Probe    *probe             // nil: none
	Throttle []rule
	Provider collection.Provider // what the file alone says of it
}

// Stream returns the stream of that name; nil if there is none.
func (f *File) Stream(name string) *Stream {
	for _, st := range f.Streams {
		if st.Name == name {
			return st
		}
	}
	return nil
}

// A Stream is a stream of the file, compiled.
type Stream struct {
	collection.Stream
	request.Request
	Format  answer.Format
	Records answer.Shape
	Filter  answer.Filter       // what of the records may be stored
	Map     *jq.Program         // makes the records of those that were sent; nil: they are stored as they came
	Deleted *notation.Predicate // holds for a record that says it was deleted; nil: none does
	Key     []keyPart
	Page    paging.Kind
	Size    *paging.Sizing   // of a page, where it can change; nil: it cannot
	Job     *Job             // that makes what the stream is; nil: none
	Scroll  *request.Request // for all pages but the first; nil: they are asked for as that
	Total   paging.Source    // of how many records the list has
	Since   *since.Since     // nil: everything, always
	Windows *Windows         // nil: the list is asked for as a whole
	Each    []binding
	When    *notation.Predicate
	Changed *binding
	each    string // `each` as the file has it, without its braces
	On      []rule

	SizeParam   string // the parameter that takes Size; "": the paging or the request has it
	Expect      Expected
	IgnoreTotal bool // what the provider tells as a total counts something else
	Means       meanings
}

// Windows are the windows of time of a stream, with the texts of its user.
type Windows struct {
	windows.Windows
	From, Until notation.Template
}

// A Param is a value that a user gives to a connector.
type Param struct {
	Name     string
	Type     string // string, int, number, bool or date
	Required bool
	Default  string // "" for none
	About    string
}

// A Secret is where a credential comes from: one of Env, File, Keyring and
// Command is set. Who resolves it decides how.
type Secret struct {
	Name     string
	Env      string // the name of an environment variable
	File     string
	Keyring  string // the name of an entry in the keyring of the user
	Command  string
	Rotate   bool // its provider replaces it, and the new one is kept in File
	Optional bool // without it, requests are sent without a credential

	Others []Secret // where it is for further accounts, which take turns
}

// Each returns s for each account.
func (s Secret) Each() []Secret {
	others := s.Others
	s.Others = nil
	return append([]Secret{s}, others...)
}

// From says where the secret comes from, for people: "env ACME_TOKEN"; of several
// accounts, all places.
func (s Secret) From() string {
	if len(s.Others) > 0 {
		var from []string
		for _, one := range s.Each() {
			from = append(from, one.From())
		}
		return strings.Join(from, ", ")
	}
	switch {
	case s.Env != "":
		return "env " + s.Env
	case s.File != "":
		return "file " + s.File
	case s.Keyring != "":
		return "keyring " + s.Keyring
	}
	return "command" // its text may hold a secret of its own
}

// BaseAddress reads an address that requests may begin with.
func BaseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, errors.New("is not an HTTP address such as https://api.example.com")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("must not hold a user, a query or a fragment")
	}
	return u, nil
}

// Secret returns the secret of that name; the zero one if there is none.
func (f *File) Secret(name string) Secret {
	i := slices.IndexFunc(f.Secrets, func(secret Secret) bool { return secret.Name == name })
	if i < 0 {
		return Secret{}
	}
	return f.Secrets[i]
}

// A binding gives a name to a value of the parent: of its record or, where the
// partition of the parent binds that name itself, of its partition.
type binding struct {
	Name      string
	inherited string // the name that the parent's partition binds; "" for a value of its record
	path      notation.Path
}

// A keyPart is one component of a key: a binding of the partition, or a value
// of the record.
type keyPart struct {
	Binding string // "" for a value of the record
	Path    notation.Path
}

// meanings are what the cursors of a stream say something about, each as a
// digest: a cursor that was made with other ones says nothing here.
type meanings struct {
	Selection string // which records there are: a mark stands for all of them up to it
	Paging    string // how they are cut: a token stands for a page of that
}

// A probe is a page that only the right account may see. An API that answers
// everyone, and the account with more, says nothing of a key that it does not
// know: what strangers may see would pass for everything.
type probe struct {
	request.Request
	When *notation.Predicate // nil: any page will do
}

// A rule gives a verdict on a response. All of its conditions must hold, and
// the first rule that matches decides.
type rule struct {
	status  []int // any of them; none for every status
	headers []headerTest
	body    *notation.Predicate
	verdict collection.Verdict
}

// A headerTest holds if the header is there and equals is, or fulfils when.
type headerTest struct {
	name string
	is   string
	when *notation.Predicate
}
