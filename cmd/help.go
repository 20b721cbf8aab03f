package cmd

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/export"
	"collect/internal/words"
	"collect/pacing/law"
	"collect/pacing/sim"
	"collect/report/problem"
)

// The groups of commands, in the order in which they are met.
var groups = []*cobra.Group{
	{ID: "collect", Title: "Collect:"},
	{ID: "look", Title: "See how it stands:"},
	{ID: "records", Title: "Take records out, and keep them safe:"},
	{ID: "operate", Title: "Give orders:"},
	{ID: "other", Title: "Try and learn:"},
}

// pages says what the help of each command has besides its flags: the group it
// is in, and an example that can be typed.
var pages = map[string]struct{ group, example string }{
	"collect":                   {"", "collect run tickets.yaml\ncollect status\ncollect explain tickets"},
	"collect run":               {"collect", "collect run tickets.yaml --param org=acme --max-time 30m\ncollect run github --stream issues --max-requests 1000"},
	"collect resume":            {"collect", "collect resume tickets\ncollect resume tickets --max-requests 100"},
	"collect status":            {"look", "collect status\ncollect status tickets\ncollect status --check; echo $?"},
	"collect explain":           {"look", "collect explain tickets\ncollect explain g_31\ncollect explain E0301\ncollect explain DETAIL_GAP"},
	"collect gaps":              {"look", "collect gaps\ncollect gaps tickets --all\ncollect gaps tickets --json"},
	"collect gaps retry":        {"", "collect gaps retry tickets g_31 --reason 'access was granted'\ncollect gaps retry tickets --stream details --reason 'mended' --yes"},
	"collect runs":              {"look", "collect runs\ncollect runs tickets --limit 5"},
	"collect doctor":            {"look", "collect doctor\ncollect doctor --online\ncollect doctor --bundle report.tar.gz"},
	"collect export":            {"records", "collect export tickets details > details.jsonl\ncollect export tickets details --format csv --output details.csv"},
	"collect backup":            {"records", "collect backup state-backup.db"},
	"collect restore":           {"records", "collect restore state-backup.db --reason 'the disk failed'"},
	"collect reset":             {"operate", "collect reset tickets --stream details --reason 'collect it again'\ncollect reset tickets --stream issues --from 2026-01-01T00:00:00Z"},
	"collect schema":            {"operate", "collect schema accept tickets issues --reason 'they renamed it'"},
	"collect schema accept":     {"", "collect schema accept tickets issues --reason 'they renamed it'"},
	"collect freeze":            {"operate", "collect freeze on tickets --for 2h --reason 'they asked us to'\ncollect freeze release tickets --reason 'settled with them'"},
	"collect freeze on":         {"", "collect freeze on tickets --for 2h --reason 'they asked us to'"},
	"collect breaker":           {"operate", "collect breaker open tickets --reason 'maintenance at noon'\ncollect breaker release tickets --reason 'maintenance is over'"},
	"collect connectors":        {"other", "collect connectors\ncollect connectors --json"},
	"collect demo":              {"other", "collect demo\ncollect demo --keep demo"},
	"collect simulate":          {"other", "collect simulate\ncollect simulate --ceiling 8 --family window --seeds 5\ncollect simulate --connector tickets.yaml --family bucket --requests 600 --every 1d"},
	"collect version":           {"other", "collect version --json"},
	"collect help":              {"other", "collect help run\ncollect help exit-codes"},
	"collect completion":        {"other", "source <(collect completion bash)"},
	"collect exit-codes":        {"", "collect help exit-codes"},
	"collect connectors schema": {"", "collect connectors schema > connector.schema.json"},
	"collect freeze release":    {"", "collect freeze release tickets --reason 'settled with them'"},
	"collect breaker open":      {"", "collect breaker open tickets --reason 'maintenance at noon'"},
	"collect breaker close":     {"", "collect breaker close tickets --reason 'their status page says that it is over'"},
	"collect breaker release":   {"", "collect breaker release tickets --reason 'maintenance is over'"},
}

// dress gives every command below root its example, its group, and what
// completes its arguments and flags.
func (a *app) dress(root *cobra.Command) {
	root.AddGroup(groups...)
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	a.dressOne(root)
}

