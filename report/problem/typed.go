package problem

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"collect/internal/similar"
	"collect/internal/words"
)

func writeUsage(p *Problem, err error, sc Scene) {
	p.Headline = err.Error()
	p.Do = []Step{{"see:", cmp.Or(sc.Command, "collect") + " --help"}}
}

func writeUnknownConnector(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*UnknownConnectorError](err)
	p.Headline = fmt.Sprintf("no connector named `%s`", e.Name)
	if e.File != "" {
		p.Note = "there is a file of that name here, and a file is given by its path"
		p.Do = []Step{{"to run it:", "collect run " + words.Quoted(e.File) + sc.Flags}}
		return
	}
	if name := similar.To(e.Name, e.Known); name != "" {
		p.Note = fmt.Sprintf("there is a connector with a similar name: `%s`", name)
		p.Do = []Step{{"see all:", "collect status"}}
		return
	}
	if len(e.Known) > 0 {
		p.Note = "known here: " + strings.Join(e.Known, ", ")
	}
	p.Do = []Step{{Say: "name it under `connectors:` in collect.yaml, or give the path of its file"}}
}

func writeUntrusted(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*UntrustedError](err)
	p.Headline = err.Error()
	p.Why = "a configuration and a connector file can run commands and send tokens, so another user's is not used unless you name it"
	p.Saved = "nothing was started"
	p.Do = []Step{{Say: e.Name}}
}

func writeRemembered(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*RememberedError](err)
	p.Headline = err.Error()
	p.At = e.Path
	p.Why = "a database may come from anywhere, so what only it names runs no command"
	p.Saved = "nothing was started, and the command was not run"
	p.Do = []Step{{Say: e.Remedy(sc.Flags)}}
}

func writeNoFile(p *Problem, err error, sc Scene) {
	p.Headline = err.Error()
	p.Saved = "nothing was started"
	e, _ := errors.AsType[*NoFileError](err)
	if e.Near != "" {
		p.Note = "there is a file with a similar name: " + e.Near
	}
	if e.Named != "" {
		p.At = e.Named
		p.Do = []Step{{Say: "correct `use:` there: a relative path begins where that file is"}}
		return
	}
	if e.Of != "" {
		p.Why = "what is stored and owed belongs to that file, and no other connector is taken for it"
		p.Do = []Step{
			{Say: "put the file back; or give the path where it is now: collect run FILE.yaml" + sc.Flags},
			{Say: fmt.Sprintf("if it is to be another connector from now on, name that under `connectors:` in collect.yaml as `%s`", e.Of)},
		}
		return
	}
	p.Do = []Step{{Say: "give the path of the file from here, or its full path (cron starts in the home directory)"}}
}
