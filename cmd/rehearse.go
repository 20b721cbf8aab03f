package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/internal/words"
	"collect/report/problem"
)

// recordOptions are the flags of record.
type recordOptions struct {
	name   string
	params []string
	out    string
	pages  int
}

func (a *app) recordCommand() *cobra.Command {
	o := recordOptions{pages: 3}
	c := &cobra.Command{
		Use:   "record <file.yaml>",
		Short: "Record the first pages of each stream, for collect test",
		Long: `Record asks for the first pages of each stream, in the line of the runs that use
the account, and writes the requests and the answers to NAME.txtar beside the
connector file: text that can be read and edited. Of a stream with a parent it
records the first parent found. No record is stored, and no checkpoint moves.

Every secret of the connector is taken out, by its value, in whatever form the
provider gives it back. The records are in the file as they came: look at them
before you give it to somebody.`,
		Args: exactArgs("<file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.recordPages(c.Context(), o)
		},
	}
	addParam(c, &o.params)
	c.Flags().StringVar(&o.out, "out", "", "write into this `folder` (default that of the connector file)")
	c.Flags().IntVar(&o.pages, "pages", o.pages, "record the first `n` pages of each stream")
	return c
}

func (a *app) recordPages(ctx context.Context, o recordOptions) error {
	if o.pages < 1 {
		return problem.Usage("--pages: at least one page is needed")
	}
	target, err := a.resolve(ctx, o.name, o.params)
	if err != nil {
		return err
	}
	spec := target.Spec
	streams := spec.StreamNames()
	t, err := a.begin(ctx, target, int64(len(streams)*o.pages)+trialExtra, nil)
	if err != nil {
		return err
	}
	var failed error
	if failed = t.Account(ctx); failed == nil {
		for _, stream := range streams {
			pages := t.Pages(ctx, stream, o.pages)
			if err := pages[len(pages)-1].Err; err != nil {
				fmt.Fprintf(a.err, "%s: %s\n", stream, words.Clean(pages[len(pages)-1].Why))
				failed = err
			}
		}
	}
	t.Close(ctx)
	tape := t.Tape(target.Params)
	if len(tape.Exchanges) == 0 {
		return failed
	}
	path := tapeFile(o.out, o.name, spec)
	rehearsal, err := a.rehearse(ctx, spec, tape, false)
	if err != nil {
		return err
	}
	tape.Records = rehearsal.Records
	text, err := tape.Format()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- for a repository
		return err
	}
	if err := a.writeTo(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %s, %s\n", path, words.Counted(int64(len(tape.Exchanges)), "exchange", "exchanges"),
		words.Counted(int64(rehearsal.Plain.Records), "record", "records"))
	if failed != nil {
		return &exitError{problem.ExitOf(failed)}
	}
	return nil
}

// tapeFile returns where the recording of a connector file is.
func tapeFile(dir, file string, spec *declarative.Spec) string {
	if dir == "" {
		dir = filepath.Dir(file)
	}
	return filepath.Join(dir, spec.Name()+".txtar")
}

// rehearseOptions are the flags of test.
type rehearseOptions struct {
	name     string
	params   []string
	cassette string
}

func (a *app) testCommand() *cobra.Command {
	var o rehearseOptions
	c := &cobra.Command{
		Use:     "test <file.yaml>",
		Aliases: []string{"replay"},
		Short:   "Play a recording with faults, without a request",
		Long: `Test plays the recording of a connector, as collect record writes it, to the
same code that runs use, with a database in a temporary folder: first as it is,
then with a fault in each stream: a refusal, an answer that is cut off, a page
that comes twice, a process that is killed. After each there have to be the
same records as without it, and on the way nothing may be missing that is not
owed. Nothing is sent, and nothing is waited for.

The exit code is 1 if a fault did harm.`,
		Args: exactArgs("<file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.test(c.Context(), o)
		},
	}
	addParam(c, &o.params)
	c.Flags().StringVar(&o.cassette, "cassette", "", "play this `file` (default: NAME.txtar beside the connector file, or testdata/walk.txtar there)")
	return c
}

func (a *app) test(ctx context.Context, o rehearseOptions) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	_, spec, err := settings.Find(ctx, o.name)
	if err != nil {
		return err
	}
	given, err := parseParams(o.params)
	if err != nil {
		return err
	}
	tape, err := readTape(o, spec)
	if err != nil {
		return err
	}
	maps.Copy(tape.Params, given)
	result, err := a.rehearse(ctx, spec, tape, true)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.print(append([]author.Played{result.Plain}, result.Faults...))
	} else {
		a.showRehearsal(o.name, result)
	}
	if err == nil && result.Failed() {
		return &exitError{problem.ExitFailure}
	}
	return err
}

// readTape reads the recording of a connector file.
func readTape(o rehearseOptions, spec *declarative.Spec) (*author.Tape, error) {
	paths := []string{o.cassette}
	if o.cassette == "" {
		paths = []string{tapeFile("", o.name, spec), filepath.Join(filepath.Dir(o.name), "testdata", "walk.txtar")}
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &problem.FileError{Path: path, Message: "the recording cannot be read: " + words.Cause(err)}
		}
		tape, err := author.ParseTape(src)
		if err != nil {
			return nil, &problem.FileError{Path: path, Message: "not a recording: " + err.Error()}
		}
		return tape, nil
	}
	return nil, &problem.FileError{Path: paths[0], Message: "there is no recording of " + spec.Name(), Note: "to make one: collect record " + words.Quoted(o.name)}
}

// rehearse plays a tape with a database in a folder that is gone afterwards.
func (a *app) rehearse(ctx context.Context, spec *declarative.Spec, tape *author.Tape, faults bool) (*author.Rehearsal, error) {
	dir, err := os.MkdirTemp("", "collect-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return author.Rehearse(ctx, spec, tape, dir, faults)
}

// showRehearsal prints one line for each fault.
func (a *app) showRehearsal(file string, r *author.Rehearsal) {
	wide := 0
	for _, p := range r.Faults {
		wide = max(wide, term.Width(p.Name))
	}
	line := func(p author.Played, text string) {
		mark, color := "✓", term.Green
		switch {
		case p.Wrong != "":
			mark, color, text = "×", term.Red, p.Wrong
		case p.Places == 0:
			mark, color, text = "-", "", "no place for it in the recording"
		}
		c := a.caps()
		fmt.Fprintf(a.out, " %s %s  %s\n", c.Paint(color, c.Text(mark)), term.Pad(p.Name, wide, false), c.Text(words.Clean(text)))
	}
	line(r.Plain, fmt.Sprintf("%s of %s, in %s", words.Counted(int64(r.Plain.Records), "record", "records"),
		words.Counted(int64(r.Plain.Places), "stream", "streams"), words.Counted(int64(r.Requests), "request", "requests")))
	for _, p := range r.Faults {
		text := "the same records in the end"
		if p.Owed > 0 {
			text += "; the run with the fault left " + words.Counted(int64(p.Owed), "gap", "gaps")
		}
		line(p, text)
	}
	if n := len(r.Missing); n > 0 {
		fmt.Fprintf(a.out, "the recording ends at %s, such as %s; what is behind it was not played. To record more: collect record %s --pages N\n", words.Counted(int64(n), "request", "requests"), words.Plain(r.Missing[0]), words.Quoted(file))
	}
}
