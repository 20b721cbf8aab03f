package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/engine/author/browser"
	"collect/engine/author/openapi"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
)

// newOptions are the flags of new.
type newOptions struct {
	name, url, tokenEnv string
	openAPI, har        string
	streams             []string
}

func (a *app) newCommand() *cobra.Command {
	var o newOptions
	c := &cobra.Command{
		Use:   "new <name>",
		Short: "Begin a connector file",
		Long: `New writes NAME.yaml: a commented file to fill in. With --url it sends one to four
requests to that list, and drafts what it sees: where the records are, their key,
how the list is cut into pages, when records changed, and what limits are
announced. With --openapi it drafts a stream for each list that a description of the
API has (OpenAPI 3 or Swagger 2.0, in JSON or YAML), and sends nothing; with
--from-har, for each list that a browser asked for while it recorded an HTTP Archive,
of which no credential is taken over. What was guessed says why. A file that is
there is never replaced.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && strings.Contains(args[1], "://") {
				return problem.Usage("an address comes after its flag: collect new %s --url %s", words.Clean(args[0]), words.Quoted(args[1]))
			}
			return exactArgs("<name>")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.newConnector(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.url, "url", "", "look at this `address` of a list")
	c.Flags().StringVar(&o.tokenEnv, "token-env", "", "send the bearer token that is in this environment `variable`")
	c.Flags().StringVar(&o.openAPI, "openapi", "", "read this `file` that describes the API")
	c.Flags().StringSliceVar(&o.streams, "stream", nil, "of --openapi, draft this `stream` and those above it only")
	c.Flags().StringVar(&o.har, "from-har", "", "read this `file` that a browser recorded")
	return c
}

func (a *app) newConnector(ctx context.Context, o newOptions) error {
	if given := slices.DeleteFunc([]string{o.url, o.openAPI, o.har}, func(s string) bool { return s == "" }); len(given) > 1 {
		return problem.Usage("collect new: one of --url, --openapi and --from-har")
	}
	if len(o.streams) > 0 && o.openAPI == "" {
		return problem.Usage("collect new: --stream chooses from what --openapi names")
	}
	text := author.Skeleton(o.name)
	path := o.name + ".yaml"
	// Before anything is sent: is it a name?
	if _, mistakes, _ := declarative.Check(path, text); len(mistakes) > 0 {
		return problem.Usage("collect new: %s", mistakes[0].Message)
	}
	if _, err := os.Lstat(path); err == nil {
		return problem.Usage("collect new: there is a file %s already, which is not replaced", path)
	}
	if o.url != "" {
		drafted, err := a.draft(ctx, o, path)
		if err != nil {
			return err
		}
		text = drafted
	}
	next := "fill it in, then: collect check " + path
	if o.url != "" || o.openAPI != "" || o.har != "" {
		next = "look at it, then: collect check " + path + " --online"
	}
	if o.openAPI != "" || o.har != "" {
		drafted, streams, err := readDraft(o, path)
		if err != nil {
			return err
		}
		text = drafted
		next = fmt.Sprintf("it has %s, and says at its end what is left out; %s", words.Counted(int64(streams), "stream", "streams"), next)
	}
	if err := a.writeTo(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is written; %s\n", path, next)
	return nil
}

// draft looks at a list, and returns the connector file for what it sees.
func (a *app) draft(ctx context.Context, o newOptions, path string) ([]byte, error) {
	d, err := author.NewDraft(o.name, o.url, o.tokenEnv, a.env)
	if _, missing := errors.AsType[*declarative.MissingSecretError](err); err != nil && !missing {
		return nil, problem.Usage("collect new: %s", words.Cause(err))
	}
	if err != nil {
		return nil, err
	}
	t, err := a.begin(ctx, d.Target(), author.DraftRequests, nil)
	if err != nil {
		return nil, err
	}
	text, failed := d.Write(ctx, t)
	if failed != nil {
		return nil, a.showPages(t, []author.Page{*failed}, d.Target())
	}
	if _, mistakes, _ := declarative.Check(path, text); len(mistakes) > 0 {
		return nil, problem.Usage("collect new: after %s, no file was written: what was seen makes no sound one: %s",
			words.Counted(t.Requests(), "request", "requests"), mistakes[0].Message)
	}
	return text, nil
}

// readDraft returns the connector file for what a description or an archive has,
// and the number of its streams.
func readDraft(o newOptions, path string) ([]byte, int, error) {
	file, longest := o.openAPI, openapi.Longest
	if o.har != "" {
		file, longest = o.har, browser.Longest
	}
	src, err := userfile.ReadAtMost(file, longest)
	if err != nil {
		return nil, 0, problem.Usage("collect new: %s", words.Cause(err))
	}
	if o.har != "" {
		d, err := browser.New(o.name, src, checked(path))
		if err != nil {
			return nil, 0, problem.Usage("collect new: %s: %s", file, err)
		}
		return d.File, d.Streams, nil
	}
	d, err := openapi.New(o.name, src, o.streams, checked(path))
	if err != nil {
		return nil, 0, problem.Usage("collect new: %s: %s", file, err)
	}
	return d.File, d.Streams, nil
}

// checked returns the check that what is drafted has to pass.
func checked(path string) func(file []byte) error {
	return func(file []byte) error {
		if _, mistakes, _ := declarative.Check(path, file); len(mistakes) > 0 {
			return errors.New(mistakes[0].Message)
		}
		return nil
	}
}
