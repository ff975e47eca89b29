package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
)

func newNotifyCommand(a *app) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "notify",
		Short: "Try the channels that are told of calls that wait",
		Long: `Channels under approvals.notify are told of calls that wait for a person: by mail, in
Slack or Microsoft Teams, or by a signed webhook.`,
		Example: `  vedette notify test
  vedette notify test ops`,
	}, newNotifyTestCommand(a))
}

// notifyTestCommand is `vedette notify test`.
type notifyTestCommand struct {
	*app
	config string
	json   bool
}

func newNotifyTestCommand(a *app) *cobra.Command {
	c := &notifyTestCommand{app: a}
	cmd := &cobra.Command{
		Use:   "test [CHANNEL…]",
		Short: "Send a test message",
		Long: `Test sends a message that says that it is a test to each channel, or to those that are
named. It opens no database, and a server may run meanwhile. The exit status is 1 where a
message was not delivered.`,
		Example: `  vedette notify test
  vedette notify test ops --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.json, "json", false, "print each channel as a line of JSON")
	return cmd
}

func (c *notifyTestCommand) run(ctx context.Context, names []string) error {
	list, err := c.program().TryChannels(ctx, c.config, names)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.tellNote("approvals.notify names no channel")
		return nil
	}
	failed := false
	for _, t := range list {
		failed = failed || !t.Delivered
		if err := c.printTest(t); err != nil {
			return err
		}
	}
	if failed {
		return &failure{exitFailed, errTold, ""}
	}
	return nil
}

func (c *notifyTestCommand) printTest(t setup.ChannelTest) error {
	switch {
	case c.json:
		return c.writeJSON(t, true)
	case t.Delivered:
		return c.printText("%s: delivered\n", t.Channel)
	}
	return c.printText("%s: not delivered: %s\n", t.Channel, t.Problem)
}
