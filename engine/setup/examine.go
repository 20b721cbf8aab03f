package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/atomicfile"
	"collect/internal/userfile"
	"collect/internal/yamlfile"
)

// An Examination is what there is to answer for a connector before it can collect.
type Examination struct {
	Connector registry.Target // its name and file; it is not built
	Spec      *declarative.Spec
	Params    []declarative.Param // that must be answered: they have no default
	First     *declarative.Param  // the first day to collect; nil: the connector does not ask for one
	Secrets   []Secret
}

// A Secret is one that the connector needs, and how it stands.
type Secret struct {
	declarative.Secret
	There   bool  // it was found
	Err     error // why it could not be looked for
	SignsIn bool  // "collect auth login" gets it
	Movable bool  // collect.yaml can say another place for it
}

// Examine reads the connector that arg stands for, and looks for its secrets.
func Examine(ctx context.Context, r *registry.Registry, arg string) (Examination, error) {
	t, spec, err := r.Find(ctx, arg)
	if err != nil {
		return Examination{}, err
	}
	x := Examination{Connector: t, Spec: spec}
	for _, p := range spec.Params() {
		switch {
		case p.Type == "date" && x.First == nil:
			x.First = &p
		case p.Required:
			x.Params = append(x.Params, p)
		}
	}
	for _, s := range spec.Secrets() {
		source := r.SecretSource(spec.ProviderName(), s)
		found, err := r.Lookup(ctx, source)
		x.Secrets = append(x.Secrets, Secret{
			Secret: source, There: found != "", Err: err, SignsIn: spec.SignsIn() == s.Name, Movable: registry.Movable(s),
		})
	}
	return x, nil
}

// Lacks returns the secret that collect.yaml can say a place for and that a run would
// miss; nil if there is none.
func (x Examination) Lacks() *Secret {
	i := slices.IndexFunc(x.Secrets, func(s Secret) bool { return s.Movable && !s.There && !s.Optional && !s.SignsIn })
	if i < 0 {
		return nil
	}
	return &x.Secrets[i]
}

// BuiltIn reports whether the connector comes with collect: then it says itself where its
// token may go.
func (x Examination) BuiltIn() bool {
	return slices.ContainsFunc(catalog.List(), func(name string) bool {
		spec, err := registry.BuiltIn(name)
		return err == nil && spec.ProviderName() == x.Spec.ProviderName()
	})
}

// Origins returns where the connector sends its token, with these parameters. Its error is
// that of a parameter that cannot be used.
func (x Examination) Origins(params map[string]string) ([]string, error) {
	return x.Spec.Recipients(registry.TokenSecret, params)
}

// A Change is what is about to be written to collect.yaml.
type Change struct {
	Path     string
	Old, New []byte // Old is nil if there is no file
	mode     fs.FileMode
}

// Prepare returns the change that adds an entry to the file at path. valid checks the
// result as every command does; it may refuse it.
func Prepare(path string, e Entry, valid func(path string, old, new []byte) error) (Change, error) {
	c := Change{Path: path, mode: 0o600}
	old, err := userfile.ReadAtMost(path, yamlfile.Longest)
	switch {
	case err == nil:
		c.Old = old
		if info, err := os.Stat(path); err == nil {
			c.mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return c, err
	}
	if c.New, err = e.AddTo(c.Old); err != nil {
		return c, err
	}
	if err := valid(path, c.Old, c.New); err != nil {
		var lines []string
		for _, line := range Added(c.Old, c.New) {
			if added, ok := strings.CutPrefix(line, "+ "); ok {
				lines = append(lines, added)
			}
		}
		return c, fmt.Errorf("%w; add this by hand:\n%s", err, strings.Join(lines, "\n"))
	}
	return c, nil
}

// ErrChanged: somebody else has changed the file meanwhile.
var ErrChanged = errors.New("the file was changed meanwhile, and was left as it is")

// Write writes the file as a whole, or leaves it as it was.
func (c Change) Write() error {
	now, err := userfile.ReadAtMost(c.Path, yamlfile.Longest)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if string(now) != string(c.Old) {
		return ErrChanged
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(c.Path, func(w io.Writer) error {
		_, err := w.Write(c.New)
		return err
	}); err != nil {
		return err
	}
	return os.Chmod(c.Path, c.mode)
}

// Check returns what is wrong with parameters; a secret may be missing still.
func (x Examination) Check(params map[string]string) error {
	_, err := x.Spec.Build(declarative.Options{Params: params})
	if _, missing := errors.AsType[*declarative.MissingSecretError](err); missing {
		return nil
	}
	return err
}
