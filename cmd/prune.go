package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/engine"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// pruneOptions are the flags of prune.
type pruneOptions struct {
	operatorOptions
	all                  bool
	shrink, dryRun       bool
	events, runs, slices string
	quarantine           string
}

func (a *app) pruneCommand() *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune [name | file.yaml]",
		Short: "Remove old events, runs, slices and rejected records",
		Long: `Prune removes what is old of the past of a connector: events, runs, slices that
stored nothing, and records that were rejected. It says first what that is, and
removes nothing that is not named by a flag. Records with the slices that stored
them, checkpoints, gaps, the orders of people, and the newest run of each exit
code are never removed, and what the runs add up to stays in the totals. Who did
it, when and why is kept.

It may be used while a run is under way. The room is used by what is stored
next: the file keeps its size, until --shrink gives its free bytes back to the
disk. That writes the file anew, while no run is on, and needs as much room on
the disk as the file takes, twice.`,
		Args: atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.name = args[0]
			}
			return a.prune(c.Context(), o)
		},
	}
	o.addFlags(c)
	flags := c.Flags()
	flags.BoolVar(&o.all, "all", false, "of all connectors")
	flags.StringVar(&o.events, "events", "", "events that are older than this `duration or size` (90d), or all but the newest of each connector that take that much (64MB)")
	flags.StringVar(&o.runs, "runs", "", "runs that ended longer ago than this `duration or size`, or all but the newest of each connector that take that much")
	flags.StringVar(&o.slices, "slices", "", "slices that stored nothing, committed longer ago than this `duration or size`, or all but the newest of each connector that take that much")
	flags.StringVar(&o.quarantine, "quarantine", "", "rejected records that came last longer ago than this `duration or size`, or all but the newest of each connector that take that much")
	flags.BoolVar(&o.shrink, "shrink", false, "then give the free bytes of the file back to the disk; also by itself")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return c
}

// only reports whether the order is to shrink the file, which is that of all connectors,
// and nothing else.
func (o *pruneOptions) only() bool {
	return o.shrink && o.events+o.runs+o.slices+o.quarantine == ""
}

// what returns the order that the flags give.
func (o *pruneOptions) what(now time.Time) (p store.Prune, err error) {
	if o.all == (o.name != "") {
		return p, problem.Usage("collect prune: name a connector, or give --all")
	}
	for _, f := range []struct {
		name, text string
		before     *time.Time
		room       *int64
	}{{"events", o.events, &p.Events, &p.EventsRoom}, {"runs", o.runs, &p.Runs, &p.RunsRoom}, {"slices", o.slices, &p.Slices, &p.SlicesRoom}, {"quarantine", o.quarantine, &p.Quarantine, &p.Room}} {
		if f.text == "" {
			continue
		}
		if age, err := config.ParseDuration(f.text); err == nil && age > 0 {
			*f.before = now.Add(-age)
		} else if *f.room, err = parseSize(f.text); err != nil {
			return p, problem.Usage("--%s: %q is neither a duration such as 90d nor a size such as 64MB", f.name, f.text)
		}
	}
	if p == (store.Prune{}) {
		return p, problem.Usage("collect prune: say what is old: --events 90d, --runs 90d, --slices 90d, --quarantine 90d")
	}
	if !o.dryRun {
		return p, needReason("collect prune", o.reason)
	}
	return p, nil
}

// parseSize reads a size as people write it, in the units of [words.Size].
func parseSize(text string) (int64, error) {
	low := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	factor := int64(1e12)
	for _, unit := range []string{"tb", "gb", "mb", "kb", "b"} {
		if number, ok := strings.CutSuffix(low, unit); ok {
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil || n <= 0 {
				break
			}
			return n * factor, nil
		}
		factor /= 1000
	}
	return 0, errors.New("not a size")
}

