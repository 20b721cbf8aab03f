package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"collect/cmd/internal/config"
	"collect/engine"
	"collect/engine/storage"
	"collect/fleet"
	"collect/report/problem"
	"collect/store"
)

// settings reads the configuration under the global flags.
func (a *app) settings() (config.Settings, error) {
	s, err := config.Load(config.Source{Env: a.env, Config: a.flags.config, State: a.flags.state})
	if value, ok := errors.AsType[*config.ValueError](err); ok {
		err = problem.Usage("%s", value.Message)
		a.flags.state = "" // no command to copy repeats what is wrong, and may be secret
	}
	if err == nil && s.State == "" {
		err = problem.ErrNoHome
	}
	if a.printed == nil {
		a.printed = map[string]string{}
	}
	s.Stderr, s.Printed = a.err, a.printed
	if !storage.IsFile(s.State) {
		s.Shared = storage.Beside(s.State)
	}
	s.Remembered = func(ctx context.Context, name string) (string, []string, error) { return a.remembered(ctx, s, name) }
	return s, err
}

// remembered returns the connector file that a connector was collected with, and
// the names that the database knows.
func (a *app) remembered(ctx context.Context, s config.Settings, name string) (path string, known []string, err error) {
	db, err := openForReading(ctx, s)
	if errors.Is(err, store.ErrMissing) && !errors.Is(err, store.ErrLogGone) || err == nil && db == nil {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err // it knows the name, perhaps
	}
	defer db.Close()
	return engine.Remembered(db)(ctx, name)
}

// parseParams reads --param flags.
func parseParams(flags []string) (map[string]string, error) {
	params := map[string]string{}
	for _, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, problem.Usage("--param: %q is not name=value", flag)
		}
		params[name] = value
	}
	return params, nil
}

// meeting is where the runs of this user share the pace of their accounts.
func (a *app) meeting(s *config.Settings) engine.Meeting {
	return engine.Meeting{Dir: meetingPlace(a.env), Registry: &s.Registry, Fleet: fleet.Facts}
}

// meetingPlace is where the runs of a user meet; "" if there is no such place.
func meetingPlace(env func(string) string) string {
	if state := config.Xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")); state != "" {
		return filepath.Join(state, "collect", "pace")
	}
	return ""
}
