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
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"collect/report/problem"
)

// Main runs the command line of this process and exits with its code.
func Main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		env: os.Getenv, signals: taken(), columns: terminalColumns,
	}
	a.terminal = a.env("COLLECT_FORCE_TTY") != "" || xterm.IsTerminal(int(os.Stderr.Fd()))
	a.shown = xterm.IsTerminal(int(os.Stdout.Fd()))
	os.Exit(a.execute(context.Background(), os.Args[1:]))
}

// memoryTarget is how much memory the garbage collector lets grow before it
// works harder. What is needed is had all the same.
const memoryTarget = 128 << 20

// terminalColumns returns the width of the terminal that stderr is, or 80.
func terminalColumns() int {
	if width, _, err := xterm.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

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

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "collect",
		Short: "Pull records from APIs you do not control, and resume where it stopped",
		Long: `collect pulls records from APIs you do not control and resumes where it stopped.

  collect demo            see it work against a provider of its own, 30 seconds
  collect init            set up your first connector
  collect --help          all commands`,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       knownCommand,
		PersistentPreRun:           a.endBySignal,
		Version:                    versionLine(),
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), wrapped(c.Long, a.width()))
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n") // as the command prints it
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "read this `file` instead of the usual collect.yaml")
	flags.StringVar(&a.flags.state, "state", "", "keep records and checkpoints in this database `file`, or on a Postgres server: postgres://USER@HOST/DATABASE")
	a.addFormat(flags)
	root.SetFlagErrorFunc(unknownFlag)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		a.initCommand(), a.runCommand(), a.resumeCommand(), a.demoCommand(), a.simulateCommand(), a.workerCommand(), a.enqueueCommand(), a.scheduleCommand(), a.fleetCommand(),
		a.statusCommand(), a.serveCommand(), a.explainCommand(), a.gapsCommand(), a.runsCommand(), a.runViewCommand(), a.exportCommand(),
		a.doctorCommand(), a.backupCommand(), a.restoreCommand(), a.stateCommand(),
		a.resetCommand(), a.pruneCommand(), a.freezeCommand(), a.breakerCommand(), a.budgetCommand(), a.pauseCommand(), a.unpauseCommand(), a.schemaCommand(), a.verifyCommand(), a.notifyCommand(), a.authCommand(), a.connectorsCommand(), a.configCommand(), a.manCommand(), a.checkCommand(), a.planCommand(), a.newCommand(), a.importCommand(), a.previewCommand(), a.recordCommand(), a.testCommand(), a.versionCommand(), exitCodesHelp(),
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
