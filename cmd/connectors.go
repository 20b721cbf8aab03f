package cmd

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
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
				spec, err := config.BuiltIn(name)
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

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				version, revision, goVersion := build()
				return jsonout.Print(a.out, map[string]string{"version": version, "revision": revision, "go": goVersion})
			}
			fmt.Fprintln(a.out, versionLine())
			return nil
		},
	}
}

func versionLine() string {
	version, revision, goVersion := build()
	return fmt.Sprintf("collect %s %s %s", version, revision, goVersion)
}

// build returns the version, the revision and the Go release of this binary,
// as the linker recorded them.
func build() (version, revision, goVersion string) {
	version, revision = "(devel)", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision, "unknown"
	}
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision, info.GoVersion
}
