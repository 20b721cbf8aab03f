package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine/registry"
	"collect/engine/setup"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
)

// initOptions are the flags of init: an answer each.
type initOptions struct {
	connector string
	name      string
	params    []string
	from      string
	token     setup.Token // by one of the flags
	pasted    bool        // the token comes from a pipe
	perSecond string
	try, run  bool
	yes       bool
	noInput   bool

	schedule scheduleOptions
}

// firstRequests bounds the first run: enough for some records of each stream, and no load.
const firstRequests = 20

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	var env, file, command, keyring string
	c := &cobra.Command{
		Use:   "init [name | file.yaml]",
		Short: "Set up a connector, and try it",
		Long: `Init asks what a connector needs (its parameters, its token, the first day, the
most requests that you allow), shows the lines for collect.yaml, writes them when
you agree, and offers a first small run (with --yes: --run makes it). A file that
is there keeps every line that it has. Each answer has a flag; with --no-input
nothing is asked, and what is missing is said. A token is typed without being
shown, or comes from a pipe.

With --cron or --systemd it prints what makes this machine collect by itself.`,
		Args: atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error {
			o.connector = strings.Join(args, "")
			if o.schedule.wanted() {
				return a.schedule(c.Context(), o)
			}
			for _, t := range []setup.Token{{Key: "token_env", Value: env}, {Key: "token_file", Value: file}, {Key: "token_command", Value: command}, {Key: "token_keyring", Value: keyring}} {
				if t.Value != "" {
					if o.token.Key != "" || o.pasted {
						return problem.Usage("collect init: a token comes from one place")
					}
					o.token = t
				}
			}
			return a.initialize(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.name, "name", "", "call the connector this in collect.yaml (default: its own `name`)")
	addParam(c, &o.params)
	flags.StringVar(&o.from, "from", "", "the first `day` to collect: 2024-09-01")
	flags.StringVar(&env, "token-env", "", "the token is in this environment `variable`")
	flags.StringVar(&file, "token-file", "", "the token is in this `file`")
	flags.StringVar(&command, "token-command", "", "this `command` prints the token")
	flags.StringVar(&keyring, "token-keyring", "", "the token is in the keyring, under this `name`")
	flags.BoolVar(&o.pasted, "token-stdin", false, "the token comes from a pipe, and is kept in a file that only you can read")
	flags.StringVar(&o.perSecond, "per-second", "", "the most `requests` a second that you allow, as 4 or 0.5 (default: learned, at most 4 at first)")
	flags.BoolVar(&o.try, "try", false, "ask the provider once whether it accepts the token")
	flags.BoolVar(&o.run, "run", false, fmt.Sprintf("make a first run of at most %d requests", firstRequests))
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.noInput, "no-input", false, "never ask: without --yes, change nothing")
	o.schedule.addFlags(flags)
	return c
}

// A setting is one connector that is being set up.
type setting struct {
	*app
	initOptions
	settings config.Settings
	path     string  // of collect.yaml
	dialog   *dialog // asks a person; nil: it must not ask
	examined setup.Examination
	answers  map[string]string // parameters
	secrets  map[string]string // that were typed, by name; they are written at the end
	entry    setup.Entry
}

func (a *app) initialize(ctx context.Context, o initOptions) error {
	s := &setting{app: a, initOptions: o, answers: map[string]string{}, secrets: map[string]string{}}
	s.path = cmp.Or(a.flags.config, a.env("COLLECT_CONFIG"), config.FileName)
	if _, err := os.Lstat(s.path); errors.Is(err, os.ErrNotExist) && s.path != config.FileName {
		named := a.flags.config
		a.flags.config = os.DevNull // it is about to be made
		defer func() { a.flags.config = named }()
	}
	var err error
	if s.settings, err = a.settings(); err != nil {
		return err
	}
	if a.mayAsk(o.noInput) && !o.pasted {
		s.dialog = a.dialog()
	}
	for _, step := range []func(context.Context) error{s.choose, s.answer, s.findToken, s.ceiling} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

// choose finds the connector.
func (s *setting) choose(ctx context.Context) error {
	named := s.connector != ""
	for {
		if s.connector == "" && s.dialog == nil {
			return problem.Usage("collect init: missing <name | file.yaml>: one of `collect connectors`, or a connector file; `collect new NAME` begins one")
		}
		if s.connector == "" {
			var err error
			s.inform("", "Name a built-in connector (see `collect connectors`), or the path of a connector file.")
			if s.connector, err = s.dialog.line(ctx, "Connector", ""); err != nil {
				return err
			}
			if s.connector == "" {
				continue
			}
		}
		var err error
		if s.examined, err = setup.Examine(ctx, &s.settings.Registry, s.connector); err == nil {
			break
		}
		if unknown, ok := errors.AsType[*problem.UnknownConnectorError](err); ok && unknown.File != "" {
			s.connector = unknown.File // what else is meant in a folder where it is?
			continue
		}
		if s.dialog == nil || named {
			return err
		}
		s.say(problem.Of(err, problem.Scene{Command: "collect init", Flags: s.repeat()}))
		s.connector = ""
	}
	if entry, configured := s.settings.Entries[s.connector]; configured && !registry.IsFile(s.connector) && entry.Origin != "" {
		return problem.Usage("%s: %s has the connector `%s` already. To collect: collect run %s; to set up another one of its kind: --name NAME",
			"collect init", entry.Origin, s.connector, s.connector)
	}
	s.entry = setup.Entry{Name: cmp.Or(s.name, s.examined.Connector.Name), Provider: s.examined.Spec.ProviderName(), Use: s.connector}
	if file := s.examined.Connector.Source; file != "" {
		s.entry.Use = s.fromConfig(file)
	}
	return nil
}

// fromConfig returns a path as collect.yaml names it: below its own folder by the way
// there, any other one in full.
func (s *setting) fromConfig(path string) string {
	if !storage.IsFile(path) {
		return path
	}
	dir, err := filepath.Abs(filepath.Dir(s.path))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return path
	}
	if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
		return "." + string(filepath.Separator) + below
	}
	return path
}

