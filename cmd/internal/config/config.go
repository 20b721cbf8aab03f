// Package config puts together what a user says: in collect.yaml, in the
// environment and by flags. It reads files that people write, and knows which of
// them may be another user's.
package config

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

	"collect/engine/notify"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/internal/yamlfile"
	"collect/report/problem"
)

// Settings are what the user wants of collect and how much they allow, from
// all sources: built-in values, then files, then the environment, then flags.
// Each source outranks those before it, but for what limits the load on a
// provider: there the strictest of all sources holds.
type Settings struct {
	State      string // path of the database
	StateNamed bool   // somebody named it; else it is the default place
	Files      []string

	MaxTime     time.Duration // per run; 0: no limit
	MaxRequests int64         // per run; 0: no limit
	Progress    string
	Every       time.Duration // of heartbeats; 0: the default
	Zone        *time.Location

	Notify notify.Config // who is told how runs end

	registry.Registry // of the connectors that collect.yaml names, and their providers

	// Origin says where a global value came from, by key, for people:
	// "collect.yaml:3", "env COLLECT_STATE", "flag --state", "built in".
	Origin map[string]string

	said []saidKey // by all sources, in the order of their rank
}

// BuiltIn is the origin of a default.
const BuiltIn = "built in"

// A Source is where configuration comes from. Zero fields select the
// usual places.
type Source struct {
	Env    func(string) string
	Config string // flag --config: the only file that is read
	State  string // flag --state
	Dir    string // the working directory: "."
	System string // the directory for all users: /etc/collect
}

// FileName is the name of the configuration in each of its directories.
const FileName = "collect.yaml"

// The global keys, by where they may come from besides files.
var environment = map[string]string{
	"state":                 "COLLECT_STATE",
	"progress":              "COLLECT_PROGRESS",
	"progress_every":        "COLLECT_PROGRESS_EVERY",
	"defaults.timezone":     "COLLECT_TZ",
	"defaults.max_time":     "COLLECT_MAX_TIME",
	"defaults.max_requests": "COLLECT_MAX_REQUESTS",
}

// pingVariable names the file that holds the address to ping.
const pingVariable = "COLLECT_HEALTHCHECK_URL_FILE"

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

// A ValueError is a value of the environment or a flag that cannot be used.
type ValueError struct{ Message string }

func (e *ValueError) Error() string { return e.Message }

// Load reads the settings. Mistakes in a file are *problem.FileError, others
// *ValueError.
func Load(src Source) (Settings, error) {
	src.Dir = cmp.Or(src.Dir, ".")
	src.System = cmp.Or(src.System, "/etc/collect")
	m := &merger{
		viper: viper.New(),
		result: Settings{
			Registry: registry.Registry{Entries: map[string]registry.Entry{}, Providers: map[string]registry.Provider{}, Env: src.Env},
			Origin:   map[string]string{},
		},
	}
	m.set("defaults.timezone", "UTC", BuiltIn)
	m.set("defaults.max_time", "none", BuiltIn)
	m.set("defaults.max_requests", "none", BuiltIn)
	m.set("progress", ProgressAuto, BuiltIn)
	m.set("progress_every", shortDuration(PlainEvery), BuiltIn)
	if Accessible(src.Env) {
		m.set("progress_every", shortDuration(AccessibleEvery), BuiltIn)
	}

	paths, required := src.files()
	for i, path := range paths {
		if why := userfile.Distrust(path); why != "" && !required && i == len(paths)-1 {
			return Settings{}, &problem.UntrustedError{Path: words.Home(path, src.Env), Why: why, Name: "to use it all the same: --config " + words.Quoted(path)}
		}
		file, err := readConfigFile(path, src.Env)
		if errors.Is(err, fs.ErrNotExist) && !required {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return Settings{}, &problem.FileError{Path: words.Home(path, src.Env), Message: "there is no such configuration file"}
		}
		if err != nil {
			return Settings{}, err
		}
		m.add(file)
	}
	for _, key := range slices.Sorted(maps.Keys(environment)) {
		if value := src.Env(environment[key]); value != "" {
			m.set(key, value, "env "+environment[key])
		}
	}
	if path := src.Env(pingVariable); path != "" {
		m.result.Notify.PingURLFile, m.result.Origin[keyPing] = userfile.Expand(path, src.Env), "env "+pingVariable
		m.say(keyPing+".url_file", path, "env "+pingVariable)
	}
	if src.State != "" {
		m.set("state", src.State, "flag --state")
	}
	return m.settle(src.Env)
}

