package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine"
	"collect/export"
	"collect/internal/similar"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

func (a *app) schemaCommand() *cobra.Command {
	var records bool
	c := &cobra.Command{
		Use:   "schema [fact | name | file.yaml] [stream]",
		Short: "Print a JSON Schema: of printed facts, of files, or of records",
		Long: `Schema prints the JSON Schema (2020-12) of what a command prints with --json, of
collect.yaml ("config") or of connector files ("connector"). Without a name it
lists what there is. Within a version ("v") fields are only added, so a program
passes over those that it does not know.

With the name of a connector it reads the stored records, and prints the schema
that all of them are valid by: the types of each field, the fields that every
record has, and which texts are dates with a time throughout. Without a stream it
describes all, each under $defs. A connector that is called as one of the facts is
meant with a stream, with its file, or with --records.

It sends nothing and changes nothing. "collect schema accept" is for records that
have changed their nature (E0601).`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return exactArgs("[fact | name | file.yaml]", "[stream]")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && !records {
				if s := factSchema(args[0]); s != nil {
					return a.writeSchema(s)
				}
			}
			if len(args) == 0 {
				_, err := fmt.Fprintln(a.out, strings.Join(schemaNames(), "\n"))
				return err
			}
			return a.schema(c.Context(), args)
		},
	}
	c.Flags().BoolVar(&records, "records", false, "the name is one of a connector, whatever facts are called")
	c.AddCommand(a.schemaAcceptCommand())
	return c
}

// schema prints what the records of a stream, or of all streams, are like.
func (a *app) schema(ctx context.Context, args []string) error {
	return a.look(ctx, args[:1], func(v looked) error {
		if len(args) > 1 {
			if _, err := findStream(ctx, v.db, v.name, args[1]); err != nil {
				return err
			}
			schema, _, err := export.Describe(ctx, v.db, v.name, args[1])
			if err != nil {
				return err
			}
			return a.writeSchema(schema)
		}
		streams, err := v.db.Streams(ctx, v.name)
		if err != nil {
			return err
		}
		defs := map[string]any{}
		for _, s := range streams {
			schema, _, err := export.Describe(ctx, v.db, v.name, s.Name)
			if err != nil {
				return err
			}
			defs[s.Name] = schema
		}
		return a.writeSchema(map[string]any{"$schema": export.SchemaVersion, "title": v.name, "$defs": defs})
	})
}

// schemaNames are the names of all schemas but those of stored records.
func schemaNames() []string {
	names := []string{"config", "connector"}
	for _, f := range facts {
		names = append(names, f.name)
	}
	return names
}

// factSchema returns the schema of a fact or of a kind of file; nil for another name.
func factSchema(name string) any {
	switch name {
	case "config":
		return json.RawMessage(config.Schema())
	case "connector":
		return json.RawMessage(declarative.Schema())
	}
	if i := slices.IndexFunc(facts, func(f fact) bool { return f.name == name }); i >= 0 {
		return facts[i].schema()
	}
	return nil
}

// writeSchema writes a schema, in lines for people who read it.
func (a *app) writeSchema(schema any) error {
	return a.writeTo("", func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(schema)
	})
}

// acceptOptions say which changes of a stream's records are accepted.
type acceptOptions struct {
	operatorOptions
	stream string
	fields []string // name=kind; none: whatever comes next
}

func (a *app) schemaAcceptCommand() *cobra.Command {
	var o acceptOptions
	c := &cobra.Command{
		Use:   "accept <name | file.yaml> <stream>",
		Short: "Let the fields of a stream's records be what they were not before",
		Long: `Accept says that what stopped a stream as schema_drift is right: a field whose
values were of one kind in all records before, and of another kind in all
records that came together, or that is missing from them.

--field priority=string accepts text beside what the field was; the kinds are
string, number, boolean, object and array. --field priority=missing accepts that
it is missing. Without --field all is accepted: what the records were like is
forgotten, and learned anew from those that come next.

Nothing is fetched now. The next run tries the pieces again that were left, with
all tries before them. Who did it, when and why is kept. While a run of the
connector is under way, nothing is changed.`,
		Args: exactArgs("<name | file.yaml>", "<stream>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name, o.stream = args[0], args[1]
			return a.acceptSchema(c.Context(), o)
		},
	}
	o.addFlags(c)
	c.Flags().StringArrayVar(&o.fields, "field", nil, "accept this change only, as `name=kind`; repeatable")
	return c
}

// acceptSchema changes what the records of a stream are held against.
func (a *app) acceptSchema(ctx context.Context, o acceptOptions) error {
	const command = "collect schema accept"
	if err := needReason(command, o.reason); err != nil {
		return err
	}
	fields := map[string]collection.JSONKind{}
	for _, field := range o.fields {
		at := strings.LastIndexByte(field, '=')
		kind, known := collection.ParseJSONKind(field[at+1:])
		if at <= 0 || !known {
			return problem.Usage("%s: --field: %q is not name=kind, with a kind of string, number, boolean, object, array or missing", command, field)
		}
		fields[field[:at]] |= kind
	}
	return a.change(ctx, o.name, func(db store.Store, name string) error {
		if _, err := findStream(ctx, db, name, o.stream); err != nil {
			return err
		}
		if err := a.agree(ctx, o.operatorOptions, acceptMeans(name, o)); err != nil {
			return err
		}
		audit := engine.AuditOf(o.reason)
		_, err := db.AcceptSchema(ctx, name, o.stream, fields, audit)
		if unknown, ok := errors.AsType[*store.UnknownFieldError](err); ok {
			message := fmt.Sprintf("%s: no record of %s had a field %q; nothing was changed", command, o.stream, unknown.Field)
			if near := similar.To(unknown.Field, unknown.Known); near != "" {
				message += fmt.Sprintf("; there is %q", near)
			}
			return problem.Usage("%s", message)
		}
		if err != nil {
			return err
		}
		return a.ordered("schema accept", []string{name}, true, audit,
			fmt.Sprintf("accepted: the next run of %s retries the records that were left out; to start now: %s", words.Clean(name), problem.Command("resume", name, a.repeat())))
	})
}

// acceptMeans says what the order will do.
func acceptMeans(name string, o acceptOptions) string {
	what := "whatever its records are like next"
	if len(o.fields) > 0 {
		what = strings.Join(o.fields, ", ")
	}
	return fmt.Sprintf("This accepts for %s of %s: %s.", words.Clean(o.stream), words.Clean(name), words.Clean(what))
}
