package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"

	"collect/connectors/declarative"
)

// settings are what the user wants of collect and how much they allow, from
// all sources: built-in values, then files, then the environment, then flags.
// Each source outranks those before it, but for what limits the load on a
// provider: there the strictest of all sources holds.
type settings struct {
	State      string // path of the database
	StateNamed bool   // somebody named it; else it is the default place
	Files      []string

	MaxTime     time.Duration // per run; 0: no limit
	MaxRequests int64         // per run; 0: no limit
	Progress    string
	Every       time.Duration // of heartbeats; 0: the default
	Zone        *time.Location

	Providers  map[string]providerSettings
	Connectors map[string]connectorSettings

	// Origin says where a global value came from, by key, for people:
	// "collect.yaml:3", "env COLLECT_STATE", "flag --state", "built in".
	Origin map[string]string
}

// providerSettings override what connector files say of a provider. Zero
// fields override nothing.
type providerSettings struct {
	TokenEnv       string
	TokenFile      string
	TokenCommand   string
	Origins        []string // that may be sent the token, beside those of a built-in connector
	PerSecond      float64  // ceiling
	StartPerSecond float64
	PerDay         int64 // ceiling
	Forbidden      string
	Pace           declarative.Pace
	Origin         map[string]string // where each ceiling came from
}

// connectorSettings are one connector, under the name that the user gave it.
type connectorSettings struct {
	Use     string // path of a connector file, or the name of a built-in one
	Params  map[string]string
	Streams []string // nil: all
	Origin  string   // file:line
}

// A configSource is where configuration comes from. Zero fields select the
// usual places.
type configSource struct {
	env    func(string) string
	config string // flag --config: the only file that is read
	state  string // flag --state
	dir    string // the working directory: "."
	system string // the directory for all users: /etc/collect
}

// configName is the name of the configuration in each of its directories.
const configName = "collect.yaml"

// The global keys, by where they may come from besides files.
var environment = map[string]string{
	"state":                 "COLLECT_STATE",
	"progress":              "COLLECT_PROGRESS",
	"progress_every":        "COLLECT_PROGRESS_EVERY",
	"defaults.timezone":     "COLLECT_TZ",
	"defaults.max_time":     "COLLECT_MAX_TIME",
	"defaults.max_requests": "COLLECT_MAX_REQUESTS",
}

// globals is the shape of the global keys. Viper merges them; it is never
// given a map with names of the user in it, since it changes their case.
type globals struct {
	State    string `mapstructure:"state"`
	Progress string `mapstructure:"progress"`
	Every    string `mapstructure:"progress_every"`
	Defaults struct {
		MaxTime     string `mapstructure:"max_time"`
		MaxRequests string `mapstructure:"max_requests"`
		Timezone    string `mapstructure:"timezone"`
	} `mapstructure:"defaults"`
}

// loadConfig reads the settings. Mistakes in a file are *fileError, others
// *usageError.
func loadConfig(src configSource) (settings, error) {
	src.dir = cmp.Or(src.dir, ".")
	src.system = cmp.Or(src.system, "/etc/collect")
	m := &merger{
		viper:  viper.New(),
		result: settings{Providers: map[string]providerSettings{}, Connectors: map[string]connectorSettings{}, Origin: map[string]string{}},
	}
	m.set("defaults.timezone", "UTC", "built in")
	m.set("defaults.max_time", "none", "built in")
	m.set("defaults.max_requests", "none", "built in")
	m.set("progress", progressAuto, "built in")
	m.set("progress_every", plainEvery.String(), "built in")
	if accessible(src.env) {
		m.set("progress_every", accessibleEvery.String(), "built in")
	}

	paths, required := src.files()
	for i, path := range paths {
		if why := distrust(path); why != "" && !required && i == len(paths)-1 {
			return settings{}, &untrustedError{Path: home(path, src.env), Why: why, Name: "to use it all the same: --config " + quoted(path)}
		}
		file, err := readConfigFile(path, src.env)
		if errors.Is(err, fs.ErrNotExist) && !required {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return settings{}, &fileError{Path: home(path, src.env), Message: "there is no such configuration file"}
		}
		if err != nil {
			return settings{}, err
		}
		m.add(file)
	}
	for _, key := range slices.Sorted(maps.Keys(environment)) {
		if value := src.env(environment[key]); value != "" {
			m.set(key, value, "env "+environment[key])
		}
	}
	if src.state != "" {
		m.set("state", src.state, "flag --state")
	}
	return m.settle(src.env)
}

