package config

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine/notify"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/internal/yamlfile"
	"collect/report/problem"
)

// A configFile is one collect.yaml:
//
//	version: 1
//	state: ~/.local/state/collect/state.db
//	progress: auto                  # auto, live, plain, json, none
//	progress_every: 1m              # between heartbeats, where there is no live display
//	defaults:
//	  max_time: none                # per run; not a way to limit the load
//	  max_requests: none            # per run, retries included
//	  timezone: UTC                 # for people; data and logs are always UTC
//	providers:
//	  acme:
//	    token_command: pass show acme/api   # or token_file, token_env, token_keyring
//	    origins: [https://api.acme.com]     # that may be sent the token
//	    ceiling_per_second: 4.0             # only the user can raise this
//	    start_per_second: 1.0               # first run only
//	    requests_per_day: 20000
//	    on_403: freeze                      # freeze, hold or gap
//	    law: plateau                        # these four as in a connector file
//	    concurrency: {max: 4}
//	    clamp: {least: 50%}
//	    quota: {reserve: 20%}
//	connectors:
//	  tickets:
//	    use: ./connectors/acme.yaml         # a file, or the name of a built-in one
//	    params: {org: acme}
//	    streams: [issues, comments]
//	notify:                               # see notify.go
//	  healthchecks: {url_file: ~/.config/collect/hc-url}
type configFile struct {
	Path       string
	Said       []saidKey
	Notify     notify.Config
	Notified   map[string]string // where each part of Notify stands, by its key
	Globals    map[string]globalValue
	Providers  map[string]registry.Provider
	Connectors map[string]registry.Entry
}

// A globalValue is the value of a global key as it was written.
type globalValue struct{ Value, Origin string }

var policies = []string{"freeze", "hold", "gap"}

// The blocks of the file, as [yamlfile.Decode] reads them.
type (
	configBlock struct {
		_          struct{}                         `block:"a configuration"`
		Version    yamlfile.Scalar                  `yaml:"version"`
		State      yamlfile.Scalar                  `yaml:"state"`
		Progress   yamlfile.Scalar                  `yaml:"progress"`
		Every      yamlfile.Scalar                  `yaml:"progress_every"`
		Defaults   defaultsBlock                    `yaml:"defaults"`
		Providers  yamlfile.Ordered[providerBlock]  `yaml:"providers"`
		Connectors yamlfile.Ordered[connectorBlock] `yaml:"connectors"`
		Notify     notifyBlock                      `yaml:"notify"`
	}
	defaultsBlock struct {
		_           struct{}        `block:"the defaults"`
		MaxTime     yamlfile.Scalar `yaml:"max_time"`
		MaxRequests yamlfile.Scalar `yaml:"max_requests"`
		Timezone    yamlfile.Scalar `yaml:"timezone"`
	}
	providerBlock struct {
		_              struct{}          `block:"a provider" like:"acme: {requests_per_day: 20000}" hint:"rate rates rps rate_limit rate_limits limit limits requests_per_second max_rate throttle budget budgets ceiling ceilings: the most that may be asked for is written here as ceiling_per_second: 4, or requests_per_day: 20000"`
		TokenCommand   yamlfile.Texts    `yaml:"token_command"`
		TokenFile      yamlfile.Texts    `yaml:"token_file"`
		TokenEnv       yamlfile.Texts    `yaml:"token_env"`
		TokenKeyring   yamlfile.Texts    `yaml:"token_keyring"`
		Origins        []yamlfile.Scalar `yaml:"origins"`
		PerSecond      yamlfile.Number   `yaml:"ceiling_per_second"`
		StartPerSecond yamlfile.Number   `yaml:"start_per_second"`
		PerDay         yamlfile.Count    `yaml:"requests_per_day"`
		On403          yamlfile.Scalar   `yaml:"on_403"`
		declarative.PaceSpec
	}
	connectorBlock struct {
		_       struct{}                          `block:"a connector" like:"tickets: {use: ./acme.yaml}" hint:"rate rates rps rate_limit rate_limits limit limits requests_per_second max_rate throttle budget budgets ceiling ceilings concurrency ceiling_per_second requests_per_day: the pace belongs to the provider; write under providers, with the name that stands in the connector file: acme: {ceiling_per_second: 4}"`
		Use     yamlfile.Scalar                   `yaml:"use"`
		Params  yamlfile.Ordered[yamlfile.Scalar] `yaml:"params"`
		Streams []yamlfile.Scalar                 `yaml:"streams"`
	}
)

