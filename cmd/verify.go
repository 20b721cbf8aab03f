package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/engine/verify"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	name        string
	params      []string
	streams     []string
	sample      int
	maxRequests int64
	maxTime     time.Duration
	repair      bool
}

// usualSample is how many partitions of a stream with a parent are read: enough to
// notice a fault that one in thirty has, and not a second backfill.
const usualSample = 100

func (a *app) verifyCommand() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify <name | file.yaml>",
		Short: "Read the provider's lists again, and compare with what is stored",
		Long: `Verify reads each list from its start, at the pace of a run, and compares the
keys, the marks and the bytes with the stored records. Of a stream with a parent
it reads --sample partitions or details, drawn at random. It changes no record
and no checkpoint, and a run may go on beside it.

  missing   the provider has the record, and it is not stored
  stale     another version is stored than the provider has
  vanished  it is stored, and the provider no longer lists it
  ahead     it was made or changed since the newest walk began: the next run has
            it. Without a mark, a time inside the record tells that
  owed      it is not stored, and a gap says so

It exits 76 if a record is missing or stale, or has vanished from a stream that
follows what the provider deletes, and 0 otherwise. One that --max-requests or
--max-time ends says what was not compared.

--repair leaves gaps for what is missing or stale: the next run walks these lists
and partitions from the start, and stores what it finds.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.verify(c.Context(), o)
		},
	}
	flags := c.Flags()
	addParam(c, &o.params)
	flags.StringArrayVar(&o.streams, "stream", nil, "verify only this `stream`; repeatable")
	flags.IntVar(&o.sample, "sample", usualSample, "read `n` partitions or details of a stream with a parent; 0: all")
	flags.Var((*config.CapFlag)(&o.maxRequests), "max-requests", "end after `n` requests, retries included (default none)")
	flags.Var((*config.DurationFlag)(&o.maxTime), "max-time", "end after this `duration` (90s, 30m, 2h, 7d) (default none)")
	flags.BoolVar(&o.repair, "repair", false, "have the next run collect again what is missing or stale")
	return c
}

func (a *app) verify(ctx context.Context, o verifyOptions) error {
	if o.sample < 0 {
		return problem.Usage("--sample: %d is less than none", o.sample)
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	params, err := parseParams(o.params)
	if err != nil {
		return err
	}
	target, err := settings.Resolve(ctx, o.name, params)
	if err != nil {
		return err
	}
	var result verify.Result
	err = a.look(ctx, []string{o.name}, func(v looked) error {
		result, err = verify.Do(ctx, verify.Config{
			Target: target, Store: v.db, Streams: o.streams, Sample: o.sample, Meeting: meetingPlace(a.env),
			MaxRequests: config.Stricter(o.maxRequests, settings.MaxRequests), MaxTime: config.Stricter(o.maxTime, settings.MaxTime),
		})
		return err
	})
	if err != nil {
		return err
	}
	var refused error
	if o.repair {
		refused = a.change(ctx, o.name, func(db store.Store, _ string) error { return result.Repair(ctx, db) })
	}
	if a.flags.json {
		err = a.print(result.Verification)
	} else {
		a.showVerification(result, o.repair && refused == nil)
	}
	switch {
	case err != nil || refused != nil:
		return cmp.Or(err, refused)
	case result.Exit != problem.ExitOK:
		return &exitError{result.Exit}
	}
	return nil
}

// shownKeys is how many keys of a kind are shown to people: all of them are in
// --json, up to [report.MostKeys].
const shownKeys = 5

// showVerification prints a verification for people.
func (a *app) showVerification(r verify.Result, repaired bool) {
	t := term.Table{
		Head:  []string{"STREAM", "READ", "EQUAL", "MISSING", "STALE", "VANISHED", "AHEAD", "OWED"},
		Right: []int{1, 2, 3, 4, 5, 6, 7}, Give: []int{0},
	}
	for _, s := range r.Streams {
		row := []string{words.Clean(s.Stream)}
		for _, n := range []int64{s.Delivered, s.Equal, s.Missing, s.Stale, s.Vanished, s.Ahead, s.Owed} {
			row = append(row, words.Count(n))
		}
		t.Rows = append(t.Rows, row)
	}
	fmt.Fprint(a.out, t.Render(a.width(), a.caps()), "\n")
	for _, s := range r.Streams {
		for _, line := range verificationLines(s) {
			fmt.Fprintln(a.out, a.caps().Text(words.Clean(s.Stream)+": "+line))
		}
	}
	fmt.Fprintln(a.out, r.Sentence())
	for _, stop := range r.Stops {
		if stop.Stop.Detail != "" && !stop.Stop.Reason.EndsRun() {
			fmt.Fprintf(a.out, "%s: %s: %s\n", words.Clean(stop.At.Stream), problem.Brief(stop.Stop.Reason), a.caps().Text(words.Clean(stop.Stop.Detail)))
		}
	}
	switch n := r.Repairable(); {
	case repaired && n > 0:
		fmt.Fprintln(a.out, "repair: gaps are left; to begin it now: "+problem.Command("resume", r.Connector, a.repeat()))
	case n > 0:
		fmt.Fprintln(a.out, "to have them collected again: "+problem.Command("verify", r.Connector, a.repeat())+" --repair")
	}
}

// verificationLines says of a stream what the table does not.
func verificationLines(s report.VerificationStream) (lines []string) {
	if s.Why != "" {
		lines = append(lines, s.Why)
	}
	if s.Of > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s were read", words.Count(s.Partition), words.Counted(s.Of, "partition", "partitions")))
	}
	for _, of := range []struct {
		kind string
		n    int64
		keys []string
	}{{"missing", s.Missing, s.Keys.Missing}, {"stale", s.Stale, s.Keys.Stale}, {"vanished", s.Vanished, s.Keys.Vanished}} {
		if of.n == 0 {
			continue
		}
		shown := make([]string, 0, shownKeys)
		for _, key := range of.keys[:min(len(of.keys), shownKeys)] {
			shown = append(shown, words.CleanLine(key))
		}
		line := of.kind + ": " + strings.Join(shown, ", ")
		if more := of.n - int64(len(shown)); more > 0 {
			line += fmt.Sprintf(" and %s more", words.Count(more))
		}
		lines = append(lines, line)
	}
	switch {
	case s.Vanished == 0:
	case s.Follows:
		lines = append(lines, "vanished records were deleted at the provider, or moved: the next walks of the whole list mark them as deleted, unless `collect status` says why they do not")
	default:
		lines = append(lines, "vanished records were deleted at the provider, or moved, and are kept; where each walk reads all of the list, `deletes: sweep` marks them as deleted")
	}
	if s.Rejected > 0 {
		lines = append(lines, words.Counted(s.Rejected, "record that cannot be stored under its key was", "records that cannot be stored under their keys were")+" not compared")
	}
	if s.Older > 0 {
		lines = append(lines, words.Counted(s.Older, "record came", "records came")+" in an earlier version than the stored one")
	}
	if s.Unsure != "" && s.Vanished > 0 {
		lines = append(lines, "vanished records may be there: "+s.Unsure)
	}
	for _, warning := range s.Warnings {
		lines = append(lines, "warning: "+warning)
	}
	return lines
}
