// Package setup writes what a person answers into collect.yaml, and the unit or the
// line of a crontab by which a machine collects from then on.
//
// A file that is there keeps every byte that it has: lines are added, and nothing
// else. Where that cannot be done (a mapping in braces, an anchor), the lines are
// returned with [ByHandError], for the person to add.
package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/internal/lazy"
)

// An Entry is one more connector for collect.yaml, as it was answered.
type Entry struct {
	Name   string // of the connector there
	Use    string // the path of a connector file, or the name of a built-in one
	Params map[string]string

	Provider  string
	Token     Token
	Origins   []string // that may be sent the token, besides those of a built-in connector
	PerSecond string   // the most requests a second; "": not said
	State     string   // path of the database; "": not said
}

// A Token says where the token of a provider is: a key of collect.yaml, and its value.
// The zero Token says nothing.
type Token struct{ Key, Value string }

// A ByHandError says that lines must be added by a person.
type ByHandError struct {
	Under string   // the key that they go under
	Lines []string // with their indentation
}

func (e *ByHandError) Error() string {
	return fmt.Sprintf("`%s` is not written line by line, so add this by hand:\n%s", e.Under, strings.Join(e.Lines, "\n"))
}

// A TakenError says that there is a connector of that name already.
type TakenError struct {
	Name string
	Line int
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("line %d has a connector `%s` already; for another one beside it: --name NAME", e.Line, e.Name)
}

// head begins a file that is made.
const head = `# Every key there is: collect config example. To check this: collect doctor
version: 1
`

// AddTo returns a collect.yaml with the entry in it. old is what there is; nil if there
// is none.
func (e Entry) AddTo(old []byte) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		old = []byte(head)
	}
	d := document(old)
	if line := d.find("connectors", e.Name); line >= 0 {
		return nil, &TakenError{e.Name, line + 1}
	}
	if e.State != "" && d.find("state") < 0 {
		if err := d.add(nil, "state: "+scalar(e.State)); err != nil {
			return nil, err
		}
	}
	if keys := e.provider(); len(keys) > 0 {
		if err := d.add([]string{"providers", e.Provider}, keys...); err != nil {
			return nil, err
		}
	}
	if err := d.add([]string{"connectors", e.Name}, e.connector()...); err != nil {
		return nil, err
	}
	return d.bytes(), nil
}

// provider returns the lines under the provider's name.
func (e Entry) provider() (lines []string) {
	if e.Token.Key != "" {
		lines = append(lines, e.Token.Key+": "+scalar(e.Token.Value))
		if len(e.Origins) > 0 {
			quoted := make([]string, len(e.Origins))
			for i, origin := range e.Origins {
				quoted[i] = scalar(origin)
			}
			lines = append(lines, "origins: ["+strings.Join(quoted, ", ")+"] # that may be sent the token")
		}
	}
	if e.PerSecond != "" {
		lines = append(lines, "ceiling_per_second: "+e.PerSecond+" # only you can raise it")
	}
	return lines
}

// connector returns the lines under the connector's name.
func (e Entry) connector() []string {
	lines := []string{"use: " + scalar(e.Use)}
	if len(e.Params) > 0 {
		lines = append(lines, "params:")
		for _, name := range slices.Sorted(maps.Keys(e.Params)) {
			lines = append(lines, "  "+name+": "+scalar(e.Params[name]))
		}
	}
	return lines
}

// plain matches what YAML reads as the text that it is, without quotes.
var plain = lazy.Regexp(`^(~/|\./|/)?[A-Za-z0-9_.][A-Za-z0-9_./@+-]*$`)

// scalar returns a value of YAML for a text.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plain().MatchString(text) {
			return text
		}
	}
	quoted, _ := json.Marshal(text) // of which YAML's double quotes understand all
	return string(quoted)
}
