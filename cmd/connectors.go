package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/jsonout"
)

func (a *app) connectorsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "connectors",
		Short: "List the built-in connectors",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			type row struct {
				Name    string   `json:"connector"`
				Streams []string `json:"streams"`
				Params  []string `json:"params"`
			}
			rows := []row{}
			for _, name := range catalog.List() {
				spec, err := registry.BuiltIn(name)
				if err != nil {
					return err
				}
				r := row{Name: name, Streams: spec.StreamNames(), Params: []string{}}
				for _, p := range spec.Params() {
					r.Params = append(r.Params, p.Name)
				}
				rows = append(rows, r)
			}
			if a.flags.json {
				return jsonout.Print(a.out, rows)
			}
			t := term.Table{Head: []string{"NAME", "STREAMS", "PARAMS"}}
			for _, r := range rows {
				t.Rows = append(t.Rows, []string{r.Name, strings.Join(r.Streams, ", "), strings.Join(r.Params, ", ")})
			}
			fmt.Fprint(a.out, t.Render(a.width(), a.caps()))
			return nil
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
