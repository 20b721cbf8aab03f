package compile

import (
	"fmt"
	"slices"
	"strings"

	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/internal/similar"
	"collect/internal/yamlfile"
)

// A checker compiles a document into a File and collects its mistakes.
type checker struct {
	yamlfile.Decoder
	doc    *language.Document
	spec   *File
	params known

	usual answer.Shape // of the records of streams that do not say otherwise
	used  []string     // names that the templates of the stream use that is being compiled
}

// A known says which names a template may use, and where.
type known struct {
	names []string
	where string // "in a stream", for the message
}

func (c *checker) template(t notation.Template, k known) {
	for _, p := range t.Parts {
		c.used = append(c.used, p.Name)
		if p.Name == "" || slices.Contains(k.names, p.Name) {
			continue
		}
		f := yamlfile.Fault{At: t.Inside(p.Offset, max(1, len(p.Name))), Message: fmt.Sprintf("unknown name `%s`", p.Name), Label: "not known " + k.where}
		if strings.HasPrefix(p.Name, "secrets.") {
			f.Message, f.Label = "a secret may be used in auth and tls only", ""
		} else if near := similar.To(p.Name, k.names); near != "" {
			f.Note = fmt.Sprintf("there is a similar name: `%s`", near)
		}
		c.Faults = append(c.Faults, f)
	}
}

// secretForm is how a credential gets into a request.
const secretForm = "declare it under `secrets` and refer to it as ${secrets.name}"

func (c *checker) writtenCredential(at yamlfile.Span) {
	f := yamlfile.Fault{At: at, Message: "a credential is never written into a connector file", Hide: true}
	f.Note = secretForm
	c.Faults = append(c.Faults, f)
}

// written returns the place of the first template that has a text.
func written(used []notation.Template) yamlfile.Span {
	for _, t := range used {
		if t.Text != "" {
			return t.At
		}
	}
	return used[0].At
}

func (c *checker) secretTemplate(t notation.Template, secrets []string) {
	for _, p := range t.Parts {
		if p.Name == "" || slices.Contains(secrets, p.Name) || slices.Contains(c.params.names, p.Name) {
			continue
		}
		f := yamlfile.Fault{At: t.Inside(p.Offset, max(1, len(p.Name))), Message: fmt.Sprintf("unknown name `%s`", p.Name), Label: "not known here"}
		f.Note = secretForm
		if near := similar.To(p.Name, append(slices.Clone(secrets), c.params.names...)); near != "" {
			f.Note = fmt.Sprintf("there is a similar name: `%s`", near)
		}
		c.Faults = append(c.Faults, f)
	}
}

func (c *checker) checkedTemplate(s yamlfile.Scalar, k known) notation.Template {
	d := &yamlfile.Decoder{}
	t := notation.TemplateOf(d, s)
	c.Faults = append(c.Faults, d.Faults...)
	c.template(t, k)
	return t
}
