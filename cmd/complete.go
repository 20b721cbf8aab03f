package cmd

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/schema"
	"collect/collection"
	"collect/export"
	"collect/internal/words"
	"collect/pacing/law"
	"collect/pacing/sim"
	"collect/report"
	"collect/report/problem"
)

// completes gives a command what completes its arguments and flags in a shell.
func (a *app) completes(c *cobra.Command) {
	if c.ValidArgsFunction == nil && c.HasParent() && c.Parent().Name() != "completion" && c.Name() != "completion" && c.Name() != "help" {
		c.ValidArgsFunction = a.completeArgs
	}
	if !c.HasParent() {
		_ = c.RegisterFlagCompletionFunc("json", func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return fieldsToType(c, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
	}
	for name, values := range map[string]func(*cobra.Command, []string) []string{
		"stream": a.streamsToType,
		"family": func(*cobra.Command, []string) []string { return append([]string{allFamilies}, familyNames()...) },
		"law":    func(*cobra.Command, []string) []string { return law.Laws() },
		"lane": func(*cobra.Command, []string) []string {
			return []string{string(collection.Incremental), string(collection.Backfill)}
		},
		"format":    func(*cobra.Command, []string) []string { return export.Formats() },
		"progress":  func(*cobra.Command, []string) []string { return config.ProgressModes },
		"connector": func(c *cobra.Command, _ []string) []string { return a.namesToType(c) },
	} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				defer a.quietly(c)()
				return values(c, args), cobra.ShellCompDirectiveNoFileComp
			})
		}
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
	defer a.quietly(c)()
	switch {
	case strings.Contains(c.Use, "<file>"), strings.Contains(c.Use, "<directory>"), strings.Contains(c.Use, "<from>"):
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) > 0 && strings.Contains(c.Use, "name | file.yaml>..."):
		values, how = a.namesToType(c), cobra.ShellCompDirectiveDefault
		values = slices.DeleteFunc(values, func(name string) bool { return slices.Contains(args, name) })
	case len(args) == 0 && strings.Contains(c.Use, "name | file.yaml"):
		values, how = a.namesToType(c), cobra.ShellCompDirectiveDefault
		if strings.Contains(c.Use, "fact |") {
			values = append(values, schemaNames()...)
		}
		if strings.Contains(c.Use, "run id") {
			values = append(values, a.runsToType(c)...)
		}
		if strings.Contains(c.Use, "gap id") {
			values = append(values, a.gapsToType(c, "")...)
			for _, reason := range collection.Reasons() {
				values = append(values, string(reason))
			}
			values = append(values, string(collection.DetailGap), string(collection.SliceGap))
		}
	case len(args) == 1 && strings.Contains(c.Use, "stream"):
		values = a.streamsToType(c, args)
	case len(args) > 0 && strings.Contains(c.Use, "[gap]"):
		values = a.gapsToType(c, args[0])
	}
	return values, how
}

// patience is how long a person who pressed a key waits for what completes.
const patience = time.Second

// quietly has what completes say nothing of a database that is missing, locked or
// damaged, and wait for it no longer than patience, until the function that it returns
// is called.
func (a *app) quietly(c *cobra.Command) (end func()) {
	before, said := c.Context(), a.err
	ctx, cancel := context.WithTimeout(before, patience)
	c.SetContext(ctx)
	a.err = io.Discard
	return func() {
		cancel()
		c.SetContext(before)
		a.err = said
	}
}

// fieldsToType returns the fields of what a command prints, behind those that stand
// there.
func fieldsToType(c *cobra.Command, typed string) (values []string) {
	f := factOf(c)
	if f == nil {
		return nil
	}
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	for _, field := range append(schema.Fields(f.schema()), "help") {
		if !slices.Contains(strings.Split(before, ","), field) {
			values = append(values, before+field)
		}
	}
	return values
}

// begins are the commands for a connector that need not be set up or collected yet. Those below auth are, too.
var begins = []string{"auth", "check", "enqueue", "init", "plan", "preview", "record", "run", "simulate"}

// namesToType returns the connectors that a command may be for: those that are configured or collected, and for
// one that begins with a connector those that are built in.
// What goes wrong, the command says when it is given.
func (a *app) namesToType(c *cobra.Command) []string {
	s, _ := a.settings()
	names, _ := s.Configured()
	if path := strings.Fields(c.CommandPath()); len(path) > 1 && slices.Contains(begins, path[1]) {
		names = s.Names()
	}
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
			names = append(names, run.ID+"\t"+run.Connector+" "+report.OutcomeWords(run.Outcome))
		}
		return err
	})
	return names
}
