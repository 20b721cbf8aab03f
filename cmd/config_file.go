package cmd

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"collect/collection"
	"collect/connectors/declarative"
)

// A fileError is a mistake in a file that a person wrote.
type fileError struct {
	Path         string
	Line, Column int // from 1; 0: not known
	Message      string
	Note         string
	Source       string // the lines around it, with a caret; "" if not known
}

// Error returns path:line:column: message.
func (e *fileError) Error() string { return e.place() + ": " + e.Message }

func (e *fileError) place() string {
	if e.Line == 0 {
		return e.Path
	}
	return fmt.Sprintf("%s:%d:%d", e.Path, e.Line, e.Column)
}

// A configFile is one collect.yaml:
//
//	version: 1
//	state: ~/.local/state/collect/state.db
//	progress: auto                  # auto, live, plain, json, none
//	progress_every: 1m              # between heartbeats where nobody watches
//	defaults:
//	  max_time: none                # per run; not a way to limit the load
//	  max_requests: none            # per run, retries included
//	  timezone: UTC                 # for people; data and logs are always UTC
//	providers:
//	  acme:
//	    token_command: pass show acme/api   # or token_file, token_env
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
type configFile struct {
	Path       string
	Globals    map[string]globalValue
	Providers  map[string]providerSettings
	Connectors map[string]connectorSettings
}

// A globalValue is the value of a global key as it was written.
type globalValue struct{ Value, Origin string }

// The keys of each block.
const (
	keyPerSecond = "ceiling_per_second"
	keyPerDay    = "requests_per_day"
)

var (
	fileKeys      = []string{"version", "state", "progress", "progress_every", "defaults", "providers", "connectors"}
	defaultKeys   = []string{"max_time", "max_requests", "timezone"}
	providerKeys  = []string{"token_command", "token_file", "token_env", "origins", keyPerSecond, "start_per_second", keyPerDay, "on_403"} // and the pace
	connectorKeys = []string{"use", "params", "streams"}
	policies      = []string{"freeze", "hold", "gap"}
)

// configLimit bounds a configuration: a thousand connectors take 100 KiB.
const configLimit = 1 << 20

// lineBreaks matches the line breaks of YAML 1.2 (5.4) that are not a line
// feed already.
var lineBreaks = regexp.MustCompile("\r\n?")

// parseConfig reads a collect.yaml. Every mistake is a *fileError that names
// its line; nothing that is not understood is passed over.
func parseConfig(path string, src []byte, env func(string) string) (configFile, error) {
	src = lineBreaks.ReplaceAll(src, []byte("\n")) // so that we and the parser count alike
	r := &configReader{
		path: path, src: src, env: env,
		file: configFile{
			Path: path, Globals: map[string]globalValue{},
			Providers: map[string]providerSettings{}, Connectors: map[string]connectorSettings{},
		},
	}
	if len(src) > configLimit || !utf8.Valid(src) {
		return configFile{}, &fileError{Path: home(path, env), Message: "not a text of at most 1 MiB in UTF-8"}
	}
	if line, column := declarative.TooNested(src); line > 0 {
		return configFile{}, &fileError{Path: home(path, env), Line: line, Column: column, Message: fmt.Sprintf("more than %d brackets or dashes are open here", declarative.MostNested)}
	}
	doc, err := parser.ParseBytes(src, 0)
	if err != nil {
		return configFile{}, r.syntax(err)
	}
	if len(doc.Docs) > 1 {
		return configFile{}, &fileError{Path: home(path, env), Message: "more than one YAML document"}
	}
	if len(doc.Docs) == 1 && doc.Docs[0].Body != nil {
		r.document(doc.Docs[0].Body)
	}
	if r.err != nil {
		return configFile{}, r.err
	}
	return r.file, nil
}

// A configReader walks the nodes of a file. It keeps the first mistake and
// reads nothing after it.
type configReader struct {
	path string
	src  []byte
	env  func(string) string
	file configFile
	err  *fileError
}

