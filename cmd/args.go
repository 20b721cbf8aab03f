package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"collect/internal/similar"
	"collect/report/problem"
)

// knownCommand refuses what is no command, and names one with a similar name.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	near := c.SuggestionsFor(args[0]) // also those that begin so
	if like := similar.To(args[0], near); like != "" {
		near = []string{like}
	}
	if len(near) > 0 {
		message += fmt.Sprintf("; there is `%s %s`", c.CommandPath(), near[0])
	}
	return problem.Usage("%s", message)
}

// inFiles are flags that people look for, and where that is said instead: what
// all runs of an account must agree on is not for one of them to say.
var inFiles = map[string]string{ // #nosec G101 -- it says where a credential is named
	"law":     "`law:` in the connector file, or under `providers:` in collect.yaml",
	"ceiling": "`ceiling:` in the connector file, or `ceiling_per_second:` under `providers:` in collect.yaml",
	"clamp":   "`clamp:` in the connector file, or under `providers:` in collect.yaml",
	"since":   "`since:` of a stream in the connector file; what it starts with may be a param: --param NAME=VALUE",
	"from":    "`start:` in the `since:` of a stream in the connector file, which may be a param: --param NAME=VALUE",
	"token":   "`secrets:` in the connector file, or `token_env:` under `providers:` in collect.yaml",
}

// unknownFlag says what is wrong with a flag, and names one with a similar name.
func unknownFlag(c *cobra.Command, err error) error {
	message := err.Error()
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if near := similar.To(name, names); near != "" {
			message += "; there is --" + near
		} else if elsewhere := inFiles[name]; elsewhere != "" {
			message += "; it is said by " + elsewhere
		}
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		message = strings.Replace(message, number.Error(), "not a number that fits", 1)
	}
	return problem.Usage("%s", message)
}

// exactArgs is cobra.ExactArgs with our exit code and words.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return problem.Usage("%s: missing %s", c.CommandPath(), names[len(args)])
		}
		if len(args) > len(names) {
			return problem.Usage("%s: unexpected argument %q", c.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// atMostOneArg takes an optional argument.
func atMostOneArg(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usage("%s: unexpected argument %q", c.CommandPath(), args[1])
	}
	return nil
}

// oneOfCommands refuses what is none of the commands that there are.
func oneOfCommands(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return oneOf(c.CommandPath(), args[0], names)
	}
}

// oneOf says that a flag or a command was given what it cannot have, and what
// it can.
func oneOf(taker, value string, allowed []string) error {
	message := fmt.Sprintf("%s: there is no %q", taker, value)
	if near := similar.To(value, allowed); near != "" && near != value {
		return problem.Usage("%s; there is %q", message, near)
	}
	return problem.Usage("%s; there are %s", message, strings.Join(allowed, ", "))
}

// A countFlag counts how often it is given. Help calls its value nothing, as
// that of a switch.
type countFlag int

func (n *countFlag) Set(text string) error {
	if text == "true" {
		*n++
		return nil
	}
	value, err := strconv.Atoi(text)
	*n = countFlag(value)
	return err
}

func (n *countFlag) String() string { return strconv.Itoa(int(*n)) }
func (*countFlag) Type() string     { return "bool" }

// countVar adds a flag that may be repeated: -qq.
func countVar(flags *pflag.FlagSet, n *int, name, short, usage string) {
	f := flags.VarPF((*countFlag)(n), name, short, usage)
	f.NoOptDefVal, f.DefValue = "true", "false"
}
