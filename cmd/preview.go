package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine/author"
	"collect/engine/har"
	"collect/engine/registry"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	name, stream string
	params       []string
	pages        int
	traceHTTP    string
}

func (a *app) previewCommand() *cobra.Command {
	o := previewOptions{}
	c := &cobra.Command{
		Use:   "preview <name | file.yaml> <stream>",
		Short: "Show the first page of a stream, and store nothing",
		Long: `Preview asks for the first page of a stream, in the line of the runs that use
the account, and shows the request without its credential, the answer, the
records as a table, and what leads to the next page. Of a stream with a parent
it shows the first parent found. No record is stored, and no checkpoint moves.`,
		Args: exactArgs("<name | file.yaml>", "<stream>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name, o.stream = args[0], args[1]
			return a.preview(c.Context(), o)
		},
	}
	addParam(c, &o.params)
	addTraceHTTP(c.Flags(), &o.traceHTTP)
	c.Flags().IntVar(&o.pages, "pages", 1, "ask for the first `n` pages")
	return c
}

func addParam(c *cobra.Command, params *[]string) {
	c.Flags().StringArrayVar(params, "param", nil, "set a parameter of the connector, as `name=value`; repeatable")
}

// trialExtra is how many requests a trial may need besides those that were asked
// for: an access token, a probe of the account, and parents.
const trialExtra = 6

// resolve builds the connector that name stands for, with the parameters that were
// given.
func (a *app) resolve(ctx context.Context, name string, given []string) (registry.Target, error) {
	params, err := parseParams(given)
	if err != nil {
		return registry.Target{}, err
	}
	settings, err := a.settings()
	if err != nil {
		return registry.Target{}, err
	}
	return settings.Resolve(ctx, name, params)
}

// begin opens a trial of a connector, in the line of the runs that use its account.
// It stores nothing: a database that is not there yet only has nothing to tell of the
// account, wherever it is to be.
func (a *app) begin(ctx context.Context, target registry.Target, requests int64, trace *har.File) (_ *author.Trial, err error) {
	c := author.Config{Target: target, Meeting: meetingPlace(a.env), Requests: requests, Trace: trace}
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	settings.StateNamed = false
	db, err := openForReading(ctx, settings)
	if err == nil && db != nil {
		c.Known, err = author.Known(ctx, db, target)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return nil, a.exit(err, problem.Scene{State: settings.State})
	}
	return author.Begin(ctx, c)
}

func (a *app) preview(ctx context.Context, o previewOptions) error {
	if o.pages < 1 {
		return problem.Usage("--pages: at least one page is needed")
	}
	target, err := a.resolve(ctx, o.name, o.params)
	if err != nil {
		return err
	}
	trace, end, err := a.traceHTTP(o.traceHTTP, a.flags.json)
	if err != nil {
		return err
	}
	defer end()
	t, err := a.begin(ctx, target, int64(o.pages)+trialExtra, trace)
	if err != nil {
		return err
	}
	pages := t.Pages(ctx, o.stream, o.pages)
	t.Close(ctx)
	last := pages[len(pages)-1]
	if _, stop := errors.AsType[*collection.Stop](last.Err); last.Err != nil && last.URL == "" && len(pages) == 1 && !stop {
		return last.Err
	}
	if each := target.Each(); len(each) > 1 {
		fmt.Fprintf(a.err, "note: asked with the credential from %s, the first of %d; collect check %s --online asks with each\n",
			each[0].Connector.Provider().CredentialFrom, len(each), words.Quoted(o.name))
	}
	return a.showPages(t, pages, target)
}

// showPages prints the pages of a trial, and returns the exit code of the last one.
func (a *app) showPages(t *author.Trial, pages []author.Page, target registry.Target) error {
	if a.flags.json {
		list := make([]any, len(pages))
		for i, p := range pages {
			list[i] = pageJSON(p, target)
		}
		if err := a.print(list); err != nil {
			return err
		}
	} else {
		for _, p := range pages {
			a.showPage(p)
		}
		a.showLimits(t)
	}
	if err := pages[len(pages)-1].Err; err != nil {
		return &exitError{problem.ExitOf(err)}
	}
	return nil
}

