package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"collect/connectors/declarative"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// checkOptions are the flags of check.
type checkOptions struct {
	name   string
	strict bool
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check <name | file.yaml>",
		Short: "Find all mistakes of a connector file, without a request",
		Long: `Check reads a connector file and prints all of its mistakes, each with its line,
and what is probably not meant: params, secrets and names that nothing uses,
rules that are never reached, credentials that are written into the file.

The exit code is 78 for a file with a mistake. What is probably not meant is a
warning; with --strict the exit code is then 11.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.check(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.strict, "strict", false, "exit 11 on warnings")
	return c
}

// A finding is a mistake of a connector file, or a doubt, for programs.
type finding struct {
	Level   problem.Level `json:"level"`
	Path    string        `json:"path"`
	Line    int           `json:"line"`
	Column  int           `json:"column"`
	Message string        `json:"message"`
	Note    *string       `json:"note"`
	Source  string        `json:"source"`
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	path, src, err := settings.Text(ctx, o.name)
	if err != nil {
		return err
	}
	spec, mistakes, doubts := declarative.Check(path, src)
	if err := a.showFindings(path, spec, mistakes, doubts); err != nil {
		return err
	}
	switch {
	case len(mistakes) > 0:
		return &exitError{problem.ExitConfig}
	case len(doubts) > 0 && o.strict:
		return &exitError{problem.ExitWarned}
	}
	return nil
}

func (a *app) showFindings(path string, spec *declarative.Spec, mistakes, doubts []*declarative.SpecError) error {
	if a.flags.json {
		found := []finding{}
		note := func(level problem.Level, list []*declarative.SpecError) {
			for _, e := range list {
				found = append(found, finding{level, e.Path, e.Line, e.Column, e.Message, jsonout.Text(e.Note), e.Source})
			}
		}
		note(problem.LevelError, mistakes)
		note(problem.LevelWarning, doubts)
		return jsonout.Print(a.out, found)
	}
	for _, e := range mistakes {
		p := problem.Of(e, problem.Scene{})
		p.Saved = ""
		fmt.Fprintln(a.out, renderProblem(p, a.width(), a.caps()))
	}
	for _, e := range doubts {
		p := problem.Of(e, problem.Scene{})
		p.Level, p.Code, p.Saved = problem.LevelWarning, "", ""
		fmt.Fprintln(a.out, renderProblem(p, a.width(), a.caps()))
	}
	verdict := path + ": " + words.Counted(int64(len(mistakes)), "mistake", "mistakes")
	if len(mistakes) == 0 {
		streams := spec.StreamNames()
		verdict = fmt.Sprintf("%s is sound: %s (%s)", path, words.Counted(int64(len(streams)), "stream", "streams"), strings.Join(streams, ", "))
	}
	if len(doubts) > 0 {
		verdict += ", " + words.Counted(int64(len(doubts)), "warning", "warnings")
	}
	fmt.Fprintln(a.out, verdict)
	return nil
}
