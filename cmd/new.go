package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/engine/author/openapi"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
)

// newOptions are the flags of new.
type newOptions struct {
	name, url, tokenEnv string
	openAPI             string
	streams             []string
}

func (a *app) newCommand() *cobra.Command {
	var o newOptions
	c := &cobra.Command{
		Use:   "new <name>",
		Short: "Begin a connector file",
		Long: `New writes NAME.yaml: a commented file to fill in. With --url it sends one or two
requests to that list, and drafts what it sees: where the records are, their key,
how the list is cut into pages, when records changed, and what limits are
announced. With --openapi it drafts a stream for each list that a description of the
API has (OpenAPI 3 or Swagger 2.0, in JSON or YAML), and sends nothing. What was
guessed says why. A file that is there is never replaced.`,
		Args: exactArgs("<name>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.newConnector(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.url, "url", "", "look at this `address` of a list")
	c.Flags().StringVar(&o.tokenEnv, "token-env", "", "send the bearer token that is in this environment `variable`")
	c.Flags().StringVar(&o.openAPI, "openapi", "", "read this `file` that describes the API")
	c.Flags().StringSliceVar(&o.streams, "stream", nil, "of --openapi, draft this `stream` and those above it only")
	c.MarkFlagsMutuallyExclusive("url", "openapi")
	return c
}

func (a *app) newConnector(ctx context.Context, o newOptions) error {
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
	if o.url != "" || o.openAPI != "" {
		next = "look at it, then: collect check " + path + " --online"
	}
	if o.openAPI != "" {
		drafted, err := draftOpenAPI(o, path)
		if err != nil {
			return err
		}
		text = drafted.File
		next = fmt.Sprintf("it has %s, and says at its end what is left out; %s", words.Counted(int64(drafted.Streams), "stream", "streams"), next)
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
		return nil, a.showPages(t, []author.Page{*failed})
	}
	if _, mistakes, _ := declarative.Check(path, text); len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	return text, nil
}

// draftOpenAPI returns the connector file for what a description has.
func draftOpenAPI(o newOptions, path string) (*openapi.Draft, error) {
	src, err := userfile.ReadAtMost(o.openAPI, openapi.Longest)
	if err != nil {
		return nil, problem.Usage("collect new: %s", words.Cause(err))
	}
	d, err := openapi.New(o.name, src, o.streams, checked(path))
	if err != nil {
		return nil, problem.Usage("collect new: %s: %s", o.openAPI, err)
	}
	return d, nil
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
