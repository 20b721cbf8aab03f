// Package cmd is the command line: what a person types, sees and scripts
// against. It wires the other packages together and decides nothing that they
// could decide.
//
// Each command has an options struct, a function that makes its cobra command,
// and one that runs it. Errors become messages and exit codes in one place,
// package report/problem; what a person reads is made by pure functions from stored
// facts.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"collect/cmd/internal/term"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// Main runs the command line of this process and exits with its code.
func Main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		env: os.Getenv, signals: notify(), columns: terminalColumns,
	}
	a.terminal = a.env("COLLECT_FORCE_TTY") != "" || xterm.IsTerminal(int(os.Stderr.Fd()))
	a.shown = xterm.IsTerminal(int(os.Stdout.Fd()))
	os.Exit(a.execute(context.Background(), os.Args[1:]))
}

// memoryTarget is how much memory the garbage collector lets grow before it
// works harder. What is needed is had all the same.
const memoryTarget = 128 << 20

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
}

// globalFlags are the flags of every command that has a state.
type globalFlags struct {
	config string
	state  string
	json   bool
}

// terminalColumns returns the width of the terminal that stderr is, or 80.
func terminalColumns() int {
	if width, _, err := xterm.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// An exitError ends a command with a code, after it has said all there is to
// say.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// execute runs a command line and returns its exit code. A panic is a bug of
// ours, and is said to be one.
func (a *app) execute(ctx context.Context, args []string) (code int) {
	defer func() {
		if value := recover(); value != nil {
			code = a.report(&problem.PanicError{Value: value, Stack: debug.Stack()}, problem.Scene{})
		}
	}()
	written := &results{Writer: a.out}
	a.out = written
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	typed, err := root.ExecuteContextC(ctx)
	if written.err != nil && (err == nil || errors.Is(err, written.err)) {
		err = &problem.OutputError{Err: written.err}
	}
	if err == nil {
		return problem.ExitOK
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	return a.report(err, problem.Scene{Command: typed.CommandPath()})
}

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
	fmt.Fprint(a.err, renderProblem(p, a.width(), a.caps()))
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

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "collect",
		Short: "Pull records from APIs you do not control, and resume where it stopped",
		Long: `collect pulls records from APIs you do not control and resumes where it stopped.

  collect demo            see it work against a provider of its own, 30 seconds
  collect run FILE.yaml   collect what a connector file describes
  collect --help          all commands`,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       knownCommand,
		PersistentPreRun:           a.endBySignal,
		Version:                    versionLine(),
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), c.Long)
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n") // as the command prints it
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "read this `file` instead of the usual collect.yaml")
	flags.StringVar(&a.flags.state, "state", "", "keep records and checkpoints in this database `file`")
	flags.BoolVar(&a.flags.json, "json", false, "print JSON for programs")
	root.SetFlagErrorFunc(unknownFlag)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		a.runCommand(), a.resumeCommand(), a.demoCommand(), a.simulateCommand(),
		a.statusCommand(), a.explainCommand(), a.gapsCommand(), a.runsCommand(), a.exportCommand(),
		a.doctorCommand(), a.backupCommand(), a.restoreCommand(),
		a.resetCommand(), a.freezeCommand(), a.breakerCommand(), a.schemaCommand(), a.connectorsCommand(), a.versionCommand(), exitCodesHelp(),
	)
	a.dress(root)
	return root
}

// helpCommand is cobra's, except that what there is no help about is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if err := knownCommand(topic, rest); err != nil {
				return err
			}
			return topic.Help()
		},
	}
}

// exitCodesHelp is the topic that "collect help exit-codes" prints.
func exitCodesHelp() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes, and who acts on each", Long: exitCodeHelp()}
}