func (a *app) prune(ctx context.Context, o pruneOptions) error {
	var what store.Prune
	var err error
	if !o.only() {
		if what, err = o.what(time.Now()); err != nil {
			return err
		}
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if o.shrink && !o.dryRun { // before anything is removed
		if err := a.idle(ctx, settings); err != nil {
			return a.exit(err, problem.Scene{State: settings.State, Usual: !settings.StateNamed, ByHand: true})
		}
	}
	if !o.only() {
		if err := a.pruneHistory(ctx, o, what, settings); err != nil {
			return err
		}
	}
	if !o.shrink {
		return nil
	}
	return a.shrink(ctx, o, settings)
}

// idle refuses to shrink the file while a run is on, by the name of that run.
func (a *app) idle(ctx context.Context, settings config.Settings) error {
	if _, ok := storage.FileOf(settings.State); !ok {
		return &problem.ServedError{Command: "collect prune --shrink", Tool: storage.Vacuum(settings.State)}
	}
	db, err := openThere(ctx, settings)
	if err != nil {
		return err
	}
	defer db.Close()
	states, err := db.States(ctx, "")
	for _, state := range states {
		if s := report.StatusFrom(state, time.Now()); s.Running(time.Now()) {
			return &store.HeldError{Run: s.Newest()}
		}
	}
	return err
}

// shrink gives the free bytes of the file back to the disk.
func (a *app) shrink(ctx context.Context, o pruneOptions, settings config.Settings) error {
	sc := problem.Scene{State: settings.State, Usual: !settings.StateNamed, ByHand: true}
	file, ok := storage.FileOf(settings.State)
	if !ok {
		return a.exit(&problem.ServedError{Command: "collect prune --shrink", Tool: storage.Vacuum(settings.State)}, sc)
	}
	if o.dryRun {
		return a.spare(ctx, settings, sc)
	}
	before, _ := storage.RoomOf(settings.State)
	if err := file.Shrink(ctx); err != nil {
		return a.exit(err, sc)
	}
	after, _ := storage.RoomOf(settings.State)
	fmt.Fprintf(a.err, "%s takes %s now, and took %s\n", words.Home(settings.State, a.env), words.Size(after.Size), words.Size(before.Size))
	return nil
}

// spare says how many bytes of the file are free.
func (a *app) spare(ctx context.Context, settings config.Settings, sc problem.Scene) error {
	db, err := openThere(ctx, settings)
	if err != nil {
		return a.exit(err, sc)
	}
	defer db.Close()
	if free, size, ok := storage.SpareOf(ctx, db, settings.State); ok {
		fmt.Fprintf(a.err, "%s takes %s, of which %s would be given back\n", words.Home(settings.State, a.env), words.Size(size), words.Size(free))
	}
	return nil
}

// pruneHistory removes what is old of the past.
func (a *app) pruneHistory(ctx context.Context, o pruneOptions, what store.Prune, settings config.Settings) error {
	sc := problem.Scene{State: settings.State, Usual: !settings.StateNamed, ByHand: true}
	db, err := storage.Open(ctx, settings.State)
	if err != nil {
		return a.exit(err, sc)
	}
	defer db.Close()
	names, err := db.Connectors(ctx)
	if err == nil && !o.all {
		var name string
		if name, err = registry.NameOf(o.name); err == nil {
			sc.Connector, names = name, []string{name}
			err = known(ctx, db, name)
		}
	}
	if err != nil {
		return a.exit(err, sc)
	}
	found, err := engine.Prunable(ctx, db, names, what)
	if err != nil {
		return a.exit(err, sc)
	}
	var sum store.Pruned
	for _, n := range found {
		sum = sum.Add(n)
	}
	if o.dryRun || sum.Rows() == 0 {
		return a.pruned("would remove", names, found)
	}
	if err := a.agree(ctx, o.operatorOptions, fmt.Sprintf("This removes %s, for good.", report.PrunedWords(sum))); err != nil {
		return err
	}
	removed := make([]store.Pruned, len(names))
	err = engine.Prune(ctx, db, names, what, o.reason, func(name string, gone store.Pruned) { removed[slices.Index(names, name)] = gone })
	if shown := a.pruned("removed", names, removed); shown != nil {
		return shown
	}
	if err != nil {
		return a.exit(err, sc)
	}
	if free, size, ok := storage.SpareOf(ctx, db, settings.State); ok && !o.shrink && !a.flags.json {
		fmt.Fprintf(a.err, "what is stored next uses the room: of %s in the file %s are free. To give them back to the disk: collect prune --shrink%s\n", words.Size(size), words.Size(free), a.repeat())
	}
	return nil
}

// A prunedLine says what was removed of one connector, for programs.
type prunedLine struct {
	Connector   string `json:"connector"`
	Events      int64  `json:"events"`
	Runs        int64  `json:"runs"`
	Slices      int64  `json:"slices"` // that stored nothing
	Quarantined int64  `json:"quarantined"`
	Bytes       int64  `json:"bytes"`
}

// pruned says what was removed of each connector, or would be.
func (a *app) pruned(verb string, names []string, of []store.Pruned) error {
	if a.flags.json {
		lines := []prunedLine{}
		for i, n := range of {
			lines = append(lines, prunedLine{names[i], n.Events, n.Runs, n.Slices, n.Quarantined, n.Bytes})
		}
		return a.print(lines)
	}
	none := true
	for i, n := range of {
		if n.Rows() > 0 {
			none = false
			fmt.Fprintf(a.err, "%s: %s %s\n", words.Clean(names[i]), verb, report.PrunedWords(n))
		}
	}
	if none {
		fmt.Fprintln(a.err, "nothing is that old; nothing was removed")
	}
	return nil
}
