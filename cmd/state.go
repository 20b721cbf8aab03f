package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) stateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Move the database to another place, or to a server",
		Long: `State copies the whole database to another file, or to or from a Postgres server:
records, checkpoints, gaps, runs, events, orders, and what was learned of
providers.`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.stateCopyCommand())
	return c
}

func (a *app) stateCopyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "copy <from> <to>",
		Short: "Copy the database to another file or server, and prove it equal",
		Long: `Copy copies a database, each a file or postgres://USER@HOST/DATABASE, to a place
where there is none yet, and then reads both and compares every row. Only a copy
that is equal gets its name: until then it is a file that ends in .part, or a
schema that ends in _part. The database that is copied is not changed, and no run
of it begins meanwhile.

Stopped or killed at any moment, it goes on when it is given again. If something
was collected meanwhile, it begins anew.

It prints the rows of each table and a SHA-256 of them, and exits 74 if the two
are not equal. From then on collect with --state TO (or "state:" in collect.yaml):
what is still collected into the old database, the new one does not have.

What only workers have is not copied: schedules, orders to enqueue, and the pace
that several machines share. That begins with what was learned last.`,
		Args: exactArgs("<from>", "<to>"),
		RunE: func(c *cobra.Command, args []string) error { return a.stateCopy(c.Context(), args[0], args[1]) },
	}
}

// A copyLine says what was copied, for programs.
type copyLine struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Equal   bool         `json:"equal"`
	Rows    int64        `json:"rows"`
	Resumed int64        `json:"resumed_rows"` // of these, an earlier copy had brought
	Anew    bool         `json:"begun_anew"`   // an earlier copy was of another state, and was thrown away
	Tables  []copiedLine `json:"tables"`
}

// A copiedLine says what both databases hold of a table.
type copiedLine struct {
	Table  string  `json:"table"`
	Equal  bool    `json:"equal"`
	Rows   int64   `json:"rows"`
	Copied int64   `json:"copied_rows"`
	SHA    string  `json:"sha256"`
	Copy   string  `json:"copied_sha256"`
	First  *string `json:"first_difference"` // the number of the first row that differs, or its name
}

func (a *app) stateCopy(ctx context.Context, from, to string) error {
	for _, name := range []string{from, to} {
		if err := storage.Check(name); err != nil {
			return problem.Usage("collect state copy: %s", err)
		}
	}
	if from == to {
		return problem.Usage("collect state copy: both are %s", words.Clean(from))
	}
	began, told := false, a.copyProgress()
	proof, err := storage.Copy(ctx, from, to, func(p storage.Progress) {
		began = true
		told(p)
	})
	if proof.Tables != nil {
		if shown := a.showProof(from, to, proof); shown != nil {
			return shown
		}
	}
	if err == nil {
		if !a.flags.json {
			fmt.Fprintf(a.err, "copied, and equal. From now on: --state %s, or `state:` in collect.yaml; %s is as it was\n", words.Quoted(to), words.Clean(from))
		}
		return nil
	}
	sc := problem.Scene{State: from, ByHand: true, Nothing: !began, Again: "collect state copy " + words.Quoted(from) + " " + words.Quoted(to)}
	if side, ok := errors.AsType[*store.SideError](err); ok {
		sc.State = side.Name
	}
	return a.exit(err, sc)
}

// copyEvery is how often a copy says how far it has come: more often to a person who
// looks on.
const (
	copyEvery      = time.Minute
	copyEveryShown = 5 * time.Second
)

// copyProgress returns what says how far a copy has come.
func (a *app) copyProgress() func(storage.Progress) {
	every := copyEvery
	if a.terminal {
		every = copyEveryShown
	}
	last := time.Now()
	return func(p storage.Progress) {
		if time.Since(last) < every || a.flags.json {
			return
		}
		last = time.Now()
		verb := "copied"
		if p.Comparing {
			verb = "compared"
		}
		fmt.Fprintf(a.err, "%s %s of %s rows, in %s\n", verb, words.Count(p.Done), words.Count(p.Of), p.Table)
	}
}

// shownDigits is how much of a digest people see: --json has all of it.
const shownDigits = 16

// showProof prints what both databases hold.
func (a *app) showProof(from, to string, proof storage.Proof) error {
	line := copyLine{From: words.Clean(from), To: words.Clean(to), Equal: true, Resumed: proof.Resumed, Anew: proof.Anew}
	t := term.Table{Head: []string{"TABLE", "ROWS", "SHA-256 OF BOTH"}, Right: []int{1}}
	for _, of := range proof.Tables {
		line.Equal = line.Equal && of.Equal()
		line.Rows += of.Rows
		one := copiedLine{Table: of.Table, Equal: of.Equal(), Rows: of.Rows, Copied: of.Copied, SHA: of.Digest, Copy: of.CopyDigest}
		same := of.Digest[:shownDigits]
		if !of.Equal() {
			one.First = &of.First
			same = fmt.Sprintf("differs from %s on; the copy has %s", words.Clean(of.First), words.Counted(of.Copied, "row", "rows"))
		}
		line.Tables = append(line.Tables, one)
		t.Rows = append(t.Rows, []string{of.Table, words.Count(of.Rows), same})
	}
	return a.result(line, t.Render(a.width(), a.caps()))
}