// files returns the configuration files in the order of their rank, and
// whether they must exist: a file that was named must. Else the last one is that
// of the working directory, which must be this user's: see [distrust].
func (src Source) files() (paths []string, required bool) {
	if named := cmp.Or(src.Config, src.Env("COLLECT_CONFIG")); named != "" {
		return []string{userfile.Expand(named, src.Env)}, true
	}
	paths = append(paths, filepath.Join(src.System, FileName))
	if dir := Xdg(src.Env, "XDG_CONFIG_HOME", ".config"); dir != "" {
		paths = append(paths, filepath.Join(dir, "collect", FileName))
	}
	return append(paths, filepath.Join(src.Dir, FileName)), false
}

// Xdg returns a base directory of the XDG specification, which wants relative
// values ignored; "" if there is neither the variable nor a home.
func Xdg(env func(string) string, variable, below string) string {
	if dir := env(variable); filepath.IsAbs(dir) {
		return dir
	}
	if dir := env("HOME"); dir != "" {
		return filepath.Join(dir, below)
	}
	return ""
}

// defaultState returns the path of the database if the user named none: under
// systemd the unit's own directory, else the user's place for state.
func defaultState(env func(string) string) string {
	if dirs := env("STATE_DIRECTORY"); dirs != "" {
		first, _, _ := strings.Cut(dirs, ":") // systemd.exec(5): a list
		return filepath.Join(first, "state.db")
	}
	if dir := Xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")); filepath.IsAbs(dir) {
		return filepath.Join(dir, "collect", "state.db")
	}
	return "" // a place that depends on the working directory would be found again by chance only
}

// Told returns the path of the file that remembers what was told of trouble; "" if
// there is no place for it.
func Told(env func(string) string) string {
	if state := defaultState(env); state != "" {
		return filepath.Join(filepath.Dir(state), "told.json")
	}
	return ""
}

// beside returns path as seen from the file that names it.
func beside(file, path string, env func(string) string) string {
	if path = userfile.Expand(path, env); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// A merger puts sources together, in the order of their rank.
type merger struct {
	viper  *viper.Viper
	result Settings
}

// say notes what a source says, for who asks where a value came from. A source is a
// file, and else each of the others.
func (m *merger) say(key, value, origin string) {
	m.result.said = append(m.result.said, saidKey{key, Said{value, origin, len(m.result.Files)}})
}

// set takes in a global value of a source that is no file.
func (m *merger) set(key, value, origin string) {
	m.say(key, value, origin)
	m.take(key, value, origin)
}

// take takes in a global value.
func (m *merger) take(key, value, origin string) {
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
		is, err1 := ParseCount(value)
		was, err2 := ParseCount(old)
		return err2 == nil && (err1 != nil || Stricter(is, was) == is)
	case "defaults.max_time":
		is, err1 := ParseDuration(value)
		was, err2 := ParseDuration(old)
		return err2 == nil && (err1 != nil || Stricter(is, was) == is)
	}
	return true
}

// Stricter returns the lower of two limits. A limit of 0 is no limit.
func Stricter[T cmp.Ordered](a, b T) T {
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
		m.take(key, g.Value, g.Origin)
	}
	for _, said := range file.Said {
		m.say(said.key, said.Value, said.Origin)
	}
	for name, p := range file.Providers {
		m.result.Providers[name] = under(m.result.Providers[name], p)
	}
	maps.Copy(m.result.Entries, file.Connectors)
	m.result.Notify = overNotify(m.result.Notify, file.Notify)
	maps.Copy(m.result.Origin, file.Notified)
}

