// Package sketch writes the connector files that are drafted from what others
// wrote or recorded, and knows what fields and parameters are mostly called.
package sketch

import (
	"fmt"
	"slices"
	"strings"

	"collect/internal/words"
	"collect/internal/yamlfile"
)

// A File is a connector file that is drafted.
type File struct {
	Connector string
	From      string // what it is drafted from, as the first line says it
	Base      string
	Auth      any    // nil for none
	AuthWhy   string // why it is that
	Streams   []*Stream
	LeftOut   []string // what is not in it, and why

	params  yamlfile.Map
	secrets yamlfile.Map
}

// A Stream of a drafted file.
type Stream struct {
	Name    string
	Parent  string // the stream that its `each` names
	From    string // where it comes from
	Lines   []Line
	Remarks []string // comments at its end
}

// A Line is a key of a stream, its value and why it is that.
type Line struct {
	Key   string
	Value any
	Why   string
}

// Set adds a line, unless value is nil.
func (s *Stream) Set(key string, value any, why string) {
	if value != nil {
		s.Lines = append(s.Lines, Line{key, value, why})
	}
}

// Param declares a param, once, and returns how it is referred to.
func (f *File) Param(name, about, value string) string {
	if !slices.ContainsFunc(f.params, func(p yamlfile.Pair) bool { return p.Key == name }) {
		var block yamlfile.Map
		if value != "" {
			block.Set("default", value)
		} else {
			block.Set("required", true)
		}
		if about = words.Clean(strings.Join(strings.Fields(about), " ")); about != "" {
			block.Set("about", strings.ReplaceAll(Short(about), "${", "$ {"))
		}
		f.params.Set(name, block)
	}
	return "${params." + name + "}"
}

// Secret declares a secret, once, and returns how it is referred to.
func (f *File) Secret(name string) string {
	if !slices.ContainsFunc(f.secrets, func(p yamlfile.Pair) bool { return p.Key == name }) {
		f.secrets.Set(name, yamlfile.Map{{Key: "env", Value: strings.ToUpper(f.Connector + "_" + name)}})
	}
	return "${secrets." + name + "}"
}

// Leave notes what is not in the file.
func (f *File) Leave(format string, args ...any) {
	f.LeftOut = append(f.LeftOut, fmt.Sprintf(format, args...))
}

// mostLeftOut bounds how many lines say what is left out.
const mostLeftOut = 200

// Write returns the file. Streams that check refuses are left out with those below
// them.
func (f *File) Write(check func(file []byte) error) []byte {
	for check(f.text(f.Streams)) != nil {
		var kept []*Stream
		for _, s := range f.Streams {
			if err := check(f.text(f.lineage(s, kept))); err != nil {
				first, _, _ := strings.Cut(err.Error(), "\n")
				f.Leave("%s: %s", s.From, first)
				continue
			}
			kept = append(kept, s)
		}
		if len(kept) == len(f.Streams) {
			break // it is the whole that is wrong, which the caller is told of
		}
		if f.Streams = kept; len(kept) == 0 {
			break
		}
	}
	return f.text(f.Streams)
}

// lineage returns s behind those of kept that it is below.
func (f *File) lineage(s *Stream, kept []*Stream) []*Stream {
	list := []*Stream{s}
	for parent := s.Parent; parent != ""; {
		i := slices.IndexFunc(kept, func(k *Stream) bool { return k.Name == parent })
		if i < 0 {
			break
		}
		list, parent = slices.Insert(list, 0, kept[i]), kept[i].Parent
	}
	return list
}

func (f *File) text(streams []*Stream) []byte {
	var body strings.Builder
	fmt.Fprintf(&body, "provider:\n  base_url: %s\n", yamlfile.Quote(f.Base))
	if f.Auth != nil {
		fmt.Fprintf(&body, "  auth: %s%s\n", yamlfile.Flow(f.Auth), comment(f.AuthWhy))
	} else if f.AuthWhy != "" {
		fmt.Fprintf(&body, "%s\n", comment(f.AuthWhy))
	}
	body.WriteString("\nstreams:\n")
	for _, s := range streams {
		fmt.Fprintf(&body, "%s\n  %s:\n", comment(s.From), s.Name)
		for _, l := range s.Lines {
			fmt.Fprintf(&body, "    %s: %s%s\n", l.Key, yamlfile.Flow(l.Value), comment(l.Why))
		}
		for _, r := range s.Remarks {
			fmt.Fprintf(&body, "  %s\n", comment(r))
		}
	}
	used := func(root string, all yamlfile.Map) (list yamlfile.Map) {
		for _, p := range all {
			if strings.Contains(body.String(), "${"+root+"."+p.Key+"}") {
				list = append(list, p)
			}
		}
		return list
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Drafted from %s. What was guessed says why: compare it with the documentation.\nconnector: %s\n", f.From, f.Connector)
	for _, block := range []struct {
		key  string
		list yamlfile.Map
	}{{"params", used("params", f.params)}, {"secrets", used("secrets", f.secrets)}} {
		if len(block.list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", block.key)
		for _, p := range block.list {
			fmt.Fprintf(&b, "  %s: %s\n", p.Key, yamlfile.Flow(p.Value))
		}
	}
	b.WriteString("\n" + body.String())
	if len(f.LeftOut) > 0 {
		b.WriteString("\n# Left out:\n")
		for i, text := range f.LeftOut {
			if i == mostLeftOut {
				fmt.Fprintf(&b, "# and %d more\n", len(f.LeftOut)-i)
				break
			}
			fmt.Fprintf(&b, "#%s\n", strings.TrimPrefix(comment(text), "  #"))
		}
	}
	return []byte(b.String())
}

// comment returns text as what stands behind a value, or "".
func comment(text string) string {
	if text = words.Clean(strings.Join(strings.Fields(text), " ")); text == "" {
		return ""
	}
	return "  # " + text
}

// Short returns the beginning of a text that others wrote.
func Short(text string) string {
	if short := []rune(text); len(short) > 100 {
		return string(short[:99]) + "…"
	}
	return text
}
