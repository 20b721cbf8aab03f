package cmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"collect/cmd/internal/chart"
	"collect/cmd/internal/live"
	"collect/cmd/internal/schema"
	"collect/engine/author"
	"collect/engine/author/airbyte"
	"collect/engine/doctor"
	"collect/engine/signin"
	"collect/fleet"
	"collect/report"
	"collect/report/problem"
)

// A fact is a kind of JSON that commands print.
type fact struct {
	name     string   // of its schema
	of       []any    // values of the types that are printed
	commands []string // that print it; the others print it on stderr, or in a file
}

// facts are all kinds of JSON that commands print, in the order of "collect schema".
// What a command prints that is not here has no fields to choose and no schema.
var facts = []fact{
	{"status", []any{[]report.StatusLine{}}, []string{"status"}},
	{"gaps", []any{[]report.GapLine{}}, []string{"gaps", "gaps retry", "gaps waive"}},
	{"order", []any{[]orderLine{}}, []string{"pause", "unpause", "breaker open", "breaker close", "breaker release", "freeze on", "freeze release", "budget set", "budget release", "schema accept", "reset", "enqueue", "schedule add", "schedule remove"}},
	{"budget", []any{[]report.BudgetLine{}}, []string{"budget show"}},
	{"calendar", []any{[]report.TimelineLine{}}, []string{"gaps --calendar"}},
	{"runs", []any{[]report.RunLine{}}, []string{"runs"}},
	{"run-view", []any{report.RunViewLine{}}, []string{"run-view"}},
	{"explain", []any{report.ExplanationLine{}, report.GapExplanationLine{}, report.RunViewLine{}, problem.Meaning{}}, []string{"explain"}},
	{"plan", []any{report.Plan{}}, []string{"plan"}},
	{"doctor", []any{doctor.Report{}}, []string{"doctor"}},
	{"verify", []any{report.Verification{}}, []string{"verify"}},
	{"settings", []any{[]settingLine{}}, []string{"config show"}},
	{"connectors", []any{[]catalogRow{}}, []string{"connectors"}},
	{"check", []any{[]finding{}}, []string{"check"}},
	{"preview", []any{[]pageLine{}}, []string{"preview"}},
	{"test", []any{[]author.Played{}}, []string{"test"}},
	{"import", []any{airbyte.Translation{}}, []string{"import airbyte"}},
	{"auth", []any{[]signin.Need{}}, []string{"auth list"}},
	{"prune", []any{[]prunedLine{}}, []string{"prune"}},
	{"state", []any{copyLine{}}, []string{"state copy"}},
	{"simulate", []any{chart.JSON(nil)}, []string{"simulate"}},
	{"fleet", []any{fleet.ViewLine{}}, []string{"fleet"}},
	{"schedules", []any{[]fleet.ScheduleLine{}}, []string{"schedule list"}},
	{"worker", []any{workerLine{}}, nil},
	{"version", []any{versionFacts{}}, []string{"version"}},
	{"event", []any{live.EventLine{}}, nil},
	{"log", []any{live.LogLine{}}, nil},
	{"summary", []any{report.SummaryLine{}}, nil},
	{"ends", []any{report.EndsLine{}}, nil},
	{"error", []any{problem.Line{}}, nil},
}

// schema returns the JSON Schema of a fact.
func (f fact) schema() *schema.Schema { return schema.Of("collect "+f.name, f.of...) }

// factOf returns what a command prints for programs; nil if it has no fields to choose.
func factOf(c *cobra.Command) *fact {
	command := strings.TrimPrefix(c.CommandPath(), "collect ")
	if c.Flags().Changed("calendar") {
		command += " --calendar"
	}
	i := slices.IndexFunc(facts, func(f fact) bool { return slices.Contains(f.commands, command) })
	if i < 0 {
		return nil
	}
	return &facts[i]
}

// addFormat adds the flags that say how facts are printed.
func (a *app) addFormat(flags *pflag.FlagSet) {
	json := flags.VarPF(&jsonFlag{&a.flags}, "json", "", "print JSON for programs; --json=`FIELD,…` only these fields, --json=help lists them")
	json.NoOptDefVal = "true"
	flags.Var(&shapeFlag{&a.flags, &a.flags.format.JQ}, "jq", "print what this `program` of jq makes of the JSON")
	flags.Var(&shapeFlag{&a.flags, &a.flags.format.Template}, "template", "print what this Go `template` makes of the JSON")
}

// A jsonFlag asks for JSON: all fields, or those that are named, or their names.
type jsonFlag struct{ flags *globalFlags }

func (f *jsonFlag) Set(text string) error {
	if is, err := strconv.ParseBool(text); err == nil {
		f.flags.json = is
		return nil
	}
	f.flags.json = true
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field == "help" {
			f.flags.list = true
		} else if field != "" {
			f.flags.format.Fields = append(f.flags.format.Fields, field)
		}
	}
	return nil
}

func (f *jsonFlag) String() string { return "" }
func (*jsonFlag) Type() string     { return "fields" }

// A shapeFlag shapes JSON, and so asks for it.
type shapeFlag struct {
	flags *globalFlags
	text  *string
}

func (f *shapeFlag) Set(text string) error {
	f.flags.json, *f.text = true, text
	return nil
}

func (f *shapeFlag) String() string { return "" }
func (*shapeFlag) Type() string     { return "string" }

// printsFacts has a command list its fields, if that is what was asked for, and refuse
// a form that does not suit them before it does anything.
func (a *app) printsFacts(c *cobra.Command) {
	args, run := c.Args, c.RunE
	if run == nil {
		return
	}
	if args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if a.flags.list {
				return nil
			}
			return args(c, given)
		}
	}
	c.RunE = func(c *cobra.Command, given []string) error {
		if !a.flags.list && a.flags.format.Plain() {
			return run(c, given)
		}
		f := factOf(c)
		if f == nil {
			return problem.Usage("%s: it prints no facts whose fields could be chosen; see `collect schema`", c.CommandPath())
		}
		fields := schema.Fields(f.schema())
		if a.flags.list {
			fmt.Fprintln(a.out, strings.Join(fields, "\n"))
			return nil
		}
		if err := a.flags.format.Check(fields); err != nil {
			return problem.Usage("%s: %s", c.CommandPath(), err)
		}
		return run(c, given)
	}
}