// files returns the configuration files in the order of their rank, and
// whether they must exist: a file that was named must. Else the last one is that
// of the working directory, which must be this user's: see [distrust].
func (src configSource) files() (paths []string, required bool) {
	if named := cmp.Or(src.config, src.env("COLLECT_CONFIG")); named != "" {
		return []string{expand(named, src.env)}, true
	}
	paths = append(paths, filepath.Join(src.system, configName))
	if dir := xdg(src.env, "XDG_CONFIG_HOME", ".config"); dir != "" {
		paths = append(paths, filepath.Join(dir, "collect", configName))
	}
	return append(paths, filepath.Join(src.dir, configName)), false
}

// xdg returns a base directory of the XDG specification, which wants relative
// values ignored; "" if there is neither the variable nor a home.
func xdg(env func(string) string, variable, below string) string {
	if dir := env(variable); filepath.IsAbs(dir) {
		return dir
	}
	if dir := env("HOME"); dir != "" {
		return filepath.Join(dir, below)
	}
	return ""
}

// defaultState returns the path of the database where nobody named one: under
// systemd the unit's own directory, else the user's place for state.
func defaultState(env func(string) string) string {
	if dirs := env("STATE_DIRECTORY"); dirs != "" {
		first, _, _ := strings.Cut(dirs, ":") // systemd.exec(5): a list
		return filepath.Join(first, "state.db")
	}
	if dir := xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")); filepath.IsAbs(dir) {
		return filepath.Join(dir, "collect", "state.db")
	}
	return "" // a place that depends on the working directory would be found again by chance only
}

// expand returns path with a leading ~ replaced by the user's home.
func expand(path string, env func(string) string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && env("HOME") != "" {
		return filepath.Join(env("HOME"), rest)
	}
	return path
}

