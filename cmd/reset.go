package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/engine"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

type resetOptions struct {
	operatorOptions
	stream   string
	from     string
	lane     string
	future   bool // from may be in it
	noBackup bool
}

func (a *app) resetCommand() *cobra.Command {
	var o resetOptions
	c := &cobra.Command{
		Use:   "reset <name | file.yaml> --stream S --reason WHY",
		Short: "Start a stream over, or from a mark such as a date",
		Long: `Reset moves the checkpoints of a stream, so that the next run collects it
again: from its start or, with --from, what changed since a mark, which is
written like those of its records: a time, or a number. No record is deleted:
what comes again replaces what is stored under the same key. Who did it, when
and why is kept, and so is a backup of the database, beside it.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.reset(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.stream, "stream", "", "the `stream` to reset")
	c.Flags().StringVar(&o.from, "from", "", "go on from this `mark`, such as a date, instead of the start")
	c.Flags().StringVar(&o.lane, "lane", string(collection.Incremental), "the `lane` to reset: incremental or backfill")
	o.addFlags(c)
	c.Flags().BoolVar(&o.noBackup, "no-backup", false, "do not keep a backup of the database, which takes as much space as it has")
	c.Flags().BoolVar(&o.future, "future", false, "allow --from to be in the future: changes until then are not collected")
	return c
}

func (a *app) reset(ctx context.Context, o resetOptions) error {
	if o.stream == "" {
		return problem.Usage("collect reset: missing --stream")
	}
	if err := checkLane(o.lane); err != nil {
		return err
	}
	if err := needReason("collect reset", o.reason); err != nil {
		return err
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		stream, err := findStream(ctx, db, name, o.stream)
		if err != nil {
			return err
		}
		if o.from != "" {
			if err := a.checkFrom(ctx, db, name, o); err != nil {
				return err
			}
		}
		if !o.yes && a.mustNotAsk(o.operatorOptions) {
			return problem.Usage("not confirmed; nothing was changed. No question may be asked here: add --yes")
		}
		if !o.yes {
			if err := a.confirm(ctx, fmt.Sprintf("%s %s", name, o.stream), o.from, stream); err != nil {
				return err
			}
		}
		at := collection.Place{Stream: o.stream, Lane: collection.Lane(o.lane)}
		kept := ""
		if !o.noBackup {
			if kept, err = a.keepBefore(ctx, db); err != nil {
				return err
			}
		}
		audit := engine.AuditOf(o.reason)
		if err := db.Reset(ctx, name, at, cursorFrom(o.from), audit); err != nil {
			if kept != "" {
				err = errors.Join(err, os.Remove(kept)) // of what was not changed
			}
			return err
		}
		said := fmt.Sprintf("reset: %s/%s. The next run collects it again; %s records stay until they are replaced", name, o.stream, words.Count(stream.Records))
		if err := a.ordered("reset", []string{name}, true, audit, said); err != nil {
			return err
		}
		if kept != "" {
			fmt.Fprintf(a.err, "  kept   %s is the database as it was before\n  back   collect restore %s%s --reason WHY\n", words.Home(kept, a.env), words.Quoted(kept), a.repeat())
		}
		return nil
	})
}

// keepBefore makes a backup beside the database, and returns where; "" if the
// database is damaged, since a reset may be the way out of that.
func (a *app) keepBefore(ctx context.Context, db store.Store) (string, error) {
	settings, err := a.settings()
	if err != nil {
		return "", err
	}
	file, isFile := storage.FileOf(settings.State)
	copier, copies := db.(storage.Copier)
	if !isFile || !copies {
		return "", &problem.ServedError{Command: "collect reset without --no-backup", Tool: storage.Dump(settings.State)}
	}
	path := file.Beside("before-reset", time.Now())
	switch err := copier.Backup(ctx, path, false); {
	case err == nil:
		return path, nil
	case errors.Is(err, store.ErrDamaged):
		fmt.Fprintln(a.err, "no backup is kept: the database is damaged")
		return "", nil
	default:
		return "", &problem.OutputError{Err: fmt.Errorf("the backup that a reset keeps (--no-backup resets without one): %w", err)}
	}
}

// checkFrom refuses what --from must not be: a text that is no mark of the
// stream, which its provider may take for anything, and a time that has not
// come, since what changes until then would not be asked for.
func (a *app) checkFrom(ctx context.Context, db store.Store, name string, o resetOptions) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	meeting := a.meeting(&settings).Reading(db)
	_, spec, err := meeting.Registry.Find(ctx, o.name)
	if err != nil {
		return err
	}
	var sample []byte
	for record, err := range db.Records(ctx, name, o.stream) {
		if err != nil {
			return err
		}
		if spec.HasMark(o.stream, record.Data) {
			sample = record.Data
			break
		}
	}
	at, err := spec.CheckMark(o.stream, o.from, sample)
	if err != nil {
		return problem.Usage("--from: %v; nothing was changed", err)
	}
	if at.After(time.Now()) && !o.future {
		return problem.Usage("--from: %s is in the future: changes until then would not be collected; nothing was changed (--future allows it)", o.from)
	}
	return nil
}

// cursorFrom returns the cursor that a person means by from: where a walk
// begins that asks for what is new since from. "" is the very start.
func cursorFrom(from string) collection.Cursor {
	return collection.Cursor{Since: from, Done: from != ""}
}

// confirm asks for the name to be typed.
func (a *app) confirm(ctx context.Context, name, from string, stream store.StreamState) error {
	if from == "" {
		from = "the start"
	}
	fmt.Fprintf(a.err, "%s has %s records. To collect it again from %s, type its name (%s): ",
		stream.Name, words.Count(stream.Records), from, name)
	line, err := a.reply(ctx)
	if cause := context.Cause(ctx); cause != nil {
		fmt.Fprintln(a.err)
		return cause
	}
	if strings.TrimSpace(line) != name {
		if err != nil || !a.terminal { // the line of the question has no end yet
			fmt.Fprintln(a.err)
		}
		return problem.Usage("not confirmed; nothing was changed (--yes skips the question)")
	}
	return nil
}