func (a *app) dressOne(c *cobra.Command) {
	page := pages[c.CommandPath()]
	c.GroupID = page.group
	if page.example != "" {
		c.Example = "  " + strings.ReplaceAll(page.example, "\n", "\n  ")
	}
	if c.ValidArgsFunction == nil && c.HasParent() && c.Parent().Name() != "completion" && c.Name() != "completion" && c.Name() != "help" {
		c.ValidArgsFunction = a.completeArgs
	}
	for name, values := range map[string]func(*cobra.Command, []string) []string{
		"stream": a.streamsToType,
		"family": func(*cobra.Command, []string) []string { return append([]string{allFamilies}, familyNames()...) },
		"law":    func(*cobra.Command, []string) []string { return law.Laws() },
		"lane": func(*cobra.Command, []string) []string {
			return []string{string(collection.Incremental), string(collection.Backfill)}
		},
		"format":    func(*cobra.Command, []string) []string { return []string{string(export.JSONL), string(export.CSV)} },
		"progress":  func(*cobra.Command, []string) []string { return config.ProgressModes },
		"connector": func(c *cobra.Command, _ []string) []string { return a.namesToType(c) },
	} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return values(c, args), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
	for _, child := range c.Commands() {
		a.dressOne(child)
	}
}

func familyNames() (names []string) {
	for _, f := range sim.Kinds() {
		names = append(names, f.Name)
	}
	return names
}

// completeArgs completes what a command is about by its usage line: connectors,
// then streams or gaps, and for explain all that can be explained. Where a file
// can be given, files are completed, too.
func (a *app) completeArgs(c *cobra.Command, args []string, _ string) (values []string, how cobra.ShellCompDirective) {
	how = cobra.ShellCompDirectiveNoFileComp
	switch {
	case strings.Contains(c.Use, "<file>"):
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) == 0 && strings.Contains(c.Use, "name | file.yaml"):
		values, how = a.namesToType(c), cobra.ShellCompDirectiveDefault
		if strings.Contains(c.Use, "gap id") {
			values = append(values, a.gapsToType(c, "")...)
			values = append(values, a.runsToType(c)...)
			for _, reason := range collection.Reasons() {
				values = append(values, string(reason))
			}
			values = append(values, string(collection.DetailGap), string(collection.SliceGap))
		}
	case len(args) == 1 && strings.Contains(c.Use, "<stream>"):
		values = a.streamsToType(c, args)
	case len(args) > 0 && strings.Contains(c.Use, "[gap]"):
		values = a.gapsToType(c, args[0])
	}
	return values, how
}

// namesToType returns the connectors there are: configured, collected, built in.
// What goes wrong, the command says when it is given.
func (a *app) namesToType(c *cobra.Command) []string {
	s, _ := a.settings()
	names := s.Names()
	_ = a.look(c.Context(), nil, func(v looked) error {
		if v.db == nil {
			return nil
		}
		collected, err := v.db.Connectors(c.Context())
		names = append(names, collected...)
		return err
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func (a *app) streamsToType(c *cobra.Command, args []string) (names []string) {
	if len(args) == 0 {
		return nil
	}
	_ = a.look(c.Context(), args[:1], func(v looked) error {
		if v.db == nil {
			return nil
		}
		streams, err := v.db.Streams(c.Context(), v.name)
		names = namesOf(streams)
		return err
	})
	if names == nil {
		if s, err := a.settings(); err == nil {
			if _, spec, err := s.Find(c.Context(), args[0]); err == nil {
				names = spec.StreamNames()
			}
		}
	}
	return names
}

func (a *app) gapsToType(c *cobra.Command, connector string) (names []string) {
	var of []string
	if connector != "" {
		of = []string{connector}
	}
	_ = a.look(c.Context(), of, func(v looked) error {
		gaps, err := v.gaps(c.Context())
		for _, gap := range gaps[:min(len(gaps), gapsShown)] {
			names = append(names, words.GapName(gap.ID)+"\t"+problem.Brief(gap.Reason))
		}
		return err
	})
	return names
}

func (a *app) runsToType(c *cobra.Command) (names []string) {
	_ = a.look(c.Context(), nil, func(v looked) error {
		runs, err := v.runs(c.Context(), gapsShown)
		for _, run := range runs {
			names = append(names, run.ID+"\t"+run.Connector+" "+runOutcome(run))
		}
		return err
	})
	return names
}

// A countFlag counts how often it is given. Help calls its value nothing, as
// that of a switch.
type countFlag int

func (n *countFlag) Set(text string) error {
	if text == "true" {
		*n++
		return nil
	}
	value, err := strconv.Atoi(text)
	*n = countFlag(value)
	return err
}

func (n *countFlag) String() string { return strconv.Itoa(int(*n)) }
func (*countFlag) Type() string     { return "bool" }

// countVar adds a flag that may be repeated: -qq.
func countVar(flags *pflag.FlagSet, n *int, name, short, usage string) {
	f := flags.VarPF((*countFlag)(n), name, short, usage)
	f.NoOptDefVal, f.DefValue = "true", "false"
}
