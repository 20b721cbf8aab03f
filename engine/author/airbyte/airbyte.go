// Package airbyte translates manifests of Airbyte's low-code connectors into
// connector files.
//
// What is read of a manifest is what its documentation describes
// (docs.airbyte.com/platform/connector-development/config-based): a SimpleRetriever
// with an HttpRequester, records by a DpathExtractor, the three ways of paging of
// a DefaultPaginator, DatetimeBasedCursor, SubstreamPartitionRouter and
// ListPartitionRouter. Each key of the manifest that was not read is told of, with
// its line: [Translate] notes which values it looked at, and the rest is listed. A
// part that says what a stream delivers, such as its paging, and has no translation
// leaves the stream out: it is not written with less in it.
package airbyte

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// A Note is told of one place of a manifest.
type Note struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// A Translation is a connector file, and what it lacks.
type Translation struct {
	File    []byte   `json:"-"`        // empty if no stream could be translated
	Streams []string `json:"streams"`  // that are in the file
	LeftOut []string `json:"left_out"` // that are not
	Notes   []Note   `json:"notes"`    // by line
}

// Translate translates a manifest into the connector file of a connector. It
// calls check with a whole file for each stream: mistakes that it returns leave
// the stream out.
func Translate(name string, manifest []byte, check func(file []byte) error) (*Translation, error) {
	root, err := read(manifest)
	if err != nil {
		return nil, err
	}
	if root.get("streams") == nil && root.get("dynamic_streams") == nil {
		return nil, errors.New("the manifest has no `streams`: it is no manifest of a low-code connector")
	}
	t := &translator{connector: name, params: map[string]*param{}}
	t.readSpec(root.get("spec"))
	for _, key := range []string{"version", "type", "check", "definitions", "schemas", "metadata", "spec", "description", "concurrency_level", "$schema"} {
		root.get(key).use()
	}
	t.readBudget(root.get("api_budget"))
	streams := root.get("streams")
	if streams != nil {
		for _, s := range streams.items {
			t.stream(s)
		}
	}
	root.get("dynamic_streams").use()
	if dynamic := root.get("dynamic_streams"); dynamic != nil {
		t.note(dynamic, "dynamic_streams: their names come from the provider; write a stream for each")
		t.leftOut = append(t.leftOut, "dynamic_streams")
	}
	root.unread(func(n *node) {
		t.note(n, "`%s` has no translation", n.name)
	})
	return t.result(check)
}

// A translator collects what becomes of one manifest.
type translator struct {
	connector string
	params    map[string]*param // by the name in the config
	base      string            // base_url
	auth      any               // of the first stream
	authKey   string            // how it is written, "" before the first stream
	origins   []string
	ceiling   yamlfile.Map
	rules     []any // throttle
	streams   []*stream
	leftOut   []string
	notes     []Note
}

// A stream as it will stand in the file.
type stream struct {
	name    string
	line    int
	body    yamlfile.Map
	parents []string
	remarks []string // comments above it
}

func (t *translator) note(at *node, format string, args ...any) {
	n := Note{Text: fmt.Sprintf(format, args...)}
	if at != nil {
		n.Line = at.line
	}
	if !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// Name returns text as a name of the connector language.
func Name(text string) string {
	name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(text), "_"), "_")
	if name == "" || name[0] < 'a' {
		name = "x" + name
	}
	return strings.TrimRight(name[:min(len(name), 63)], "_")
}

// result writes the file, without streams that check refuses and without those
// whose parent is left out.
func (t *translator) result(check func([]byte) error) (*Translation, error) {
	kept := map[string]bool{}
	var streams []*stream
	for progress := true; progress; { // parents may stand behind their children
		progress = false
		for _, s := range t.streams {
			ready := !kept[s.name] && !slices.Contains(t.leftOut, s.name) && !slices.ContainsFunc(s.parents, func(p string) bool { return !kept[p] })
			if !ready {
				continue
			}
			progress = true
			if err := check(t.write(append(slices.Clone(streams), s))); err != nil {
				t.leave(s.name, s.line, words(err))
				continue
			}
			kept[s.name], streams = true, append(streams, s)
		}
	}
	for _, s := range t.streams {
		if !kept[s.name] && !slices.Contains(t.leftOut, s.name) {
			t.leave(s.name, s.line, fmt.Sprintf("its parent %s is left out", strings.Join(s.parents, ", ")))
		}
	}
	slices.SortStableFunc(streams, func(a, b *stream) int { return t.order(a) - t.order(b) })
	slices.SortStableFunc(t.notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	out := &Translation{LeftOut: t.leftOut, Notes: t.notes}
	if len(streams) > 0 {
		out.File = t.write(streams)
	}
	for _, s := range streams {
		out.Streams = append(out.Streams, s.name)
	}
	return out, nil
}

func (t *translator) order(s *stream) int { return slices.Index(t.streams, s) }

// words returns a mistake of the file without its place, which nobody has seen.
func words(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

func (t *translator) leave(name string, line int, why string) {
	if !slices.Contains(t.leftOut, name) {
		t.leftOut = append(t.leftOut, name)
	}
	t.notes = append(t.notes, Note{Line: line, Text: fmt.Sprintf("stream %s is left out: %s", name, why)})
}

// write returns the file with these streams.
func (t *translator) write(streams []*stream) []byte {
	var body strings.Builder
	fmt.Fprintf(&body, "provider:\n  base_url: %s\n", yamlfile.Quote(t.base))
	if len(t.origins) > 0 {
		fmt.Fprintf(&body, "  origins: %s\n", yamlfile.Flow(texts(t.origins)))
	}
	if t.auth != nil {
		fmt.Fprintf(&body, "  auth: %s\n", yamlfile.Flow(t.auth))
	}
	if len(t.ceiling) > 0 {
		fmt.Fprintf(&body, "  ceiling: %s\n", yamlfile.Flow(t.ceiling))
	}
	if len(t.rules) > 0 {
		fmt.Fprintf(&body, "  throttle: %s\n", yamlfile.Flow(t.rules))
	}
	body.WriteString("streams:\n")
	for _, s := range streams {
		for _, remark := range s.remarks {
			fmt.Fprintf(&body, "  # %s\n", remark)
		}
		fmt.Fprintf(&body, "  %s:\n", s.name)
		for _, pair := range s.body {
			fmt.Fprintf(&body, "    %s: %s\n", pair.Key, yamlfile.Flow(pair.Value))
		}
	}
	var head strings.Builder
	fmt.Fprintf(&head, "# Translated from a manifest of Airbyte. Compare it with the documentation of the API, then: collect check %s.yaml --online\n", t.connector)
	fmt.Fprintf(&head, "connector: %s\n", t.connector)
	if params := t.used(body.String(), false); len(params) > 0 {
		head.WriteString("params:\n")
		for _, p := range params {
			fmt.Fprintf(&head, "  %s: %s\n", p.name, yamlfile.Flow(p.block()))
		}
	}
	if secrets := t.used(body.String(), true); len(secrets) > 0 {
		head.WriteString("secrets:\n")
		for _, p := range secrets {
			from := fmt.Sprintf("{env: %s}", strings.ToUpper(t.connector+"_"+p.name))
			if p.rotates {
				from = fmt.Sprintf("{file: ~/.config/collect/%s.%s, rotate: true}", t.connector, p.name)
			}
			fmt.Fprintf(&head, "  %s: %s\n", p.name, from)
		}
	}
	return []byte(head.String() + body.String())
}

func texts(list []string) (out []any) {
	for _, text := range list {
		out = append(out, text)
	}
	return out
}