// showPage prints one page for people.
func (a *app) showPage(p author.Page) {
	var b strings.Builder
	if p.Parent != "" {
		fmt.Fprintf(&b, "%s, of %s\n", p.Stream, p.Parent)
	}
	if p.URL != "" {
		fmt.Fprintf(&b, "%s %s\n", p.Method, p.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, strings.Join(p.Header[name], ", "))
	}
	if p.Body != "" {
		fmt.Fprintf(&b, "  %s\n", p.Body)
	}
	if p.URL != "" {
		b.WriteString("\n")
	}
	b.WriteString(answerOf(p))
	if p.Err == nil {
		fmt.Fprintf(&b, " in %s: %s", time.Duration(p.Seconds*float64(time.Second)).Round(time.Millisecond), words.Counted(int64(len(p.Records)), "record", "records"))
		if len(p.Rejected) > 0 {
			fmt.Fprintf(&b, ", and %s that could not be stored (%s)", words.Counted(int64(len(p.Rejected)), "record", "records"), p.Rejected[0].Reason)
		}
		if p.Total != nil {
			fmt.Fprintf(&b, "; the provider tells a total of %s", words.Count(*p.Total))
		}
	} else {
		b.WriteString(": " + a.whyOf(p))
	}
	b.WriteString("\n")
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(a.out, a.caps().Text(words.Plain(strings.TrimSuffix(line, "\n"))))
	}
	fmt.Fprint(a.out, recordTable(p, a.width(), a.caps()))
	switch {
	case p.Err != nil:
	case p.Done:
		fmt.Fprintln(a.out, "next: none, this was the last page")
	default:
		fmt.Fprintln(a.out, "next: "+words.Plain(nextOf(p)))
	}
	fmt.Fprintln(a.out)
}

// whyOf says why there is no page.
func (a *app) whyOf(p author.Page) string {
	stop, ok := errors.AsType[*collection.Stop](p.Err)
	if !ok || p.Why != "" || stop.NotBefore.IsZero() {
		return p.Why
	}
	now := time.Now()
	if settings, err := a.settings(); err == nil {
		now = now.In(settings.Zone)
	}
	return "no request may leave before " + words.At(stop.NotBefore, now)
}

// answerOf says how a page was answered: 200 ok.
func answerOf(p author.Page) string {
	if p.Status == 0 {
		return p.Verdict
	}
	if p.Verdict == "ok" {
		return fmt.Sprintf("%d ok", p.Status)
	}
	return fmt.Sprintf("%d, %s", p.Status, p.Verdict)
}

// nextOf says what leads to the next page.
func nextOf(p author.Page) string {
	if p.Next == "" {
		return "from the mark " + p.Mark
	}
	return p.Next
}

// Bounds of a table of records: a wide one says nothing, nor does a long one.
const (
	mostColumns = 6
	mostRows    = 20
)

// recordTable shows records by their single values, at most as many as fit.
func recordTable(p author.Page, limit int, c term.Caps) string {
	t := term.Table{Head: []string{"KEY"}}
	for _, r := range p.Records {
		gjson.ParseBytes(r.Data).ForEach(func(name, value gjson.Result) bool {
			if !value.IsObject() && !value.IsArray() && value.String() != r.Key && !slices.Contains(t.Head, name.Str) && len(t.Head) < mostColumns {
				t.Give = append(t.Give, len(t.Head))
				t.Head = append(t.Head, name.Str)
			}
			return true
		})
	}
	for i := len(t.Head) - 1; i > 0; i-- {
		t.Drop = append(t.Drop, i)
	}
	for _, r := range p.Records[:min(len(p.Records), mostRows)] {
		row := []string{words.CleanLine(r.Key)}
		for _, name := range t.Head[1:] {
			row = append(row, words.CleanLine(gjson.GetBytes(r.Data, gjson.Escape(name)).String()))
		}
		t.Rows = append(t.Rows, row)
	}
	text := t.Render(limit, c)
	if more := len(p.Records) - mostRows; more > 0 {
		text += fmt.Sprintf("and %s more: all of them are in --json\n", words.Count(int64(more)))
	}
	return text
}

// showLimits prints the limits that a provider announced.
func (a *app) showLimits(t *author.Trial) {
	for _, l := range t.Limits() {
		fmt.Fprintln(a.out, "limit announced: "+words.Limit(&l))
	}
}

// A pageLine is a page with its records, for programs.
type pageLine struct {
	author.Page
	Credential *string        `json:"credential"` // where the one that it was asked with came from; null: there is none
	Items      []recordLine   `json:"records"`
	Rejected   []rejectedLine `json:"rejected"`
}

type recordLine struct {
	Key  string          `json:"key"`
	Data json.RawMessage `json:"data"`
}

type rejectedLine struct {
	Reason string `json:"reason"`
	Data   string `json:"data"`
}

func pageJSON(p author.Page, target registry.Target) pageLine {
	line := pageLine{Page: p, Credential: jsonout.OrNull(target.Connector.Provider().CredentialFrom), Items: []recordLine{}, Rejected: []rejectedLine{}}
	for _, r := range p.Records {
		line.Items = append(line.Items, recordLine{r.Key, r.Data})
	}
	for _, r := range p.Rejected {
		line.Rejected = append(line.Rejected, rejectedLine{r.Reason, string(r.Data)})
	}
	return line
}