// under returns p as overridden by top, which outranks it, but for ceilings.
func under(p, top registry.Provider) registry.Provider {
	merged := registry.Provider{
		PerSecond:      Stricter(p.PerSecond, top.PerSecond),
		PerDay:         Stricter(p.PerDay, top.PerDay),
		StartPerSecond: cmp.Or(top.StartPerSecond, p.StartPerSecond),
		Forbidden:      cmp.Or(top.Forbidden, p.Forbidden),
		Pace:           p.Pace.Under(top.Pace),
		TokenEnv:       p.TokenEnv, TokenFile: p.TokenFile, TokenCommand: p.TokenCommand, TokenKeyring: p.TokenKeyring, MoreTokens: p.MoreTokens, Origins: p.Origins,
		Origin: map[string]string{},
	}
	if top.HasToken() {
		merged.TokenEnv, merged.TokenFile, merged.TokenCommand, merged.TokenKeyring = top.TokenEnv, top.TokenFile, top.TokenCommand, top.TokenKeyring
		merged.MoreTokens, merged.Origins = top.MoreTokens, top.Origins
	}
	maps.Copy(merged.Origin, p.Origin)
	for key, origin := range top.Origin {
		loser := key == registry.KeyPerSecond && merged.PerSecond != top.PerSecond || key == registry.KeyPerDay && merged.PerDay != top.PerDay
		if !loser {
			merged.Origin[key] = origin
		}
	}
	return merged
}

// settle turns what was merged into settings.
func (m *merger) settle(env func(string) string) (Settings, error) {
	var g globals
	if err := m.viper.UnmarshalExact(&g); err != nil {
		return Settings{}, fmt.Errorf("configuration: %w", err)
	}
	s := m.result
	var err error
	wrong := func(key, value, want string) error {
		message := fmt.Sprintf("%s %q is not %s", key, words.Clean(value), want)
		if place := s.Origin[key]; strings.Contains(place, ".yaml:") {
			return &problem.FileError{Path: place, Message: message}
		}
		return &ValueError{s.Origin[key] + ": " + message}
	}
	if s.MaxTime, err = ParseDuration(g.Defaults.MaxTime); err != nil {
		return Settings{}, wrong("defaults.max_time", g.Defaults.MaxTime, "a duration such as 90s, 30m, 2h, 7d or none")
	}
	if s.Every, err = ParseDuration(g.Every); err != nil {
		return Settings{}, wrong("progress_every", g.Every, "a duration such as 30s or 1m")
	}
	if s.MaxRequests, err = ParseCount(g.Defaults.MaxRequests); err != nil {
		return Settings{}, wrong("defaults.max_requests", g.Defaults.MaxRequests, "a whole number or none")
	}
	if s.Zone, err = time.LoadLocation(g.Defaults.Timezone); err != nil {
		return Settings{}, wrong("defaults.timezone", g.Defaults.Timezone, "a time zone such as UTC or Europe/Berlin")
	}
	if s.Progress = g.Progress; !slices.Contains(ProgressModes, s.Progress) {
		return Settings{}, wrong("progress", g.Progress, "one of "+strings.Join(ProgressModes, ", "))
	}
	s.State, s.StateNamed = userfile.Expand(g.State, env), g.State != ""
	if !s.StateNamed {
		s.State = defaultState(env)
		s.Origin["state"] = BuiltIn
		if env("STATE_DIRECTORY") != "" {
			s.Origin["state"] = "env STATE_DIRECTORY"
		}
		s.said = append(s.said, saidKey{"state", Said{words.Home(s.State, env), s.Origin["state"], 0}})
	}
	if err := storage.Check(s.State); err != nil {
		return Settings{}, &ValueError{fmt.Sprintf("%s: state: %v", s.Origin["state"], err)}
	}
	return s, nil
}

// readConfigFile reads one file; its error wraps fs.ErrNotExist if there is
// none.
func readConfigFile(path string, env func(string) string) (configFile, error) {
	src, err := userfile.ReadAtMost(path, yamlfile.Longest)
	if errors.Is(err, fs.ErrNotExist) {
		return configFile{}, err
	}
	if err != nil {
		return configFile{}, &problem.FileError{Path: words.Home(path, env), Message: "the configuration cannot be read: " + words.Cause(err)}
	}
	file, err := Parse(path, src, env)
	if err == nil {
		file.Said = saidIn(path, src, env)
	}
	return file, err
}
