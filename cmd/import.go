package cmd

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"collect/engine/author/airbyte"
	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Make a connector file of another tool's",
		Args:  oneOfCommands("airbyte"),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.importAirbyteCommand())
	return c
}

func (a *app) importAirbyteCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "airbyte <manifest.yaml>",
		Short: "Make a connector file of a manifest of Airbyte",
		Long: `Import airbyte reads the manifest of a low-code connector, and writes NAME.yaml. It
lists, line by line, what it could not translate. A stream that would deliver
something else than the manifest's is left out; then the exit code is 65. A file that
is there is never replaced. Nothing is sent.`,
		Args: exactArgs("<manifest.yaml>"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.importAirbyte(args[0], cmp.Or(name, nameOfManifest(args[0])))
		},
	}
	c.Flags().StringVar(&name, "name", "", "the `name` of the connector; otherwise that of the file, or of its folder")
	return c
}

// nameOfManifest returns a name for a connector: manifests are mostly called
// source-NAME/manifest.yaml.
func nameOfManifest(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name == "manifest" {
		if whole, err := filepath.Abs(path); err == nil {
			name = filepath.Base(filepath.Dir(whole))
		}
	}
	return airbyte.Name(strings.TrimPrefix(strings.TrimPrefix(name, "source-"), "source_"))
}

func (a *app) importAirbyte(manifest, name string) error {
	src, err := os.ReadFile(manifest)
	if err != nil {
		return problem.Usage("collect import: %s", words.Cause(err))
	}
	path := name + ".yaml"
	if _, err := os.Lstat(path); err == nil {
		return problem.Usage("collect import: there is a file %s already, which is not replaced; choose another --name", path)
	}
	got, err := airbyte.Translate(name, src, checked(path))
	if err != nil {
		return problem.Usage("collect import: %s: %s", manifest, err)
	}
	if len(got.File) > 0 {
		if err := a.writeTo(path, func(w io.Writer) error {
			_, err := w.Write(got.File)
			return err
		}); err != nil {
			return err
		}
	}
	if a.flags.json {
		err = a.print(got)
	} else {
		a.printTranslation(manifest, path, got)
	}
	if err == nil && len(got.LeftOut) > 0 {
		err = &exitError{problem.ExitOwed}
	}
	return err
}

func (a *app) printTranslation(manifest, path string, got *airbyte.Translation) {
	for _, n := range got.Notes {
		fmt.Fprintf(a.out, "%s:%d: %s\n", manifest, n.Line, words.Clean(n.Text))
	}
	if len(got.Notes) > 0 {
		fmt.Fprintln(a.out)
	}
	if len(got.Streams) > 0 {
		fmt.Fprintf(a.out, "%s is written, with %s. Look at it, then: collect check %s --online\n", path, words.Counted(int64(len(got.Streams)), "stream", "streams"), path)
	}
	if len(got.LeftOut) > 0 {
		fmt.Fprintf(a.out, "%s left out: %s\n", words.Counted(int64(len(got.LeftOut)), "stream is", "streams are"), strings.Join(got.LeftOut, ", "))
	}
}
