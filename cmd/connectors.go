package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/words"
)

func (a *app) connectorsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "connectors",
		Short: "List the built-in connectors",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			rows := []catalogRow{}
			for _, name := range catalog.List() {
				spec, err := registry.BuiltIn(name)
				if err != nil {
					return err
				}
				rows = append(rows, rowOf(spec))
			}
			t := term.Table{Head: []string{"NAME", "NEEDS", "LIMITS", "TESTED", "STREAMS"}, Give: []int{4, 2}}
			for _, r := range rows {
				tested := "documented answers"
				if r.LiveAgainst != nil {
					tested = *r.LiveAgainst
				}
				t.Rows = append(t.Rows, []string{r.Name, strings.Join(r.needs, ", "), strings.Join(r.Limits, ", "), tested, strings.Join(r.Streams, ", ")})
			}
			return a.result(rows, t.Render(a.width(), a.caps()))
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of connector files, for editors",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(declarative.Schema())
			return err
		},
	})
	return c
}

// A catalogRow is what the catalogue says of a connector.
type catalogRow struct {
	Name        string   `json:"connector"`
	Streams     []string `json:"streams"`
	Params      []string `json:"params"`
	Secrets     []string `json:"secrets"`      // where they are looked for
	Limits      []string `json:"limits"`       // the ceilings of the file; others are learned
	LiveAgainst *string  `json:"live_against"` // the server it is tested against; null: documented answers

	needs []string // the params and secrets without which it cannot run
}

func rowOf(spec *declarative.Spec) catalogRow {
	r := catalogRow{
		Name: spec.Name(), Streams: spec.StreamNames(),
		Params: []string{}, Secrets: []string{}, Limits: []string{},
	}
	for _, p := range spec.Params() {
		r.Params = append(r.Params, p.Name)
		if p.Required {
			r.needs = append(r.needs, p.Name)
		}
	}
	for _, s := range spec.Secrets() {
		r.Secrets = append(r.Secrets, s.From())
		if !s.Optional {
			r.needs = append(r.needs, s.From())
		}
	}
	for _, c := range spec.Provider(declarative.Overrides{}).Ceilings {
		r.Limits = append(r.Limits, words.Ceiling(c))
	}
	if server := catalog.LiveAgainst(spec.Name()); server != "" {
		r.LiveAgainst = &server
	}
	return r
}
