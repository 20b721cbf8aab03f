package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"collect/cmd/internal/config"
	"collect/internal/similar"
	"collect/internal/words"
)

func writeUsage(p *problem, err error, sc scene) {
	p.Headline = err.Error()
	p.Do = []step{{"see:", cmp.Or(sc.Command, "collect") + " --help"}}
}

func writeUnknownConnector(p *problem, err error, sc scene) {
	e, _ := errors.AsType[*unknownConnectorError](err)
	p.Headline = fmt.Sprintf("no connector named `%s`", e.Name)
	if e.File != "" {
		p.Note = "there is a file of that name here, and a file is given by its path"
		p.Do = []step{{"to run it:", "collect run " + words.Quoted(e.File) + sc.Flags}}
		return
	}
	if name := similar.To(e.Name, e.Known); name != "" {
		p.Note = fmt.Sprintf("there is a connector with a similar name: `%s`", name)
		p.Do = []step{{"see all:", "collect status"}}
		return
	}
	if len(e.Known) > 0 {
		p.Note = "known here: " + strings.Join(e.Known, ", ")
	}
	p.Do = []step{{Say: "name it under `connectors:` in collect.yaml, or give the path of its file"}}
}

func writeUntrusted(p *problem, err error, _ scene) {
	e, _ := errors.AsType[*config.UntrustedError](err)
	p.Headline = err.Error()
	p.Why = "a configuration and a connector file can run commands and send tokens, so another user's is not used unless you name it"
	p.Saved = "nothing was started"
	p.Do = []step{{Say: e.Name}}
}

func writeRemembered(p *problem, err error, sc scene) {
	e, _ := errors.AsType[*config.RememberedError](err)
	p.Headline = err.Error()
	p.At = e.Path
	p.Why = "a database may come from anywhere, so what only it names runs no command"
	p.Saved = "nothing was started, and the command was not run"
	p.Do = []step{{Say: e.Remedy(sc.Flags)}}
}

func writeNoFile(p *problem, err error, _ scene) {
	p.Headline = err.Error()
	p.Saved = "nothing was started"
	e, _ := errors.AsType[*config.NoFileError](err)
	if e.Near != "" {
		p.Note = "there is a file with a similar name: " + e.Near
	}
	if e.Named != "" {
		p.At = e.Named
		p.Do = []step{{Say: "correct `use:` there: a relative path begins where that file is"}}
		return
	}
	p.Do = []step{{Say: "give the path of the file from here, or its full path (cron starts in the home directory)"}}
}
