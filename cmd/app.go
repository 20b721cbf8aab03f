package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"collect/cmd/internal/live"
	"collect/cmd/internal/output"
	"collect/cmd/internal/term"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// An app is one invocation of the command line with what it may touch of the
// world.
type app struct {
	in         io.Reader
	out, err   io.Writer // results; everything else
	env        func(string) string
	signals    <-chan os.Signal
	interrupts interrupts
	terminal   bool       // err is a terminal
	shown      bool       // out is one
	columns    func() int // its width
	flags      globalFlags
	printed    map[string]string // by commands for secrets: each runs once
	logged     logOutput
}

// globalFlags are the flags of every command that has a state.
type globalFlags struct {
	config string
	state  string
	json   bool // print JSON for programs
	list   bool // only list the fields of that
	format output.Format
}

// An exitError ends a command with a code, after it has said all there is to
// say.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Results remember that something of them could not be written: half a result
// must not look like a whole one.
type results struct {
	io.Writer
	err error
}

func (o *results) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// result prints what a command found: text for people, what becomes JSON with
// --json.
func (a *app) result(line any, text string) error {
	if a.flags.json {
		return a.print(line)
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// print writes what a command found for programs, in the form that was asked for.
func (a *app) print(found any) error {
	err := a.flags.format.Print(a.out, found)
	if mistake, ok := errors.AsType[*output.MistakeError](err); ok {
		return problem.Usage("%s", mistake.Message)
	}
	return err
}

// report says what went wrong and returns the exit code of it.
func (a *app) report(err error, sc problem.Scene) int {
	sc.Flags = a.repeat()
	p := problem.Of(err, sc)
	if p.ExitCode == problem.ExitInterrupt {
		p.ExitCode = a.interrupts.code()
	}
	a.say(p)
	return p.ExitCode
}

// say prints a problem: text for people, one line of JSON with --json.
func (a *app) say(p problem.Problem) {
	if a.flags.json {
		jsonout.Print(a.err, p)
		return
	}
	fmt.Fprint(a.err, a.rendered(p))
}

// rendered returns a problem as text for the place where it is read.
func (a *app) rendered(p problem.Problem) string {
	text := renderProblem(p, a.width(), a.caps())
	return live.StyleOf(a.env, a.err).Prioritized(text, p.Level == problem.LevelError)
}

// repeat returns the global flags that a command to copy must repeat.
func (a *app) repeat() string {
	flags := ""
	if a.flags.state != "" {
		flags += " --state " + words.Quoted(a.flags.state)
	}
	if a.flags.config != "" {
		flags += " --config " + words.Quoted(a.flags.config)
	}
	return flags
}

func (a *app) caps() term.Caps { return term.CapsOf(a.env, a.terminal) }

// width returns the columns that text may take: those of the terminal, at most
// 100, and 80 where there is none.
func (a *app) width() int {
	if !a.terminal {
		return 80
	}
	return min(max(a.columns(), 40), 100)
}

// exit reports err and returns the *exitError of its code.
func (a *app) exit(err error, sc problem.Scene) error { return &exitError{a.report(err, sc)} }
