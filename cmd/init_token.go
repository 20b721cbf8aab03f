package cmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"collect/cmd/internal/config"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/engine/setup"
	"collect/engine/signin"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
)

// findToken gets the token, or where it is, and asks the provider whether it accepts it.
func (s *setting) findToken(ctx context.Context) error {
	for _, secret := range s.examined.Secrets {
		if secret.There {
			s.inform("", fmt.Sprintf("The secret %s of %s is in %s.", secret.Name, s.entry.Provider, secret.From()))
			if secret.Env != "" {
				s.inform("", "What runs by a schedule has an environment of its own: for that, keep it in a file (--token-file).")
			}
		}
	}
	switch lacks := s.examined.Lacks(); {
	case s.pasted:
		if err := s.fromPipe(ctx); err != nil {
			return err
		}
	case s.token.Key != "":
		s.entry.Token = s.placed(s.token)
	case lacks != nil && s.dialog != nil:
		return s.askToken(ctx, *lacks)
	}
	if s.entry.Token.Key != "" {
		if err := s.bind(); err != nil {
			return err
		}
	}
	return s.tryToken(ctx, s.try || s.dialog != nil && s.hasToken())
}

// hasToken reports whether there is a token to try, as far as that is known.
func (s *setting) hasToken() bool {
	if s.entry.Token.Key != "" {
		return true
	}
	for _, secret := range s.examined.Secrets {
		if secret.There {
			return true
		}
	}
	return false
}

// fromPipe takes the token from the input.
func (s *setting) fromPipe(ctx context.Context) error {
	text, err := io.ReadAll(io.LimitReader(bufio.NewReader(s.in), registry.LongestSecret+2))
	if err != nil {
		return err
	}
	return s.typedToken(ctx, string(text))
}

// typedToken keeps a token in mind, for the file that it is written to at the end.
func (s *setting) typedToken(ctx context.Context, value string) error {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return problem.Usage("collect init: there is no token in the input; nothing was written")
	case strings.ContainsAny(value, " \t\r\n") || len(value) > registry.LongestSecret:
		return problem.Usage("collect init: that is no token: it has spaces in it, or is too long; nothing was written")
	}
	dir := config.Xdg(s.env, "XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return problem.ErrNoHome
	}
	path := words.Home(filepath.Join(dir, "collect", s.entry.Provider+".token"), s.env)
	if was, err := s.settings.Lookup(ctx, declarative.Secret{Name: registry.TokenSecret, File: path}); err != nil || was != "" && was != value {
		return problem.Usage("collect init: %s has another token, which is not replaced; to use it: --token-file %s", path, path)
	}
	s.secrets[registry.TokenSecret] = value
	s.entry.Token = setup.Token{Key: "token_file", Value: path}
	return nil
}

// placed returns the place of a token as collect.yaml names it: a file, as seen from there.
func (s *setting) placed(t setup.Token) setup.Token {
	if t.Key == "token_file" && !strings.HasPrefix(t.Value, "~/") {
		t.Value = s.fromConfig(t.Value)
	}
	return t
}

// bind notes where the token may go, for a connector that does not come with collect.
func (s *setting) bind() error {
	if s.examined.BuiltIn() {
		return nil
	}
	origins, err := s.examined.Origins(s.answers)
	s.entry.Origins = origins
	return err
}

// ways are how a token may be found, besides being typed.
var ways = map[string]string{"env": "token_env", "file": "token_file", "command": "token_command", "keyring": "token_keyring"}

// askToken asks for the token until the provider accepts it, or the person goes on without.
func (s *setting) askToken(ctx context.Context, lacks setup.Secret) error {
	for {
		s.inform("", fmt.Sprintf("%s wants a token, and there is none in %s.", s.entry.Provider, lacks.From()))
		s.inform("", "Paste it: it is not shown, and is kept in a file that only you can read. Or press Enter to say where it is.")
		value, err := s.dialog.hidden(ctx, "Token")
		if err != nil {
			return err
		}
		delete(s.secrets, registry.TokenSecret)
		if strings.TrimSpace(value) != "" {
			if err := s.typedToken(ctx, value); err != nil {
				s.say(problem.Of(err, problem.Scene{}))
				continue
			}
		} else if later, err := s.askWhere(ctx, lacks); err != nil || later {
			return err
		}
		if err := s.bind(); err != nil {
			return err
		}
		if err := s.tryToken(ctx, true); err == nil || context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		again, err := s.dialog.yes(ctx, "Another token?")
		if err != nil || !again {
			return err
		}
	}
}