func (r *configReader) document(n ast.Node) {
	r.each(n, "a configuration", fileKeys, func(key string, value ast.Node) {
		switch key {
		case "version":
			if r.text(value) != "1" {
				r.fail(value, "this version of collect reads `version: 1`", "not known")
			}
		case "defaults":
			r.each(value, "the defaults", defaultKeys, func(key string, value ast.Node) {
				r.global("defaults."+key, value)
			})
		case "providers":
			r.each(value, "a list of providers by name", nil, r.provider)
		case "connectors":
			r.each(value, "a list of connectors by name", nil, r.connector)
		default:
			r.global(key, value)
		}
	})
}

func (r *configReader) global(key string, n ast.Node) {
	text := r.text(n)
	if key == "state" && !strings.Contains(text, "://") {
		text = beside(r.path, text, r.env)
	}
	r.check(n, key, text)
	if r.err == nil {
		r.file.Globals[key] = globalValue{text, r.origin(n)}
	}
}

// check refuses a global value here, where its line is known.
func (r *configReader) check(n ast.Node, key, text string) {
	var err error
	want := ""
	switch key {
	case "defaults.max_time", "progress_every":
		_, err = parseDuration(text)
		want = "a duration such as 90s, 30m, 2h, 7d or none"
	case "defaults.max_requests":
		_, err = parseCount(text)
		want = "a whole number or none"
	case "progress":
		want = "one of " + strings.Join(progressModes, ", ")
		if !slices.Contains(progressModes, text) {
			err = errValue
		}
	}
	if err != nil {
		r.fail(n, fmt.Sprintf("`%s` is not %s", key, want), "not "+want)
	}
}

func (r *configReader) provider(name string, n ast.Node) {
	p := providerSettings{Origin: map[string]string{}}
	tokens := 0
	r.each(n, "a provider", append(declarative.PaceKeys(), providerKeys...), func(key string, value ast.Node) {
		p.Origin[key] = r.origin(value)
		if slices.Contains(declarative.PaceKeys(), key) {
			r.pace(&p.Pace, key, value)
			return
		}
		if key == "origins" {
			p.Origins = r.origins(value)
			return
		}
		text := r.text(value)
		var err error
		switch key {
		case "token_command":
			p.TokenCommand = text
			tokens++
		case "token_file":
			p.TokenFile = beside(r.path, text, r.env)
			tokens++
		case "token_env":
			p.TokenEnv = text
			tokens++
		case keyPerSecond:
			p.PerSecond, err = parseRate(text)
		case "start_per_second":
			p.StartPerSecond, err = parseRate(text)
		case keyPerDay:
			p.PerDay, err = parseCount(text)
		case "on_403":
			p.Forbidden = text
			if !slices.Contains(policies, text) {
				r.fail(value, "`on_403` is one of "+strings.Join(policies, ", "), "not one of them")
			}
		}
		if err != nil {
			r.fail(value, fmt.Sprintf("`%s` is a number above 0", key), "not a number above 0")
		}
		if tokens > 1 {
			r.fail(value, "a provider has one token: token_command, token_file or token_env", "one too many")
		}
	})
	if p.Origins != nil && tokens == 0 {
		r.fail(n, "`origins` has no token beside it", "")
	}
	if p.PerSecond > 0 && p.StartPerSecond > p.PerSecond {
		r.fail(n, "`start_per_second` is above `ceiling_per_second`", "")
	}
	r.file.Providers[name] = p
}

// pace reads what connector files can say, too, and in the same words.
func (r *configReader) pace(p *declarative.Pace, key string, n ast.Node) {
	if n == nil || r.err != nil {
		return
	}
	if m := p.Read(key, n); m != nil {
		r.err = &fileError{Path: home(r.path, r.env), Line: m.Line, Column: m.Column, Message: m.Message, Note: m.Note,
			Source: excerpt(string(r.src), m.Line, m.Column, m.Length, m.Label)}
	}
}

func (r *configReader) connector(name string, n ast.Node) {
	c := connectorSettings{Use: name, Params: map[string]string{}, Origin: r.origin(n)}
	r.each(n, "a connector", connectorKeys, func(key string, value ast.Node) {
		switch key {
		case "use":
			if c.Use = r.text(value); isFile(c.Use) {
				c.Use = beside(r.path, c.Use, r.env)
			}
		case "params":
			r.each(value, "parameters by name", nil, func(key string, value ast.Node) { c.Params[key] = r.text(value) })
		case "streams":
			c.Streams = r.list(value)
		}
	})
	r.file.Connectors[name] = c
}

