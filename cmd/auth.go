package cmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/connectors/oauth2"
	"collect/engine/registry"
	"collect/engine/signin"
	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) authCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "auth",
		Short: "Sign in at a provider, and see which secrets a connector needs",
		Long: `Auth puts the secrets of a connector where its file says that they are: into a
file that only you can read, or into the keyring. It never prints a secret.`,
		Args: oneOfCommands("login", "list", "set", "test", "logout"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.authLoginCommand(), a.authListCommand(), a.authSetCommand(), a.authTestCommand(), a.authLogoutCommand())
	return c
}

// authOptions are the flags of the commands of auth.
type authOptions struct {
	name    string
	params  []string
	device  bool
	noInput bool
}

func (o *authOptions) addParams(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.params, "param", nil, "set a parameter of the connector: `name=value`; repeat for more")
}

// of makes c a command on one connector with parameters.
func (o *authOptions) of(c *cobra.Command, do func(context.Context, authOptions) error) *cobra.Command {
	c.Args = exactArgs("<name | file.yaml>")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.name = args[0]
		return do(c.Context(), *o)
	}
	o.addParams(c)
	return c
}

func (a *app) authLoginCommand() *cobra.Command {
	var o authOptions
	c := &cobra.Command{
		Use:   "login <name | file.yaml>",
		Short: "Sign in at the provider of a connector, once",
		Long: `Login gets the first refresh token of a connector whose file has an
authorize_url or a device_url. It prints an address to open in a browser on
this machine, and waits for the answer; with --device, a code to type on any
device. The token is written where the file says that the secret is, and runs
renew it from there.`,
	}
	c.Flags().BoolVar(&o.device, "device", false, "type a code on any device, in place of a browser on this machine")
	c.Flags().BoolVar(&o.noInput, "no-input", false, "never ask: without --yes, change nothing")
	return o.of(c, a.authLogin)
}

func (a *app) authLogin(ctx context.Context, o authOptions) error {
	if o.noInput || term.Truthy(a.env("COLLECT_NO_INPUT")) {
		return problem.Usage("collect auth login: signing in needs a person, and none may be asked; nothing was changed")
	}
	settings, params, err := a.authSettings(o)
	if err != nil {
		return err
	}
	var way signin.Way
	if o.device {
		way = signin.Device
	}
	kept, err := signin.In(ctx, &settings.Registry, o.name, params, way, a.person())
	if err != nil {
		return a.exit(err, problem.Scene{Connector: o.name, Provider: o.name})
	}
	fmt.Fprintf(a.err, "signed in: the secret %s of %s is in %s\n", kept.Secret, kept.Connector, kept.From)
	return nil
}

// person shows what a person needs to sign in.
func (a *app) person() signin.Person {
	return signin.Person{
		Open: func(address string) {
			fmt.Fprintf(a.err, "Open this address in a browser on this machine, and sign in:\n\n%s\n\nwaiting for the answer; Ctrl-C gives up\n", address)
		},
		Type: func(code oauth2.DeviceCode) {
			until := ""
			if !code.Ends.IsZero() {
				until = ", within " + words.Span(time.Until(code.Ends).Round(time.Second))
			}
			fmt.Fprintf(a.err, "Open %s on any device, and type this code%s:\n\n    %s\n\n", code.Address, until, words.CleanLine(code.Code))
			if code.Complete != "" {
				fmt.Fprintf(a.err, "or open this address, which has the code in it:\n\n%s\n\n", code.Complete)
			}
			fmt.Fprintln(a.err, "waiting for the answer; Ctrl-C gives up")
		},
	}
}

// authSettings returns the configuration and the parameters that were given.
func (a *app) authSettings(o authOptions) (settings config.Settings, params map[string]string, err error) {
	if params, err = parseParams(o.params); err == nil {
		settings, err = a.settings()
	}
	return settings, params, err
}

func (a *app) authListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [name | file.yaml]",
		Short: "Which secrets the connectors need, and whether they are there",
		Long: `List says of each secret where it comes from, whether it is there, and a
fingerprint that tells one value from another, once there is a database. It
never shows a value. Without a name it lists the connectors of collect.yaml. The
exit code is 77 if one is missing that is needed.`,
		Args: atMostOneArg,
		RunE: func(c *cobra.Command, args []string) error { return a.authList(c.Context(), args) },
	}
}

func (a *app) authList(ctx context.Context, names []string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		for _, name := range settings.Names() {
			if _, configured := settings.Entries[name]; configured {
				names = append(names, name)
			}
		}
	}
	needs, err := signin.Needs(ctx, &settings.Registry, names, a.saltFor(ctx))
	if err != nil {
		return err
	}
	t := term.Table{Head: []string{"CONNECTOR", "SECRET", "FROM", "IS THERE", "FINGERPRINT"}, Give: []int{2}, Drop: []int{4}}
	for _, n := range needs {
		t.Rows = append(t.Rows, []string{n.Connector, n.Secret, words.CleanLine(n.From), a.standing(n), cmp.Or(n.Fingerprint, "-")})
	}
	text := t.Render(a.width(), a.caps())
	if len(needs) == 0 {
		text = "no connector here needs a secret; name one to see what it needs\n"
	}
	if err := a.result(needs, text); err != nil {
		return err
	}
	if signin.Lacking(needs) {
		return &exitError{problem.ExitRefused}
	}
	return nil
}

// standing says whether a secret is there, and what to do if it is not.
func (a *app) standing(n signin.Need) string {
	switch {
	case n.There:
		return "yes"
	case n.Problem != "":
		return words.CleanLine(n.Problem)
	case n.SignsIn:
		return "no: " + problem.Command("auth login", words.Quoted(n.Named), a.repeat())
	case n.Settable:
		return "no: " + problem.Command("auth set", words.Quoted(n.Named)+" "+n.Secret, a.repeat())
	case n.Optional:
		return "no, and need not be"
	}
	return "no"
}