// askWhere asks for the place of a token. later: it is to be put where the connector file
// says.
func (s *setting) askWhere(ctx context.Context, lacks setup.Secret) (later bool, err error) {
	for {
		text, err := s.dialog.line(ctx, "Where is it: env NAME, file PATH, command LINE, keyring NAME, or later", "later")
		if err != nil {
			return false, err
		}
		if text == "later" {
			s.entry.Token = setup.Token{}
			return true, nil
		}
		way, what, _ := strings.Cut(text, " ")
		if key, ok := ways[way]; ok && strings.TrimSpace(what) != "" {
			s.entry.Token = s.placed(setup.Token{Key: key, Value: strings.TrimSpace(what)})
			return false, nil
		}
		fmt.Fprintf(s.err, "     as: env %s\n", cmp.Or(lacks.Env, "ACME_TOKEN"))
	}
}

// tryToken asks the provider once, if a person agrees.
func (s *setting) tryToken(ctx context.Context, wanted bool) error {
	if !wanted {
		return nil
	}
	if s.dialog != nil && !s.try {
		agreed, err := s.dialog.yes(ctx, fmt.Sprintf("Ask %s once whether it accepts this?", s.entry.Provider))
		if err != nil || !agreed {
			return err
		}
	}
	target, err := s.registry().Resolve(ctx, s.connector, s.answers)
	if err == nil {
		err = s.askProvider(ctx, target)
	}
	if err == nil {
		return nil
	}
	p := problem.Of(err, problem.Scene{Connector: s.entry.Name, Provider: s.entry.Provider, Credential: "what was given", Flags: s.repeat()})
	p.Saved, p.Do = "nothing: no file was written", nil
	if s.dialog == nil {
		s.say(p)
		return &exitError{p.ExitCode}
	}
	s.inform("     ", words.Clean(words.WithReason(p.Headline, p.Why)))
	return err
}

// askProvider sends the probe, or asks for the first page of a stream.
func (s *setting) askProvider(ctx context.Context, target registry.Target) error {
	t, err := s.begin(ctx, target, trialExtra, nil)
	if err != nil {
		return err
	}
	asked, err := t.Try(ctx)
	t.Close(ctx)
	if err != nil {
		return err
	}
	s.inform("     ", fmt.Sprintf("ok: %s answered for %s (%s sent)", s.entry.Provider, asked, words.Counted(t.Requests(), "request", "requests")))
	return nil
}

// typedCommand stands for a token that was typed and is in no file yet: what a registry
// takes for the output of a command that has run.
const typedCommand = "what was typed"

// registry returns the connectors as collect.yaml will have them.
func (s *setting) registry() *registry.Registry {
	r := s.settings.Registry
	if s.entry.Token.Key == "" {
		return &r
	}
	r.Providers = maps.Clone(r.Providers)
	p := r.Providers[s.entry.Provider]
	p.TokenEnv, p.TokenFile, p.TokenCommand, p.TokenKeyring = "", "", "", ""
	p.Origins = append(p.Origins, s.entry.Origins...)
	switch value := s.entry.Token.Value; s.entry.Token.Key {
	case "token_env":
		p.TokenEnv = value
	case "token_file":
		p.TokenFile = s.asWritten(value)
	case "token_command":
		p.TokenCommand = value
	case "token_keyring":
		p.TokenKeyring = value
	}
	if value, typed := s.secrets[registry.TokenSecret]; typed {
		p.TokenFile, p.TokenCommand = "", typedCommand
		r.Printed = maps.Clone(r.Printed)
		r.Printed[typedCommand] = value
	}
	r.Providers[s.entry.Provider] = p
	return &r
}

// asWritten returns a path as collect.yaml will mean it.
func (s *setting) asWritten(path string) string {
	if path = userfile.Expand(path, s.env); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.path), path)
}

// keepSecrets writes the secrets that were typed, and returns those that were not there
// before.
func (s *setting) keepSecrets(ctx context.Context) (fresh []declarative.Secret, err error) {
	for name, value := range s.secrets {
		secret := declarative.Secret{Name: name, File: s.asWritten(s.entry.Token.Value)}
		was, err := s.settings.Lookup(ctx, secret)
		if err != nil {
			return fresh, err
		}
		if err := signin.Set(ctx, &s.settings.Registry, secret, value); err != nil {
			return fresh, err
		}
		if was == "" {
			fresh = append(fresh, secret)
		}
	}
	return fresh, nil
}