// answer gets the parameters and the first day.
func (s *setting) answer(ctx context.Context) error {
	given, err := parseParams(s.params)
	if err != nil {
		return err
	}
	maps.Copy(s.answers, given)
	var missing []string
	first := s.examined.First
	if first != nil && s.from != "" {
		s.answers[first.Name] = s.from
	}
	for _, p := range s.examined.Params {
		if s.answers[p.Name] != "" {
			continue
		}
		if s.dialog == nil {
			missing = append(missing, fmt.Sprintf("--param %s=…", p.Name))
			continue
		}
		if s.answers[p.Name], err = s.must(ctx, called(p.Name, p.About)); err != nil {
			return err
		}
	}
	if first != nil && s.answers[first.Name] == "" {
		switch {
		case s.dialog != nil:
			if err := s.firstDay(ctx); err != nil {
				return err
			}
		case first.Required:
			missing = append(missing, "--from "+time.Now().AddDate(-1, 0, 0).Format(time.DateOnly))
		}
	}
	if s.dialog == nil {
		if lacks := s.examined.Lacks(); lacks != nil && s.token.Key == "" && !s.pasted {
			missing = append(missing, "--token-env, --token-file, --token-command, --token-keyring or --token-stdin (there is no token in "+lacks.From()+")")
		}
		if !s.yes {
			missing = append(missing, "--yes (to write "+s.path+")")
		}
		if len(missing) > 0 {
			return problem.Usage("collect init: nobody is asked, and this is missing: %s", strings.Join(missing, ", "))
		}
	}
	maps.DeleteFunc(s.answers, func(_, value string) bool { return value == "" })
	if err := s.examined.Check(s.answers); err != nil {
		return err
	}
	s.entry.Params = s.answers
	return nil
}

// called is a question for a value.
func called(name, about string) string {
	if about == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, about)
}

// must asks until there is an answer.
func (s *setting) must(ctx context.Context, question string) (string, error) {
	for {
		text, err := s.dialog.line(ctx, words.Clean(question), "")
		if err != nil || text != "" {
			return text, err
		}
		fmt.Fprintln(s.err, "     it is needed")
	}
}

func (s *setting) firstDay(ctx context.Context) error {
	for {
		text, err := s.dialog.line(ctx, "First day to collect", s.examined.First.Default)
		if err != nil {
			return err
		}
		if _, err := time.Parse(time.DateOnly, text); err == nil || text == "" && !s.examined.First.Required {
			s.answers[s.examined.First.Name] = text
			return nil
		}
		fmt.Fprintln(s.err, "     a day such as 2024-09-01")
	}
}

// ceiling gets the most requests a second.
func (s *setting) ceiling(ctx context.Context) error {
	provider := s.examined.Spec.ProviderName()
	known := s.settings.Providers[provider].PerSecond > 0
	for {
		if s.dialog != nil && s.perSecond == "" && !known {
			if limits := s.examined.Spec.Provider(s.settings.Overrides(provider)).Ceilings; len(limits) > 0 {
				var said []string
				for _, c := range limits {
					said = append(said, words.Ceiling(c))
				}
				s.inform("", fmt.Sprintf("%s allows %s: so its connector file says, and collect never asks faster.", words.Clean(provider), strings.Join(said, ", ")))
			} else {
				s.inform("", words.Clean(provider)+" publishes no limit that its connector file knows of. collect begins slowly and learns; it never asks faster than what you allow here. Only you can raise that.")
			}
			var err error
			if s.perSecond, err = s.dialog.line(ctx, "Most requests per second you allow, or none", "none"); err != nil {
				return err
			}
		}
		if s.perSecond == "" || s.perSecond == "none" {
			return nil
		}
		if config.PerSecond(s.perSecond) {
			s.entry.PerSecond = s.perSecond
			return nil
		}
		if s.dialog == nil {
			return problem.Usage("--per-second: %q is not a number above 0, such as 4 or 0.5, or none", s.perSecond)
		}
		fmt.Fprintln(s.err, "     a number above 0, such as 4 or 0.5, or none")
		s.perSecond = ""
	}
}

