// Package output prints what a command found for programs: as JSON, as the fields that
// were asked for, through a program of jq, or through a template.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"collect/internal/jq"
	"collect/internal/jsonout"
	"collect/internal/similar"
)

// A Format says how facts are printed. The zero Format is all of them as JSON.
type Format struct {
	Fields   []string // of each object, in this order; none: all
	JQ       string   // a program that chooses and shapes; "": none
	Template string   // a text/template; "": none
}

// Plain reports whether the format is all of the facts as JSON.
func (f Format) Plain() bool { return len(f.Fields) == 0 && f.JQ == "" && f.Template == "" }

// A MistakeError says what is wrong with a format, or that it does not suit what
// was found.
type MistakeError struct{ Message string }

func (e *MistakeError) Error() string { return e.Message }

func mistake(format string, args ...any) error { return &MistakeError{fmt.Sprintf(format, args...)} }

// Check finds what is wrong with f for facts that have those fields: before anything
// is asked or done.
func (f Format) Check(fields []string) error {
	for _, field := range f.Fields {
		if slices.Contains(fields, field) {
			continue
		}
		if near := similar.To(field, fields); near != "" {
			return mistake("--json: there is no field %q; there is %q", field, near)
		}
		return mistake("--json: there is no field %q; to list them: --json=help", field)
	}
	if f.JQ != "" && f.Template != "" {
		return mistake("--jq and --template both shape the output: give one of them")
	}
	if _, err := jq.CompileFilter(f.JQ); f.JQ != "" && err != nil {
		return mistake("--jq: %s", err)
	}
	if _, err := f.template(); err != nil {
		return err
	}
	return nil
}

// Print writes v, an object or a list of them. Each object begins with the version of
// its fields. A *[MistakeError] says that the program or the template failed.
func (f Format) Print(w io.Writer, v any) error {
	var doc bytes.Buffer
	if err := jsonout.Print(&doc, v); err != nil {
		return err
	}
	text := doc.Bytes()
	if len(f.Fields) > 0 {
		var err error
		if text, err = f.chosen(text); err != nil {
			return err
		}
	}
	switch {
	case f.JQ != "":
		return f.filter(w, text)
	case f.Template != "":
		return f.fill(w, text)
	}
	_, err := w.Write(text)
	return err
}

// chosen returns the document with the fields that were asked for, and the version.
func (f Format) chosen(doc []byte) ([]byte, error) {
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) != nil {
		object, err := f.chosenOf(doc)
		return append(object, '\n'), err
	}
	objects := make([][]byte, len(list))
	for i, item := range list {
		var err error
		if objects[i], err = f.chosenOf(item); err != nil {
			return nil, err
		}
	}
	return slices.Concat([]byte("["), bytes.Join(objects, []byte(",")), []byte("]\n")), nil
}

// chosenOf returns one object with its fields. One that it does not have is null: some
// commands print objects of several kinds.
func (f Format) chosenOf(object []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"v":%d`, jsonout.Version)
	for _, field := range f.Fields {
		if field == "v" {
			continue
		}
		value, ok := all[field]
		if !ok {
			value = json.RawMessage("null")
		}
		out = append(fmt.Appendf(out, ",%q:", field), value...)
	}
	return append(out, '}'), nil
}

func (f Format) filter(w io.Writer, doc []byte) error {
	program, err := jq.CompileFilter(f.JQ)
	if err != nil {
		return mistake("--jq: %s", err)
	}
	out, err := program.Apply(doc)
	if _, failed := w.Write(out); failed != nil {
		return failed
	}
	if err != nil {
		return mistake("--jq: %s", err)
	}
	return nil
}

// template returns the template with its functions.
func (f Format) template() (*template.Template, error) {
	t, err := template.New("--template").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := json.Marshal(v)
			return string(text), err
		},
		"join": func(separator string, list []any) string {
			texts := make([]string, len(list))
			for i, item := range list {
				texts[i] = fmt.Sprint(item)
			}
			return strings.Join(texts, separator)
		},
	}).Parse(f.Template)
	if err != nil {
		return nil, mistake("--template: %s", withoutName(err))
	}
	return t, nil
}

func (f Format) fill(w io.Writer, doc []byte) error {
	t, err := f.template()
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	var out bytes.Buffer
	err = t.Execute(&out, v)
	if _, failed := w.Write(out.Bytes()); failed != nil {
		return failed
	}
	if err != nil {
		return mistake("--template: %s", withoutName(err))
	}
	return nil
}

// withoutName returns what text/template says without the words that begin each of
// its errors.
func withoutName(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: "), "--template:")
}