// beside returns path as seen from the file that names it.
func beside(file, path string, env func(string) string) string {
	if path = expand(path, env); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// A merger puts sources together, in the order of their rank.
type merger struct {
	viper  *viper.Viper
	result settings
}

// set takes in a global value.
func (m *merger) set(key, value, origin string) {
	if !m.strictest(key, value) {
		return
	}
	m.viper.Set(key, value)
	m.result.Origin[key] = origin
}

// strictest reports whether value may replace the one of key: for a limit, if
// it is a stricter one. What cannot be read replaces everything, so that it is
// seen.
func (m *merger) strictest(key, value string) bool {
	old := m.viper.GetString(key)
	if old == "" {
		return true
	}
	switch key {
	case "defaults.max_requests":
		is, err1 := parseCount(value)
		was, err2 := parseCount(old)
		return err2 == nil && (err1 != nil || stricter(is, was) == is)
	case "defaults.max_time":
		is, err1 := parseDuration(value)
		was, err2 := parseDuration(old)
		return err2 == nil && (err1 != nil || stricter(is, was) == is)
	}
	return true
}

// stricter returns the lower of two limits, of which 0 is none.
func stricter[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

// add takes in a file.
func (m *merger) add(file configFile) {
	m.result.Files = append(m.result.Files, file.Path)
	for _, key := range slices.Sorted(maps.Keys(file.Globals)) {
		g := file.Globals[key]
		m.set(key, g.Value, g.Origin)
	}
	for name, p := range file.Providers {
		m.result.Providers[name] = m.result.Providers[name].under(p)
	}
	maps.Copy(m.result.Connectors, file.Connectors)
}

// under returns p as overridden by top, which outranks it, but for ceilings.
func (p providerSettings) under(top providerSettings) providerSettings {
	merged := providerSettings{
		PerSecond:      stricter(p.PerSecond, top.PerSecond),
		PerDay:         stricter(p.PerDay, top.PerDay),
		StartPerSecond: cmp.Or(top.StartPerSecond, p.StartPerSecond),
		Forbidden:      cmp.Or(top.Forbidden, p.Forbidden),
		Pace:           p.Pace.Under(top.Pace),
		TokenEnv:       p.TokenEnv, TokenFile: p.TokenFile, TokenCommand: p.TokenCommand, Origins: p.Origins,
		Origin: map[string]string{},
	}
	if top.TokenEnv+top.TokenFile+top.TokenCommand != "" {
		merged.TokenEnv, merged.TokenFile, merged.TokenCommand, merged.Origins = top.TokenEnv, top.TokenFile, top.TokenCommand, top.Origins
	}
	maps.Copy(merged.Origin, p.Origin)
	for key, origin := range top.Origin {
		loser := key == keyPerSecond && merged.PerSecond != top.PerSecond || key == keyPerDay && merged.PerDay != top.PerDay
		if !loser {
			merged.Origin[key] = origin
		}
	}
	return merged
}

// settle turns what was merged into settings.
func (m *merger) settle(env func(string) string) (settings, error) {
	var g globals
	if err := m.viper.UnmarshalExact(&g); err != nil {
		return settings{}, fmt.Errorf("configuration: %w", err)
	}
	s := m.result
	var err error
	wrong := func(key, value, want string) error {
		message := fmt.Sprintf("%s %q is not %s", key, clean(value), want)
		if place := s.Origin[key]; strings.Contains(place, ".yaml:") {
			return &fileError{Path: place, Message: message}
		}
		return &usageError{s.Origin[key] + ": " + message}
	}
	if s.MaxTime, err = parseDuration(g.Defaults.MaxTime); err != nil {
		return settings{}, wrong("defaults.max_time", g.Defaults.MaxTime, "a duration such as 90s, 30m, 2h, 7d or none")
	}
	if s.Every, err = parseDuration(g.Every); err != nil {
		return settings{}, wrong("progress_every", g.Every, "a duration such as 30s or 1m")
	}
	if s.MaxRequests, err = parseCount(g.Defaults.MaxRequests); err != nil {
		return settings{}, wrong("defaults.max_requests", g.Defaults.MaxRequests, "a whole number or none")
	}
	if s.Zone, err = time.LoadLocation(g.Defaults.Timezone); err != nil {
		return settings{}, wrong("defaults.timezone", g.Defaults.Timezone, "a time zone such as UTC or Europe/Berlin")
	}
	if s.Progress = g.Progress; !slices.Contains(progressModes, s.Progress) {
		return settings{}, wrong("progress", g.Progress, "one of "+strings.Join(progressModes, ", "))
	}
	s.State, s.StateNamed = expand(g.State, env), g.State != ""
	if !s.StateNamed {
		s.State = defaultState(env)
		s.Origin["state"] = "built in"
		if env("STATE_DIRECTORY") != "" {
			s.Origin["state"] = "env STATE_DIRECTORY"
		}
	}
	if strings.HasPrefix(s.State, "postgres:") || strings.HasPrefix(s.State, "postgresql:") {
		return settings{}, &usageError{fmt.Sprintf("%s: state: only a file can hold the state, not a database server", s.Origin["state"])}
	}
	return s, nil
}

// connectorNames returns the names that the user gave to connectors, sorted.
func (s settings) connectorNames() []string { return slices.Sorted(maps.Keys(s.Connectors)) }

// readConfigFile reads one file; its error wraps fs.ErrNotExist if there is
// none.
func readConfigFile(path string, env func(string) string) (configFile, error) {
	src, err := readAtMost(path, configLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return configFile{}, err
	}
	if err != nil {
		return configFile{}, &fileError{Path: home(path, env), Message: "the configuration cannot be read: " + reason(err)}
	}
	return parseConfig(path, src, env)
}
