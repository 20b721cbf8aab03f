package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/store"
)

func (a *app) budgetCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "budget",
		Short: "See the budgets of a provider, or lower one for a time",
		Long: `Budget shows what a connector may ask of its provider: the ceilings that its
files declare, and how much of them is used. An operator may lower one, down to
the share that the clamp allows (half of it, if "clamp: {least: N%}" says nothing
else), and never raise it above what is declared. It holds for every connector
that uses the same account, across restarts, until it is released or for a time.
Who did it, when and why is kept.

A run that uses the account hears of it before its next request leaves.`,
		Args: oneOfCommands("show", "set", "release"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.budgetShowCommand(), a.budgetSetCommand(), a.budgetReleaseCommand())
	return c
}

func (a *app) budgetShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show <name | file.yaml>",
		Short: "What may be used, what is used, and what an operator lowered",
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c.Context(), args, func(v looked) error {
				var all []report.Budget
				var err error
				if v.db != nil {
					all, err = a.meeting(&v.settings).Budgets(c.Context(), v.db, v.name, v.now)
				}
				if err != nil {
					return err
				}
				return a.result(report.BudgetLines(v.name, all), budgetTable(v, all, a.width(), a.caps()))
			})
		},
	}
}

// budgetTable returns the budgets of a connector as a table, and below it what operators lowered.
func budgetTable(v looked, all []report.Budget, columns int, c term.Caps) string {
	if len(all) == 0 {
		return "no ceiling is declared for " + words.Clean(v.name) + ": nothing is counted\n"
	}
	t := term.Table{Head: []string{"USED", "IN FORCE", "AN OPERATOR MAY ALLOW", "DECLARED IN"}, Right: []int{0}, Drop: []int{3}}
	page := term.Page{Columns: columns}
	for _, b := range all {
		used := "?"
		if b.Measured {
			used = words.Count(int64(b.Used))
		}
		t.Rows = append(t.Rows, []string{used, b.InForce(), b.LeastWords() + " to " + b.DeclaredWords(), b.Origin})
		if said := b.LoweredWords(v.now); said != "" {
			page.Add("")
			page.Say(b.InForce() + ": " + said)
		}
	}
	text := t.Render(columns, c)
	return text + page.Render(c)
}

func (a *app) budgetSetCommand() *cobra.Command {
	var (
		o     operatorOptions
		lasts time.Duration
	)
	c := &cobra.Command{
		Use:   "set <name | file.yaml> <budget>",
		Short: "Lower a budget, until you release it or for a time",
		Args:  exactArgs("<name | file.yaml>", "<budget>, such as 3/s or 20000/day"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			edit, err := engine.ParseBudget(args[1])
			if err != nil {
				return err
			}
			edit.Lasts = lasts
			return a.giveAs(c.Context(), o, "budget set", func(ctx context.Context, m engine.Meeting, db store.Reader, name string, now time.Time) (engine.AccountOrder, error) {
				return m.SetBudget(ctx, db, name, edit, now)
			})
		},
	}
	o.addFlags(c)
	addFor(c, &lasts)
	return c
}

func (a *app) budgetReleaseCommand() *cobra.Command {
	var o operatorOptions
	c := &cobra.Command{
		Use:   "release <name | file.yaml> <window>",
		Short: "Let requests use all of a budget again",
		Args:  exactArgs("<name | file.yaml>", "<window>, such as s or day"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			per, err := engine.ParseWindow(args[1])
			if err != nil {
				return err
			}
			return a.give(c.Context(), o, engine.ReleaseBudget(per))
		},
	}
	o.addFlags(c)
	return c
}
