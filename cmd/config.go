package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "What the configuration says, and an example of all of it",
		Args:  oneOfCommands("show", "example"),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configShowCommand(), &cobra.Command{
		Use:   "example",
		Short: "Print a collect.yaml that has every key, with its meaning",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(config.Example)
			return err
		},
	})
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use:   "show",
		Short: "The value of each key that holds, and where it came from",
		Long: `Show prints each key of the configuration with the value that holds: of the
built-in values, the files, the environment and the flags, in the order of their
rank. Of ceilings and caps the strictest of all sources holds, and of a reserve
the largest. With --origin it says where each value came from, and what other
sources said. Of a command only the program is shown.

A key that no source says and that has no built-in value is left out; what a
connector file says of its provider is shown by "collect explain".`,
		Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			settings, err := a.settings()
			if err != nil {
				return err
			}
			values := settings.Values()
			return a.result(settingLines(values), settingsText(values, origin, a.width(), a.caps()))
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, "also say where each value came from, and what other sources said")
	return c
}

// A settingLine is a key of the configuration in JSON.
type settingLine struct {
	Key       string     `json:"key"`
	Value     string     `json:"value"`
	Origin    string     `json:"origin"`    // file:line, env NAME, flag --name or built in
	Strictest bool       `json:"strictest"` // of all sources the strictest holds
	Others    []saidLine `json:"others"`    // what other sources said
}

type saidLine struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func settingLines(values []config.Value) []settingLine {
	lines := []settingLine{}
	for _, v := range values {
		line := settingLine{v.Key, v.Value, v.Origin, v.Strictest, []saidLine{}}
		for _, other := range v.Others {
			line.Others = append(line.Others, saidLine{other.Value, other.Origin})
		}
		lines = append(lines, line)
	}
	return lines
}

// settingsText returns the values as a table, and below it what did not hold.
func settingsText(values []config.Value, origin bool, columns int, c term.Caps) string {
	t := term.Table{Head: []string{"KEY", "VALUE"}, Give: []int{1}}
	if origin {
		t.Head, t.Give = append(t.Head, "FROM"), []int{1, 2}
	}
	var others []string
	for _, v := range values {
		row := []string{v.Key, v.Value}
		if origin {
			row = append(row, v.Origin)
		}
		t.Rows = append(t.Rows, row)
		for _, other := range v.Others {
			why := "outranked"
			if v.Strictest {
				why = "not as strict"
			}
			if other.Origin != "built in" {
				others = append(others, fmt.Sprintf("%s: %s in %s is %s", v.Key, other.Value, other.Origin, why))
			}
		}
	}
	text := t.Render(columns, c)
	if !origin || len(others) == 0 {
		return text
	}
	text += "\nWhat else was said\n"
	for _, other := range others {
		text += c.Text(strings.Join(term.Wrap("  ", other, columns), "\n")) + "\n"
	}
	return text
}
