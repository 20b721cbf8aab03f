package cmd

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"collect/cmd/internal/config"
)

func walkCommands(c *cobra.Command, each func(*cobra.Command)) {
	each(c)
	for _, child := range c.Commands() {
		walkCommands(child, each)
	}
}

// leakedType is a type of Go where help should name what a value is.
var leakedType = regexp.MustCompile(`--[a-z-]+ (string|int|int64|uint64|float64|count|strings|stringArray|bool)\s`)

// Every page of help has an example of that command, every command is in a
// group, no flag shows a type of Go, each says its default, and flags of one
// name mean the same wherever they are.
func TestHelpOfEveryCommand(t *testing.T) {
	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: os.Getenv}
	pagesSeen, same := 0, map[string]string{}
	walkCommands(a.rootCommand(), func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Parent() != nil && c.Parent().Name() == "completion" {
			return // cobra's
		}
		if _, ours := pages[path]; ours {
			pagesSeen++
		}
		if !strings.Contains(c.Example, path) && !strings.Contains(c.Example, "collect help exit-codes") {
			t.Errorf("%s: its help has no example of it: %q", path, c.Example)
		}
		if c.HasParent() && !c.Parent().HasParent() && c.GroupID == "" && !c.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s is in no group", path)
		}
		if found := leakedType.FindString(c.LocalFlags().FlagUsages()); found != "" {
			t.Errorf("%s: its help shows a type: %q", path, found)
		}
		c.InitDefaultHelpFlag()
		if text := c.UsageString(); c.HasParent() && !strings.Contains(text, "      --json[=FIELD,…]  ") || strings.Contains(text, "[=true]") {
			t.Errorf("%s: its help does not show --json as a person types it:\n%s", path, text)
		}
		var help strings.Builder
		c.SetOut(&help)
		_ = c.Help()
		for line := range strings.Lines(help.String()) {
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 80 && c.Name() != "exit-codes" {
				t.Errorf("%s: a line of its help is wider than 80 columns: %q", path, line)
			}
		}
		if c.Runnable() && c.ValidArgsFunction == nil && c.Name() != "completion" && c.Name() != "help" && c.HasParent() {
			t.Errorf("%s: its arguments are completed by file names", path)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, number := f.Value.(*config.DurationFlag)
			switch f.Value.Type() {
			case "int", "int64", "uint64", "float64":
				number = true
			}
			if line := c.LocalFlags().FlagUsages(); number && !regexp.MustCompile(`--`+f.Name+` .*\(.*default`).MatchString(line) {
				t.Errorf("%s: --%s does not say its default", path, f.Name)
			}
			switch f.Name {
			case "reason", "yes", "no-input", "for", "force":
				usage := strings.TrimSuffix(f.Usage, " (required)")
				if was, known := same[f.Name]; known && was != usage {
					t.Errorf("%s: --%s is %q, elsewhere %q", path, f.Name, usage, was)
				}
				same[f.Name] = usage
			}
			if f.Name == "yes" && c.Flags().Lookup("no-input") == nil {
				t.Errorf("%s: has --yes and no --no-input", path)
			}
		})
	})
	if pagesSeen != len(pages) {
		t.Errorf("%d of %d pages are of commands that there are", pagesSeen, len(pages))
	}
}