// saltFor returns what the database hashes credentials with; nil if there is none.
func (a *app) saltFor(ctx context.Context) (salt []byte) {
	_ = a.look(ctx, nil, func(v looked) (err error) {
		if v.db != nil {
			salt, err = v.db.Salt(ctx)
		}
		return err
	}) // without it there is no fingerprint
	return salt
}

func (a *app) authSetCommand() *cobra.Command {
	var o authOptions
	c := &cobra.Command{
		Use:   "set <name | file.yaml> [secret]",
		Short: "Store a secret that you type, or that comes from a pipe",
		Long: `Set writes a secret into the file or the keyring that the connector file names
for it. What is typed is not shown. Without a terminal, all of the input is the
secret: pass show acme | collect auth set acme`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return problem.Usage("%s: unexpected argument; a secret is typed, or comes from a pipe, and never stands on a command line", c.CommandPath())
			}
			return exactArgs("<name | file.yaml>")(c, args[:min(1, len(args))])
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.authSet(c.Context(), o, strings.Join(args[1:], ""))
		},
	}
	c.Flags().BoolVar(&o.noInput, "no-input", false, "never ask: without --yes, change nothing")
	return c
}

func (a *app) authSet(ctx context.Context, o authOptions, name string) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	secret, err := signin.Writable(ctx, &settings.Registry, o.name, name)
	if err != nil {
		return err
	}
	value, err := a.typed(o, "secret "+secret.Name+" of "+o.name)
	if err != nil {
		return err
	}
	if err := signin.Set(ctx, &settings.Registry, secret, value); err != nil {
		return a.exit(err, problem.Scene{Connector: o.name, Provider: o.name})
	}
	fmt.Fprintf(a.err, "stored in %s. To try it: collect auth test %s%s\n", secret.From(), words.Quoted(o.name), a.repeat())
	return nil
}

// typed returns what a person types without being shown, or what comes from a pipe.
func (a *app) typed(o authOptions, what string) (string, error) {
	if file, ok := a.in.(*os.File); ok && xterm.IsTerminal(int(file.Fd())) {
		if o.noInput || term.Truthy(a.env("COLLECT_NO_INPUT")) {
			return "", problem.Usage("collect auth set: nothing comes from a pipe, and no person may be asked; nothing was changed")
		}
		fmt.Fprintf(a.err, "%s: ", what)
		value, err := xterm.ReadPassword(int(file.Fd()))
		fmt.Fprintln(a.err)
		return string(value), err
	}
	value, err := io.ReadAll(io.LimitReader(bufio.NewReader(a.in), registry.LongestSecret+2))
	return string(value), err
}

func (a *app) authTestCommand() *cobra.Command {
	var o authOptions
	c := &cobra.Command{
		Use:   "test <name | file.yaml>",
		Short: "Ask the provider for one page, or the probe, with the secrets",
		Long: `Test asks for the probe of the connector, or else for one page of its first
stream, in the line of the runs that use the account. It stores no record.`,
	}
	return o.of(c, a.authTest)
}

func (a *app) authTest(ctx context.Context, o authOptions) error {
	target, err := a.resolve(ctx, o.name, o.params)
	if err != nil {
		return err
	}
	for _, one := range target.Each() {
		if tried := a.tryAccount(ctx, o, one); tried != nil {
			err = tried // after the others
		}
	}
	for _, left := range target.LeftOut {
		fmt.Fprintf(a.err, "note: not tried: %s\n", left)
	}
	return err
}

// tryAccount asks for the probe, or a page, with the credential of one account.
func (a *app) tryAccount(ctx context.Context, o authOptions, target registry.Target) error {
	t, err := a.begin(ctx, target, trialExtra, nil)
	if err != nil {
		return err
	}
	asked, err := t.Try(ctx)
	t.Close(ctx)
	provider := target.Connector.Provider()
	if err != nil {
		return a.exit(err, problem.Scene{Connector: o.name, Provider: provider.Name, Credential: provider.CredentialFrom})
	}
	from := "without a credential"
	if provider.CredentialFrom != "" {
		from = "with the credential from " + provider.CredentialFrom
	}
	fmt.Fprintf(a.out, "%s answered for %s, %s; %s sent, nothing was stored\n", provider.Name, asked, from, words.Counted(t.Requests(), "request", "requests"))
	return nil
}

func (a *app) authLogoutCommand() *cobra.Command {
	var o authOptions
	c := &cobra.Command{
		Use:   "logout <name | file.yaml>",
		Short: "Take back and remove what login has written",
		Long: `Logout asks the provider to take the refresh token back, if the connector file
has a revoke_url, and then removes it here. If the provider does not take it
back, it stays, so that you can try again. No record is touched.`,
	}
	return o.of(c, a.authLogout)
}

func (a *app) authLogout(ctx context.Context, o authOptions) error {
	settings, params, err := a.authSettings(o)
	if err != nil {
		return err
	}
	kept, err := signin.Out(ctx, &settings.Registry, o.name, params)
	switch {
	case err != nil:
		return a.exit(err, problem.Scene{Connector: o.name, Provider: o.name})
	case !kept.There:
		fmt.Fprintf(a.err, "nothing to remove: the secret %s of %s is not in %s\n", kept.Secret, kept.Connector, kept.From)
	case kept.Revoked:
		fmt.Fprintf(a.err, "signed out: the provider took the token back, and %s has it no longer\n", kept.From)
	default:
		fmt.Fprintf(a.err, "removed from %s. The provider may still accept it: end it in your account there\n", kept.From)
	}
	return nil
}
