package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/engine"
	"collect/engine/notify"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// An audience hears how a command that collects ended: who reads stderr, and those
// whom collect.yaml names under `notify:`.
type audience struct {
	*app
	command  string // what was typed: "collect run"
	quiet    int    // of -q
	zone     *time.Location
	log      live.Log // of who looks for a fault
	notifier notify.Notifier
	heard    []engine.Hearing
}

// audience returns who hears of a command before its configuration is read.
func (a *app) audience(o runOptions) *audience {
	h := &audience{app: a, command: o.command, quiet: o.quiet, zone: time.UTC}
	if a.flags.json {
		h.quiet = 0 // programs are told everything
	}
	h.notifier = notify.Notifier{Memory: &notify.Memory{Path: config.Told(a.env)}, Place: a.listeningPlace(), Stderr: a.err}
	return h
}

// listeningPlace names what a command is about without reading it: its configuration
// and its database, as they were named.
func (a *app) listeningPlace() string {
	file := cmp.Or(a.flags.config, a.env("COLLECT_CONFIG"))
	if file == "" {
		file, _ = os.Getwd() // where ./collect.yaml is
	} else if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	return strings.TrimSpace(file + " " + cmp.Or(a.flags.state, a.env("COLLECT_STATE")))
}

// knows says what the configuration says of the audience.
func (h *audience) knows(s config.Settings) {
	h.zone, h.notifier.Config = s.Zone, s.Notify
}

// began says that a run has begun.
func (h *audience) began(ctx context.Context) { h.notifier.Began(ctx) }

// refuse says what kept a connector, by the name that was given, or the whole command
// if that is "", from beginning, and returns the *exitError for it.
func (h *audience) refuse(given string, err error, sc problem.Scene) error {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit // it was said
	}
	sc.Command, sc.Flags = cmp.Or(sc.Command, h.command), h.repeat()
	p := problem.Of(err, sc)
	if p.ExitCode == problem.ExitInterrupt {
		p.ExitCode = h.interrupts.code()
	}
	hearing := engine.HearRefusal(given, p)
	h.log.Refuse(given, p)
	if h.quiet == 0 {
		h.say(p)
		if underGitHub(h.env) && !h.flags.json {
			fmt.Fprint(h.err, githubAnnotations([]problem.Problem{p}))
		}
	}
	h.hear(hearing)
	return &exitError{p.ExitCode}
}

// ran takes in what there is to hear of a run that is over. What kept the connector from
// beginning, by the name that was given, is over.
func (h *audience) ran(given string, of engine.Hearing) {
	h.hear(of)
	h.over(given, of.Connector)
}

// over says that nothing keeps the command, or the connector by the name that was
// given, from beginning any more. name is what the run is called, which has its own say.
func (h *audience) over(given, name string) {
	for _, what := range []string{"", given} {
		if what != name {
			h.hear(engine.Hearing{Connector: what})
		}
	}
}

// hear tells who reads stderr with -q, or -qq, what they must hear.
func (h *audience) hear(of engine.Hearing) {
	h.heard = append(h.heard, of)
	const listener = "stderr"
	switch {
	case h.quiet == 1:
		h.print(of, of.Line)
	case h.quiet > 1:
		now := time.Now().In(h.zone)
		due, err := h.notifier.Memory.Due(listener, h.notifier.Place, []engine.Hearing{of}, now)
		if err != nil { // better twice than never
			h.print(of, of.Line)
		}
		for _, d := range due {
			if d.Turn == report.Recovered {
				h.print(engine.Hearing{}, d.Before.Over(cmp.Or(d.Connector, "collect"), now))
			} else {
				h.print(d.Hearing, d.Line)
			}
		}
		_ = h.notifier.Memory.Told(listener, h.notifier.Place, due) // else it is told again
	}
}

func (h *audience) print(of engine.Hearing, line string) {
	for _, p := range of.Problems {
		fmt.Fprintln(h.err, h.rendered(p))
	}
	if line != "" {
		fmt.Fprintln(h.err, h.caps().Text(words.Clean(line)))
	}
}

// end tells those whom the configuration names how the command ended, and returns err,
// by which it ended.
func (h *audience) end(ctx context.Context, err error) error {
	code := problem.ExitOK
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
	}
	ping, messages := h.notifier.Over(ctx, code, h.heard)
	if h.quiet > 0 {
		ping = nil // the service misses it, and says so
	}
	if failed := errors.Join(ping, messages); failed != nil {
		for line := range strings.Lines(failed.Error()) {
			h.say(problem.Problem{Level: problem.LevelWarning, Headline: strings.TrimSpace(line), Needs: problem.NeedsOperator})
		}
	}
	return err
}