// Parse reads a collect.yaml. Every mistake is a *problem.FileError that names
// its line; nothing that is not understood is passed over.
func Parse(path string, src []byte, env func(string) string) (configFile, error) {
	var block configBlock
	r := &configReader{path: path, env: env}
	r.faults = yamlfile.Decode(src, &block)
	file := configFile{
		Path: path, Globals: map[string]globalValue{},
		Providers: map[string]registry.Provider{}, Connectors: map[string]registry.Entry{},
	}
	if len(r.faults) == 0 {
		r.globals(&block, file.Globals)
		for _, p := range block.Providers {
			file.Providers[p.Key.Text] = r.provider(p.Value)
		}
		for _, c := range block.Connectors {
			file.Connectors[c.Key.Text] = r.connector(c.Key, c.Value)
		}
		file.Notify, file.Notified = r.notify(block.Notify)
	}
	if len(r.faults) == 0 {
		return file, nil
	}
	slices.SortStableFunc(r.faults, func(a, b yamlfile.Fault) int { return a.At.Compare(b.At) })
	var errs []error
	for _, f := range r.faults[:min(len(r.faults), mostFileErrors)] {
		errs = append(errs, &problem.FileError{
			Path: words.Home(path, env), Line: f.At.Line, Column: f.At.Column, Message: f.Message, Note: f.Note, Source: f.Excerpt(src),
		})
	}
	return configFile{}, errors.Join(errs...)
}

// mostFileErrors bounds the mistakes that are counted at once.
const mostFileErrors = 10

// A configReader turns blocks into settings, and collects what is wrong.
type configReader struct {
	path   string
	env    func(string) string
	faults []yamlfile.Fault
}

func (r *configReader) fail(s yamlfile.Scalar, message, label string) {
	r.faults = append(r.faults, yamlfile.Fault{At: s.At, Message: message, Label: label})
}

// globals takes in the global values that are said.
func (r *configReader) globals(block *configBlock, into map[string]globalValue) {
	if v := block.Version; v.Set && v.Text != "1" {
		r.fail(v, "this version of collect reads `version: 1`", "not known")
	}
	for key, value := range map[string]yamlfile.Scalar{
		"state": block.State, "progress": block.Progress, "progress_every": block.Every,
		"defaults.max_time": block.Defaults.MaxTime, "defaults.max_requests": block.Defaults.MaxRequests, "defaults.timezone": block.Defaults.Timezone,
	} {
		if !value.Set {
			continue
		}
		text := strings.TrimSpace(value.Text)
		if key == "state" && !strings.Contains(text, "://") {
			text = beside(r.path, text, r.env)
		}
		r.check(value, key, text)
		into[key] = globalValue{text, r.origin(value)}
	}
}

// check refuses a global value here, where its line is known.
func (r *configReader) check(s yamlfile.Scalar, key, text string) {
	var err error
	want := ""
	switch key {
	case "defaults.max_time", "progress_every":
		_, err = ParseDuration(text)
		want = "a duration such as 90s, 30m, 2h, 7d or none"
	case "defaults.max_requests":
		_, err = ParseCount(text)
		want = "a whole number or none"
	case "progress":
		want = "one of " + strings.Join(ProgressModes, ", ")
		if !slices.Contains(ProgressModes, text) {
			err = errValue
		}
	}
	if err != nil {
		r.fail(s, fmt.Sprintf("`%s` is not %s", key, want), "not "+want)
	}
	if key == "state" {
		if err := storage.Check(text); err != nil {
			r.fail(s, "`state`: "+err.Error(), "here")
		}
	}
}