// each calls visit with the pairs of a mapping. what names the mapping; its
// keys are among keys, or free if keys is nil.
func (r *configReader) each(n ast.Node, what string, keys []string, visit func(key string, value ast.Node)) {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	case *ast.NullNode, nil:
		return // a key with nothing under it
	default:
		r.fail(n, "this must be "+what, "not a mapping")
		return
	}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		if keys != nil && !slices.Contains(keys, key) {
			r.unknown(pair.Key, what, keys)
		}
		if r.err != nil {
			return
		}
		visit(key, pair.Value)
	}
}

// text returns the scalar n as it was written, without quotes; "" for nothing.
func (r *configReader) text(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return ""
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	}
	r.fail(n, "this must be one value", "not one value")
	return ""
}

func (r *configReader) list(n ast.Node) []string {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "this must be a list: [a, b]", "not a list")
		return nil
	}
	items := []string{}
	for _, item := range seq.Values {
		items = append(items, r.text(item))
	}
	return items
}

// origins reads a list of origins, in one spelling.
func (r *configReader) origins(n ast.Node) []string {
	texts := r.list(n)
	for i, text := range texts {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery != "" {
			r.fail(n, "`origins` is a list such as [https://api.acme.com]", "not a list of origins")
			return nil
		}
		texts[i] = collection.Origin(u)
	}
	return texts
}

func (r *configReader) origin(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return home(r.path, r.env)
	}
	return fmt.Sprintf("%s:%d", home(r.path, r.env), n.GetToken().Position.Line)
}

func (r *configReader) unknown(key ast.Node, what string, keys []string) {
	name := key.GetToken().Value
	r.fail(key, fmt.Sprintf("unknown key `%s`", clean(name)), "not a key of "+what)
	if near := nearest(name, keys); near != "" && r.err.Note == "" {
		r.err.Note = fmt.Sprintf("%s has a similar key: `%s`", what, near)
	}
}

// fail keeps the first mistake.
func (r *configReader) fail(n ast.Node, message, label string) {
	if r.err != nil {
		return
	}
	r.err = &fileError{Path: home(r.path, r.env), Message: message}
	if n == nil || n.GetToken() == nil {
		return
	}
	r.at(n.GetToken(), label)
}

func (r *configReader) at(t *token.Token, label string) {
	r.err.Line, r.err.Column = t.Position.Line, t.Position.Column
	r.err.Source = excerpt(string(r.src), t.Position.Line, t.Position.Column, utf8.RuneCountInString(t.Value), label)
}

func (r *configReader) syntax(err error) error {
	r.err = &fileError{Path: home(r.path, r.env), Message: "not YAML"}
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok && syntax.Token != nil {
		r.err.Message = "not YAML: " + clean(syntax.Message)
		r.at(syntax.Token, "")
	} else if twice, ok := errors.AsType[*yaml.DuplicateKeyError](err); ok {
		r.err.Message = clean(twice.Message)
		r.at(twice.Token, "")
	}
	return r.err
}

// secretKey matches a key that a credential may stand behind, even though no
// key of ours takes one.
var secretKey = regexp.MustCompile(`(?i)^(.*?(?:token|secret|passw|bearer|authorization|api_?key)[a-z_]*["']?\s*:\s*).+`)

// excerpt draws line and the one before it, with a caret under column and what
// the caret says. What looks like a credential is not drawn.
func excerpt(src string, line, column, length int, label string) string {
	lines := strings.Split(src, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	margin := len(fmt.Sprint(line))
	var b strings.Builder
	for n := max(1, line-1); n <= line; n++ {
		text := secretKey.ReplaceAllString(strings.ReplaceAll(lines[n-1], "\t", " "), "$1…")
		fmt.Fprintf(&b, "%*d | %s\n", margin, n, fit(strings.TrimRight(text, "\r "), 64))
	}
	if column <= 64 {
		carets := strings.Repeat("^", max(1, min(length, 65-column)))
		fmt.Fprintf(&b, "%*s | %s%s", margin, "", strings.Repeat(" ", max(0, column-1)), strings.TrimRight(carets+" "+label, " "))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