// finish shows the lines, writes them, and makes the first run.
func (s *setting) finish(ctx context.Context) error {
	if s.flags.state != "" && s.settings.Origin["state"] == "flag --state" {
		s.entry.State = s.fromConfig(s.settings.State)
	}
	valid := func(path string, old, new []byte) error { return config.Extends(path, old, new, s.env) }
	change, err := setup.Prepare(s.path, s.entry, valid)
	if err != nil {
		return problem.Usage("collect init: %s: %s", words.Home(s.path, s.env), err)
	}
	lines := setup.Added(change.Old, change.New)
	fmt.Fprintf(s.err, "\n%s:\n", words.Home(s.path, s.env))
	for _, line := range lines {
		fmt.Fprintln(s.err, "  "+s.caps().Text(words.CleanLine(line)))
	}
	if !s.yes {
		agreed, err := s.dialog.yes(ctx, fmt.Sprintf("Write %s?", words.Home(s.path, s.env)))
		if err != nil {
			return err
		}
		if !agreed {
			return problem.Usage("collect init: nothing was written")
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := s.write(ctx, change); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "wrote %s\n", words.Home(s.path, s.env))
	return s.firstRun(ctx)
}

// write writes the secrets that were typed, then collect.yaml. Of a failure nothing is left.
func (s *setting) write(ctx context.Context, change setup.Change) error {
	ctx = context.WithoutCancel(ctx)
	written, err := s.keepSecrets(ctx)
	if err == nil {
		err = change.Write()
	}
	if err != nil {
		for _, secret := range written {
			_, _ = s.settings.Forget(ctx, secret)
		}
		return fmt.Errorf("nothing was written: %w", err)
	}
	return nil
}

// firstRun makes a small run, and says what comes next.
func (s *setting) firstRun(ctx context.Context) error {
	var ran error
	made := false
	run := s.run
	if s.dialog != nil && !run {
		var err error
		if run, err = s.dialog.yes(ctx, fmt.Sprintf("Make a first run now, of at most %d requests?", firstRequests)); err != nil && !errors.Is(err, errLeft) {
			return err
		}
	}
	if run {
		fmt.Fprintln(s.err)
		if s.path != config.FileName {
			s.flags.config = s.path
		}
		made = true
		ran = s.collect(ctx, runOptions{
			command: "collect init", names: []string{s.entry.Name}, lane: string(collection.Incremental), mode: collection.Forward,
			maxRequests: firstRequests, create: true,
		})
	}
	s.next(made, ran)
	return ran
}

// next says what to do after it.
func (s *setting) next(made bool, ran error) {
	name, flags := words.Quoted(s.entry.Name), ""
	if s.path != config.FileName {
		flags = " --config " + words.Quoted(s.path)
	}
	var steps [][2]string
	for _, secret := range s.examined.Secrets {
		if _, typed := s.secrets[secret.Name]; typed || secret.There || secret.Optional || secret.Movable && s.entry.Token.Key != "" {
			continue
		}
		switch {
		case secret.SignsIn:
			steps = append(steps, [2]string{"collect auth login " + name + flags, "sign in, once"})
		case secret.File != "" || secret.Keyring != "":
			steps = append(steps, [2]string{"collect auth set " + name + " " + secret.Name + flags, "type the secret"})
		case secret.Env != "":
			steps = append(steps, [2]string{"export " + secret.Env + "=…", "the secret " + secret.Name})
		}
	}
	create := ""
	if !made && s.settings.StateNamed {
		create = " --create"
	}
	switch {
	case !made:
		steps = append(steps, [2]string{"collect plan " + name + flags, "what a run would do, without a request"},
			[2]string{fmt.Sprintf("collect run %s --max-requests %d%s%s", name, firstRequests, create, flags), "a small run"})
	case ran == nil:
		steps = append(steps, [2]string{"collect run " + name + flags, "what is left, and from then on what is new"}, [2]string{"collect status" + flags, "how it stands"})
	}
	steps = append(steps, [2]string{"collect init --cron" + flags, "a line for crontab; --systemd: a timer"})
	fmt.Fprintln(s.err)
	fmt.Fprint(s.err, renderSteps(steps, s.width()))
}

// renderSteps returns commands, each with what it is for: beside it, or below it where one
// of them is too long for that.
func renderSteps(steps [][2]string, columns int) string {
	widest, all := 0, 0
	for _, step := range steps {
		widest, all = max(widest, term.Width(step[0])), max(all, term.Width(step[1]))
	}
	var text strings.Builder
	lead := "next:  "
	for _, step := range steps {
		if len(lead)+widest+2+all <= columns {
			fmt.Fprintf(&text, "%s%s  %s\n", lead, term.Pad(step[0], widest, false), step[1])
		} else {
			fmt.Fprintf(&text, "%s%s\n%s\n", lead, step[0], strings.Join(term.Wrap("         ", step[1], columns), "\n"))
		}
		lead = "       "
	}
	return text.String()
}
