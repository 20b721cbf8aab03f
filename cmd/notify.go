package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"collect/engine/notify"
	"collect/internal/words"
	"collect/report/problem"
)

func (a *app) notifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "notify",
		Short: "Try what collect.yaml says under notify:",
		Long: `Notify is about those whom collect.yaml names under notify: a service that watches
for a sign of life, and people who are told by a command, a webhook or mail. They
are told by "collect run" and "collect resume".`,
		Args: oneOfCommands("test"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "test",
		Short: "Send a message that says that it is a test, to all of them",
		Long: `Test sends a message that says that it is a test by each way there is, and a ping
that changes nothing. It says which of them arrived, as far as that can be told:
a mail system takes a mail and delivers it later.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.notifyTest(c.Context()) },
	})
	return c
}

func (a *app) notifyTest(ctx context.Context) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	n := notify.Notifier{Config: settings.Notify, Memory: &notify.Memory{}, Stderr: a.err}
	tried, failed := 0, 0
	n.Test(ctx, func(channel string, err error) {
		tried++
		if err != nil {
			failed++
			fmt.Fprintf(a.out, "%s: %s\n", channel, words.Clean(err.Error()))
			return
		}
		fmt.Fprintf(a.out, "%s: sent\n", channel)
	})
	switch {
	case tried == 0:
		return problem.Usage("collect notify test: no collect.yaml says under `notify:` who is told")
	case failed > 0:
		return &exitError{problem.ExitFailure}
	}
	return nil
}