func (r *configReader) provider(b providerBlock) registry.Provider {
	p := registry.Provider{Origin: map[string]string{}, Origins: r.origins(b.Origins)}
	pace, faults := b.PaceSpec.Read()
	p.Pace, r.faults = pace, append(r.faults, faults...)

	tokens := 0
	token := func(key string, s yamlfile.Texts, place func(string) string) string {
		text := r.said(&p, key, s.Scalar)
		if text == "" {
			return ""
		}
		if tokens++; tokens > 1 {
			r.fail(s.Scalar, "a provider has its token in one place: token_command, token_file, token_env or token_keyring; several tokens are a list there", "one too many")
		}
		for i, more := range s.All[1:] {
			if slices.ContainsFunc(s.All[:i+1], func(t yamlfile.Scalar) bool { return t.Text == more.Text }) {
				r.fail(more, "this is in the list already", "")
			}
			p.MoreTokens = append(p.MoreTokens, place(strings.TrimSpace(more.Text)))
		}
		return place(text)
	}
	asIs := func(text string) string { return text }
	p.TokenCommand = token("token_command", b.TokenCommand, asIs)
	p.TokenFile = token("token_file", b.TokenFile, func(text string) string { return beside(r.path, text, r.env) })
	p.TokenEnv = token("token_env", b.TokenEnv, asIs)
	p.TokenKeyring = token("token_keyring", b.TokenKeyring, asIs)
	if p.Origins != nil && tokens == 0 {
		r.fail(b.Origins[0], "`origins` belongs to a token, and there is none here", "")
	}

	p.PerSecond, p.StartPerSecond, p.PerDay = b.PerSecond.Value, b.StartPerSecond.Value, int64(b.PerDay.Value)
	r.said(&p, registry.KeyPerSecond, b.PerSecond.Scalar)
	r.said(&p, "start_per_second", b.StartPerSecond.Scalar)
	r.said(&p, registry.KeyPerDay, b.PerDay.Scalar)
	if p.PerSecond > 0 && p.StartPerSecond > p.PerSecond {
		r.fail(b.StartPerSecond.Scalar, "`start_per_second` is above `ceiling_per_second`", "")
	}
	p.Forbidden = r.said(&p, "on_403", b.On403)
	if b.On403.Set && !slices.Contains(policies, p.Forbidden) {
		r.fail(b.On403, "`on_403` is one of "+strings.Join(policies, ", "), "not one of them")
	}
	return p
}

// said returns what stands under a key, and notes where.
func (r *configReader) said(p *registry.Provider, key string, s yamlfile.Scalar) string {
	if s.Set {
		p.Origin[key] = r.origin(s)
	}
	return strings.TrimSpace(s.Text)
}

func (r *configReader) connector(name yamlfile.Scalar, b connectorBlock) registry.Entry {
	c := registry.Entry{Use: name.Text, Params: map[string]string{}, Origin: r.origin(name)}
	if b.Use.Set {
		if c.Use = strings.TrimSpace(b.Use.Text); registry.IsFile(c.Use) {
			c.Use = beside(r.path, c.Use, r.env)
		}
	}
	for _, p := range b.Params {
		c.Params[p.Key.Text] = strings.TrimSpace(p.Value.Text)
	}
	if b.Streams != nil {
		c.Streams = []string{}
		for _, s := range b.Streams {
			c.Streams = append(c.Streams, s.Text)
		}
	}
	return c
}

// origins returns a list of origins in one spelling; nil if there is none.
func (r *configReader) origins(list []yamlfile.Scalar) []string {
	var origins []string
	for _, s := range list {
		u, err := url.Parse(s.Text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery != "" {
			r.fail(s, "`origins` is a list such as [https://api.acme.com]", "not an origin")
			return nil
		}
		origins = append(origins, collection.Origin(u))
	}
	return origins
}

// origin says where a value stands, for people.
func (r *configReader) origin(s yamlfile.Scalar) string {
	return fmt.Sprintf("%s:%d", words.Home(r.path, r.env), s.At.Line)
}

// Example is a collect.yaml that has every key, with its meaning.
//
//go:embed example.yaml
var Example []byte

// Schema returns the JSON Schema of collect.yaml, for editors.
func Schema() []byte { return yamlfile.SchemaOf(reflect.TypeFor[configBlock]()) }

// Extends returns what keeps a file from being the one it was with a connector and a
// provider more: nil if it is that.
func Extends(path string, was, is []byte, env func(string) string) error {
	before, err := Parse(path, was, env)
	if err != nil {
		return err
	}
	after, err := Parse(path, is, env)
	if err != nil {
		return err
	}
	for key, value := range before.Globals {
		if after.Globals[key].Value != value.Value {
			return fmt.Errorf("`%s` would change", key)
		}
	}
	for name, c := range before.Connectors {
		now := after.Connectors[name]
		if c.Use != now.Use || !maps.Equal(c.Params, now.Params) || !slices.Equal(c.Streams, now.Streams) {
			return fmt.Errorf("the connector `%s` would change", name)
		}
	}
	if len(after.Connectors) != len(before.Connectors)+1 {
		return errors.New("the connector would not be read where it is written")
	}
	return nil
}
