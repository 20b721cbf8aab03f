package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"collect/connectors"
	"collect/connectors/declarative"
	"collect/internal/similar"
	"collect/internal/words"
)

func writeFile(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*FileError](err)
	p.Headline, p.Note, p.Excerpt = e.Message, e.Note, e.Source
	p.At = e.Place()
	p.Saved = "nothing was started"
	p.Next = moreMistakes(err)
}

func writeOutside(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*OutsideError](err)
	p.Headline = e.What + " is outside of what an operator may allow"
	p.Why = "the ceiling in " + e.Origin + " is " + e.Most + ", and its clamp goes down to " + e.Least
	p.Saved = "nothing was changed"
	p.Do = append(p.Do, Step{Say: "choose a budget between them; to allow more, change " + e.Origin})
}

// moreMistakes counts the mistakes of a file beside the one that is shown.
func moreMistakes(err error) string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) < 2 {
		return ""
	}
	return words.Counted(int64(len(joined.Unwrap())-1), "more mistake in this file", "more mistakes in this file")
}

func writeSpec(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*declarative.SpecError](err)
	p.Headline, p.Note, p.Excerpt = e.Message, e.Note, e.Source
	p.At = fmt.Sprintf("%s:%d:%d", e.Path, e.Line, e.Column)
	p.Saved = "nothing was started"
	if moreMistakes(err) != "" { // Parse tells of the first ten
		p.Do = []Step{{"it has more mistakes; to see all of them:", Command("check", words.Quoted(e.Path), sc.Flags)}}
	}
}

func writeMissingParam(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*declarative.MissingParamError](err)
	p.Headline = fmt.Sprintf("the connector needs a value for `%s`", e.Name)
	p.Saved = "nothing was started"
	p.Do = []Step{{Say: fmt.Sprintf("add --param %s=VALUE, or `params: {%s: VALUE}` in collect.yaml", e.Name, e.Name)}}
}

func writeUnknownStream(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*connectors.UnknownStreamError](err)
	p.Headline = fmt.Sprintf("no stream named `%s`", e.Stream)
	p.At = sc.Connector
	if near := similar.To(e.Stream, e.Known); near != "" {
		p.Note = fmt.Sprintf("there is a stream with a similar name: `%s`", near)
	} else {
		p.Note = "its streams: " + strings.Join(e.Known, ", ")
	}
	p.Saved = "nothing was started"
}

func writeWhichStream(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*WhichStreamError](err)
	p.Headline = "an export is of one stream"
	p.At = e.Connector
	command := func(stream string) string { return Command("export", words.Quoted(e.Connector)+" "+stream, sc.Flags) }
	if len(e.Known) > 3 {
		p.Note = "its streams: " + strings.Join(e.Known, ", ")
		p.Do = []Step{{"name one, such as:", command(e.Known[0])}}
		return
	}
	for _, stream := range e.Known {
		p.Do = append(p.Do, Step{Command: command(stream)})
	}
}

func writeParams(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*ParamsError](err)
	p.Headline = e.Error()
	p.Why = "the checkpoints belong to the earlier parameters; going on would skip records"
	p.Saved = "everything; nothing was started"
	p.Do = []Step{{Say: "give the earlier parameters, or a new database (--state FILE --create); if both select the same records: --new-params"}}
}

func writeMeaning(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*MeaningError](err)
	p.Headline = e.Error()
	if e.File != "" {
		p.Why = "what is stored and owed belongs to that file; the built-in connector asks another provider, or for something else"
		p.Saved = "everything; nothing was started"
		p.Do = []Step{
			{Say: fmt.Sprintf("have `use:` of `%s` in collect.yaml name that file; or give the built-in connector another name there", e.Connector)},
			{Say: "or go on with the built-in connector all the same: --new-params"},
		}
		return
	}
	p.Why = "the stored records were collected with the earlier file; going on would skip records, or mix the two kinds"
	p.Saved = "everything; nothing was started"
	p.Do = []Step{{Say: "put the earlier file back; or give the stream a new name: it is collected from its start, and the stored records stay"}}
	over := slices.DeleteFunc(slices.Clone(e.Changes), func(c StreamChange) bool { return len(c.Keys) == 0 })
	for i, change := range over {
		say := "or start it over:"
		switch {
		case i > 0:
			say = "and:"
		case len(over) > 1:
			say = "or start all of them over:"
		}
		p.Do = append(p.Do, Step{Say: say, Command: sc.command("reset") + " --stream " + words.Quoted(change.Stream) + " --reason WHY"})
	}
	p.Do = append(p.Do, Step{Say: "or go on all the same: --new-params"})
}

func writeUnbound(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*UnboundError](err)
	p.Headline = e.Error()
	p.Why = "a connector file that calls its provider " + e.Provider + " would have it sent there"
	p.Saved = "nothing was started, and the token was not read"
	p.Do = []Step{{Say: "if the token is for that origin, add to the same entry: " + e.Line()}}
}

func writeMissingSecret(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*declarative.MissingSecretError](err)
	p.Headline = fmt.Sprintf("no value for the secret `%s`", e.Name)
	p.Why = "looked in " + strings.Join(e.Looked, ", then ")
	if len(e.Looked) == 0 {
		p.Why = "the connector file names no place for it"
	}
	p.Saved = "nothing was started"
	p.Do = []Step{{Say: "put it there, or name another place under `providers:` in collect.yaml"}}
	if e.SignIn != "" {
		p.Do = []Step{{"sign in, which puts it there:", Command("auth login", words.Quoted(e.SignIn), sc.Flags)}}
		return
	}
	if len(e.Looked) != 1 {
		return
	}
	if name, ok := strings.CutPrefix(e.Looked[0], "env "); ok {
		p.Do = []Step{
			{"set it (cron has an environment of its own):", "export " + name + "=..."},
			{Say: "or name another place under `providers:` in collect.yaml"},
		}
	}
}
