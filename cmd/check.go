package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/engine/har"
	"collect/engine/registry"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// checkOptions are the flags of check.
type checkOptions struct {
	name   string
	params []string
	online bool
	strict bool
	trace  string // the file for the requests
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check <name | file.yaml>",
		Short: "Find all mistakes of a connector file",
		Long: `Check reads a connector file and prints all of its mistakes, each with its line,
and what is probably not meant: params, secrets and names that nothing uses,
rules that are never reached, credentials that are written into the file. It
sends nothing.

With --online it also sends one request for the first page of each stream, in
the line of the runs that use the account, and says what came of it. For a
stream with a parent that is the first parent found. No record is stored, and no
checkpoint moves.

The exit code is 78 for a file with a mistake. What is probably not meant is a
warning; with --strict the exit code is then 11.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.check(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.online, "online", false, "also send one request for each stream")
	addTraceHTTP(c.Flags(), &o.trace)
	addParam(c, &o.params)
	c.Flags().BoolVar(&o.strict, "strict", false, "exit 11 on warnings")
	return c
}

// A finding is a mistake of a connector file, or a doubt, for programs.
type finding struct {
	Level   problem.Level `json:"level"`
	Path    string        `json:"path"`
	Line    int           `json:"line"`
	Column  int           `json:"column"`
	Message string        `json:"message"`
	Note    *string       `json:"note"`
	Source  string        `json:"source"`
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if o.trace != "" && !o.online {
		return problem.Usage("--trace-http: without --online nothing is sent")
	}
	path, src, err := settings.Text(ctx, o.name)
	if err != nil {
		return err
	}
	spec, mistakes, doubts := declarative.Check(path, src)
	if err := a.showFindings(path, spec, mistakes, doubts); err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return &exitError{problem.ExitConfig}
	}
	if o.online {
		if err := a.checkOnline(ctx, o, spec.StreamNames()); err != nil {
			return err
		}
	}
	if len(doubts) > 0 && o.strict {
		return &exitError{problem.ExitWarned}
	}
	return nil
}

func (a *app) showFindings(path string, spec *declarative.Spec, mistakes, doubts []*declarative.SpecError) error {
	if a.flags.json {
		found := []finding{}
		note := func(level problem.Level, list []*declarative.SpecError) {
			for _, e := range list {
				found = append(found, finding{level, e.Path, e.Line, e.Column, e.Message, jsonout.Text(e.Note), e.Source})
			}
		}
		note(problem.LevelError, mistakes)
		note(problem.LevelWarning, doubts)
		return a.print(found)
	}
	for _, e := range mistakes {
		p := problem.Of(e, problem.Scene{})
		p.Saved = ""
		fmt.Fprintln(a.out, renderProblem(p, a.width(), a.caps()))
	}
	for _, e := range doubts {
		p := problem.Of(e, problem.Scene{})
		p.Level, p.Code, p.Saved = problem.LevelWarning, "", ""
		fmt.Fprintln(a.out, renderProblem(p, a.width(), a.caps()))
	}
	verdict := path + ": " + words.Counted(int64(len(mistakes)), "mistake", "mistakes")
	if len(mistakes) == 0 {
		streams := spec.StreamNames()
		verdict = fmt.Sprintf("%s is sound: %s (%s)", path, words.Counted(int64(len(streams)), "stream", "streams"), strings.Join(streams, ", "))
	}
	if len(doubts) > 0 {
		verdict += ", " + words.Counted(int64(len(doubts)), "warning", "warnings")
	}
	fmt.Fprintln(a.out, verdict)
	return nil
}

// checkOnline asks for the first page of each stream, with each of several tokens.
func (a *app) checkOnline(ctx context.Context, o checkOptions, streams []string) error {
	target, err := a.resolve(ctx, o.name, o.params)
	if err != nil {
		return err
	}
	trace, end, err := a.traceHTTP(o.trace, a.flags.json)
	if err != nil {
		return err
	}
	defer end()
	codes := []int{problem.ExitOK}
	each := target.Each()
	for _, one := range each {
		if ctx.Err() != nil {
			break
		}
		if len(each) > 1 && !a.flags.json {
			fmt.Fprintf(a.out, "\nwith the credential from %s:\n", one.Connector.Provider().CredentialFrom)
		}
		code, err := a.visit(ctx, one, streams, trace)
		switch {
		case err != nil && len(each) == 1:
			return err
		case err != nil:
			provider := one.Connector.Provider()
			_ = a.exit(err, problem.Scene{Connector: o.name, Provider: provider.Name, Credential: provider.CredentialFrom})
			code = problem.ExitOf(err)
		}
		codes = append(codes, code)
	}
	for _, left := range target.LeftOut {
		fmt.Fprintf(a.err, "note: not tried: %s\n", left)
	}
	if code := problem.Worst(codes...); code != problem.ExitOK {
		return &exitError{code}
	}
	return nil
}

// visit asks for the first page of each stream with one token, and returns the worst exit
// code of what came.
func (a *app) visit(ctx context.Context, target registry.Target, streams []string, trace *har.File) (int, error) {
	t, err := a.begin(ctx, target, int64(len(streams))+trialExtra, trace)
	if err != nil {
		return 0, err
	}
	if err := t.Account(ctx); err != nil {
		t.Close(ctx)
		return 0, err
	}
	var pages []author.Page
	codes := []int{problem.ExitOK}
	for _, stream := range streams {
		page := t.Pages(ctx, stream, 1)[0]
		pages = append(pages, page)
		if page.Err != nil {
			codes = append(codes, problem.ExitOf(page.Err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.Close(ctx)
	warnFetchedOnce(target.Connector, pages)
	if !a.flags.json {
		a.showVisits(pages, t)
		return problem.Worst(codes...), nil
	}
	for _, page := range pages {
		if err := a.print(pageJSON(page, target)); err != nil {
			return 0, err
		}
	}
	return problem.Worst(codes...), nil
}

// warnFetchedOnce adds to the pages of details that are fetched once that the records of
// their parent say when they change, where the page of the parent shows that and the file
// alone did not.
func warnFetchedOnce(c connectors.Connector, pages []author.Page) {
	reminder, ok := c.(connectors.Reminder)
	if !ok {
		return
	}
	for _, stream := range c.Streams() {
		of := func(name string) int {
			return slices.IndexFunc(pages, func(p author.Page) bool { return p.Stream == name })
		}
		at, parent := of(stream.Name), of(stream.Parent)
		if _, told := reminder.WithChanged(stream.Name, nil); told || at < 0 || parent < 0 || len(pages[parent].Records) == 0 {
			continue
		}
		if write, known := reminder.WithChanged(stream.Name, pages[parent].Records[0].Data); known {
			pages[at].Warnings = append(pages[at].Warnings, fmt.Sprintf("a detail is fetched once: when its record of `%s` changes, it stays as it was. To have it fetched again: `%s`", stream.Parent, write))
		}
	}
}

// showVisits prints what came of the first page of each stream.
func (a *app) showVisits(pages []author.Page, t *author.Trial) {
	table := term.Table{Head: []string{"STREAM", "ANSWER", "RECORDS", "KEYS", "NEXT PAGE"}, Right: []int{2}, Give: []int{3, 4}, Drop: []int{4}}
	for _, p := range pages {
		row := []string{p.Stream, answerOf(p), "-", "-", "-"}
		if p.Err == nil {
			row[2], row[3] = words.Count(int64(len(p.Records))), fewOf(p.Keys())
			if row[4] = "none: this is all"; !p.Done {
				row[4] = words.Plain(nextOf(p))
			}
		}
		table.Rows = append(table.Rows, row)
	}
	fmt.Fprint(a.out, "\n"+table.Render(a.width(), a.caps()))
	for _, p := range pages {
		if len(p.Rejected) > 0 {
			fmt.Fprintf(a.out, "%s: %s could not be stored: %s\n", p.Stream, words.Counted(int64(len(p.Rejected)), "record", "records"), p.Rejected[0].Reason)
		}
		for _, w := range p.Warnings {
			fmt.Fprintf(a.out, "%s: warning: %s\n", p.Stream, words.Clean(w))
		}
		if p.Err != nil {
			fmt.Fprintf(a.out, "%s: %s\n", p.Stream, words.Clean(a.whyOf(p)))
		}
	}
	a.showLimits(t)
	fmt.Fprintf(a.out, "%s sent; nothing was stored\n", words.Counted(t.Requests(), "request", "requests"))
}

// fewOf lists the first of some keys.
func fewOf(keys []string) string {
	const few = 3
	text := strings.Join(keys[:min(len(keys), few)], ", ")
	if len(keys) > few {
		text += ", …"
	}
	return words.CleanLine(text)
}
