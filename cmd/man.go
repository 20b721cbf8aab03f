package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man <directory>",
		Short: "Write the manual pages, one for each command",
		Long: `Man writes a manual page for each command into a directory, which is made if
there is none: collect.1, collect-run.1 and so on. Files of these names are
replaced. With SOURCE_DATE_EPOCH in the environment the pages have that date.`,
		Args: exactArgs("<directory>"),
		RunE: func(c *cobra.Command, args []string) error { return a.man(c.Root(), args[0]) },
	}
}

// asMarkdown has the texts of a command and of those below it say what they say as
// Markdown, which the pages are made of: <name> is no tag.
func asMarkdown(c *cobra.Command) {
	escape := strings.NewReplacer("<", `\<`, ">", `\>`)
	c.Use, c.Short, c.Long = escape.Replace(c.Use), escape.Replace(c.Short), escape.Replace(c.Long)
	for _, child := range c.Commands() {
		asMarkdown(child)
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- pages are for everybody
		return problem.Usage("collect man: %s: %s", dir, words.Cause(err))
	}
	root.DisableAutoGenTag = true
	root.PersistentFlags().Lookup("json").DefValue = "FIELD,…" // which is where a page shows what may follow
	asMarkdown(root)
	version, _, _ := build()
	header := &doc.GenManHeader{Title: "COLLECT", Section: "1", Source: "collect " + version, Manual: "collect"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return problem.Usage("collect man: %s: %s", dir, words.Cause(err))
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "collect*.1"))
	fmt.Fprintf(a.err, "wrote %s; to read one: man -l %s\n", words.Counted(int64(len(pages)), "page", "pages"), words.Quoted(filepath.Join(dir, "collect.1")))
	return nil
}
